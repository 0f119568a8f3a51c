"""A file's bytes, unpacked where its program packed it with zstd because it had not been used for long.

Memory is bounded whatever the file claims: little is taken in at a time, and a frame of a large window is refused. So is a file that is
damaged, cut off, or unpacks to more than it may.
"""

import io
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

from shared.errors import UnreadableSource
from worker.importers.archives import MAX_UNPACKED

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

ENDING = ".zst"
_TAKEN = 512  # bytes at a time: a block of three bytes may unpack to 128 KiB
_MAX_WINDOW = 32 << 20
_BUFFER = 256 << 10


def open_lines(path: Path) -> BinaryIO:
    """The file, open for reading; unpacked where its name says that it is packed."""
    if path.name.endswith(ENDING):
        return cast(BinaryIO, io.BufferedReader(_Unpacked(path.open("rb")), _BUFFER))
    return path.open("rb")


def plain_name(path: Path) -> str:
    """The name that the file had before it was packed."""
    return path.name.removesuffix(ENDING)


def unpacked(packed: bytes, most: int) -> bytes:
    """The content of one packed value. raises: UnreadableSource for one that is damaged, cut off, or unpacks to more than `most` bytes."""
    with io.BufferedReader(_Unpacked(io.BytesIO(packed)), _BUFFER) as content:
        found = content.read(most + 1)
    if len(found) > most:
        raise UnreadableSource(f"the packed value unpacks to more than {most:,} bytes")
    return found


class _Unpacked(io.RawIOBase):
    """The bytes of every frame of a packed file. raises: UnreadableSource while they are read."""

    def __init__(self, file: BinaryIO) -> None:
        import zstandard  # here: few files need it

        self._file, self._damaged = file, zstandard.ZstdError
        self._unpacker = zstandard.ZstdDecompressor(max_window_size=_MAX_WINDOW)
        self._frame = self._unpacker.decompressobj()
        self._begun = False
        self._ready, self._total = memoryview(b""), 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer", /) -> int:
        wanted = memoryview(buffer).cast("B")
        while not self._ready and self._more():
            pass
        size = min(len(wanted), len(self._ready))
        wanted[:size], self._ready = self._ready[:size], self._ready[size:]
        return size

    def close(self) -> None:
        self._file.close()
        super().close()

    def _more(self) -> bool:
        """Whether there was more to take in."""
        packed = self._frame.unused_data if self._frame.eof else b""
        packed = packed or self._file.read(_TAKEN)
        if not packed:
            if self._begun and not self._frame.eof:
                raise UnreadableSource("the packed file is cut off")
            return False
        if self._frame.eof:
            self._frame = self._unpacker.decompressobj()
        self._begun = True
        try:
            self._ready = memoryview(self._frame.decompress(packed))
        except self._damaged as e:
            raise UnreadableSource(f"the packed file is damaged ({e})") from e
        self._total += len(self._ready)
        if self._total > MAX_UNPACKED:
            raise UnreadableSource(f"the packed file unpacks to more than {MAX_UNPACKED >> 30} GiB")
        return True

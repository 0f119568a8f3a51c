"""The JSON of an export, piece by piece, out of a file or out of the .zip it came in. Nothing is unpacked to disk.

What an archive says of its own sizes is a claim: the bytes that come out are counted, and it is refused at the first that breaks the
claim or a bound. Only the members that are read are unpacked, each by a stream that gives at most a piece at a time.
"""

import errno
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from fnmatch import fnmatch
from pathlib import Path
from typing import BinaryIO

from shared.errors import UnreadableSource

PIECE = 256 << 10
MAX_MEMBERS = 50_000  # a file of an export a picture: years of use stay below; their directory takes some 30 MiB of memory
MAX_UNPACKED = 16 << 30  # bytes that come out of one archive
MAX_RATIO = 250  # bytes out for a byte in; JSON of talk packs to a fifth, and long runs of one sign alone come near 1,000
RATIO_FROM = 16 << 20  # bytes out before the ratio is looked at: a short text of one sign harms nobody
_LOCAL_HEADER = struct.Struct("<4s22xHH")  # signature; lengths of name and extra field
_END = b"PK\x05\x06"
_LARGE = b"PK\x06\x07"
_END_BYTES = 22 + 65_535  # the end record and the longest comment
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ENCRYPTED = 0x1


def is_zip(path: Path) -> bool:
    """Whether the file begins like an archive with members, or like an empty one."""
    with path.open("rb") as file:
        return file.read(4) in (b"PK\x03\x04", _END)


def pieces(path: Path, pattern: str) -> Iterator[tuple[str, Iterator[bytes]]]:
    """The name and the bytes of every member that matches, or of the file itself where it is no archive.

    raises: UnreadableSource for an archive that is damaged or unpacks to more than it may, also while the bytes are read.
    """
    if not is_zip(path):
        yield path.name, _file(path)
        return
    with _refusals(), path.open("rb") as file:
        _check_size(file)
        with zipfile.ZipFile(file) as archive:
            found = [member for member in archive.infolist() if fnmatch(member.filename.rsplit("/", 1)[-1].lower(), pattern)]
        budget = _Budget()
        for member in sorted(found, key=lambda member: member.filename):
            yield member.filename, _unpacked(file, member, budget)


def _file(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while data := file.read(PIECE):
            yield data


@contextmanager
def _refusals() -> Iterator[None]:
    try:
        yield
    except (zipfile.BadZipFile, zlib.error, struct.error, NotImplementedError, ValueError, OverflowError, EOFError) as e:
        raise UnreadableSource(f"the archive is damaged ({e})") from e
    except OSError as e:
        if e.errno != errno.EINVAL:  # a place that no file has, as a damaged directory names it
            raise
        raise UnreadableSource("the archive is damaged (a member lies outside of it)") from e


def _check_size(file: BinaryIO) -> None:
    """Looks at the end record before the directory is read into memory."""
    size = file.seek(0, 2)
    file.seek(max(0, size - _END_BYTES))
    tail = file.read()
    at = tail.rfind(_END)
    if at < 0 or len(tail) < at + 22:
        raise UnreadableSource("the archive is damaged (no directory at its end)")
    count, directory = struct.unpack_from("<HI", tail, at + 10)
    if at >= 20 and tail[at - 20 : at - 16] == _LARGE:  # sizes beyond 32 bits stand in a record of their own
        file.seek(struct.unpack_from("<Q", tail, at - 12)[0])
        count, directory = struct.unpack_from("<QQ", file.read(56).ljust(56, b"\xff"), 32)
    if count > MAX_MEMBERS or directory > MAX_MEMBERS * 400:
        raise UnreadableSource(f"the archive has more than {MAX_MEMBERS} members")


class _Budget:
    """What one archive may still unpack to."""

    def __init__(self) -> None:
        self._out = self._in = 0

    def count(self, out: int, taken: int) -> None:
        self._out, self._in = self._out + out, self._in + taken
        if self._out > MAX_UNPACKED:
            raise UnreadableSource(f"the archive unpacks to more than {MAX_UNPACKED >> 30} GiB")
        if self._out > RATIO_FROM and self._out > MAX_RATIO * max(self._in, 1):
            raise UnreadableSource(f"the archive unpacks to more than {MAX_RATIO} times its size")


def _unpacked(file: BinaryIO, member: zipfile.ZipInfo, budget: _Budget) -> Iterator[bytes]:
    """The bytes of one member; refused when they are not as many as it says, or not those it has the checksum of."""
    if member.flag_bits & _ENCRYPTED or member.compress_type not in _METHODS:
        raise UnreadableSource(f"{member.filename!r} in the archive is encrypted or packed in a way that is not read here")
    with _refusals():
        size = checksum = 0
        for data, taken in _stream(file, member):
            budget.count(len(data), taken)
            size += len(data)
            if size > member.file_size:
                raise UnreadableSource(f"{member.filename!r} in the archive unpacks to more than the {member.file_size} bytes it claims")
            checksum = zlib.crc32(data, checksum)
            yield data
        if size != member.file_size or checksum != member.CRC:
            raise UnreadableSource(f"{member.filename!r} in the archive is damaged: size or checksum is not what it claims")


def _stream(file: BinaryIO, member: zipfile.ZipInfo) -> Iterator[tuple[bytes, int]]:
    """Pieces of at most PIECE bytes, each with the number of packed bytes it took."""
    place = _start(file, member)
    left = member.compress_size
    unpack = zlib.decompressobj(-zlib.MAX_WBITS) if member.compress_type == zipfile.ZIP_DEFLATED else None
    while left > 0:
        file.seek(place)  # another member's pieces may have been read meanwhile
        packed = file.read(min(left, PIECE >> 2))
        if not packed:
            raise EOFError(f"{member.filename!r} is cut off")
        place, left = place + len(packed), left - len(packed)
        if unpack is None:
            yield packed, len(packed)
            continue
        taken = len(packed)
        while packed and not unpack.eof:
            data = unpack.decompress(packed, PIECE)
            packed = unpack.unconsumed_tail
            yield data, taken
            taken = 0
    if unpack is not None and not unpack.eof:
        yield unpack.flush(), 0


def _start(file: BinaryIO, member: zipfile.ZipInfo) -> int:
    """Where a member's bytes begin: behind its local header, whose name and extra field have lengths of their own."""
    file.seek(member.header_offset)
    signature, name, extra = _LOCAL_HEADER.unpack(file.read(_LOCAL_HEADER.size))
    if signature != b"PK\x03\x04":
        raise zipfile.BadZipFile(f"{member.filename!r} has no header")
    return member.header_offset + _LOCAL_HEADER.size + int(name) + int(extra)

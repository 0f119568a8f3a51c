"""Every error this program raises on purpose, a line each; a message names the value and the limit, never a transcript's text."""


class SessionSearchError(Exception):
    """Base of all intended errors; `str()` of one is fit for a caller's eyes."""


class BadSettings(SessionSearchError):
    """A setting has a value that is not allowed; the process does not start."""


class BadRequest(SessionSearchError):
    """A request has a wrong field, type, size or id; `field` names it."""

    def __init__(self, detail: str, field: str | None = None) -> None:
        super().__init__(detail)
        self.field = field


class BadForm(BadRequest):
    """A request that does not fit the schema of its operation: not JSON, or a field unknown, missing, or of another type or size."""


class Unprocessable(BadRequest):
    """A well-formed request that asks for the impossible: an unknown scope, a session that spawned itself."""


class BadQuery(Unprocessable):
    """Search text that is empty, too long, or holds nothing searchable."""

    def __init__(self, detail: str) -> None:
        super().__init__(detail, "query")


class BadCursor(BadRequest):
    """A cursor that this service did not make for this caller and this request."""

    def __init__(self, detail: str = "cursor is not one that this request was given") -> None:
        super().__init__(detail, "cursor")


class NotFound(SessionSearchError):
    """No such session, or none that the caller may see: the two are not told apart."""


class Conflict(SessionSearchError):
    """The request contradicts what is stored: an id with other content, a key of another agent, a deleted session id."""


class Unauthorised(SessionSearchError):
    """No credential, or one that is unknown, expired or revoked."""


class Forbidden(SessionSearchError):
    """A valid credential of a kind that may not do this."""


class TooManyRequests(SessionSearchError):
    """A caller asks more often than it may; `retry_after_s` says when it may ask again."""

    def __init__(self, detail: str, retry_after_s: int) -> None:
        super().__init__(detail)
        self.retry_after_s = retry_after_s


class StoreUnavailable(SessionSearchError):
    """A database cannot be read or written now (busy, read-only, damaged); `path` names the file for operators."""

    def __init__(self, detail: str, path: str | None = None) -> None:
        super().__init__(detail)
        self.path = path


class StoreFull(StoreUnavailable):
    """The disk is full."""


class StoreDamaged(StoreUnavailable):
    """A database file is not what it should be; the message names the file."""


class IndexDamaged(StoreDamaged):
    """An agent's full-text index is damaged; it is thrown away and built anew from the transcripts, which are not concerned."""


class VisibilityUnknown(StoreUnavailable):
    """The set of visible sessions could not be computed; the answer is an error, never a wider result."""


class UnreadableEvent(SessionSearchError):
    """A stored event cannot be understood: permanent until it is mended; `seq` is its position."""

    def __init__(self, detail: str, seq: int) -> None:
        super().__init__(detail)
        self.seq = seq


class LeaseLost(SessionSearchError):
    """Another worker took this session over; what was computed here is not published."""


class UnknownFormat(SessionSearchError):
    """A file is not a transcript of the named format, or the format is not one of ours."""


class UnreadableSource(SessionSearchError):
    """Another program's file cannot be read to its end: it is damaged, locked, or unpacks to more than it may."""


class DemoFailed(SessionSearchError):
    """The demo could not be shown: a process of it did not start, or ended by itself."""

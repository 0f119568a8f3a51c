"""Times on their way in: milliseconds since 1970, or ISO 8601, both as milliseconds."""

from datetime import UTC, datetime, timedelta

from shared.errors import BadRequest

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def milliseconds(field: str, value: int | str | None) -> int | None:
    """A time as a request gave it, in milliseconds; without a zone it is UTC, and what was before 1970 is 1970.

    raises: BadRequest naming the field for what is no time.
    """
    if value is None or isinstance(value, int):
        return value
    try:
        moment = datetime.fromisoformat(value)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        return max(0, (moment - _EPOCH) // timedelta(milliseconds=1))
    except (ValueError, OverflowError):
        raise BadRequest(f"{field} must be milliseconds since 1970, or ISO 8601 such as 2026-11-30T10:15:00Z", field) from None

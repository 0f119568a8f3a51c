"""Log set-up: one JSON object a line, on standard error.

The same key always has the same name and unit. Transcript text and search text are never logged; control characters cannot break
a line, for JSON escapes them.
"""

import json
import logging
import sys
import time
from typing import Any, TextIO

_OWN = frozenset(vars(logging.LogRecord("", 0, "", 0, "", (), None))) | {"message", "asctime", "taskName"}
_QUIET = {"huey": logging.CRITICAL, "gunicorn": logging.WARNING, "werkzeug": logging.WARNING}


def configure_logs(level: int = logging.INFO, stream: TextIO | None = None) -> None:
    """Every record of this process is one JSON line on the stream (standard error)."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonLines())
    root = logging.getLogger()
    for old in list(root.handlers):
        root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(level)
    for name, at_least in _QUIET.items():
        logging.getLogger(name).setLevel(at_least)


class JsonLines(logging.Formatter):
    """A record as one line of JSON: time, level, logger, message, then the keys given as `extra`."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        line.update({key: value for key, value in vars(record).items() if key not in _OWN and value is not None})
        if record.exc_info and record.exc_info[1] is not None:
            line["raised"] = where_raised(record.exc_info[1])
        return json.dumps(line, default=str, ensure_ascii=True)


def where_raised(error: BaseException) -> str:
    """An unexpected error's type and the places it came through, innermost last; never its message, which may quote a transcript."""
    places, trace = [], error.__traceback__
    while trace is not None:
        file = "/".join(trace.tb_frame.f_code.co_filename.split("/")[-2:])
        places.append(f"{file}:{trace.tb_lineno}")
        trace = trace.tb_next
    return f"{type(error).__name__} at {' > '.join(places[-6:])}" if places else type(error).__name__

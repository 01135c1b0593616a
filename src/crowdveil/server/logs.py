"""Log what the server and its operators do, one JSON object per line.

Requests of participants are counted (`metrics`) but not logged, because a line with a time would reveal when each of
them reported. No line contains an address, a token, a secret, a symbol or a place.
"""

from __future__ import annotations

import json
import logging
import sys
import time
from collections.abc import Callable
from typing import TextIO

NAME = "crowdveil"
_RESERVED = frozenset(vars(logging.makeLogRecord({}))) | {"color_message"}


class JsonLines(logging.Formatter):
    """Format a record as time, level, event, and the fields given as `extra`."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        super().__init__()
        self._clock = clock

    def format(self, record: logging.LogRecord) -> str:
        """Return one line. Of an exception, only its type and position: its message may contain what a device sent."""
        line: dict[str, object] = {"at": round(self._clock(), 3), "level": record.levelname.lower()}
        line["event"] = record.getMessage() if record.name == NAME else str(record.msg).partition(":")[0]
        line |= {
            name: value for name, value in vars(record).items() if name not in _RESERVED and name != "color_message"
        }
        if record.exc_info and record.exc_info[0] is not None:
            line["error"] = record.exc_info[0].__name__
            trace = record.exc_info[2]
            while trace is not None and trace.tb_next is not None:
                trace = trace.tb_next
            if trace is not None:
                line["where"] = f"{trace.tb_frame.f_globals.get('__name__')}:{trace.tb_lineno}"
        return json.dumps(line, default=str)


def set_up(stream: TextIO = sys.stderr) -> logging.Logger:
    """Make every logger in this process write JSON lines to one stream."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonLines())
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(logging.WARNING)
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [], True
        logger.setLevel(logging.WARNING)
    logger = logging.getLogger(NAME)
    logger.setLevel(logging.INFO)
    return logger


def log() -> logging.Logger:
    """Return the server's own logger; silent until `set_up`."""
    return logging.getLogger(NAME)

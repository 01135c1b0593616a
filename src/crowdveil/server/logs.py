"""Logs: one JSON object a line, of what the server and its operators do.

Requests of participants are counted (`metrics`), not logged: a line with a time would say when each of them reported.
No line holds an address, a token, a secret, a symbol or a place.
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
    """Time, level, event, and the fields given as `extra`."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        super().__init__()
        self._clock = clock

    def format(self, record: logging.LogRecord) -> str:
        """One line. Of an exception, its kind and where it was raised; its words may hold what was sent."""
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
    """Everything that logs in this process writes JSON lines to one stream."""
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
    """The server's own logger; silent until `set_up`."""
    return logging.getLogger(NAME)

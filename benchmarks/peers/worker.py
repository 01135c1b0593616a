"""What a worker needs: it reads arrays, measures, and writes arrays. Only numpy is there besides the peer.

python -m benchmarks.peers.NAME QUESTION.npz ANSWER.npz
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]


def serve(answer: Callable[[Arrays], Mapping[str, Any]]) -> None:
    """Answer the question named on the command line."""
    with np.load(sys.argv[1]) as stored:
        question = dict(stored)
    np.savez(sys.argv[2], **{name: np.asarray(array) for name, array in answer(question).items()})  # type: ignore[arg-type]


def seconds(function: Callable[[], object], runs: int) -> list[float]:
    """Of each of several runs, after one that is not counted."""
    function()
    taken = []
    for _ in range(runs):
        start = time.perf_counter()
        function()
        taken.append(time.perf_counter() - start)
    return taken


class _StandIn(ModuleType):
    """A module that was left out of a peer's environment; whatever it is asked for is an empty class."""

    __path__: list[str] = []  # noqa: RUF012 - a package, as the import system knows it

    def __getattr__(self, name: str) -> type:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


def leave_out(*modules: str) -> None:
    """Let a peer import modules that what is measured never calls."""
    for module in modules:
        parts = module.split(".")
        for end in range(1, len(parts) + 1):
            name = ".".join(parts[:end])
            sys.modules.setdefault(name, _StandIn(name))

"""scikit-mobility: whether it can be imported, and its version."""

from __future__ import annotations

from importlib.metadata import version

import skmob

from benchmarks.peers.worker import Arrays, serve


def _answer(_: Arrays) -> dict[str, object]:
    return {"version": version("scikit-mobility"), "classes": [skmob.TrajDataFrame.__name__]}


serve(_answer)

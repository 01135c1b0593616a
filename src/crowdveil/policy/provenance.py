"""Record how a policy was made."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.metadata import version

import numpy as np

from crowdveil.arrays import FloatArray

Provenance = dict[str, str | int]
"""Text and whole numbers only, so that it has one canonical form; real numbers as text that reads back exactly."""


def provenance(prior: FloatArray, **more: str | int | float) -> Provenance:
    """Record versions, a digest of the prior, and further facts about how a policy was made."""
    reals = {key: repr(float(entry)) if isinstance(entry, float) else entry for key, entry in more.items()}
    return {
        "crowdveil": _version(),
        "numpy": np.__version__,
        "prior_sha256": hashlib.sha256(prior.astype(">f8").tobytes()).hexdigest(),
        **reals,
    }


@cache
def _version() -> str:
    return version("crowdveil")  # reads and parses a file, which takes as long as solving a small policy

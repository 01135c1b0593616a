"""How a policy was made, for its record."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.metadata import version

import numpy as np

from crowdveil.arrays import FloatArray

Provenance = dict[str, str | int]
"""Text and whole numbers only, so that it has one canonical form; reals as text that reads back as the same number."""


def provenance(prior: FloatArray, **more: str | int | float) -> Provenance:
    """Versions and inputs, and whatever else is worth knowing."""
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

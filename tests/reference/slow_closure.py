"""The closure as its definition reads: apply both hops between all pairs until nothing changes."""

from __future__ import annotations

import numpy as np

from crowdveil.arrays import FloatArray


def slow_closure(D: FloatArray, cells: list[int], chances: list[float]) -> FloatArray:
    p = np.zeros(len(D))
    for cell, chance in zip(cells, chances, strict=True):
        p[cell] = max(p[cell], chance)
    while True:
        flat = (p[:, None] * np.exp(-D)).max(axis=0)
        steep = (1 - (1 - p[:, None]) * np.exp(D)).max(axis=0)
        raised = np.maximum(p, np.maximum(flat, steep))
        if (raised <= p * (1 + 1e-15)).all():
            return p
        p = raised

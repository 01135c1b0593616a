"""Records and their intervals."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from crowdveil.simulate.records import Record, interval, write_records

RECORD = Record(
    "two-targets", "new-york", "crowdveil", "recency", "target-aware", "dense", "coverage", 0.5, 0.4, 0.6, 9, 9
)


def test_the_interval_covers_the_truth_as_often_as_it_says() -> None:
    """Student's interval of ten normal values misses the mean in one of twenty cases, give or take."""
    generator = np.random.default_rng(4)
    missed = 0
    for _ in range(4000):
        _, low, high = interval(generator.normal(10, 2, 10).tolist())
        missed += not low <= 10 <= high
    assert 0.035 <= missed / 4000 <= 0.065


def test_a_single_value_is_its_own_interval() -> None:
    assert interval([0.25]) == (0.25, 0.25, 0.25)


def test_an_interval_never_leaves_what_is_possible() -> None:
    assert interval([0.0, 0.01, 0.9], most=1.0)[1] == 0.0
    assert interval([1.0, 0.99, 0.1], most=1.0)[2] == 1.0


def test_results_are_a_list_of_records_with_coverage_by_name() -> None:
    other = replace(RECORD, measure="auc", value=0.9)
    first, second = json.loads(write_records([RECORD, other]))
    assert first["coverage"] == first["value"] == 0.5
    assert second["coverage"] is None
    wanted = "figure dataset method epsilon_per_km delta targets k coverage ci_low ci_high seeds n paper paper_source"
    assert set(wanted.split()) <= set(first)


def test_a_number_that_is_none_is_never_written() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_records([replace(RECORD, value=math.nan)])

"""Priors are read from tables that people write, and written so that they read back as the same numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import crowdveil as cv
from crowdveil.prior import read_prior, write_prior

AREA = cv.Area.from_points_km([[0, 0], [1, 0], [2, 0], [3, 0]])
PRIOR = [0.1, 0.0, 0.6, 0.3]


@pytest.mark.parametrize(
    "text",
    [
        "0.1\n0\n0.6\n0.3\n",
        "prior\n0.1\n0\n0.6\n0.3\n",
        "0.1,0,0.6,0.3\n",
        "cell,probability\n2,0.6\n0,0.1\n3,0.3\n",
        "# learned in May\n\nprior,name,cell\n0.6,market,2\n0.1,park,0\n0.3,school,3\n",
        "0,0.1\n2,0.6\n3,0.3\n",
    ],
)
def test_a_prior_is_read_in_every_form(tmp_path: Path, text: str) -> None:
    (tmp_path / "prior.csv").write_text(text)
    assert read_prior(tmp_path / "prior.csv", AREA).tolist() == PRIOR


def test_a_prior_that_was_written_reads_back_bit_by_bit(tmp_path: Path) -> None:
    prior = np.array([1 / 3, 0.0, 1e-17, 2 / 3])
    assert write_prior(tmp_path / "prior.csv", prior) == (tmp_path / "prior.csv").stat().st_size
    assert read_prior(tmp_path / "prior.csv", AREA).tolist() == prior.tolist()
    assert "\n1," not in (tmp_path / "prior.csv").read_text()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("cell,probability\n4,1\n", "cell of prior = 4"),
        ("cell,probability\n1.5,1\n", "cell of prior = 1.5: cells are whole numbers"),
        ("cell,probability\n1,0.5\n1,0.5\n", "cell of prior = 1: is named twice"),
        ("cell,probability\n1,half\n", "line 2: probability = 'half': should be a number"),
        ("0.5\n0.5,1\n", "line 2: '0.5,1': should be one number"),
    ],
)
def test_a_mistake_is_named_with_its_value(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "prior.csv").write_text(text)
    with pytest.raises(cv.CrowdveilError, match=said):
        read_prior(tmp_path / "prior.csv", AREA)

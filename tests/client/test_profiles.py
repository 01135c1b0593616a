"""A device's owner hands over traces, or a profile; both are checked before anything is asked of a server."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import crowdveil as cv
from crowdveil.client.history import read_profile, visits_of
from crowdveil.traces import synthetic_visits


def test_the_visits_of_one_person_are_taken() -> None:
    visits = synthetic_visits(np.random.default_rng(1), users=3, weeks=4)
    one = visits_of(visits, visits.users[1])
    assert one.users == (visits.users[1],)
    assert one.utc_s.tolist() == visits.utc_s[visits.user == 1].tolist()
    assert visits_of(one) is one
    with pytest.raises(cv.InputError, match="user = None: should name one of the 3 people"):
        visits_of(visits)
    with pytest.raises(cv.InputError, match="user = 'eve': should be one of the 3 people"):
        visits_of(visits, "eve")


def test_a_profile_is_read_from_cells_and_probabilities(tmp_path: Path) -> None:
    (tmp_path / "profile.csv").write_text("cell,probability\n12,0.9\n3,0.2\n")
    assert read_profile(tmp_path / "profile.csv") == {12: 0.9, 3: 0.2}
    for text, said in (
        ("cell,probability\n12,1.5\n", "probability = 1.5: should be between 0 and 1"),
        ("cell,probability\n-1,0.5\n", "cell = -1: should be a whole number from 0"),
        ("cell,probability\n3,0.5\n3,0.5\n", "cell = 3: is named twice"),
    ):
        (tmp_path / "profile.csv").write_text(text)
        with pytest.raises(cv.FileFormatError, match=said):
            read_profile(tmp_path / "profile.csv")

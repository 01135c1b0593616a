"""The profile as a value: what it refuses, and what can be looked up in it."""

from __future__ import annotations

from math import inf, nan
from typing import Any

import numpy as np
import pytest

from crowdveil.errors import InputError
from crowdveil.profile import Profile

TWO = Profile(3, 5, np.array([0, 2]), np.array([4, 1]), np.array([0.25, 1.0]), "mine", {"a": 1, "b": 2.5}, range(4))


@pytest.mark.parametrize("bad", [-0.1, 1.1, nan, inf])
def test_a_given_profile_holds_probabilities(bad: float) -> None:
    with pytest.raises(InputError, match="probability"):
        Profile(1, 2, np.array([0]), np.array([1]), np.array([bad]))


def test_a_given_profile_is_sorted_and_names_each_pair_once() -> None:
    with pytest.raises(InputError, match="each pair once"):
        Profile(1, 2, np.array([0, 0]), np.array([1, 1]), np.array([0.5, 0.5]))
    with pytest.raises(InputError, match="user = 3"):
        Profile(1, 2, np.array([3]), np.array([1]), np.array([0.5]))
    with pytest.raises(InputError, match="user = 1"):
        Profile(1, 2, np.array([0]), np.array([1]), np.array([0.5])).of(1)


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        (([0], [5], [0.5]), "^cell = 5"),
        (([0], [1], ["half"]), "^probability = "),
        (([0], [1, 2], [0.5]), r"^cell = .*one entry for each of 1 rows"),
        (([0], [1], [0.5, 0.5]), r"^probability = .*one entry for each of 1 rows"),
        (([[0]], [[1]], [[0.5]]), r"^user = .*one entry for each of 1 rows"),
    ],
)
def test_columns_that_are_no_profile_are_named(columns: tuple[Any, Any, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        Profile(3, 5, *columns)


def test_there_may_be_no_users_but_there_is_a_cell_and_all_pairs_can_be_numbered() -> None:
    nothing = np.empty(0, dtype=np.int64)
    for users, cells in ((0, 1), (2**40, 2**22 - 1)):
        assert len(Profile(users, cells, nothing, nothing, np.empty(0))) == 0
    for users, cells in ((-1, 4), (3, 0), (2**40, 2**22), (2**22, 2**40)):
        with pytest.raises(InputError, match="at least 0 users and 1 cell"):
            Profile(users, cells, nothing, nothing, np.empty(0))


def test_a_profile_cannot_be_changed() -> None:
    user, cell, probability, parameters = np.array([0]), np.array([1]), np.array([0.5]), {"a": 1.0}
    profile = Profile(1, 2, user, cell, probability, "mine", parameters)
    user[0], cell[0], probability[0], parameters["a"] = 7, 7, 7, 7
    assert (profile.of(0), dict(profile.parameters)) == ({1: 0.5}, {"a": 1.0})
    for column in (profile.user, profile.cell, profile.probability):
        with pytest.raises(ValueError, match="read-only"):
            column[0] = 0


def test_a_profile_tells_what_it_is() -> None:
    assert repr(TWO) == "Profile(mine, a = 1, b = 2.5: 2 pairs of 3 users and 5 cells)"
    bare = Profile(3, 5, np.array([0]), np.array([4]), np.array([0.25]))
    assert (bare.method, dict(bare.parameters), bare.train) == ("given", {}, range(0))


def test_cells_that_are_not_kept_have_the_probability_0() -> None:
    assert TWO.of(1) == {}
    assert TWO.at([0, 0, 1, 2, 2, 2], [4, 3, 4, 0, 1, 4]).tolist() == [0.25, 0, 0, 0, 1, 0]
    empty = Profile(3, 5, np.empty(0, int), np.empty(0, int), np.empty(0))
    assert empty.at([[0], [2]], [1, 4]).tolist() == [[0, 0], [0, 0]]
    with pytest.raises(InputError, match=r"^user = 3"):
        TWO.at([3], [0])
    with pytest.raises(InputError, match=r"^cell = 5"):
        TWO.at([0], [5])


@pytest.mark.parametrize("backend", ["pandas", "polars"])
def test_a_profile_is_a_frame_with_one_row_per_pair(backend: Any) -> None:
    frame = TWO.to_frame(backend)
    assert type(frame).__module__.partition(".")[0] == backend
    columns = {name: frame[name].to_list() for name in frame.columns}
    assert columns == {"user": [0, 2], "cell": [4, 1], "probability": [0.25, 1.0]}

"""Files are written as a whole or not at all, and errors about files name them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import crowdveil as cv
from crowdveil.codec import read_pairs, write_atomically


def test_a_file_is_replaced_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    path.write_text("old")
    assert write_atomically(path, lambda temporary: temporary.write_text("new!")) == 4
    assert path.read_text() == "new!"
    assert list(tmp_path.iterdir()) == [path]


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    path.write_text("old")

    def fail(temporary: Path) -> None:
        temporary.write_text("half")
        raise OSError(28, "No space left on device", str(temporary))

    with pytest.raises(cv.FileFormatError, match=r"result\.json: cannot be written \(No space left on device\)"):
        write_atomically(path, fail)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_an_error_about_the_temporary_file_names_the_real_one(tmp_path: Path) -> None:
    def refuse(temporary: Path) -> None:
        raise cv.InputError("path", str(temporary), "should end in .cvp")

    with pytest.raises(cv.FileFormatError, match=r"^.*/result\.json: should end in \.cvp$"):
        write_atomically(tmp_path / "result.json", refuse)


@pytest.mark.skipif(os.name == "nt", reason="permissions of POSIX")
def test_a_file_has_the_permissions_of_any_new_file(tmp_path: Path) -> None:
    write_atomically(tmp_path / "result.json", lambda temporary: temporary.write_text("x"))
    (tmp_path / "other").write_text("x")
    assert (tmp_path / "result.json").stat().st_mode == (tmp_path / "other").stat().st_mode


def test_a_file_of_another_kind_is_recognised(tmp_path: Path) -> None:
    area = cv.Area.from_points_km([[0, 0], [1, 0], [2, 0]])
    policy = cv.optimal_policy(area, None, [0], epsilon_per_km=1.0, beta=0.3)
    area.save(tmp_path / "area.json")
    for name in ("policy.json", "policy.cvp"):
        policy.save(tmp_path / name)
        with pytest.raises(cv.FileFormatError, match=f"{name}: is a policy, not an area$"):
            cv.Area.load(tmp_path / name)
    with pytest.raises(cv.FileFormatError, match=r"area\.json: is an area, not a policy$"):
        cv.Policy.load(tmp_path / "area.json")
    with pytest.raises(cv.FileFormatError, match=r"nowhere\.json: No such file or directory$"):
        cv.Policy.load(tmp_path / "nowhere.json")


def test_an_error_inside_a_file_names_it(tmp_path: Path) -> None:
    (tmp_path / "area.json").write_text('{"kind":"disc"}')
    with pytest.raises(cv.FileFormatError, match=r"area\.json: area kind = 'disc'"):
        cv.Area.load(tmp_path / "area.json")
    (tmp_path / "area.json").write_text("{")
    with pytest.raises(cv.FileFormatError, match=r"area\.json: not JSON"):
        cv.Area.load(tmp_path / "area.json")


def test_columns_are_found_by_any_of_their_names(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("\ufeffB,x,A\n1,nothing,2\n")
    first, second = read_pairs(tmp_path / "t.csv", ("a",), ("bee", "b"))
    assert (first.tolist(), second.tolist()) == ([2.0], [1.0])

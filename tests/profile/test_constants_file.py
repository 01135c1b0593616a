"""Files of the constants of a profile: what is written, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from crowdveil.errors import FileFormatError, InputError
from crowdveil.profile import LogisticConstants, shipped_constants
from crowdveil.profile.constants_file import describe_constants, read_constants

GOOD: dict[str, Any] = {
    "format": "crowdveil-profile-constants",
    "version": 1,
    "period": "week",
    "constants": list(shipped_constants("week").values),
}


def test_a_file_holds_four_decimals_and_what_they_were_fitted_on() -> None:
    constants = LogisticConstants("day", (-3.000049, 0.12345678, 0.0, 1.0, 2.0, 3.0, 50.0))
    assert describe_constants(constants, {"users": 12, "data": "mine.csv"}) == {
        "format": "crowdveil-profile-constants",
        "version": 1,
        "period": "day",
        "constants": [-3.0, 0.1235, 0.0, 1.0, 2.0, 3.0, 50.0],
        "fitted_on": {"users": 12, "data": "mine.csv"},
    }


@pytest.mark.parametrize("period", ["week", "day"])
def test_what_was_written_is_read_back(tmp_path: Path, period: Any) -> None:
    path = tmp_path / "constants.json"
    path.write_text(json.dumps(describe_constants(shipped_constants(period), {"city": "Köln"}), ensure_ascii=False))
    assert read_constants(path, period) == shipped_constants(period)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"format": "crowdveil-policy"}, "should be 'crowdveil-profile-constants', version 1"),
        ({"version": 2}, "version 2: should be"),
        ({"period": "month"}, "as `crowdveil fit` writes them"),
        ({"constants": [0.0] * 6}, "should hold 7 constants"),
        ({"constants": [0.0] * 6 + [51]}, r"values\[6\] = 51"),
        ({"constants": [0.0] * 6 + ["NaN"]}, "should hold 7 constants"),
        ({"constants": None}, "should hold 7 constants"),
    ],
)
def test_a_file_with_other_content_is_refused(tmp_path: Path, changed: dict[str, Any], said: str) -> None:
    path = tmp_path / "constants.json"
    path.write_text(json.dumps({**GOOD, **changed}))
    with pytest.raises(FileFormatError, match=said) as refused:
        read_constants(path, "week")
    assert str(refused.value).startswith(f"{path}: ")


def test_a_file_that_is_none_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "constants.json"
    with pytest.raises(FileFormatError, match="cannot be read"):
        read_constants(path, "week")
    for content in (b"", b"\xff\xfe\x00", b"[1, 2, 3]", b"{}"):
        path.write_bytes(content)
        with pytest.raises(FileFormatError, match="should hold 7 constants"):
            read_constants(path, "week")


def test_constants_for_weeks_are_not_taken_for_days(tmp_path: Path) -> None:
    path = tmp_path / "constants.json"
    path.write_text(json.dumps(GOOD))
    assert read_constants(path, "week") == shipped_constants("week")
    with pytest.raises(InputError, match="are for a week; the campaign predicts a day"):
        read_constants(path, "day")

"""Arbitrary input gives visits or an error for people, never anything else; and the two readers of ISO times agree."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crowdveil.errors import CrowdveilError
from crowdveil.traces import (
    Visits,
    read_cabspotting,
    read_calls,
    read_foursquare,
    read_geolife,
    read_gpx,
    read_snap,
    read_table,
    read_timeline,
    read_towers,
)
from crowdveil.traces.clock import open_zone, read_iso, zone_offsets
from tests.traces.files import SQUARE


def read_log(path: Path) -> Visits:
    towers = path.parent / "towers.csv"
    towers.write_text("1,48,11\n")
    return read_calls(path, towers)


def read_plt(path: Path) -> Visits:
    (path.parent / "a.plt").write_bytes(b"\n".join([b"h"] * 6 + [path.read_bytes()]))
    return read_geolife(path.parent)


def read_cab(path: Path) -> Visits:
    (path.parent / "new_a.txt").write_bytes(path.read_bytes())
    return read_cabspotting(path.parent)


READERS = [read_foursquare, read_snap, read_table, read_gpx, read_timeline, read_log, read_plt, read_cab, read_towers]
STARTS = [
    b"",
    b"\x1f\x8b",
    b"\xfd7zXZ\x00",
    b"PAR1",
    b"user,time,latitude,longitude\n",
    SQUARE.encode("latin-1") + b"\n",
    b'<gpx><wpt lat="1" lon="2"><time>',
    b'{"semanticSegments": [{"startTime": "',
    b'1,"',
    b"0\t2010-10-19T23:55:27Z\t30\t-97\t",
]


@pytest.mark.parametrize("read", READERS, ids=lambda read: read.__name__)
@settings(max_examples=60, deadline=None)
@given(start=st.sampled_from(STARTS), rest=st.binary(max_size=200) | st.text("0123456789.,-:eTZ\t\n \"'", max_size=80))
def test_arbitrary_bytes_give_visits_or_an_error_for_people(
    read: Callable[[Path], object], start: bytes, rest: bytes | str
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        path.write_bytes(start + (rest if isinstance(rest, bytes) else rest.encode()))
        complaint = ""
        found: object = None
        try:
            found = read(path)
        except CrowdveilError as error:
            complaint = str(error)
        # either there are visits, or the error names the file
        assert found or path.parent.name in complaint


@given(
    st.lists(st.datetimes(min_value=datetime(1, 1, 2)), min_size=1, max_size=5), st.sampled_from(["", "Z", "+00:00"])
)
def test_times_read_many_at_once_are_those_read_one_by_one(times: list[datetime], end: str) -> None:
    whole = [time.replace(microsecond=0, tzinfo=UTC) for time in times]
    seconds, stated = read_iso([time.isoformat().removesuffix("+00:00") + end for time in whole])
    assert seconds.tolist() == [time.timestamp() for time in whole]
    assert np.isnan(stated).all() == (end == "")


@given(st.lists(st.text("0123456789-T: Z", min_size=18, max_size=20), min_size=1, max_size=3))
def test_a_bad_time_never_spoils_the_good_ones_beside_it(others: list[str]) -> None:
    good = "2008-05-17T14:12:10"
    seconds, _ = read_iso([good, *others, good])
    assert seconds[0] == seconds[-1] == 1_211_033_530
    assert np.array_equal(seconds[1:-1], np.concatenate([read_iso([one])[0] for one in others]), equal_nan=True)


def test_lines_that_only_fit_the_layout_when_joined_are_not_read() -> None:
    assert np.isnan(read_iso(["2008-05-17T14:12:1", "02008-05-17T14:12:10"])[0]).all()
    assert np.isnan(read_iso(["2008-02-30T14:12:10", "2008-13-01T00:00:00", "2008-01-01T25:00:00"])[0]).all()


def test_offsets_change_with_the_clocks() -> None:
    change = 1_711_846_800.0
    assert zone_offsets(open_zone("Europe/Berlin"), np.array([change - 1, change])).tolist() == [3600, 7200]

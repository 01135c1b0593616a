"""The measurement of the intervals counts what it says, and runs on a town."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.planning import TOLD, Campaign, Task, run, table


def test_the_table_says_how_many_were_held_and_how_wide_the_intervals_are() -> None:
    realised = np.linspace(0.2, 0.6, 41)
    found = [Campaign("bumps", "nothing", 0.21, 0.4, 0.59, float(one)) for one in realised]
    assert [one.held for one in found].count(False) == 2
    row = next(line for line in table(found) if line.startswith("nothing") and " bumps " in line)
    told, name, campaigns, held, width, of_realised, of_errors = row.split()
    assert (told, name, campaigns, held) == ("nothing", "bumps", "41", "95.1%")
    assert float(width) == pytest.approx(0.38)
    assert float(of_realised) == float(of_errors) == pytest.approx(0.38 / 0.38, abs=0.01)


def test_ends_of_an_interval_belong_to_it() -> None:
    assert Campaign("bumps", "nothing", 0.1, 0.2, 3 / 10, 0.1 + 0.2).held
    assert not Campaign("bumps", "nothing", 0.1, 0.2, 0.3, 0.31).held


def test_every_campaign_of_a_town_is_told_beforehand_in_every_way() -> None:
    found = run(Task("river", None, 0, 2, 4, TOLD))
    assert [one.told for one in found] == [*TOLD, *TOLD]
    assert len({one.realised for one in found}) <= 2
    for one in found:
        assert 0 <= one.low <= one.middle <= one.high <= 1
        assert 0 <= one.realised <= 1

"""The plan of a campaign, from fields and from files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import crowdveil as cv
from crowdveil.campaign.plan_files import campaign_plan, read_plan_fields
from crowdveil.wire import PROTOCOL
from tests.town import square_town

FIELDS: dict[str, Any] = {
    "name": "Noise",
    "offer": "A coffee",
    "area": square_town(4).describe(),
    "targets": [5, 14],
    "epsilon_per_km": 1.25,
    "users": 130,
    "wanted": 9,
}


def test_a_plan_is_made_from_its_fields_and_has_the_usual_values_for_the_others() -> None:
    plan = campaign_plan(FIELDS)
    assert (plan.protocol, plan.name, plan.targets, plan.users, plan.wanted) == (PROTOCOL, "Noise", (5, 14), 130, 9)
    assert (plan.rounds, plan.algorithm, plan.delta, plan.panel) == (6, "crowdveil", 0.5, False)


def test_a_field_that_a_plan_cannot_have_is_named() -> None:
    with pytest.raises(cv.CrowdveilError, match="users"):
        campaign_plan({**FIELDS, "users": 0})
    with pytest.raises(cv.CrowdveilError, match="people"):
        campaign_plan({**FIELDS, "people": 3})


def test_the_fields_of_a_plan_are_read_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(FIELDS), encoding="utf-8")
    assert read_plan_fields(path) == read_plan_fields(str(path)) == FIELDS


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[1, 2]", "{path}: should be a JSON object, the plan of a campaign"),
        ('{"users": 3}', "{path}: has no area; this is not the plan of a campaign"),
        ("{", "{path}: not JSON, or cut short ("),
        (None, "{path}: No such file or directory"),
    ],
)
def test_a_file_that_is_no_plan_is_refused_by_its_name(tmp_path: Path, text: str | None, said: str) -> None:
    path = tmp_path / "plan.json"
    if text is not None:
        path.write_text(text, encoding="utf-8")
    with pytest.raises(cv.FileFormatError) as refused:
        read_plan_fields(path)
    assert str(refused.value).startswith(said.format(path=path))

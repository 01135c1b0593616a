"""Make the plan of a campaign, as an operator sends it to a server, from fields or from a file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from crowdveil.codec import canonical_json, parse_json, read_text
from crowdveil.errors import FileFormatError
from crowdveil.wire import PROTOCOL, CampaignPlan


def campaign_plan(fields: Mapping[str, Any]) -> CampaignPlan:
    """Make a plan from its fields, by the names and units of `CampaignPlan`; fields left out have its defaults.

    `area` is the description of an area (`Area.describe`), `targets` and `prior` are lists of numbers. An error names
    the field, exactly as the server would.
    """
    return CampaignPlan.from_bytes(canonical_json({"protocol": PROTOCOL, **fields}).encode())


def read_plan_fields(path: str | Path) -> dict[str, Any]:
    """Read the fields of a plan from a JSON file, for `campaign_plan`."""
    document = parse_json(read_text(path), str(path))
    if not isinstance(document, dict):
        raise FileFormatError(f"{path}: should be a JSON object, the plan of a campaign")
    if "area" not in document:
        raise FileFormatError(f"{path}: has no area; this is not the plan of a campaign")
    return document

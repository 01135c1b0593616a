"""Every route, problem, setting and metric has its line in the docs, and the docs name no other."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

from crowdveil.server.metrics import Metrics
from crowdveil.server.settings import ServerSettings
from crowdveil.wire import PROBLEMS
from tests.server.test_requests import ROLES

DOCS = Path(__file__).parent.parent.parent / "docs"
HTTP = (DOCS / "reference" / "http.md").read_text(encoding="utf-8")
SERVICE = (DOCS / "operations" / "service.md").read_text(encoding="utf-8")


def test_the_http_page_lists_every_route_and_no_other() -> None:
    listed = re.findall(r"^\| `(GET|PUT|POST|DELETE) (/[^`]*)` \|", HTTP, re.MULTILINE)
    assert sorted(listed) == sorted(ROLES)


def test_the_http_page_lists_every_problem_with_its_status_and_title() -> None:
    table = HTTP.partition("### Problems")[2].partition("## ")[0]
    listed = re.findall(r"^\| `([a-z-]+)` \| (\d+) \| (.*) \|$", table, re.MULTILINE)
    assert listed == [(kind, str(entry.status), entry.title) for kind, entry in PROBLEMS.items()]


def test_the_service_page_lists_every_setting_with_its_default() -> None:
    table = SERVICE.partition("## Settings")[2].partition("## ")[0]
    listed = dict(re.findall(r"^\| `([a-z_]+)` \| ([\d,.]+|none) \|", table, re.MULTILINE))
    numbers = {name: None if value == "none" else float(value.replace(",", "")) for name, value in listed.items()}
    assert numbers == {setting.name: getattr(ServerSettings(), setting.name) for setting in fields(ServerSettings)}


def test_the_deployment_page_lists_every_metric() -> None:
    page = (DOCS / "operations" / "deployment.md").read_text(encoding="utf-8")
    listed = {name.removesuffix("_total") for name in re.findall(r"`(crowdveil_[a-z_]+)", page)}
    counted = {family.name for family in Metrics().registry.collect()}
    assert listed == counted | {"crowdveil_campaign_state", "crowdveil_round"}

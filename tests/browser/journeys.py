"""Do what the tests of both pages need: create campaigns without the pages, write files of visits, take part."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx

import crowdveil as cv
from crowdveil.wire import PROTOCOL, CampaignPlan
from tests.browser.conftest import Server

Look = Callable[..., Any]
HOME, WORK, ELSEWHERE = (40.7334, -73.9871), (40.7061, -74.0087), (48.1372, 11.5755)
BUTTON = "Send one random answer"
DELIVERED = "Your answer is delivered"


def start(server: Server, campaign: str, *, opened: bool = True, **changes: Any) -> None:
    """Start a small campaign and open its first round."""
    grid = cv.Grid.on_lattice(40.70, -74.02, 40.76, -73.95, cell_km=1.0)
    given: dict[str, Any] = {
        "name": "Coffee on Broadway",
        "offer": "A free coffee, every day of the week.",
        "area": grid.describe(),
    }
    given |= {"targets": (10, 25), "delta": 0.7, "epsilon_per_km": 1.0, "users": 12, "wanted": 3, "rounds": 2}
    given |= {"protocol": PROTOCOL, "enrolment": "open", **changes}
    operate(server, campaign, CampaignPlan.model_validate(given).to_bytes())
    if opened:
        change(server, campaign, "open")
        until(lambda: info_of(server, campaign)["notice"] is not None)


def operate(server: Server, path: str, body: bytes, method: str = "PUT") -> Any:
    headers = {"authorization": f"Bearer {server.token}", "content-type": "application/json"}
    answer = httpx.request(method, f"{server.url}/v1/operator/campaigns/{path}", content=body, headers=headers)
    assert answer.status_code in (200, 201), answer.text
    return answer.json()


def change(server: Server, campaign: str, state: str) -> None:
    operate(server, f"{campaign}/state", json.dumps({"protocol": PROTOCOL, "state": state}).encode())


def info_of(server: Server, campaign: str) -> Any:
    return httpx.get(f"{server.url}/v1/campaigns/{campaign}").json()


def round_of(server: Server, campaign: str) -> int | None:
    """Return the number of the open round, or None."""
    notice = info_of(server, campaign)["notice"]
    return None if notice is None else int(notice["round"])


def until(holds: Callable[[], bool], timeout_s: float = 30) -> None:
    late = time.monotonic() + timeout_s
    while not holds():
        assert time.monotonic() < late
        time.sleep(0.05)


def visits(path: Path, *places: tuple[float, float], every_days: int = 1, days: int = 150) -> Path:
    """Write a CSV of a person who visits each place every few days."""
    now = datetime.now(UTC)
    lines = ["time,latitude,longitude"]
    for day in range(1, days, every_days):
        for hour, (latitude, longitude) in enumerate(places):
            lines.append(f"{(now - timedelta(days=day, hours=hour)).isoformat()},{latitude},{longitude}")
    path.write_text("\n".join(lines) + "\n")
    return path


def begin(page: Any, choice: str = "No, this is the first time") -> None:
    """Answer the question about earlier campaigns, if it is asked."""
    page.locator("#files, #history, #limits").first.wait_for(state="attached")
    if page.get_by_label(choice).count():
        page.get_by_label(choice).check()
        page.get_by_role("button", name="Continue").click()
        page.get_by_label(choice).wait_for(state="detached")


def add_visits(page: Any, file: Path, button: str = BUTTON) -> None:
    """Answer what is asked first, add visits, and let the page pick a place."""
    begin(page)
    page.set_input_files("#files", file)
    page.get_by_role("button", name="Pick my place").click()
    page.get_by_role("button", name=button).wait_for()
    page.locator(".map canvas").wait_for()


def press(page: Any, button: str = BUTTON) -> None:
    page.get_by_role("button", name=button).click()

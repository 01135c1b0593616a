"""Hostile campaigns, counted: how many a device accepts; the cases are those of its own tests."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from crowdveil.errors import CampaignRefused, NotPrivateError
from tests.client.fake_server import FakeServer, new_device, small_policy
from tests.client.test_hostile_campaigns import HOSTILE
from tests.faults.table import Line

PROMISE = "2 the device decides: no hostile campaign is accepted"


def run() -> Line:
    """Offer each of them to a new device; and one without fault, which must be accepted."""
    line = Line(PROMISE, "device", len(HOSTILE), "campaigns")
    with tempfile.TemporaryDirectory() as folder:
        for number, (name, (attack, _)) in enumerate(HOSTILE.items()):
            server = FakeServer(small_policy())
            server.info["campaign"] = "noise"
            attack(server)
            line.expect(_refused(server, Path(folder) / str(number)), f"accepted: {name}")
        honest = FakeServer(small_policy())
        honest.info["campaign"] = "noise"
        line.expect(not _refused(honest, Path(folder) / "honest"), "the campaign without fault was refused too")
    return line


def _refused(server: FakeServer, ledger: Path) -> bool:
    server.raw_info = json.dumps(server.info).encode()
    device = new_device(ledger, server)
    try:
        device.join("noise", {8: 1.0})
    except (CampaignRefused, NotPrivateError):
        return {request.method for request in server.requests} == {"GET"} and device.ledger.entries() == {}
    return False

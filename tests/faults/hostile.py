"""Count how many hostile campaigns a device accepts; the cases are those of its own tests."""

from __future__ import annotations

import tempfile
from pathlib import Path

from crowdveil.errors import CampaignRefused, NotPrivateError
from tests.client.fake_server import FakeServer, new_device, small_policy
from tests.client.test_hostile_campaigns import HOSTILE, announce_anything
from tests.faults.table import ResultRow

PROMISE = "2 the device decides: no hostile campaign is accepted"


def run() -> ResultRow:
    """Offer each of them to a new device, and one valid campaign, which must be accepted."""
    row = ResultRow(PROMISE, "device", len(HOSTILE), "campaigns")
    with tempfile.TemporaryDirectory() as folder:
        for number, (name, (attack, _)) in enumerate(HOSTILE.items()):
            server = FakeServer(small_policy())
            attack(server)
            announce_anything(server)
            row.expect(_refused(server, Path(folder) / str(number)), f"accepted: {name}")
        honest = FakeServer(small_policy())
        row.expect(not _refused(honest, Path(folder) / "honest"), "the campaign without fault was refused too")
    return row


def _refused(server: FakeServer, ledger: Path) -> bool:
    device = new_device(ledger, server)
    try:
        device.join("noise", {8: 1.0})
    except (CampaignRefused, NotPrivateError):
        return {request.method for request in server.requests} == {"GET"} and device.ledger.entries() == {}
    return False

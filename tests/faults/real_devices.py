"""Run real devices, `crowdveil.client.Device`, each with its own ledger, its own address and its own place.

    python -m tests.faults.real_devices '{"port": ..., "first": 0, "last": 5000, ...}'

Two shortcuts: devices of one process read and certify the same bytes of a policy once, and ledgers lie in memory where
there is a folder for that (their durability is the promise of `device_kills`). One device in ten is given visits with
coordinates of many digits, the others a profile: places that can be recognised wherever they turn up.
"""

from __future__ import annotations

import json
import random
import sys
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import httpx
import numpy as np

import crowdveil as cv
from crowdveil.client import Device, DeviceSettings, HttpTransport, Ledger, LedgerEntry, LocationHistory, RetryPolicy
from crowdveil.client.fleet import PolicyCache
from crowdveil.client.transport import check_url
from crowdveil.errors import CampaignRefused, ServerUnreachable
from crowdveil.traces import Visits
from tests.faults.server_processes import HOST

CAMPAIGN = "noise"
TIMEOUT_S = 3.0
"""Shorter than the network stalls, so that some requests arrive after they were sent again."""
SETTINGS = DeviceSettings(
    retry_policy=RetryPolicy(attempts=8, first_wait_s=0.02, longest_wait_s=1.0), seat_interval_s=0
)
AGAIN_S = 0.2
SOUTH, WEST, SIDE_KM = 48.1, 11.5, 8


def town() -> cv.Grid:
    """Make an area of 8 x 8 km whose coordinates are recognisable by their digits."""
    return cv.Grid.from_bounds(SOUTH, WEST, SOUTH + 0.0089 * SIDE_KM, WEST + 0.0134 * SIDE_KM, cell_km=1.0)


@dataclass(frozen=True)
class Person:
    """The owner of a device: place and network address."""

    number: int
    where: LocationHistory
    address: str


def person(number: int, seed: int) -> Person:
    """Make a person, the same one for the same number and seed."""
    rng = random.Random(f"{seed} {number}")
    address = f"127.77.{number // 250}.{number % 250 + 2}"
    cells = len(town_cells())
    if number % 10 == 0:
        latitude, longitude = (base + rng.uniform(0.005, 0.06) for base in (SOUTH, WEST))
        return Person(number, _visits(latitude, longitude), address)
    if number % 10 == 1:  # nowhere often: reports NULL
        return Person(number, {cell: rng.uniform(0.02, 0.03) for cell in rng.sample(range(cells), 20)}, address)
    return Person(number, {rng.randrange(cells): rng.uniform(0.6, 0.9)}, address)


def town_cells() -> Sequence[int]:
    """Return the cells of the town."""
    return range(_CELLS)


_CELLS = len(town())


def _visits(latitude: float, longitude: float) -> Visits:
    """Make visits to one place on every day of the last two weeks."""
    noon = datetime.combine(date.today(), datetime.min.time(), UTC)
    days = [int((noon - timedelta(days=day)).timestamp()) for day in range(1, 15)]
    here = np.ones(len(days))
    return Visits(
        ("me",), np.zeros(14, np.int64), np.array(days), np.zeros(14, np.int64), latitude * here, longitude * here
    )


class FromAddress(HttpTransport):
    """A transport that sends from an address of its own."""

    def __init__(self, url: str, address: str) -> None:
        # Not the one of `HttpTransport`: it would read all certificates of the system, for each device.
        self.url = check_url(url)
        headers = {"user-agent": "crowdveil-device", "accept-encoding": "identity"}
        transport = httpx.HTTPTransport(local_address=address, verify=False, trust_env=False)
        self._client = httpx.Client(headers=headers, timeout=TIMEOUT_S, transport=transport, trust_env=False)


def join(who: Person, url: str, ledger: Path, once: PolicyCache, give_up: float) -> LedgerEntry | None:
    """Join, and try again until the report is acknowledged."""
    Ledger.create(ledger)
    with FromAddress(url, who.address) as transport:
        device = Device(SETTINGS, ledger, transport, read_policy=once.read, check=once.check)
        while time.monotonic() < give_up:
            try:
                return device.join(CAMPAIGN, who.where)
            except ServerUnreachable:
                continue
            except CampaignRefused as error:  # no seat until the next round opens; anything else is seen in the ledger
                entry = only_entry(device.ledger)
                if entry is not None and entry.state == "refused":
                    sys.stderr.write(f"device {who.number}: {error}\n")
                    return entry
                time.sleep(AGAIN_S)
    return only_entry(device.ledger)


def only_entry(ledger: Ledger) -> LedgerEntry | None:
    """Return what the device did in the only campaign that it knows."""
    return next(iter(ledger.entries().values()), None)


def main() -> None:
    """Run some devices; print a line of JSON for each that is done."""
    given = json.loads(sys.argv[1])
    url, folder, seed = f"http://{HOST}:{given['port']}", Path(given["ledgers"]), given["seed"]
    once, give_up = PolicyCache(), time.monotonic() + given["within_s"]
    lock = threading.Lock()

    def play(number: int) -> None:
        entry = join(person(number, seed), url, folder / f"{number}", once, give_up)
        with lock:
            sys.stdout.write(json.dumps([number, None if entry is None else entry.state]) + "\n")
            sys.stdout.flush()

    with ThreadPoolExecutor(given["threads"]) as pool:
        for done in [pool.submit(play, number) for number in range(given["first"], given["last"])]:
            done.result()


if __name__ == "__main__":
    main()

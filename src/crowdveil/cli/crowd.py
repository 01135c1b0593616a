"""`crowdveil crowd`: many devices join a campaign, each the real thing, with people from traces or a made-up city."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from time import perf_counter
from typing import Annotated

import numpy as np
import typer

from crowdveil.area import Area
from crowdveil.area.extent import box_of
from crowdveil.cli.connection import SERVER, Server
from crowdveil.cli.console import progress_bar, show, warn, working
from crowdveil.cli.device import limits
from crowdveil.cli.files import open_folder
from crowdveil.cli.history import source
from crowdveil.cli.options import read_whole
from crowdveil.cli.shared import taking
from crowdveil.cli.traces import CITY_WEEKS, TraceSource, check_overlap, read_traces
from crowdveil.client import DeviceSettings, HttpTransport, PrivacyLimits, RetryPolicy
from crowdveil.client.fleet import Fleet, FleetTotals, run_fleet, scratch_ledgers
from crowdveil.client.participant_client import ParticipantClient
from crowdveil.codec import read_text
from crowdveil.errors import CampaignRefused, InputError
from crowdveil.simulate.own import cut_periods, dataset_from_visits
from crowdveil.traces import Visits, synthetic_visits
from crowdveil.wire import Announcement

DAYS = {"week": 7, "day": 1}
DEVICES = 1000
NOBODY = 1
"""Exit code when no device got through."""
PATIENCE = RetryPolicy(longest_wait_s=10.0)
EXAMPLES = """\b
Examples:
  crowdveil crowd noise-map --devices 1000
  crowdveil crowd noise-map --data visits.csv --zone Europe/Berlin --devices 300
  crowdveil crowd noise-map --invites invites.txt --ledgers ledgers/
"""


@taking(limits)
@taking(source)
def run(
    traces: TraceSource,
    limits: PrivacyLimits,
    campaign: Annotated[str, typer.Argument(help="The campaign's id.", metavar="ID")],
    server: Server = SERVER,
    devices: Annotated[
        str | None, typer.Option(help=f"How many; {DEVICES:,} unless given, or all people there are.", metavar="NUMBER")
    ] = None,
    seed: Annotated[
        str, typer.Option(help="Of the made-up city, and of the order in which people come.", metavar="NUMBER")
    ] = "5",
    concurrency: Annotated[str, typer.Option(help="How many join at the same time.", metavar="NUMBER")] = "32",
    invites: Annotated[
        Path | None, typer.Option(help="Invites, one per line, where the campaign asks for them.", metavar="FILE")
    ] = None,
    ledgers: Annotated[
        Path | None,
        typer.Option(help="Folder that keeps the devices' ledgers. Left out: they are thrown away.", metavar="FOLDER"),
    ] = None,
) -> None:
    """Let many devices join a campaign, to try it out.

    Each is a device of its own: it checks the campaign against its caps, keeps its own ledger and draws with the
    operating system's generator. Their owners' profiles come from traces, or from a made-up city. Who finds no seat
    waits for the next round. The same policy is certified once for all of them, because they share this process.
    """
    started = perf_counter()
    many = None if devices is None else _from_1("devices", devices)
    dice = np.random.default_rng(_from_0("seed", seed))
    workers = _from_1("concurrency", concurrency)
    cards = () if invites is None else tuple(read_text(invites).split())
    with ExitStack() as stack:
        asking = stack.enter_context(HttpTransport(server))
        line = ParticipantClient(asking, PATIENCE, time.sleep)
        info = line.campaign(campaign)
        profiles = _profiles(traces, info, many, dice)
        if cards and len(cards) < len(profiles):
            raise InputError("invites", f"{len(cards):,} in {invites}", f"should be one for each of {len(profiles):,}")
        if ledgers is not None:
            open_folder(ledgers, "ledgers")
        folder = ledgers or stack.enter_context(scratch_ledgers())
        crowd = Fleet(campaign, profiles, folder, DeviceSettings(limits, PATIENCE, seat_interval_s=0), cards, workers)
        with progress_bar(f"{len(profiles):,} devices join {campaign}") as report:
            totals = run_fleet(crowd, lambda: line.campaign(campaign), lambda: HttpTransport(server), report)
    show("Fleet", facts(totals, perf_counter() - started))
    if not totals.acknowledged:
        raise typer.Exit(NOBODY)


def facts(totals: FleetTotals, seconds: float) -> dict[str, str]:
    """What became of the devices, in words."""
    told = {
        "devices": f"{totals.done:,}",
        "acknowledged": f"{totals.acknowledged:,}, of which {totals.nulls:,} have no place to report",
        "found no seat": f"{totals.unseated:,}",
        "refused": f"{totals.refused.total():,}",
    }
    for reason, count in totals.refused.most_common(8):
        told[f"refused {count:,} times"] = reason
    return told | {"time": f"{seconds:.1f} s"}


def _profiles(
    traces: TraceSource, info: Announcement, many: int | None, dice: np.random.Generator
) -> Sequence[Mapping[int, float]]:
    """Profiles of the campaign's cells, in the order in which their owners come."""
    if info.state in ("closed", "finished"):
        raise CampaignRefused(f"campaign {info.campaign} is {info.state}; nobody can join any more")
    area = Area.from_description(info.area)
    if traces.data is None:
        with working("making a city"):
            visits = _city_in(area, many or DEVICES, dice)
    else:
        visits = read_traces(traces)
    with working("making the profiles"):
        found = _profiles_of(visits, area, info)
    people = dice.permutation(len(found))
    if many is None:
        many = min(DEVICES, len(people))
    elif many > len(people):
        raise InputError("devices", many, f"there are {len(people):,} people in the traces")
    return [found[person] for person in people[:many].tolist()]


def _city_in(area: Area, people: int, dice: np.random.Generator) -> Visits:
    """A made-up city where the campaign is."""
    box = box_of(area)
    if box.latitude is None or box.longitude is None:
        raise CampaignRefused(f"the campaign's area is {box}; devices take part in none of that kind")
    radius_km = min(max(box.width_km, box.height_km, 1.0) / 2, 300.0)
    return synthetic_visits(
        dice, users=people, weeks=CITY_WEEKS, latitude=box.latitude, longitude=box.longitude, radius_km=radius_km
    )


def _profiles_of(visits: Visits, area: Area, info: Announcement) -> list[Mapping[int, float]]:
    """One for each user, from all full periods, as `simulate` makes them."""
    outside = check_overlap(visits, area)
    if 2 * outside > len(visits):
        warn(f"{outside:,} of {len(visits):,} visits lie outside of the campaign's area.")
    periods, split = cut_periods(visits, days=DAYS[info.period])
    dataset = dataset_from_visits(info.campaign, info.name, visits, area, periods, split, info.delta)
    profile = dataset.profiles["recency"]
    return [profile.of(user) for user in range(profile.users)]


def _from_1(field: str, text: str) -> int:
    number = read_whole(field, text)
    if not 1 <= number <= 1_000_000:
        raise InputError(field, number, "should be from 1 to 1,000,000")
    return number


def _from_0(field: str, text: str) -> int:
    number = read_whole(field, text)
    if number < 0:
        raise InputError(field, number, "should not be negative")
    return number

"""`crowdveil crowd`: let many devices join a campaign, with people from traces or from a synthetic city."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import numpy as np
import typer

from crowdveil.area import Area
from crowdveil.cli.connection import SERVER, Server
from crowdveil.cli.console import Verb, new_app, progress_bar, show, working
from crowdveil.cli.device_limits import limit_changes, new_limits
from crowdveil.cli.files import open_folder
from crowdveil.cli.options import missing, read_whole, taking
from crowdveil.cli.traces import CITY_WEEKS, TraceSource, read_source, source, warn_of_visits_outside
from crowdveil.client import DeviceSettings, InviteLink
from crowdveil.client.fleet import PATIENT, Fleet, FleetTotals, announcements, join_campaign, scratch_ledgers
from crowdveil.codec import read_text
from crowdveil.errors import CampaignRefused, InputError
from crowdveil.simulate.device_profiles import device_profiles, synthetic_visits_in
from crowdveil.traces.summary import check_overlap
from crowdveil.wire import Announcement

DEVICES, MAX_DEVICES = 1_000, 1_000_000
NOBODY = 1
"""Exit code if no device took part."""
EXAMPLES = """\b
Examples:
  crowdveil crowd noise-map --devices 1000
  crowdveil crowd noise-map --data visits.csv --zone Europe/Berlin --devices 300
  crowdveil crowd noise-map --invites invites.txt --ledgers ledgers/
"""

app = new_app()


@app.command(cls=Verb, epilog=EXAMPLES)
@taking(limit_changes)
@taking(source)
def run(
    traces: TraceSource,
    changes: dict[str, Any],
    campaign: Annotated[str, typer.Argument(help="The campaign's ID.", metavar="ID")],
    server: Server = SERVER,
    devices: Annotated[
        str | None,
        typer.Option(
            help=f"Number of devices (default: as many as --invites, or {DEVICES:,}, but no more than people in the "
            "traces).",
            metavar="NUMBER",
        ),
    ] = None,
    seed: Annotated[
        str, typer.Option(help="Seed of the synthetic city, and of the order in which people join.", metavar="NUMBER")
    ] = "5",
    concurrency: Annotated[
        str, typer.Option(help="Number of devices that join at the same time.", metavar="NUMBER")
    ] = "32",
    invites: Annotated[
        Path | None, typer.Option(help="Invite links, one per line, if the campaign asks for them.", metavar="FILE")
    ] = None,
    ledgers: Annotated[
        Path | None,
        typer.Option(help="Folder for the devices' ledgers (default: they are deleted at the end).", metavar="FOLDER"),
    ] = None,
) -> None:
    """Let many devices join a campaign, to try it out.

    Each device checks the campaign against its limits, keeps its own ledger and draws with the operating system's
    random generator, as a phone would. Profiles come from traces, or from a synthetic city. Devices without a seat wait
    for the next round. Because they share this process, the same policy is certified once for all of them.
    """
    started = perf_counter()
    many = None if devices is None else read_whole("devices", devices, 1, MAX_DEVICES)
    generator = np.random.default_rng(read_whole("seed", seed, 0))
    limits = new_limits(changes)
    workers = read_whole("concurrency", concurrency, 1, MAX_DEVICES)
    cards = () if invites is None else tuple(_invite(line, campaign) for line in read_text(invites).split())
    if many is not None and invites is not None and many > len(cards):
        raise InputError("devices", many, f"should be at most {len(cards):,}, the number of invites")
    with ExitStack() as stack:
        info = stack.enter_context(announcements(server, campaign))()
        if info.terms.enrolment == "invite" and not cards:
            raise missing("invites", "this campaign is by invite: give --invites FILE")
        profiles = _profiles(traces, info, many, len(cards) or DEVICES, generator)
        if ledgers is not None:
            open_folder(ledgers, "ledgers")
        folder = ledgers or stack.enter_context(scratch_ledgers())
        settings = DeviceSettings(PATIENT, seat_interval_s=0)
        fleet = Fleet(campaign, profiles, folder, settings, limits, cards, workers)
        with progress_bar(f"{len(profiles):,} devices join {campaign}") as report:
            totals = join_campaign(fleet, server, report)
    show("Fleet", _facts(totals, perf_counter() - started))
    if not totals.acknowledged:
        raise typer.Exit(NOBODY)


def _invite(line: str, campaign: str) -> str:
    link = InviteLink.parse(line)
    if link.invite is None or link.campaign != campaign:
        raise InputError("invites", line, f"should be an invite link of campaign {campaign}")
    return link.invite


def _facts(totals: FleetTotals, seconds: float) -> dict[str, str]:
    facts = {
        "devices": f"{totals.done:,}",
        "acknowledged": f"{totals.acknowledged:,}, of which {totals.nulls:,} have no place to report",
        "found no seat": f"{totals.unseated:,}",
        "refused": f"{totals.refused.total():,}",
    }
    for reason, count in totals.refused.most_common(8):
        facts[f"refused {count:,} times"] = reason
    return facts | {"time": f"{seconds:.1f} s"}


def _profiles(
    traces: TraceSource, info: Announcement, many: int | None, usual: int, generator: np.random.Generator
) -> list[dict[int, float]]:
    """Make the profiles of the campaign's cells, in the order in which their owners join.

    If nobody said how many, there are at most as many as usual.
    """
    if info.state in ("closed", "finished"):
        raise CampaignRefused(f"campaign {info.terms.campaign} is {info.state}; nobody can join any more")
    area = Area.from_description(info.terms.area)
    if not traces.data:
        with working("making a synthetic city"):
            visits = synthetic_visits_in(area, generator, users=many or usual, weeks=CITY_WEEKS)
    else:
        visits = read_source(traces)
    warn_of_visits_outside(check_overlap(visits, area), visits, "the campaign's area")
    with working("making the profiles"):
        found = device_profiles(visits, area, period=info.terms.period, delta=info.terms.delta)
    people = generator.permutation(len(found))
    if many is not None and many > len(people):
        raise InputError("devices", many, f"should be at most the {len(people):,} people in the traces")
    return [dict(found[person]) for person in people[: usual if many is None else many].tolist()]

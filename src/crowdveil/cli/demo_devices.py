"""The people of the demo: their devices, each with one ledger for everything that they join."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import typer

from crowdveil.arrays import IntArray
from crowdveil.cli.console import progress_bar
from crowdveil.client import DeviceSettings, Operator
from crowdveil.client.fleet import Fleet, FleetTotals, join_campaign
from crowdveil.errors import CrowdveilError
from crowdveil.simulate.comparison import ComparisonSettings
from crowdveil.simulate.dataset import Dataset

CONCURRENCY = 12


@dataclass(frozen=True, eq=False)
class DemoDevices:
    """Hold everyone's device: what it knows, and where it keeps its ledger."""

    dataset: Dataset
    settings: ComparisonSettings
    order: IntArray
    """The users in the order in which they join."""
    ledgers: Path
    url: str
    """The server that they join on."""

    def join(self, campaign: str, invites: Sequence[str]) -> FleetTotals:
        """Let everyone join a campaign; it is an error if a device refuses or is refused."""
        profile = self.dataset.profiles[self.settings.profile]
        profiles = [profile.of(user) for user in self.order.tolist()]
        with progress_bar(f"{len(profiles):,} devices join") as report:
            settings = DeviceSettings(seat_interval_s=0)
            fleet = Fleet(campaign, profiles, self.ledgers, settings, invites=invites, concurrency=CONCURRENCY)
            totals = join_campaign(fleet, self.url, report)
        if totals.refused:
            reason, number = totals.refused.most_common(1)[0]
            raise CrowdveilError(f"{number:,} devices did not join {campaign!r}: {reason}")
        return totals


def free_name(operator: Operator, wanted: str) -> str:
    """Choose a name that no earlier demo in this folder has used; demos delete none of their campaigns."""
    taken = {one.campaign for one in operator.campaigns().campaigns}
    return next(name for number in count(1) if (name := wanted if number == 1 else f"{wanted}-{number}") not in taken)


def step(text: str) -> None:
    """Print what happened next."""
    typer.echo(f"* {text}")

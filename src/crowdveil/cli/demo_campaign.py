"""The demo's campaign: a real server, real devices over HTTP, a selection, its export and its audit."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import numpy as np

from crowdveil.arrays import FloatArray, IntArray
from crowdveil.campaign.audit import AuditVerdict, check_record
from crowdveil.cli.audit import save
from crowdveil.cli.campaign import follow
from crowdveil.cli.console import progress_bar
from crowdveil.cli.files import open_folder, write_whole
from crowdveil.client import DeviceSettings, HttpTransport, Operator, RetryPolicy
from crowdveil.client.fleet import Fleet, FleetTotals, run_fleet, scratch_ledgers
from crowdveil.client.participant_client import ParticipantClient
from crowdveil.policy.policy import Policy
from crowdveil.server.local import LocalServer, local_server
from crowdveil.simulate.compare import ComparisonSettings
from crowdveil.simulate.dataset import Dataset
from crowdveil.wire import PROTOCOL, AuditRecord, CampaignPlan, CampaignView

NAME = "demo"
CONCURRENCY = 12
EVERY_S = 0.2


@dataclass(frozen=True, eq=False)
class DemoCampaign:
    """What the service made of the city."""

    view: CampaignView
    record: AuditRecord
    verdict: AuditVerdict
    totals: FleetTotals
    users: IntArray
    """The user behind each participant who was selected, best first."""

    @property
    def policies(self) -> list[Policy]:
        """Of all rounds, in order."""
        return [Policy.from_bytes(one.policy_bytes) for one in self.record.rounds]

    @property
    def prior(self) -> FloatArray:
        """What was learnt of where people are."""
        return np.array(self.view.estimate)


def run_campaign(
    dataset: Dataset, settings: ComparisonSettings, folder: Path, order: IntArray, tell: Callable[[str], None]
) -> DemoCampaign:
    """Start a server in the folder, run the campaign on it with every user's device, and stop it."""
    data = folder / "server"
    open_folder(data)
    with local_server(data) as server, HttpTransport(server.url) as transport:
        tell(f"A campaign server: {server.url}, its data in {data}.")
        operator = Operator(transport, server.token)
        campaign = _free_name(operator)
        operator.create(campaign, _plan(dataset, settings))
        operator.set_state(campaign, "open")
        tell(
            f"Campaign {campaign!r} is open: {settings.rounds} rounds, which the server opens and closes by itself. "
            f"{len(order):,} devices join over HTTP, each with its own ledger."
        )
        totals = _play(campaign, dataset, settings, order, server)
        view = follow(operator, campaign, EVERY_S)
        record, selection = operator.record(campaign), operator.selection_csv(campaign)
    save(record, folder / "record.json")
    write_whole(folder / "selection.csv", lambda path: path.write_bytes(selection.encode()))
    with progress_bar("repeating the campaign") as report:
        verdict = check_record(record, report)
    chosen = [order[totals.device_of[who]] for who in record.selection.participants]
    return DemoCampaign(view, record, verdict, totals, np.array(chosen, dtype=np.int64))


def _free_name(operator: Operator) -> str:
    """A name that no earlier demo in this folder has used: what is on a server stays as it is."""
    taken = {one.campaign for one in operator.campaigns().campaigns}
    return next(name for number in count(1) if (name := NAME if number == 1 else f"{NAME}-{number}") not in taken)


def _plan(dataset: Dataset, settings: ComparisonSettings) -> CampaignPlan:
    return CampaignPlan(
        protocol=PROTOCOL,
        name="The busiest place of a synthetic city",
        offer="Thank you: come to the market and count the pigeons.",
        area=dataset.area.describe(),
        targets=settings.targets,
        epsilon_per_km=settings.epsilon_per_km,
        delta=settings.delta,
        rule=settings.rule,
        users=dataset.counts.users,
        wanted=settings.crowd(dataset, 0).wanted,
        rounds=settings.rounds,
    )


def _play(
    campaign: str, dataset: Dataset, settings: ComparisonSettings, order: IntArray, server: LocalServer
) -> FleetTotals:
    profile = dataset.profiles[settings.profile]
    profiles = [profile.of(user) for user in order.tolist()]
    device_settings = DeviceSettings(beat_s=0)
    with (
        scratch_ledgers() as ledgers,
        HttpTransport(server.url) as transport,
        progress_bar(f"{len(order):,} devices join") as report,
    ):
        line = ParticipantClient(transport, RetryPolicy(), time.sleep)
        crowd = Fleet(campaign, profiles, ledgers, device_settings, concurrency=CONCURRENCY)
        return run_fleet(crowd, lambda: line.campaign(campaign), lambda: HttpTransport(server.url), report)

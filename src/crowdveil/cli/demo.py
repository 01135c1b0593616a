"""`crowdveil demo`: a campaign and a panel on a real server, each compared with other ways to do it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Annotated

import numpy as np
import typer

from crowdveil.area import Grid
from crowdveil.arrays import IntArray
from crowdveil.campaign.audit import AuditVerdict, check_record
from crowdveil.campaign.plan_files import campaign_plan
from crowdveil.certify import certify
from crowdveil.cli.compare import write_results
from crowdveil.cli.console import Verb, in_bytes, new_app, progress_bar, show_rows, working
from crowdveil.cli.demo_devices import DemoDevices, free_name, step
from crowdveil.cli.demo_panel import compare_year, run_panel_campaigns, tell_comparison, tell_weeks
from crowdveil.cli.files import open_folder, write_bytes, write_file
from crowdveil.cli.options import read_whole
from crowdveil.cli.policy import draw_picture
from crowdveil.cli.traces import CITY_USERS, CITY_WEEKS
from crowdveil.client import HttpTransport, Operator
from crowdveil.client.fleet import FleetTotals, scratch_ledgers
from crowdveil.errors import CrowdveilError
from crowdveil.extras import require_extra
from crowdveil.formatting import in_plain_words
from crowdveil.policy.policy import Policy
from crowdveil.prior import Round, write_prior
from crowdveil.server.local import local_server
from crowdveil.simulate.comparison import Comparison, ComparisonSettings, compare_methods, name_targets
from crowdveil.simulate.dataset import Dataset, split_periods
from crowdveil.simulate.describe import TABLE_HEADER, table_rows
from crowdveil.simulate.simulation import Method, coverage_of
from crowdveil.traces import synthetic_visits
from crowdveil.vocabulary import DEFAULT_EPSILON_PER_KM
from crowdveil.wire import AuditRecord, CampaignView

EXAMPLES = """\b
Examples:
  crowdveil demo --out demo/
  crowdveil demo --stay
"""

METHODS: tuple[Method, ...] = ("none", "crowdveil", "algorithm-2", "laplace", "random")
SEEDS = 16
NAME = "demo"
EVERY_S = 0.2

app = new_app()


@app.command(cls=Verb, epilog=EXAMPLES)
def run(
    out: Annotated[Path, typer.Option(help="Folder to write to; made if missing.", metavar="FOLDER")] = Path("demo"),
    seed: Annotated[
        str, typer.Option(help="Seed of the city, and of the order in which people join.", metavar="NUMBER")
    ] = "5",
    stay: Annotated[
        bool, typer.Option("--stay", help="Start the server again at the end, to look at the campaign in its console.")
    ] = False,
) -> None:
    """Run a whole campaign and a panel once, over a synthetic city.

    Starts a server on this machine, lets 1,500 devices join a campaign over HTTP, exports and audits the selection. The
    same devices then answer a panel once, and four weekly campaigns are answered from that. Both are compared with
    other methods, and a report with maps is written. Files of an earlier run are replaced. With --stay, the server is
    started again at the end, until Ctrl-C.
    """
    require_extra("demo", "server")
    require_extra("demo", "plots")
    started = perf_counter()
    number = read_whole("seed", seed, 0)
    open_folder(out)
    dataset = demo_dataset(number)
    settings = ComparisonSettings((int(dataset.densest[0]),), DEFAULT_EPSILON_PER_KM, seeds=SEEDS, methods=METHODS)
    _tell_city(dataset, settings)
    order = np.random.default_rng([number, 0]).permutation(dataset.counts.users)
    with progress_bar("simulating four weeks") as report:
        years = compare_year(dataset, SEEDS, report)
    data = out / "server"
    open_folder(data)
    with local_server(data) as server, HttpTransport(server.url) as transport, scratch_ledgers() as ledgers:
        step(f"A campaign server runs at {server.url}. Its data are in {data}.")
        operator = Operator(transport, server.token)
        devices = DemoDevices(dataset, settings, order, ledgers, server.url)
        campaign = run_campaign(operator, devices, out)
        _tell_campaign(dataset, settings, campaign, out)
        weeks = run_panel_campaigns(operator, devices, years[0].campaigns, out)
    tell_weeks(dataset, weeks, out)
    tell_comparison(years, out)
    with progress_bar("comparing") as report:
        found = compare_methods(dataset, settings, report)
    step(
        f"Compared with other methods, each simulated {SEEDS} times with other seeds. Coverage is the share of the "
        f"{len(dataset.split.test)} test weeks in which the people who were selected came to the target. "
        "algorithm-2 and laplace protect the place alone: who has no frequent place says so openly."
    )
    show_rows("Coverage and privacy", TABLE_HEADER, table_rows(found.records))
    _write(out, found, campaign)
    typer.echo(f"Done in {perf_counter() - started:.1f} s.")
    if stay:
        _stay(campaign.view.campaign, out / "server")
    else:
        typer.echo("To look at the campaign in the console at the end: crowdveil demo --stay, or make demo STAY=1")


def demo_dataset(seed: int) -> Dataset:
    """Make the synthetic city and its profiles."""
    with working("making a synthetic city"):
        visits = synthetic_visits(np.random.default_rng(seed), users=CITY_USERS, weeks=CITY_WEEKS)
        periods, split = split_periods(visits)
        return Dataset.from_visits(
            visits, Grid.around(visits), periods, split, name="synthetic-city", title="A synthetic city"
        )


# --- the campaign -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class DemoCampaign:
    """Hold what the campaign came to."""

    view: CampaignView
    record: AuditRecord
    verdict: AuditVerdict
    totals: FleetTotals
    users: IntArray
    """The user behind each participant who was selected, best first."""

    @property
    def policies(self) -> list[Policy]:
        """Read the policies of all rounds, in order."""
        return [Policy.from_bytes(one.policy_bytes) for one in self.record.rounds]


def run_campaign(operator: Operator, devices: DemoDevices, folder: Path) -> DemoCampaign:
    """Run the campaign on a server with every user's device."""
    dataset, settings, order = devices.dataset, devices.settings, devices.order
    campaign = free_name(operator, NAME)
    plan = {
        "name": "The busiest place of a synthetic city",
        "offer": "Thank you: come to the market and count the pigeons.",
        "area": dataset.area.describe(),
        "targets": list(settings.targets),
        "epsilon_per_km": settings.epsilon_per_km,
        "delta": settings.delta,
        "rule": settings.rule,
        "users": dataset.counts.users,
        "wanted": settings.crowd(dataset, 0).wanted,
        "rounds": settings.rounds,
    }
    operator.create(campaign, campaign_plan(plan))
    invites = operator.make_invites(campaign, len(order)).invites
    operator.set_state(campaign, "open")
    step(
        f"Campaign {campaign!r} is open. It has {settings.rounds} rounds, which the server opens and closes by "
        f"itself. {len(order):,} devices join over HTTP, each with its own invite and its own ledger."
    )
    totals = devices.join(campaign, invites)
    with progress_bar(f"{campaign}: reports") as report:
        view = operator.wait_until_finished(campaign, every_s=EVERY_S, progress=report)
    record, selection = operator.record(campaign), operator.selection_csv(campaign)
    write_bytes(folder / "record.json", record.to_bytes())
    write_bytes(folder / "selection.csv", selection.encode())
    with progress_bar("repeating the campaign") as report:
        verdict = check_record(record, report)
    chosen = [order[totals.device_of[who]] for who in record.selections[0].participants]
    return DemoCampaign(view, record, verdict, totals, np.array(chosen, dtype=np.int64))


def _stay(campaign: str, data: Path) -> None:
    """Serve what is in the folder, and say where to look."""
    with local_server(data) as server:
        typer.echo(f"The console, with the finished campaign: {server.url}/console#/campaigns/{campaign}")
        typer.echo(f"Sign in with the operator's token, which is in {server.token_file}.")
        typer.echo(f"The participant's page: {server.url}/join/{campaign}")
        server.stay(lambda: typer.echo("The server is running; Ctrl-C ends it."))


# --- words ------------------------------------------------------------------------------------------------------


def _tell_city(dataset: Dataset, settings: ComparisonSettings) -> None:
    counts, area = dataset.counts, dataset.area
    assert isinstance(area, Grid)
    step(
        f"A synthetic city: {dataset.visits_read:,} visits of {counts.users:,} people in {len(counts.periods)} weeks, "
        f"and {len(area)} cells of {area.cell_m / 1000:g} km. The place to cover is the busiest one, "
        f"{name_targets(settings.targets)}."
    )
    step(
        f"Profiles are learned from {len(dataset.split.train)} weeks. {settings.reporters(dataset)} people have a "
        f"frequent place, where they are in a week with a probability above {settings.delta:g}. Everyone reports one "
        "place, the place to cover if they are likely to come there, with a grade: how likely. Nobody can tell which."
    )
    step(
        f"Privacy: ε = ln 4 per km. {in_plain_words(DEFAULT_EPSILON_PER_KM).capitalize()}. From a regular visitor, a "
        "rare one, or someone outside, it is at most 64 times as likely as from another."
    )


def _tell_campaign(dataset: Dataset, settings: ComparisonSettings, campaign: DemoCampaign, out: Path) -> None:
    totals, record = campaign.totals, campaign.record
    step(
        f"The server has acknowledged {totals.acknowledged:,} devices; {totals.unseated:,} found no seat. What it saw, "
        "round by round:"
    )
    header = ["round", "reports", "said hit", "quota β", "private at ε per km ≥"]
    table = []
    for one, policy in zip(record.rounds, campaign.policies, strict=True):
        seen = Round(policy, np.array(one.counts), one.nulls)
        counts = map(str, (one.number + 1, seen.reports, seen.hits))
        table.append([*counts, f"{policy.beta:.2%}", certify(policy).smallest_shown])
    show_rows("Rounds", header, table)
    chosen = record.selections[0]
    at_target = int((dataset.profiles[settings.profile].at(campaign.users, settings.targets[0]) > settings.delta).sum())
    hits = chosen.chosen.count("symbol")
    step(
        f"Selected: {len(chosen.participants)} people, {hits} of whom said hit. {at_target} have the target as "
        f"their place; from the reports, {sum(chosen.chances):.1f} were expected. They came to it in "
        f"{coverage_of(campaign.users, dataset.coverage(settings.targets)):.1%} of the test weeks."
    )
    failed = [finding.text for finding in campaign.verdict.findings if finding.verdict == "failure"]
    if failed:
        raise CrowdveilError(f"the campaign is not reproduced from its record: {failed[0]} (see {out / 'record.json'})")
    step(
        f"Audited: from {out / 'record.json'} alone, every policy is certified again and the same people are selected, "
        f"bit by bit; they are in {out / 'selection.csv'}. To repeat the audit: "
        f"crowdveil campaign audit --record {out / 'record.json'}"
    )


def _write(out: Path, found: Comparison, campaign: DemoCampaign) -> None:
    policy = campaign.policies[-1]
    write_file(out / "area.json", found.dataset.area.save)
    write_prior(out / "prior.csv", np.array(campaign.view.estimate))
    sizes = {name: write_file(out / name, policy.save) for name in ("policy.json", "policy.cvp")}
    draw_picture(policy, out / "policy.png")
    written = write_results(out, found)
    policies = ", ".join(f"{name} ({in_bytes(size)})" for name, size in sizes.items())
    step(
        f"Written to {out}: the last round's policy, {policies} and policy.png; what was learned about where people "
        f"are, prior.csv; area.json; the weekly campaigns, weeks.png and weeks.svg; {', '.join(written)}."
    )
    step(
        f"The server is stopped. Its data stay in {out / 'server'}. To start it again: crowdveil serve --data "
        f"{out / 'server'}; then crowdveil campaign status {campaign.view.campaign} --token-file "
        f"{out / 'server' / 'token'}"
    )
    step(
        f"To see the results, open {out / 'report.html'}. To check the policy: crowdveil certify {out / 'policy.json'}"
    )

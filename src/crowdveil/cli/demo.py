"""`crowdveil demo`: a whole campaign once, on a real server, and how other methods would have done."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import Annotated

import numpy as np
import typer

from crowdveil.area import Grid
from crowdveil.arrays import FloatArray
from crowdveil.certify import certify
from crowdveil.cli.compare import write_files
from crowdveil.cli.console import in_bytes, progress_bar, show_rows, working
from crowdveil.cli.demo_campaign import DemoCampaign, run_campaign
from crowdveil.cli.files import open_folder, write_whole
from crowdveil.cli.options import read_whole
from crowdveil.cli.policy import draw_picture
from crowdveil.cli.traces import CITY_USERS, CITY_WEEKS
from crowdveil.errors import CrowdveilError, InputError
from crowdveil.formatting import in_plain_words
from crowdveil.prior import Round
from crowdveil.server.local import local_server
from crowdveil.simulate.compare import HEADER, Comparison, ComparisonSettings, compare, facts, name_targets, rows
from crowdveil.simulate.dataset import Dataset
from crowdveil.simulate.own import cut_periods, dataset_from_visits
from crowdveil.simulate.simulation import Method, covered
from crowdveil.traces import synthetic_visits
from crowdveil.vocabulary import DEFAULT_EPSILON_PER_KM

EXAMPLES = """\b
Examples:
  crowdveil demo --out demo/
  crowdveil demo --stay
"""

METHODS: tuple[Method, ...] = ("none", "crowdveil", "algorithm-2", "laplace", "random")
SEEDS = 16


def run(
    out: Annotated[Path, typer.Option(help="Folder to write to; made if missing.", metavar="FOLDER")] = Path("demo"),
    seed: Annotated[
        str, typer.Option(help="Seed of the city, and of the order in which people come.", metavar="NUMBER")
    ] = "5",
    stay: Annotated[
        bool, typer.Option("--stay", help="Leave the server up at the end, with the campaign in its console.")
    ] = False,
) -> None:
    """Run a whole campaign once, over a synthetic city.

    Starts a server on this machine, lets 1,500 devices join over HTTP, exports and audits the selection, and stops
    the server. Then the same with other methods, and a report with maps. Files of an earlier run are replaced.
    With --stay the server is started again at the end, to look at the campaign in the console, until Ctrl-C.
    """
    started = perf_counter()
    number = read_whole("seed", seed)
    if number < 0:
        raise InputError("seed", number, "should not be negative")
    open_folder(out)
    dataset = demo_dataset(number)
    settings = ComparisonSettings((int(dataset.densest[0]),), DEFAULT_EPSILON_PER_KM, seeds=SEEDS, methods=METHODS)
    _tell_city(dataset, settings)
    order = np.random.default_rng([number, 0]).permutation(dataset.counts.users)
    outcome = run_campaign(dataset, settings, out, order, _step)
    _tell_campaign(dataset, settings, outcome, out)
    with progress_bar("comparing") as report:
        found = compare(dataset, settings, report)
    _step(
        f"Compared with other methods, simulated {SEEDS} times with other dice. Coverage: the share of the "
        f"{len(dataset.split.test)} test weeks in which who was chosen came to the target."
    )
    show_rows("Coverage and privacy", HEADER, rows(found.records))
    _write(out, found, outcome)
    typer.echo(f"Done in {perf_counter() - started:.1f} s.")
    if stay:
        _stay(outcome.view.campaign, out / "server")
    else:
        typer.echo("To look at such a campaign in the console at the end: crowdveil demo --stay, or make demo STAY=1")


def _stay(campaign: str, data: Path) -> None:
    """Serve what is in the folder, and say where to look."""
    with local_server(data) as server:
        typer.echo(f"The console, with the finished campaign: {server.url}/console#/campaigns/{campaign}")
        typer.echo(f"Sign in with the operator's token, which is in {server.token_file}.")
        typer.echo(f"The participant's page: {server.url}/join/{campaign}")
        server.stay()


def demo_dataset(seed: int) -> Dataset:
    """The synthetic city, cut and profiled."""
    with working("making a synthetic city"):
        visits = synthetic_visits(np.random.default_rng(seed), users=CITY_USERS, weeks=CITY_WEEKS)
        periods, split = cut_periods(visits)
        return dataset_from_visits("synthetic-city", "A synthetic city", visits, Grid.around(visits), periods, split)


def _step(text: str) -> None:
    typer.echo(f"* {text}")


def _tell_city(dataset: Dataset, settings: ComparisonSettings) -> None:
    counts, area = dataset.counts, dataset.area
    assert isinstance(area, Grid)
    _step(
        f"A synthetic city: {dataset.visits_read:,} visits of {counts.users:,} users in {len(counts.periods)} weeks; "
        f"{len(area)} cells of {area.cell_m / 1000:g} km. To cover: the busiest, {name_targets(settings.targets)}."
    )
    _step(
        f"Profiles: from {len(dataset.split.train)} weeks, half-life {dataset.half_life.half_life_periods:g} weeks. "
        f"{settings.reporters(dataset)} users have a place where they are with probability above {settings.delta:g} in "
        "a week; they report one, the others say that they have none."
    )
    _step(f"Privacy: ε = ln 4 per km: {in_plain_words(DEFAULT_EPSILON_PER_KM)}.")


def _tell_campaign(dataset: Dataset, settings: ComparisonSettings, outcome: DemoCampaign, out: Path) -> None:
    totals, record = outcome.totals, outcome.record
    refused = f"; refused: {dict(totals.refused)}" if totals.refused else ""
    _step(
        f"{totals.acknowledged:,} devices have the server's receipt, {totals.nulls:,} of them for saying that they "
        f"have no place; {totals.unseated:,} found no seat{refused}. What the server saw, round by round:"
    )
    header = ["round", "reports", "have no place", "said hit", "quota β", "private from ε per km"]
    table = []
    for one, policy in zip(record.rounds, outcome.policies, strict=True):
        seen = Round(policy, np.array(one.counts), one.nulls)
        counts = map(str, (one.number + 1, seen.reports + seen.nulls, seen.nulls, seen.hits))
        table.append([*counts, f"{policy.beta:.2%}", certify(policy).smallest_shown])
    show_rows("Rounds", header, table)
    chosen = record.selection
    at_target = int((dataset.profiles[settings.profile].at(outcome.users, settings.targets[0]) > settings.delta).sum())
    _step(
        f"Chosen: {len(chosen.participants)} people, {chosen.hits} of whom said hit. {at_target} have the target as "
        f"their place; {sum(chosen.chances):.1f} were expected by what the reports told. They came to it in "
        f"{covered(outcome.users, dataset.coverage(settings.targets)):.1%} of the test weeks."
    )
    failed = [finding.text for finding in outcome.verdict.findings if finding.grade == "failure"]
    if failed:
        raise CrowdveilError(f"the campaign's record does not repeat: {failed[0]} (see {out / 'record.json'})")
    _step(
        f"Audited: from {out / 'record.json'} alone, every policy is certified again and the same people are selected, "
        f"to the last bit; they are in {out / 'selection.csv'}. Repeat it: "
        f"crowdveil campaign audit --record {out / 'record.json'}"
    )


def _write(out: Path, found: Comparison, outcome: DemoCampaign) -> None:
    policy = outcome.policies[-1]
    write_whole(out / "area.json", found.dataset.area.save)
    write_whole(out / "prior.csv", lambda path: path.write_text(_prior_csv(outcome.prior), encoding="utf-8"))
    sizes = {name: write_whole(out / name, policy.save) for name in ("policy.json", "policy.cvp")}
    draw_picture(policy, out / "policy.png")
    written = write_files(out, found, facts(found))
    told = ", ".join(f"{name} ({in_bytes(size)})" for name, size in sizes.items())
    _step(
        f"Written to {out}: the last round's policy, {told} and policy.png; what was learnt of where people are, "
        f"prior.csv; area.json; {', '.join(written)}."
    )
    _step(
        f"The server is stopped. Its data stay in {out / 'server'}: crowdveil serve --data {out / 'server'}; then "
        f"crowdveil campaign status {outcome.view.campaign} --token-file {out / 'server' / 'token'}"
    )
    _step(f"Look at {out / 'report.html'}; then crowdveil certify {out / 'policy.json'}")


def _prior_csv(prior: FloatArray) -> str:
    return "cell,probability\n" + "".join(
        f"{cell},{chance!r}\n" for cell, chance in enumerate(prior.tolist()) if chance
    )

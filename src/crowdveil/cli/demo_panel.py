"""The second half of the demo: a panel that everyone answers once, and a campaign every week from its answers.

The same people and the same server as in the first half. Beside it stands today's way, a report for every campaign,
where people may lose no more in all than their one answer to the panel: after the first week nobody may report.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import numpy as np

from crowdveil.arrays import IntArray
from crowdveil.campaign.audit import check_record
from crowdveil.campaign.plan_files import campaign_plan
from crowdveil.cli.console import progress_bar, show_rows, working
from crowdveil.cli.demo_devices import DemoDevices, free_name, step
from crowdveil.cli.files import write_bytes
from crowdveil.client import Operator
from crowdveil.codec import canonical_json
from crowdveil.errors import CrowdveilError
from crowdveil.simulate.community import Community
from crowdveil.simulate.dataset import Dataset
from crowdveil.simulate.records import Record, interval
from crowdveil.simulate.simulation import coverage_of
from crowdveil.simulate.year import Losses, WeeklyCampaign, YearMethod, YearResult, YearSettings, simulate_year
from crowdveil.vocabulary import (
    DEFAULT_EPSILON_PER_KM,
    DEFAULT_GRADE_EPSILON,
    DEFAULT_NULL_EPSILON,
    DEFAULT_PROFILE_METHOD,
    DEFAULT_RULE,
    Progress,
)
from crowdveil.wire import PROTOCOL, PanelRequest

NAME = "demo-panel"
PLACES = 20
"""The campaigns cover places among so many of the busiest."""
EVERY_S = 0.2
METHODS: dict[YearMethod, str] = {
    "none": "no privacy: everyone names their place",
    "list-once": "a panel: everyone answered once",
    "today": "a report for every campaign, until the same limit is used up",
    "random": "people at random",
}


@dataclass(frozen=True, eq=False)
class WeekOfDemo:
    """Hold what became of one campaign."""

    campaign: WeeklyCampaign
    people: IntArray
    """The users who were selected; no server knows them."""
    expected: float
    """How many were expected to come, from the answers."""
    answered_s: float


def compare_year(dataset: Dataset, seeds: int, report: Progress) -> list[YearResult]:
    """Simulate a campaign in every test week, for so many seeds, with the loss of one report for life."""
    community = Community(dataset.area, dataset.counts, dataset.split.test, np.arange(dataset.counts.users))
    losses = Losses(DEFAULT_EPSILON_PER_KM, DEFAULT_NULL_EPSILON, DEFAULT_GRADE_EPSILON)
    settings = YearSettings(lifetime=losses, reports=1, places=PLACES)
    found = []
    for seed in range(seeds):
        found.append(simulate_year(community, settings, tuple(METHODS), seed))
        report(seed + 1, seeds)
    return found


def run_panel_campaigns(
    operator: Operator, devices: DemoDevices, campaigns: Sequence[WeeklyCampaign], folder: Path
) -> list[WeekOfDemo]:
    """Let everyone answer a panel on the server, and answer all campaigns from that."""
    dataset, settings = devices.dataset, devices.settings
    panel, people = free_name(operator, NAME), len(devices.order)
    plan = {
        "name": "The twenty busiest places of a synthetic city",
        "offer": "Thank you: a coffee whenever you are chosen.",
        "area": dataset.area.describe(),
        "targets": sorted(dataset.densest[:PLACES].tolist()),
        "epsilon_per_km": settings.epsilon_per_km,
        "delta": settings.delta,
        "rule": settings.rule,
        "users": people,
        "rounds": 1,
        "panel": True,
    }
    operator.create(panel, campaign_plan(plan))
    invites = operator.make_invites(panel, people).invites
    operator.set_state(panel, "open")
    step(
        f"Panel {panel!r} is open. The same {people:,} devices answer it once, about the {PLACES} busiest places, and "
        "note a second answer in their ledgers. Every campaign to come is answered from that."
    )
    user_of = {who: devices.order[device] for who, device in devices.join(panel, invites).device_of.items()}
    with progress_bar(f"{panel}: answers") as report:
        operator.wait_until_closed(panel, every_s=EVERY_S, progress=report)
    weeks = []
    for number, campaign in enumerate(campaigns):
        asked = {"protocol": PROTOCOL, "targets": campaign.targets, "wanted": campaign.wanted}
        began = perf_counter()
        operator.select(panel, PanelRequest.from_bytes(canonical_json(asked).encode()), number)
        took = perf_counter() - began
        write_bytes(folder / f"panel-selection-{number + 1}.csv", operator.selection_csv(panel, number).encode())
        weeks.append((campaign, took))
    record = operator.record(panel)
    write_bytes(folder / "panel-record.json", record.to_bytes())
    with progress_bar("repeating the selections") as report:
        verdict = check_record(record, report)
    failed = [finding.text for finding in verdict.findings if finding.verdict == "failure"]
    if failed:
        raise CrowdveilError(f"the panel is not reproduced from its record: {failed[0]}")
    return [
        WeekOfDemo(campaign, np.array([user_of[who] for who in made.participants]), sum(made.chances), took)
        for (campaign, took), made in zip(weeks, record.selections, strict=True)
    ]


def tell_weeks(dataset: Dataset, weeks: Sequence[WeekOfDemo], folder: Path) -> None:
    """Say who was selected in every week, and how many of them came."""
    community = Community(dataset.area, dataset.counts, dataset.split.test, np.arange(dataset.counts.users))
    rows = []
    for number, one in enumerate(weeks, start=1):
        campaign = one.campaign
        came = coverage_of(one.people, community.came(campaign.targets, campaign.week), campaign.wanted)
        place = f"cell {campaign.targets[0]}"
        counts = (str(campaign.wanted), str(len(one.people)), f"{one.expected:.1f}", f"{came * campaign.wanted:.0f}")
        rows.append([str(number), place, *counts, f"{one.answered_s:.2f} s"])
    show_rows("Weekly campaigns", ["week", "place", "wanted", "selected", "expected", "came", "answered in"], rows)
    files = [folder / "panel-selection-1.csv", folder / f"panel-selection-{len(weeks)}.csv"]
    step(
        f"No phone took part in any of these {len(weeks)} selections, and they told nobody more. Audited: all repeat "
        f"bit by bit from {folder / 'panel-record.json'}; the people are in {files[0]} to {files[-1].name}."
    )


def tell_comparison(found: Sequence[YearResult], folder: Path) -> None:
    """Say, and draw, what the same weeks come to in other ways, over all repetitions."""
    weeks = len(found[0].campaigns)
    step(
        f"Compared with other ways to hold {weeks} weekly campaigns, where people may lose as much in all as with one "
        f"answer, each simulated {len(found)} times with other places. Coverage is the share of the people wanted who "
        "were selected and came to the place of that week. Here it is known where people are; the panel above had to "
        "learn it from its answers."
    )
    rows, records = [], []
    for method, text in METHODS.items():
        every = np.array([one.coverage[method] for one in found])
        mean, low, high = interval(every.mean(axis=1).tolist(), most=1.0)
        rows.append([text, f"{mean:.1%}", f"{low:.1%} to {high:.1%}", *(f"{week:.1%}" for week in every.mean(axis=0))])
        records += [_record(method, number, week.tolist()) for number, week in enumerate(every.T, start=1)]
    show_rows("Four weeks", ["way", "coverage", "95 % interval", *(f"week {n + 1}" for n in range(weeks))], rows)
    with working("drawing"):
        _draw_weeks(records, folder)


def _record(method: YearMethod, week: int, values: Sequence[float]) -> Record:
    mean, low, high = interval(values, most=1.0)
    return Record(
        figure="weeks",
        dataset="synthetic-city",
        method=method,
        profile=DEFAULT_PROFILE_METHOD,
        rule=DEFAULT_RULE,
        label="",
        measure="coverage",
        value=mean,
        ci_low=low,
        ci_high=high,
        n=len(values),
        seeds=len(values),
        extra={"week": week},
    )


def _draw_weeks(records: Sequence[Record], folder: Path) -> None:
    from crowdveil.plots.charts import draw  # matplotlib takes a second to load
    from crowdveil.plots.figure_spec import FigureSpec
    from crowdveil.plots.style import save

    spec = FigureSpec(
        name="weeks",
        title="A campaign every week at the loss of one answer",
        paper="",
        question="What share of the people wanted were selected and came, in each week?",
        chart="lines",
        x="week",
        x_title="week",
        y_title="coverage",
    )
    save(draw(spec, records), folder, spec.name)

"""The files of a comparison: `results.json`, pictures and a report."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from crowdveil.plots.charts import METHODS, draw, epsilon_name, map_of_cells, save
from crowdveil.plots.figure_spec import FigureSpec
from crowdveil.plots.report import FigurePart, HtmlReport, MapPart, StudyClaim, Verdict, write_report
from crowdveil.simulate.compare import FIGURE, Comparison, private_from
from crowdveil.simulate.records import Record, write_records
from crowdveil.simulate.simulation import Method

ABOUT = (
    "A crowd is chosen to cover some places, by several methods on the same people. Coverage is the share of the later "
    "test periods in which those who were chosen really were at a target, averaged over them; each number is a mean "
    "over seeds with its 95 % interval."
)
REMARKS = (
    "No obfuscation chooses only users whose reported place is a target, however few there are: a ceiling, not a "
    "competitor.",
    "α is a share of the users who have a frequent place, and only they take part; crowdveil alone is not told who "
    "they are: it invites everyone and learns the share.",
)
RIVALS: tuple[Method, ...] = ("random", "laplace", "laplace-posterior", "algorithm-2")
"""What ours is held against in words."""
FILES = ("results.json", "comparison.png", "comparison.svg", "report.html")
MAPS = ("estimate", "hit")


def write_comparison(folder: Path, found: Comparison, facts: Mapping[str, str], command: str) -> list[str]:
    """Write everything into a folder; returns the names of the files."""
    (folder / "results.json").write_text(write_records(found.records), encoding="utf-8")
    spec = _look(found)
    figure = FigurePart(spec, found.records, save(draw(spec, found.records), folder, FIGURE), " ".join(REMARKS))
    maps = _maps(folder, found)
    report = HtmlReport(
        title=f"{found.dataset.title}: who covers the targets",
        summary=claims(found),
        facts=facts,
        figures=[figure],
        maps=maps,
        differences=[],
        command=command,
        about=ABOUT,
    )
    write_report(folder / "report.html", report)
    return [*FILES, *(f"{name}.{kind}" for name in MAPS[: len(maps)] for kind in ("png", "svg"))]


def claims(found: Comparison) -> list[StudyClaim]:
    """Ours against each of the others, and what is certified."""
    compared = {record.method: record for record in found.records}
    ours = compared.get("crowdveil")
    made = []
    if ours is not None:
        made = [_ahead(found, other) for other in RIVALS if other in compared]
    if ours is not None and "none" in compared and compared["none"].value > 0:
        share = ours.value / compared["none"].value
        made.append(StudyClaim(f"crowdveil reaches {share:.0%} of the coverage without any obfuscation.", "note"))
    if found.policies:
        text = f"Every symbol was drawn from one of {found.policies:,} policies, each certified with exact arithmetic."
        made.append(StudyClaim(text, "holds"))
    protected = [f"{METHODS[r.method].name} from ε = {private_from(r)} per km" for r in found.records if _draws(r)]
    if protected:
        made.append(StudyClaim(f"Certified under the first seed: {'; '.join(protected)}.", "note"))
    return made


def _draws(record: Record) -> bool:
    return bool(record.extra["policies"])


def _ahead(found: Comparison, other: Method) -> StudyClaim:
    """Whether ours covers more, by paired seeds; a note where the interval of the difference holds 0."""
    points, low, high = (100 * value for value in found.ahead("crowdveil", other))
    verdict: Verdict = "holds" if low > 0 else "does not hold" if high < 0 else "note"
    told = f"the difference is {points:+.1f} points, 95 % interval {low:+.1f} to {high:+.1f}"
    unsure = ", which decides nothing" if verdict == "note" else ""
    return StudyClaim(f"crowdveil covers more than {METHODS[other].name}: {told}{unsure}.", verdict)


def _look(found: Comparison) -> FigureSpec:
    question = found.settings
    privacy = f"ε = {epsilon_name(question.epsilon_per_km)} per km"
    return FigureSpec(
        name=FIGURE,
        title=f"Coverage by method, at {privacy}",
        paper="",
        question=f"Of {found.wanted:,} chosen people, what share is at a target in a later period?",
        chart="bars",
        x="method",
        x_title="",
        y_title="coverage",
    )


def _maps(folder: Path, found: Comparison) -> list[MapPart]:
    if found.campaign is None:
        return []
    state, targets = found.campaign, found.settings.targets
    title = "Where people report from, as estimated from noisy reports"
    estimate = map_of_cells(state.plan.area, state.prior, targets, title, "share", percent=True)
    chance = "Chance of being selected, by cell, in the last round"
    hit = map_of_cells(state.plan.area, state.policies[-1].hit, targets, chance, "chance", percent=True)
    return [
        MapPart(name, save(figure, folder, file))
        for name, figure, file in zip((title, chance), (estimate, hit), MAPS, strict=True)
    ]

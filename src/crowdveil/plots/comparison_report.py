"""The picture of a comparison, and its files: `results.json`, pictures and a report."""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

from crowdveil.errors import InputError
from crowdveil.plots.charts import draw, map_of_cells
from crowdveil.plots.figure_spec import FigureSpec
from crowdveil.plots.labels import epsilon_name
from crowdveil.plots.report import UNDECIDED, FigurePart, HtmlReport, MapPart, StudyClaim, write_report
from crowdveil.plots.style import METHODS, save
from crowdveil.simulate.comparison import FIGURE, Comparison
from crowdveil.simulate.describe import describe_comparison, private_from
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
RIVALS: tuple[Method, ...] = ("random", "laplace", "laplace-posterior", "laplace-remapped", "privic", "algorithm-2")
"""What crowdveil is compared with in words."""
FILES = ("results.json", "comparison.png", "comparison.svg", "report.html")
MAPS = ("estimate", "hit")


def plot_comparison(result: Comparison) -> Figure:
    """Draw the coverage of every method with its 95 % interval, and return the matplotlib figure.

    >>> import crowdveil as cv
    >>> result = cv.compare(cv.synthetic_visits(1, users=60, weeks=6), methods=["none", "random"], seeds=2)
    >>> figure = plot_comparison(result)  # figure.savefig("comparison.png")
    """
    return draw(_figure_spec(result), result.records)


def write_comparison(folder: str | Path, found: Comparison, command: str | None = None) -> list[str]:
    """Write results.json, pictures and report.html into a folder, and return the names of the files.

    Args:
        folder: Where to write; made if missing.
        found: The comparison.
        command: What the report says was typed to make it (default: a call of `compare` with the settings).

    >>> import tempfile
    >>> import crowdveil as cv
    >>> result = cv.compare(cv.synthetic_visits(1, users=60, weeks=6), methods=["none", "random"], seeds=2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_comparison(folder, result)
    ['results.json', 'comparison.png', 'comparison.svg', 'report.html']
    """
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "results.json").write_text(write_records(found.records), encoding="utf-8")
    except OSError as error:
        raise InputError("folder", str(folder), f"cannot be written to: {error.strerror or error}") from None
    spec = _figure_spec(found)
    figure = FigurePart(spec, found.records, save(plot_comparison(found), folder, FIGURE), " ".join(REMARKS))
    maps = _maps(folder, found)
    report = HtmlReport(
        title=f"{found.dataset.title}: who covers the targets",
        summary=claims(found),
        facts=describe_comparison(found),
        figures=[figure],
        maps=maps,
        differences=[],
        command=_python_call(found) if command is None else command,
        about=ABOUT,
    )
    write_report(folder / "report.html", report)
    return [*FILES, *(f"{name}.{kind}" for name in MAPS[: len(maps)] for kind in ("png", "svg"))]


def claims(found: Comparison) -> list[StudyClaim]:
    """State how crowdveil does against each of the other methods, and what is certified."""
    compared = {record.method: record for record in found.records}
    ours = compared.get("crowdveil")
    made = []
    if ours is not None:
        made = [_claim_more(found, other) for other in RIVALS if other in compared]
    if ours is not None and "none" in compared and compared["none"].value > 0:
        share = ours.value / compared["none"].value
        made.append(StudyClaim(f"crowdveil reaches {share:.0%} of the coverage without any obfuscation.", "note"))
    if found.policies:
        text = f"Every symbol was drawn from one of {found.policies:,} policies, each certified with exact arithmetic."
        made.append(StudyClaim(text, "holds"))
    protected = [f"{METHODS[r.method].name} at ε ≥ {private_from(r)} per km" for r in found.records if _draws(r)]
    if protected:
        made.append(
            StudyClaim(f"Smallest certified ε, over the policies of the first seed: {'; '.join(protected)}.", "note")
        )
    return made


def _draws(record: Record) -> bool:
    return bool(record.extra["policies"])


def _claim_more(found: Comparison, other: Method) -> StudyClaim:
    """Say which of two methods covers more, by paired seeds; undecided for one seed or an interval that contains 0."""
    points, low, high = (100 * value for value in found.difference("crowdveil", other))
    name, told = METHODS[other].name, f"{points:+.1f} points (95 % interval {low:+.1f} to {high:+.1f})"
    if found.settings.seeds < 2:
        return StudyClaim(f"crowdveil minus {name}: {points:+.1f} points; one seed cannot tell.", UNDECIDED)
    if low > 0:
        return StudyClaim(f"crowdveil covers more than {name}: {told}.", "holds")
    if high < 0:
        return StudyClaim(f"crowdveil covers less than {name}: {told}.", "does not hold")
    return StudyClaim(f"crowdveil minus {name}: {told}, so the difference may be due to chance.", UNDECIDED)


def _python_call(found: Comparison) -> str:
    settings, periods = found.settings, found.dataset.counts.periods
    given = {
        "targets": list(settings.targets),
        "period": "week" if periods.days == 7 else "day",
        "weekdays_only": periods.weekdays_only,
        "start": periods.start.isoformat(),
        "train": len(found.dataset.split.train),
        "test": len(found.dataset.split.test),
        "epsilon_per_km": settings.epsilon_per_km,
        "delta": settings.delta,
        "profile": settings.profile,
        "rule": settings.rule,
        "share": settings.share,
        "rounds": settings.rounds,
        "confidence": settings.confidence,
        "seeds": settings.seeds,
        "methods": list(settings.methods),
    }
    return f"crowdveil.compare(visits, area, {', '.join(f'{name}={value!r}' for name, value in given.items())})"


def _figure_spec(found: Comparison) -> FigureSpec:
    privacy = f"ε = {epsilon_name(found.settings.epsilon_per_km)} per km"
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
    estimate = map_of_cells(state.plan.area, state.cell_prior, targets, title, "share", percent=True)
    chance = "Chance of being selected, by cell, in the last round"
    last = state.policies[-1]
    hit = map_of_cells(state.plan.area, last.hit[: len(last)], targets, chance, "chance", percent=True)
    return [
        MapPart(name, save(figure, folder, file))
        for name, figure, file in zip((title, chance), (estimate, hit), MAPS, strict=True)
    ]

"""`crowdveil profile`: profiles, places and the prior of millions of users, on DuckDB or on Spark."""

from __future__ import annotations

import json as json_text
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from crowdveil.cli.compare import PeriodOption, ProfileName, RuleName, read_day
from crowdveil.cli.console import note, show, show_json, steps_bar, working
from crowdveil.cli.files import load_area, open_folder, write_whole
from crowdveil.cli.options import missing, read_real, read_targets, read_whole
from crowdveil.cli.traces import Format, TraceSource, read_traces
from crowdveil.errors import CrowdveilError, InputError

if TYPE_CHECKING:
    from crowdveil.batch import BatchJob, BatchResult, Inputs
    from crowdveil.batch.fixes import ColumnNames

EXAMPLES = """\b
Examples:
  crowdveil profile --traces "fixes/*.parquet" --area area.json --period week --out profiled/
  crowdveil profile --traces fixes.csv.gz --zone Europe/Berlin --area area.json
      --start 2024-01-01 --train 40 --method recency --half-life 4 --out profiled/
  crowdveil profile --traces "fixes/*.parquet" --area area.json --memory 2GB --out profiled/
  crowdveil profile --traces "hdfs://store/fixes/*.parquet" --area area.json
      --engine spark://host:7077 --out /shared/profiled/
"""


class ClockName(StrEnum):
    """What a time that states no offset means."""

    utc = "utc"
    local = "local"


GIGABYTE = 1_000_000_000
MIN_MEMORY = 10_000_000
"""With less DuckDB does not read the first file."""
OPTIONS = {"half_life_periods": "half_life", "offset_minutes": "offset_column"}
"""Names of the library that are called otherwise here."""


def named_folder(text: str) -> Path:
    """A folder behind an option; an empty name would silently be the current one."""
    if not text.strip():
        raise typer.BadParameter("should name a folder; . is the current one")
    return Path(text)


def _column(name: str) -> Any:
    return typer.Option(help=f"The column of the {name}; {name} unless given.", metavar="NAME")


def run(
    area: Annotated[Path, typer.Option(help="The area (.json), from `crowdveil area`.", metavar="FILE")],
    out: Annotated[
        Path,
        typer.Option(
            help="Folder for visits, profile, places, prior.csv and summary.json.",
            metavar="FOLDER",
            parser=named_folder,
        ),
    ],
    traces: Annotated[
        list[str] | None,
        typer.Option(
            "--traces",
            "--data",
            help="Parquet or CSV (plain or .gz): a file, a folder or a pattern in quotes; may be given several times.",
            metavar="PATTERN",
        ),
    ] = None,
    format: Annotated[  # noqa: A002
        Format, typer.Option(help="How they are written. Any but table is read in memory first.")
    ] = Format.table,
    towers: Annotated[
        Path | None, typer.Option(help="With calls: where the towers are (id,lat,lon).", metavar="FILE")
    ] = None,
    user_column: Annotated[str, _column("user")] = "user",
    time_column: Annotated[str, _column("time")] = "time",
    latitude_column: Annotated[str, _column("latitude")] = "latitude",
    longitude_column: Annotated[str, _column("longitude")] = "longitude",
    offset_column: Annotated[
        str | None, typer.Option(help="A column of local time minus UTC, in minutes.", metavar="NAME")
    ] = None,
    zone: Annotated[
        str | None, typer.Option(help="One clock for all fixes, such as Europe/Berlin.", metavar="NAME")
    ] = None,
    clock: Annotated[
        ClockName, typer.Option(help="What times without an offset mean; local needs --zone.")
    ] = ClockName.utc,
    period: Annotated[PeriodOption, typer.Option(help="What people are predicted for.")] = PeriodOption.week,
    weekdays_only: Annotated[bool, typer.Option("--weekdays-only", help="Leave weekends out.")] = False,
    start: Annotated[
        str | None,
        typer.Option(
            help="First day. Left out: that of the first fix, for weeks the Monday before.", metavar="YYYY-MM-DD"
        ),
    ] = None,
    periods: Annotated[
        str | None, typer.Option(help="How many periods. Left out: up to the last fix.", metavar="NUMBER")
    ] = None,
    train: Annotated[
        str | None, typer.Option(help="Periods to learn from, the first ones. Left out: all.", metavar="NUMBER")
    ] = None,
    method: Annotated[ProfileName, typer.Option(help="How probabilities are estimated.")] = ProfileName.poisson,
    half_life: Annotated[
        str | None, typer.Option(help="With recency: periods after which a visit counts half.", metavar="NUMBER")
    ] = None,
    delta: Annotated[
        str, typer.Option(help="A place is frequent if its probability is above this.", metavar="NUMBER")
    ] = "0.7",
    rule: Annotated[RuleName, typer.Option(help="Which of their frequent places users report.")] = RuleName.random,
    targets: Annotated[
        str | None,
        typer.Option(help="With target-aware: cells such as 3,17, or places such as 40.75:-73.98.", metavar="LIST"),
    ] = None,
    seed: Annotated[
        str, typer.Option(help="Decides, with each user's name, between several places.", metavar="NUMBER")
    ] = "0",
    engine: Annotated[
        str,
        typer.Option(
            help="duckdb, spark (on this machine), or spark://MASTER: HOST:PORT, local[4] or yarn.", metavar="NAME"
        ),
    ] = "duckdb",
    memory: Annotated[
        str | None,
        typer.Option(help="What the engine may use, such as 4GB; the rest is spilled to disk.", metavar="SIZE"),
    ] = None,
    threads: Annotated[
        str | None, typer.Option(help="Threads of a local engine. Left out: one per core.", metavar="NUMBER")
    ] = None,
    part_gb: Annotated[
        str | None,
        typer.Option(help="Input taken at a time; a rerun resumes after the last. 2 unless given.", metavar="NUMBER"),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print what was found as JSON.")] = False,
) -> None:
    """Profile the traces of millions of users.

    Says how many would report which place. Files larger than memory are fine. Run again after an interruption, and what
    was done is kept. For planning and studies: it needs everyone's traces in one place, which a campaign does not.
    """
    started = perf_counter()
    if not traces:
        raise missing("traces", "name the files, such as --traces 'fixes/*.parquet'")
    require_batch("profile")
    from crowdveil.batch import PART_BYTES, BatchJob, ColumnNames, PeriodRange, ProfileSettings, open_engine
    from crowdveil.batch import run as run_job

    cells = load_area(area)
    if method is ProfileName.recency and half_life is None:
        raise missing("half-life", "the method recency needs it, such as --half-life 4")
    if rule is RuleName.target_aware and targets is None:
        raise missing("targets", "the rule target-aware needs them, such as --targets 3,17")
    with _in_options():
        period_range = PeriodRange(
            days=7 if period is PeriodOption.week else 1,
            weekdays_only=weekdays_only,
            start=None if start is None else read_day("start", start),
            count=None if periods is None else read_whole("periods", periods),
            train=None if train is None else read_whole("train", train),
        )
        profile_settings = ProfileSettings(
            method=method.value,
            half_life_periods=None if half_life is None else read_real("half_life", half_life),
            delta=read_real("delta", delta),
            rule=rule.value,
            targets=() if targets is None else tuple(read_targets(targets, cells)),
            seed=read_whole("seed", seed),
        )
        column_names = ColumnNames(
            user_column, time_column, latitude_column, longitude_column, offset_column, zone, clock.value
        )
    for name, column in zip(("user", "time", "latitude", "longitude", "offset"), column_names.columns, strict=False):
        if not column.strip():
            raise InputError(f"{name}_column", column, "should name a column")
    check_memory(memory)
    open_folder(out)
    inputs, column_names = _inputs(traces, format, towers, column_names, out)
    if inputs.remote and engine == "duckdb":
        raise InputError(
            "traces", inputs.paths[0], "addresses are read by Spark alone; fetch it, or add --engine spark"
        )
    job = BatchJob(
        inputs,
        column_names,
        cells,
        period_range,
        profile_settings,
        PART_BYTES if part_gb is None else _part_bytes(part_gb),
    )
    spill = out / ".spill"
    with working(f"starting {engine}"):
        opened = open_engine(
            engine,
            memory=memory,
            threads=None if threads is None else read_whole("threads", threads),
            spill=spill,
        )
    try:
        with steps_bar() as report:
            found = run_job(job, opened, out, report)
    finally:
        opened.close()
    shutil.rmtree(spill, ignore_errors=True)
    if json:
        show_json(json_text.loads((out / "summary.json").read_text()))
    else:
        show("Profiled", _facts(job, found))
    kept = f" ({', '.join(found.kept_steps)} kept from an earlier run)" if found.kept_steps else ""
    note(f"Written to {out}: visits, profile, places, prior.csv, summary.json{kept}.")
    note(f"Done in {perf_counter() - started:.1f} s on {opened.name}.")


def require_batch(verb: str) -> None:
    """Say how to get what the verbs over tables of people need, where it is missing."""
    try:
        import ibis  # noqa: F401
    except ImportError:
        raise CrowdveilError(f"{verb} needs ibis; run: pip install 'crowdveil[batch]'") from None


def check_memory(text: str | None) -> None:
    """Refuse memory with which an engine cannot work."""
    from crowdveil.batch.engine import size_of

    if text is not None and size_of(text, 1000.0) < MIN_MEMORY:
        raise InputError("memory", text, f"should be at least {MIN_MEMORY // 1_000_000}MB")


@contextmanager
def _in_options() -> Iterator[None]:
    """Errors of the library in the names of the options."""
    try:
        yield
    except InputError as error:
        expected = error.expected.replace("with offset_minutes", "with --offset-column")
        raise InputError(OPTIONS.get(error.field, error.field), error.value, expected) from None


def _part_bytes(text: str) -> int:
    gigabytes = read_real("part_gb", text)
    if not 1 <= gigabytes * GIGABYTE < float("inf"):
        raise InputError("part_gb", text, "should be a number of gigabytes above 0, such as 0.5")
    return round(gigabytes * GIGABYTE)


def _inputs(
    patterns: list[str],
    format: Format,  # noqa: A002
    towers: Path | None,
    column_names: ColumnNames,
    out: Path,
) -> tuple[Inputs, ColumnNames]:
    """The files as the engine reads them; published formats are converted first, once."""
    from crowdveil.batch import COLUMN_NAMES, ColumnNames, find_inputs, save_fixes

    if format is Format.table:
        if towers is not None:
            raise InputError("towers", str(towers), "has no meaning but for calls; leave it out")
        with working("looking at the files"):
            return find_inputs(patterns, column_names, out), column_names
    if len(patterns) > 1:
        raise InputError("traces", patterns, f"the format {format.value} is one file or folder")
    if column_names != ColumnNames(zone=column_names.zone):
        raise InputError("format", format.value, "has columns and a clock of its own; leave those options to tables")
    path = Path(patterns[0])
    if not patterns[0].strip():
        raise InputError("traces", patterns[0], "should name a file or a folder")
    converted, told = out / "fixes.parquet", out / "fixes.json"
    made_from = [_stamps(path, out), [] if towers is None else _stamps(towers, out), format.value, column_names.zone]
    known = _known(told) if converted.exists() else {}
    if known.get("made_from") != made_from:
        visits = read_traces(TraceSource(path, format, towers, column_names.zone))
        half = out / "fixes.parquet.half"
        save_fixes([visits], half)
        told.unlink(missing_ok=True)
        half.replace(converted)
        known = {"made_from": made_from, "dropped": dict(visits.dropped)}
        write_whole(told, lambda half: half.write_text(json_text.dumps(known)))
    return replace(find_inputs([str(converted)], COLUMN_NAMES), dropped=known["dropped"]), COLUMN_NAMES


def _known(told: Path) -> dict[str, Any]:
    """What the converted fixes were made from; nothing, so that they are made again, where that cannot be read."""
    try:
        known = json_text.loads(told.read_text(encoding="utf-8"))
        return {"made_from": known["made_from"], "dropped": {str(why): int(n) for why, n in known["dropped"].items()}}
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return {}


def _stamps(path: Path, out: Path) -> list[list[Any]]:
    """Name, size and time of change of a file, or of all in a folder but the results, which may lie below it."""
    files = sorted(path.rglob("*")) if path.is_dir() else [path]
    if path.is_dir() and path.resolve() in out.resolve().parents:
        files = [one for one in files if not one.resolve().is_relative_to(out.resolve())]
    return [[str(one.resolve()), one.stat().st_size, one.stat().st_mtime_ns] for one in files if one.is_file()]


def _facts(job: BatchJob, found: BatchResult) -> dict[str, str]:
    left_out = ", ".join(f"{reason}: {rows:,}" for reason, rows in found.left_out.items())
    train = f"the first {len(found.train)} to learn from"
    kind = "week" if found.periods.days == 7 else "weekday" if found.periods.weekdays_only else "day"
    busiest = found.reporters_at.argsort(kind="stable")[::-1][:3].tolist()
    shown = ", ".join(f"{cell} ({found.prior[cell]:.1%})" for cell in busiest if found.reporters_at[cell])
    return {
        "fixes": f"{found.rows:,} counted in {len(job.area):,} cells",
        "left out": left_out or "none",
        "periods": f"{len(found.periods)} {kind}s from {found.periods.start}, {train}",
        "users": f"{found.users:,}, of them {found.reporters:,} with a frequent place "
        f"(δ = {job.profile_settings.delta:g})",
        "busiest cells": shown or "nobody has a frequent place; lower --delta",
    }

"""`crowdveil profile`: make profiles, places and the prior of millions of people, on DuckDB or on Spark."""

from __future__ import annotations

import json as json_text
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated

import typer

from crowdveil.cli.console import Verb, new_app, note, show, show_json, steps_bar, warn, working
from crowdveil.cli.files import load_area, open_folder
from crowdveil.cli.options import (
    DELTA,
    DELTA_HELP,
    LOWER_DELTAS_HELP,
    PROFILE,
    RULE,
    PeriodName,
    ProfileName,
    RuleName,
    missing,
    read_day,
    read_folder,
    read_lower_deltas,
    read_real,
    read_whole,
    read_whole_if_given,
)
from crowdveil.cli.targets import (
    TARGETS_HELP,
    KeepApart,
    LeaveOutOutside,
    find_targets,
    places_of,
    refuse_without_targets,
)
from crowdveil.cli.traces import (
    CLOCK_HELP,
    ClockName,
    Format,
    Towers,
    TraceSource,
    Zone,
    column,
    read_oddities,
    read_source,
)
from crowdveil.errors import InputError
from crowdveil.extras import require_extra
from crowdveil.traces.inspection import REASONS

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


GIGABYTE = 1_000_000_000
OPTIONS = {"half_life_periods": "half_life", "offset_minutes": "offset_column"}
"""Names of the library that have another name on the command line."""

app = new_app()


@app.command(cls=Verb, epilog=EXAMPLES)
def run(
    area: Annotated[Path, typer.Option(help="The area (.json), from `crowdveil area`.", metavar="FILE")],
    out: Annotated[
        Path,
        typer.Option(
            help="Folder for visits, profile, places, prior.csv and summary.json.",
            metavar="FOLDER",
            parser=read_folder,
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
        Format, typer.Option(help="The format of the traces. Every format except table is read into memory first.")
    ] = Format.table,
    towers: Towers = None,
    user_column: Annotated[str, column("user")] = "user",
    time_column: Annotated[str, column("time")] = "time",
    latitude_column: Annotated[str, column("latitude")] = "latitude",
    longitude_column: Annotated[str, column("longitude")] = "longitude",
    offset_column: Annotated[
        str | None, typer.Option(help="For tables: a column of local time minus UTC, in minutes.", metavar="NAME")
    ] = None,
    zone: Zone = None,
    clock: Annotated[ClockName, typer.Option(help=CLOCK_HELP)] = ClockName.utc,
    period: Annotated[
        PeriodName, typer.Option(help="Predict where people will be in the next week or day.")
    ] = PeriodName.week,
    weekdays_only: Annotated[bool, typer.Option("--weekdays-only", help="Leave weekends out.")] = False,
    start: Annotated[
        str | None,
        typer.Option(
            help="The first day (default: the day of the first fix; for weeks, the Monday before).",
            metavar="YYYY-MM-DD",
        ),
    ] = None,
    periods: Annotated[
        str | None, typer.Option(help="Number of periods (default: up to the last fix).", metavar="NUMBER")
    ] = None,
    train: Annotated[
        str | None,
        typer.Option(help="Number of periods to learn from, the first ones (default: all).", metavar="NUMBER"),
    ] = None,
    keep: Annotated[
        str | None, typer.Option(help="outlying-dates counts dates that are far from all others too.", metavar="LIST")
    ] = None,
    distinct: Annotated[
        bool,
        typer.Option("--distinct", help="Count the same person, time and place once: files overlap. Takes longer."),
    ] = False,
    method: Annotated[ProfileName, typer.Option(help="How probabilities are estimated.")] = PROFILE,
    half_life: Annotated[
        str | None, typer.Option(help="With recency: periods after which a visit counts half.", metavar="NUMBER")
    ] = None,
    delta: Annotated[str, typer.Option(help=DELTA_HELP, metavar="NUMBER")] = DELTA,
    lower_deltas: Annotated[str | None, typer.Option(help=LOWER_DELTAS_HELP, metavar="LIST")] = None,
    rule: Annotated[
        RuleName | None,
        typer.Option(help="Which of their places people report (default: target-aware with --targets, else random)."),
    ] = None,
    targets: Annotated[str | None, typer.Option(help=f"With target-aware: {TARGETS_HELP}", metavar="PLACES")] = None,
    keep_apart: KeepApart = False,
    leave_out_outside: LeaveOutOutside = False,
    seed: Annotated[
        str, typer.Option(help="Decides, with each person's name, between several places.", metavar="NUMBER")
    ] = "0",
    engine: Annotated[
        str,
        typer.Option(
            help="duckdb, spark (on this machine), or spark://MASTER: HOST:PORT, local[4] or yarn.", metavar="NAME"
        ),
    ] = "duckdb",
    memory: Annotated[
        str | None,
        typer.Option(help="Memory of the engine, such as 4GB; what does not fit is written to disk.", metavar="SIZE"),
    ] = None,
    threads: Annotated[
        str | None, typer.Option(help="Threads of a local engine (default: one per core).", metavar="NUMBER")
    ] = None,
    part_gb: Annotated[
        str | None,
        typer.Option(
            help="Input read at a time; an interrupted run resumes after the last part (default: 2).", metavar="NUMBER"
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the results as JSON.")] = False,
) -> None:
    """Profile the traces of millions of people.

    Says how many people would report which place. Files may be larger than memory. After an interruption, run it again:
    finished parts are kept. This is for planning and studies: it needs everyone's traces in one place, which a campaign
    does not.
    """
    started = perf_counter()
    if not traces:
        raise missing("traces", "name the files, such as --traces 'fixes/*.parquet'")
    require_extra("profile", "batch")
    from crowdveil.batch import (
        PART_BYTES,
        BatchJob,
        ColumnNames,
        PeriodRange,
        ProfileSettings,
        check_memory,
        open_engine,
    )
    from crowdveil.batch import run as run_job

    cells = load_area(area)
    if method is ProfileName.recency and half_life is None:
        raise missing("half-life", "the method recency needs it, such as --half-life 4")
    if rule is None:
        rule = RuleName.random if targets is None else RULE
    if rule is RuleName.target_aware and targets is None:
        raise missing("targets", "the rule target-aware needs them, such as --targets shops.csv")
    refuse_without_targets(targets, keep_apart=keep_apart, leave_out_outside=leave_out_outside)
    covered = None
    if targets is not None:
        covered = find_targets(targets, cells, keep_apart=keep_apart, leave_out_outside=leave_out_outside)
    with _option_names():
        period_range = PeriodRange(
            days=7 if period is PeriodName.week else 1,
            weekdays_only=weekdays_only,
            start=None if start is None else read_day("start", start),
            count=read_whole_if_given("periods", periods),
            train=read_whole_if_given("train", train),
            every_date=bool(read_oddities(keep, ["outlying-dates"])),
        )
        profile_settings = ProfileSettings(
            method=method.value,
            half_life_periods=None if half_life is None else read_real("half_life", half_life),
            delta=read_real("delta", delta),
            lower_deltas=read_lower_deltas(lower_deltas),
            rule=rule.value,
            targets=() if covered is None else covered.cells,
            seed=read_whole("seed", seed),
        )
        column_names = ColumnNames(
            user_column, time_column, latitude_column, longitude_column, offset_column, zone, clock.value
        )
    for name, heading in zip(("user", "time", "latitude", "longitude", "offset"), column_names.columns, strict=False):
        if not heading.strip():
            raise InputError(f"{name}_column", heading, "should name a column")
    check_memory(memory)
    open_folder(out)
    inputs, column_names = _inputs(traces, format, towers, column_names, out)
    if inputs.remote and engine == "duckdb":
        what = "only Spark reads addresses; copy the files to this machine, or add --engine spark"
        raise InputError("traces", inputs.paths[0], what)
    part_bytes = PART_BYTES if part_gb is None else _part_bytes(part_gb)
    job = BatchJob(inputs, column_names, cells, period_range, profile_settings, part_bytes, distinct)
    spill = out / ".spill"
    with working(f"starting {engine}"):
        opened = open_engine(engine, memory=memory, threads=read_whole_if_given("threads", threads), spill=spill)
    try:
        with steps_bar() as report:
            found = run_job(job, opened, out, report)
    finally:
        opened.close()
    shutil.rmtree(spill, ignore_errors=True)
    if json:
        show_json(json_text.loads((out / "summary.json").read_text()) | places_of(covered))
    else:
        show("Profiled", _facts(job, found))
    if found.outlying:
        number, some = found.left_out.get(REASONS["outlying-dates"], 0), ", ".join(found.outlying[:4])
        more = f" and {len(found.outlying) - 4} more" * (len(found.outlying) > 4)
        done = "They were left out; to count them: --keep outlying-dates."
        warn(f"{number:,} fixes have dates far from all others (in the {period.value}s of {some}{more}). {done}")
    kept = f" ({', '.join(found.kept_steps)} kept from an earlier run)" if found.kept_steps else ""
    note(f"Written to {out}: visits, profile, places, prior.csv, summary.json{kept}.")
    note(f"Done in {perf_counter() - started:.1f} s on {opened.name}.")


@contextmanager
def _option_names() -> Iterator[None]:
    """Say errors of the library with the names of the options."""
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
    """Find the files that the engine reads; other formats than tables are converted first, once."""
    from crowdveil.batch import COLUMN_NAMES, ColumnNames, converted_inputs, find_inputs

    if format is Format.table:
        if towers is not None:
            raise InputError("towers", str(towers), "applies only to --format calls; leave it out")
        with working("looking at the files"):
            return find_inputs(patterns, column_names, out), column_names
    if len(patterns) > 1:
        raise InputError("traces", patterns, f"should be one file or folder for --format {format.value}")
    if column_names != ColumnNames(zone=column_names.zone):
        raise InputError("format", format.value, "can't be combined with the options of tables")
    if not patterns[0].strip():
        raise InputError("traces", patterns[0], "should name a file or a folder")
    path, zone = Path(patterns[0]), column_names.zone
    source = TraceSource((patterns[0],), format, towers, zone)
    sources = [path] if towers is None else [path, towers]
    return converted_inputs(lambda: read_source(source), sources, [format.value, zone], out), COLUMN_NAMES


def _facts(job: BatchJob, found: BatchResult) -> dict[str, str]:
    left_out = ", ".join(f"{reason}: {rows:,}" for reason, rows in found.left_out.items())
    kind = "week" if found.periods.days == 7 else "weekday" if found.periods.weekdays_only else "day"
    busiest = found.reporters_at.argsort(kind="stable")[::-1][:3].tolist()
    shown = ", ".join(f"{cell} ({found.prior[cell]:.1%})" for cell in busiest if found.reporters_at[cell])
    delta, periods = job.profile_settings.delta, found.periods
    return {
        "fixes": f"{found.rows:,} counted in {len(job.area):,} cells",
        "left out": left_out or "none",
        "periods": f"{len(periods)} {kind}s from {periods.start}, the first {len(found.train)} to learn from",
        "people": f"{found.users:,}, of whom {found.frequent:,} have a frequent place (δ = {delta:g})",
        "busiest cells": shown or "nobody was seen in the training periods",
    }

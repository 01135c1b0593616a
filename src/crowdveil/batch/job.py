"""Run a batch from files to a prior, step by step; an interrupted run continues where it stopped.

    OUT/visits/*.parquet     user, cell, period, visits, left_out
    OUT/profile/*.parquet    user, cell, visits, periods, probability
    OUT/places/*.parquet     user, cell
    OUT/prior.csv            cell, latitude, longitude, users, probability
    OUT/summary.json         settings, counts, and rows that were left out

A step is written under another name and renamed when it is complete. Beside it lies a digest of what it was made from
(the settings, and the names, sizes and times of the files): a rerun keeps a step that was made from the same, repeats
later steps where only their settings changed, and refuses to replace visits that were counted from other files. Fixes
are counted in parts of `part_bytes`, whole files at a time. A part is identified by its settings and its files, so that
finished parts are kept after a crash or a damaged file. Only one run at a time writes to a folder.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from crowdveil.area import Area
from crowdveil.arrays import FloatArray, IntArray
from crowdveil.batch import graph
from crowdveil.batch.engine import Engine, ShareDone
from crowdveil.batch.fixes import ColumnNames, Expression, fixes
from crowdveil.batch.graph import ProfileSettings
from crowdveil.batch.inputs import Inputs, name_damaged
from crowdveil.errors import EngineError, FileFormatError, InputError
from crowdveil.profile.activity import start_of
from crowdveil.profile.periods import DAY_S, EPOCH, MAX_PERIODS, Periods
from crowdveil.traces.dates import usual_days
from crowdveil.traces.trace_files import reading
from crowdveil.traces.visit_builder import LATEST_S

MONDAY = date(1969, 12, 29)
MAX_PERIODS_FOUND = 50_000
"""Enough periods to reach from 1970 beyond 2100, for traces whose first period is not known yet."""
PART_BYTES = 2 << 30
UNPACKED_BYTES = 1 << 20
MADE_FROM, COUNTED, REJECTED = "_made_from", "_counted.json", "_rejected"
"""Kept beside the Parquet files of a step; readers of such folders skip names that begin with an underscore."""

BatchProgress: TypeAlias = Callable[[str, float], None]
"""Called with the step and the share of it that is done."""


@dataclass(frozen=True)
class PeriodRange:
    """Which periods are counted. Without a start they begin with the first visit; weeks then begin on Mondays."""

    days: int = 7
    weekdays_only: bool = False
    start: date | None = None
    count: int | None = None
    """How many periods (default: all that have visits)."""
    train: int | None = None
    """How many of them, from the first on, to learn from (default: all)."""
    every_date: bool = False
    """Whether dates far from all others are counted too, instead of being left out."""

    def __post_init__(self) -> None:
        for name in ("count", "train"):
            value = getattr(self, name)
            if value is not None and value < 1:
                option = "periods" if name == "count" else name
                raise InputError(option, value, "should be a whole number of periods, at least 1")
        if self.count is not None and self.count > MAX_PERIODS:
            raise InputError("periods", self.count, f"should be a whole number of periods from 1 to {MAX_PERIODS:,}")
        self.counting()
        if self.count is not None and self.train is not None and self.train > self.count:
            raise InputError("train", self.train, f"should be at most {self.count}, the number of periods")

    def counting(self) -> Periods:
        """Return the periods to count in before it is known which of them have visits."""
        start = self.start or (EPOCH if self.days == 1 and not self.weekdays_only else MONDAY)
        count = None if self.start is None else self.count
        return Periods(start, count or MAX_PERIODS_FOUND, self.days, self.weekdays_only)

    def usual(self, numbers: IntArray, visits: IntArray) -> range:
        """Return the periods that are not far from all others, given those with visits and how many each has."""
        if self.every_date:
            return range(int(numbers.min()), int(numbers.max()) + 1)
        days = usual_days(numbers * self.days, visits)
        return range(days.first // self.days, days.last // self.days + 1)

    def found(self, first: int, last: int) -> Periods:
        """Return the periods, given the first and the last number with a visit."""
        counting = self.counting()
        begin = 0 if self.start is not None else first
        if self.days == 1 and self.weekdays_only and self.start is None:
            start = MONDAY + timedelta(days=begin // 5 * 7 + begin % 5)
        else:
            start = counting.start + timedelta(days=begin * self.days)
        return replace(counting, start=start, count=self.count or last - begin + 1)


@dataclass(frozen=True, eq=False)
class BatchJob:
    """The inputs and settings of a batch."""

    inputs: Inputs
    column_names: ColumnNames
    area: Area
    period_range: PeriodRange = field(default_factory=PeriodRange)
    profile_settings: ProfileSettings = field(default_factory=ProfileSettings)
    part_bytes: int = PART_BYTES
    distinct: bool = False
    """Whether the same user, time and place counts once. All files are then one part, because any two may overlap."""

    def parts(self) -> list[tuple[str, ...]]:
        """Files that are counted together."""
        return [self.inputs.paths] if self.distinct else self.inputs.parts(self.part_bytes)

    def __post_init__(self) -> None:
        for cell in self.profile_settings.targets:
            if not 0 <= cell < len(self.area):
                raise InputError("targets", cell, f"should be a cell of the area, 0 to {len(self.area) - 1}")


@dataclass(frozen=True, eq=False)
class BatchResult:
    """The result of a batch."""

    periods: Periods
    train: range
    users: int
    reporters: int
    """Users with a place to report."""
    frequent: int
    """Users with a frequent place."""
    rows: int
    """Fixes that were counted."""
    left_out: dict[str, int]
    """Fixes that were not, by reason."""
    prior: FloatArray
    """π: share of the reporters at each cell; zeros where nobody has a place to report."""
    reporters_at: IntArray
    kept_steps: tuple[str, ...]
    """Steps that an earlier run had done already."""
    outlying: tuple[str, ...] = ()
    """First days of periods that were left out because they are far from all others."""


def run(job: BatchJob, engine: Engine, out: Path, progress: BatchProgress) -> BatchResult:
    """Run the steps that are not done yet, and return the result."""
    steps = _Steps(job, engine, out, progress)
    with _exclusive(out):
        try:
            return steps.run()
        except EngineError as error:
            raise _explained(error, job, steps) from None


@contextmanager
def _exclusive(out: Path) -> Iterator[None]:
    """Lock the folder, so that no other run writes to it; the system releases the lock however this run ends."""
    if sys.platform == "win32":
        yield
        return
    import fcntl

    folder = os.open(out, os.O_RDONLY)
    try:
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            what = "is in use by another run; wait until it has finished, or choose another folder"
            raise InputError("out", str(out), what) from None
        yield
    finally:
        os.close(folder)


class _Steps:
    """The steps of a job in a folder; each is a file or folder that appears when it is complete."""

    def __init__(self, job: BatchJob, engine: Engine, out: Path, progress: BatchProgress) -> None:
        self.job, self.engine, self.out, self.progress = job, engine, out, progress
        self.kept: list[str] = []
        self.at_work: Sequence[str] = ()
        """Files that are being counted."""

    def run(self) -> BatchResult:
        job = self.job
        for name in ("visits", "profile", "places"):
            if (self.out / name).exists() and _made_from(self.out / name) is None:
                what = "exists, but was not made by an earlier run; move it, or choose another folder"
                raise InputError("out", str(self.out / name), what)
        counted = self._counted()
        summary = json.loads((self.out / "visits" / COUNTED).read_text())
        periods = Periods(
            date.fromisoformat(summary["start"]),
            summary["periods"],
            job.period_range.days,
            job.period_range.weekdays_only,
        )
        train = range(job.period_range.train or len(periods))
        if train.stop > len(periods):
            raise InputError(
                "train", train.stop, f"should be at most {len(periods)}, the number of periods with visits"
            )
        profile_key = _digest(counted, train.stop, job.profile_settings.method, job.profile_settings.half_life_periods)
        visits = self._read("visits")
        self._make("profile", profile_key, lambda: graph.profile(visits, train, job.profile_settings, periods.days))
        places_key = _digest(profile_key, asdict(job.profile_settings))
        profile = self._read("profile")
        self._make(
            "places",
            places_key,
            lambda: graph.places(visits, profile, job.profile_settings, self.engine.column_function),
        )
        return self._finish(summary, periods, train)

    # --- visits -----------------------------------------------------------------------------------------

    def _counted(self) -> str:
        """Count the visits unless that is done; returns what they were made from."""
        job = self.job
        period_range = asdict(replace(job.period_range, train=None))
        files = job.inputs.identity()
        period_range |= {"start": str(job.period_range.start), "distinct": job.distinct}
        settings = asdict(job.column_names), job.area.digest, period_range
        key = _digest(files, *settings)
        parts_folder = self.out / "visits.parts"
        if _made_from(self.out / "visits") == key:
            self.kept.append("visits")
            shutil.rmtree(parts_folder, ignore_errors=True)
            return key
        if _made_from(self.out / "visits") is not None:
            what = "contains visits of other files or settings; choose another folder, or remove this one"
            raise InputError("out", str(self.out), what)
        parts_folder.mkdir(exist_ok=True)
        parts = job.parts()
        known = dict(zip(job.inputs.paths, files, strict=True))
        folders = [parts_folder / _digest([known[path] for path in paths], *settings)[:16] for paths in parts]
        aside: Counter[str] = Counter(dict(job.inputs.dropped))
        for number, (folder, paths) in enumerate(zip(folders, parts, strict=True)):
            aside.update(self._part(folder, paths, number, len(parts)))
        table = self.engine.read_parquet([str(one) for folder in folders for one in sorted(folder.glob("*.parquet"))])
        held = sorted((row["period"], row["visits"]) for row in self.engine.rows(graph.per_period(table)))
        if not held:
            reasons = {row["left_out"]: row["rows"] for row in self.engine.rows(graph.left_out(table))}
            shutil.rmtree(parts_folder)
            told = _listed(Counter(reasons) + aside)
            raise InputError(
                "traces", self._shown(), f"should have a fix in the area and the periods; there is none ({told})"
            )
        numbers, visits = np.array(held, dtype=np.int64).T
        usual = job.period_range.usual(numbers, visits)
        periods = job.period_range.found(usual.start, usual.stop - 1)
        whole = self.out / "visits.whole"
        shutil.rmtree(whole, ignore_errors=True)
        users = self.engine.rows(graph.users(table))[0]["users"]
        odd = [int(number) for number in numbers if number not in usual]
        if len(parts) == 1 and job.period_range.start is not None and not odd:
            folders[0].rename(whole)
        else:
            first = 0 if job.period_range.start is not None else usual.start
            merged = graph.merge_visits(table, first, len(periods), usual)
            self.engine.write(merged, whole, self._of("merging parts"))
        counted = self.engine.read_parquet([str(one) for one in sorted(whole.glob("*.parquet"))])
        reasons = {row["left_out"]: row["rows"] for row in self.engine.rows(graph.left_out(counted))}
        rows = reasons.pop(None)
        reasons = Counter(reasons) + aside
        summary = {
            "start": periods.start.isoformat(), "periods": len(periods), "users": users, "rows": rows,
            "left_out": dict(sorted(reasons.items())),
            "outlying": [start_of(job.period_range.counting(), number).isoformat() for number in odd],
        }  # fmt: skip
        (whole / COUNTED).write_text(json.dumps(summary))
        (whole / MADE_FROM).write_text(key)
        whole.rename(self.out / "visits")
        shutil.rmtree(parts_folder)
        return key

    def _part(self, folder: Path, paths: Sequence[str], number: int, of: int) -> dict[str, int]:
        """Count one part unless that is done; returns how many rows the engine set aside, by reason."""
        if folder.exists():
            self.kept.append(f"part {number + 1} of {of}")
            return dict(json.loads((folder / REJECTED).read_text()))
        job, engine = self.job, self.engine
        self.at_work = paths
        inputs = job.inputs
        if inputs.delimiter is not None:
            self._check_packed([path for path in paths if path.endswith(".gz")])
        if inputs.delimiter is None:
            table = engine.read_parquet(paths)
        else:
            table = engine.read_csv(paths, inputs.delimiter, inputs.columns)
        periods = job.period_range.counting()
        start_s = (periods.start - EPOCH).days * DAY_S
        span_s = (max(start_s, 0), start_s + 7 * len(periods) * DAY_S)
        if periods.weekdays_only:
            span_s = (0, LATEST_S)  # also a fix before the first period is told by its weekday
        read = fixes(table, job.column_names, span_s)
        read = graph.each_once(read) if job.distinct else read
        counted = graph.visits(read, job.area, periods, engine.column_function)
        half = folder.with_suffix(".half")
        shutil.rmtree(half, ignore_errors=True)
        step = "counting visits"
        engine.write(counted, half, lambda share: self.progress(step, (number + share) / of))
        rejected = {} if inputs.delimiter is None else engine.rejected()
        (half / REJECTED).write_text(json.dumps(rejected))
        half.rename(folder)
        self.at_work = ()
        self.progress(step, (number + 1) / of)
        return rejected

    def _check_packed(self, paths: Sequence[str]) -> None:
        """Check the checksums of compressed files; engines do not, and would count damaged data."""
        for number, path in enumerate(paths):
            self.progress("checking packed files", number / len(paths))
            with reading(Path(path)), gzip.open(path) as file:
                while file.read(UNPACKED_BYTES):
                    pass

    # --- what follows -----------------------------------------------------------------------------------

    def _make(self, name: str, key: str, table: Callable[[], Expression]) -> None:
        folder = self.out / name
        if _made_from(folder) == key:
            self.kept.append(name)
            return
        half, old = self.out / f"{name}.half", self.out / f"{name}.old"
        for left in (half, old):
            shutil.rmtree(left, ignore_errors=True)
        self.engine.write(table(), half, self._of(name))
        (half / MADE_FROM).write_text(key)
        if folder.exists():
            folder.rename(old)  # removing takes a while, and an incomplete folder must not look complete
        half.rename(folder)
        shutil.rmtree(old, ignore_errors=True)

    def _read(self, name: str) -> Expression:
        return self.engine.read_parquet([str(path) for path in sorted((self.out / name).glob("*.parquet"))])

    def _of(self, step: str) -> ShareDone:
        return lambda share: self.progress(step, share)

    def _finish(self, counted: dict[str, Any], periods: Periods, train: range) -> BatchResult:
        reporters_at, frequent = np.zeros(len(self.job.area), dtype=np.int64), 0
        for row in self.engine.rows(graph.prior(self._read("places"))):
            if row["cell"] is not None:
                reporters_at[row["cell"]] = row["users"]
            frequent += row["frequent"]
        reporters = int(reporters_at.sum())
        prior = reporters_at / reporters if reporters else np.zeros(len(reporters_at))
        found = BatchResult(
            periods, train, counted["users"], reporters, frequent, counted["rows"], counted["left_out"], prior,
            reporters_at, tuple(self.kept), tuple(counted["outlying"]),
        )  # fmt: skip
        _write(self.out / "prior.csv", _prior_csv(self.job.area, found))
        _write(self.out / "summary.json", json.dumps(self._summary(found), indent=2) + "\n")
        return found

    def _summary(self, found: BatchResult) -> dict[str, Any]:
        job = self.job
        return {
            "engine": self.engine.name,
            "files": len(job.inputs.paths),
            "area_digest": job.area.digest,
            "cells": len(job.area),
            "column_names": asdict(job.column_names),
            "start": found.periods.start.isoformat(),
            "periods": len(found.periods),
            "period_days": found.periods.days,
            "weekdays_only": found.periods.weekdays_only,
            "train": len(found.train),
            "profile_settings": {**asdict(job.profile_settings), "lower_deltas": job.profile_settings.thresholds[1:]},
            "distinct": job.distinct,
            "fixes_counted": found.rows,
            "fixes_left_out": found.left_out,
            "outlying_periods": list(found.outlying),
            "users": found.users,
            "users_with_a_place": found.reporters,
            "users_with_a_frequent_place": found.frequent,
        }

    def _shown(self) -> str:
        paths = self.job.inputs.paths
        return paths[0] if len(paths) == 1 else f"{paths[0]} and {len(paths) - 1} more"


def _made_from(folder: Path) -> str | None:
    """Return the digest of what a step was made from; None if there is no step, or an unfinished one."""
    try:
        return (folder / MADE_FROM).read_text()
    except OSError:
        return None


def _digest(*values: Any) -> str:
    return hashlib.sha256(json.dumps(values, sort_keys=True, default=str).encode()).hexdigest()


def _write(path: Path, text: str) -> None:
    half = path.with_name(f".{path.name}.half")
    half.write_text(text, encoding="utf-8")
    half.replace(path)


def _prior_csv(area: Area, found: BatchResult) -> str:
    latitude, longitude = area.centres()
    columns = (latitude.tolist(), longitude.tolist(), found.reporters_at.tolist(), found.prior.tolist())
    lines = [
        f"{cell},{lat:.6f},{lon:.6f},{users},{share!r}"
        for cell, (lat, lon, users, share) in enumerate(zip(*columns, strict=True))
    ]
    return "\n".join(["cell,latitude,longitude,users,probability", *lines]) + "\n"


def _listed(reasons: Mapping[str, int]) -> str:
    return ", ".join(f"{reason}: {rows:,}" for reason, rows in reasons.items()) or "no rows"


def _explained(error: EngineError, job: BatchJob, steps: _Steps) -> Exception:
    if job.inputs.delimiter is None and not job.inputs.remote:
        damaged = name_damaged(steps.at_work, job.column_names.columns)
        if damaged is not None:
            return FileFormatError(f"{damaged}: cannot be read to its end; is it damaged? ({error})")
    kept = len(list(steps.out.glob(f"visits.parts/*/{REJECTED}")))
    of = len(job.parts())
    done = f"; {kept} of {of} parts are kept" if kept else ""
    return EngineError(f"{error}; the same command continues from where it stopped{done}")

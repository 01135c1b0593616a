"""A batch that died goes on: whole parts and steps are kept, half ones made anew, other visits never replaced."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from datetime import date
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import numpy as np
import pytest

from crowdveil.batch import COLUMN_NAMES, Engine, PeriodRange, ProfileSettings, find_inputs, save_fixes
from crowdveil.batch.job import MADE_FROM, BatchJob, run
from crowdveil.errors import EngineError, InputError
from crowdveil.traces import synthetic_visits
from tests.batch.batches import SOME_SQUARES, SQUARES, Batch, batch

LATER = date(2090, 1, 2)
CITY: dict[str, Any] = {"users": 40, "weeks": 6, "latitude": 48.14, "longitude": 11.57}


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Four files."""
    folder = tmp_path / "in"
    folder.mkdir()
    for number in range(4):
        save_fixes([synthetic_visits(np.random.default_rng(number), **CITY)], folder / f"{number}.parquet")
    return folder


class Mortal:
    """An engine that dies before its n-th step is written, after half of it was."""

    def __init__(self, engine: Engine, steps: int) -> None:
        self.engine, self.left, self.name = engine, steps, engine.name

    def __getattr__(self, name: str) -> Any:
        return getattr(self.engine, name)

    def write(self, table: Any, folder: Path, progress: Any) -> None:
        self.left -= 1
        if self.left < 0:
            folder.mkdir()
            (folder / "part-0.parquet").write_bytes(b"PAR1 and no more")
            raise EngineError("the plug was pulled")
        self.engine.write(table, folder, progress)


def told(done: Batch) -> tuple[Any, ...]:
    return done.visits, done.profile, done.places, done.left_out, done.found.prior.tolist()


@pytest.mark.parametrize("steps", [0, 3, 4, 5, 6])
def test_wherever_it_dies_a_rerun_gives_the_same(tmp_path: Path, files: Path, duck: Engine, steps: int) -> None:
    whole = batch(files, SQUARES, tmp_path / "whole", column_names=COLUMN_NAMES, engine=duck)
    with pytest.raises(EngineError, match="the plug was pulled; the same command continues from where it stopped"):
        batch(files, SQUARES, tmp_path / "out", column_names=COLUMN_NAMES, part_bytes=1, engine=Mortal(duck, steps))
    again = batch(files, SQUARES, tmp_path / "out", column_names=COLUMN_NAMES, part_bytes=1, engine=duck)
    assert told(again) == told(whole)
    kept = [f"part {n + 1} of 4" for n in range(min(steps, 4))] if steps < 5 else ["visits", "profile"][: steps - 4]
    assert list(again.found.kept_steps) == kept
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {"visits", "profile", "places", "prior.csv", "summary.json"}


def test_parts_of_another_size_are_not_taken_for_these(tmp_path: Path, files: Path, duck: Engine) -> None:
    with pytest.raises(EngineError):
        batch(files, SQUARES, tmp_path / "out", column_names=COLUMN_NAMES, part_bytes=1, engine=Mortal(duck, 2))
    again = batch(files, SQUARES, tmp_path / "out", column_names=COLUMN_NAMES, engine=duck)
    assert told(again) == told(batch(files, SQUARES, tmp_path / "whole", column_names=COLUMN_NAMES, engine=duck))
    assert again.found.kept_steps == ()


def test_other_settings_of_profile_and_places_keep_the_visits(tmp_path: Path, files: Path, duck: Engine) -> None:
    first = batch(files, SQUARES, tmp_path / "out", column_names=COLUMN_NAMES, engine=duck)
    changes: list[tuple[ProfileSettings, PeriodRange, tuple[str, ...]]] = [
        (ProfileSettings(), PeriodRange(), ("visits", "profile", "places")),
        (ProfileSettings(delta=0.3), PeriodRange(), ("visits", "profile")),
        (ProfileSettings(delta=0.3, seed=1), PeriodRange(), ("visits", "profile")),
        (ProfileSettings("frequency"), PeriodRange(), ("visits",)),
        (ProfileSettings("frequency"), PeriodRange(train=3), ("visits",)),
        (ProfileSettings(), PeriodRange(), ("visits",)),
    ]
    for number, (profile_settings, period_range, kept) in enumerate(changes):
        again = batch(
            files,
            SQUARES,
            tmp_path / "out",
            column_names=COLUMN_NAMES,
            period_range=period_range,
            profile_settings=profile_settings,
            engine=duck,
        )
        assert again.found.kept_steps == kept, number
        anew = batch(
            files,
            SQUARES,
            tmp_path / f"{number}",
            column_names=COLUMN_NAMES,
            period_range=period_range,
            profile_settings=profile_settings,
            engine=duck,
        )
        assert told(again) == told(anew)
    assert told(again) == told(first)


def test_visits_of_something_else_are_refused_and_stay(tmp_path: Path, files: Path, duck: Engine) -> None:
    batch(files, SQUARES, tmp_path / "out", column_names=COLUMN_NAMES, engine=duck)
    before = (tmp_path / "out" / "visits" / MADE_FROM).read_text()
    changed: list[dict[str, Any]] = [
        {"area": SOME_SQUARES},
        {"column_names": replace(COLUMN_NAMES, offset_minutes=None)},
        {"period_range": PeriodRange(days=1)},
        {"traces": files / "1.parquet"},
    ]
    for change in changed:
        asked = {"traces": files, "area": SQUARES, "column_names": COLUMN_NAMES, **change}
        with pytest.raises(
            InputError, match=r"out = .*contains visits of other files or settings; choose another folder"
        ):
            batch(asked.pop("traces"), asked.pop("area"), tmp_path / "out", engine=duck, **asked)
    os.utime(files / "0.parquet", (1, 1))
    with pytest.raises(InputError, match="other files"):
        batch(files, SQUARES, tmp_path / "out", column_names=COLUMN_NAMES, engine=duck)
    assert (tmp_path / "out" / "visits" / MADE_FROM).read_text() == before


def test_one_run_at_a_time_writes_to_a_folder(tmp_path: Path, files: Path, duck: Engine) -> None:
    def meddle(step: str, share: float) -> None:
        with pytest.raises(InputError, match=r"out = .*: is in use by another run; wait until it has finished"):
            batch(files, SQUARES, tmp_path / "out", column_names=COLUMN_NAMES, engine=duck)
        told_of.append(step)

    told_of: list[str] = []
    inputs = find_inputs([str(files)], COLUMN_NAMES)
    (tmp_path / "out").mkdir()
    run(BatchJob(inputs, COLUMN_NAMES, SQUARES), duck, tmp_path / "out", meddle)
    assert "counting visits" in told_of
    batch(files, SQUARES, tmp_path / "out", column_names=COLUMN_NAMES, engine=duck)


def test_once_a_file_is_replaced_the_others_need_not_be_counted_again(
    tmp_path: Path, files: Path, duck: Engine
) -> None:
    with pytest.raises(EngineError, match="3 of 4 parts are kept"):
        batch(files, SQUARES, tmp_path / "out", column_names=COLUMN_NAMES, part_bytes=1, engine=Mortal(duck, 3))
    save_fixes([synthetic_visits(np.random.default_rng(9), **CITY)], files / "3.parquet")
    done = batch(files, SQUARES, tmp_path / "out", column_names=COLUMN_NAMES, part_bytes=1, engine=duck)
    assert done.found.kept_steps == ("part 1 of 4", "part 2 of 4", "part 3 of 4")
    assert told(done) == told(batch(files, SQUARES, tmp_path / "anew", column_names=COLUMN_NAMES, engine=duck))


@pytest.mark.parametrize("name", ["visits", "profile", "places"])
def test_a_folder_of_someone_elses_is_left_alone(tmp_path: Path, files: Path, duck: Engine, name: str) -> None:
    theirs = tmp_path / "out" / name / "thesis.txt"
    theirs.parent.mkdir(parents=True)
    theirs.write_text("years of work")
    with pytest.raises(InputError, match=rf"{name}'?: exists, but was not made by an earlier run; move it"):
        batch(files, SQUARES, tmp_path / "out", column_names=COLUMN_NAMES, engine=duck)
    assert theirs.read_text() == "years of work"


def test_a_run_that_finds_nothing_does_not_stand_in_the_way_of_the_next(
    tmp_path: Path, files: Path, duck: Engine
) -> None:
    with pytest.raises(
        InputError,
        match=r"should have a fix in the area and the periods; there is none \(outside of the periods: [\d,]+\)",
    ):
        batch(
            files,
            SQUARES,
            tmp_path / "out",
            column_names=COLUMN_NAMES,
            period_range=PeriodRange(start=LATER),
            engine=duck,
        )
    batch(files, SQUARES, tmp_path / "out", column_names=COLUMN_NAMES, engine=duck)


@pytest.mark.long
def test_a_real_run_that_is_killed_between_parts_goes_on(tmp_path: Path, files: Path) -> None:
    SQUARES.save(tmp_path / "area.json")

    def command(out: str, *options: str) -> list[str]:
        asked = ["--traces", str(files), "--offset-column", "offset_minutes", "--area", str(tmp_path / "area.json")]
        return [sys.executable, "-m", "crowdveil", "profile", *asked, "--out", str(tmp_path / out), "--json", *options]

    cut = command("cut", "--part-gb", "0.000001")
    process = subprocess.Popen(cut, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until = monotonic() + 60
    while monotonic() < until and process.poll() is None:
        if any(one.parent.suffix != ".half" for one in tmp_path.glob("cut/visits.parts/*/_rejected")):
            process.send_signal(signal.SIGKILL)
            break
        sleep(0.001)
    assert process.wait(60) == -signal.SIGKILL
    again = subprocess.run(cut, capture_output=True, text=True, timeout=60, check=False)
    assert again.returncode == 0, again.stderr
    assert "part 1 of 4" in again.stderr
    assert [line.split(" ")[0] for line in again.stderr.splitlines()] == ["Written", "Done"], (
        "nothing but our own words"
    )
    whole = subprocess.run(command("whole"), capture_output=True, text=True, timeout=60, check=False)
    assert json.loads(again.stdout) == json.loads(whole.stdout)
    assert (tmp_path / "cut" / "prior.csv").read_text() == (tmp_path / "whole" / "prior.csv").read_text()

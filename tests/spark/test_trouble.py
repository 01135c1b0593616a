"""Spark that dies halfway, and DuckDB with a tenth of the memory that its input takes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from time import monotonic, perf_counter, sleep

import pytest

from crowdveil.area import Grid
from crowdveil.batch import save_fixes
from crowdveil.traces import CitySettings, SyntheticCity
from tests.spark.sides import compare, say, scratch

AREA = Grid.from_bounds(47.93, 10.90, 48.07, 11.10)
MAX_S = 240
MEMORY_MB = 200
CSV = "user,time,latitude,longitude\n"


def command(folder: Path, out: str, *options: str) -> list[str]:
    """`crowdveil profile` of all Parquet files of a folder, in as many parts as there are files."""
    asked = ["--traces", f"{folder}/*.parquet", "--offset-column", "offset_minutes", "--area", f"{folder}/area.json"]
    return [sys.executable, "-m", "crowdveil", "profile", *asked, "--out", f"{folder}/{out}", *options]


def java_below(process: int) -> int | None:
    """The Java that a process started, by the parents that the system knows."""
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            fields = (entry / "stat").read_text().rpartition(")")
            if "java" in fields[0] and int(fields[2].split()[1]) == process:
                return int(entry.name)
        except OSError:
            continue
    return None


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Four files of a synthetic city."""
    AREA.save(tmp_path / "area.json")
    for number, visits in enumerate(SyntheticCity(3, 20_000, CitySettings(20), block_users=5_000)):
        save_fixes([visits], tmp_path / f"{number}.parquet")
    return tmp_path


def test_spark_that_is_killed_halfway_goes_on_where_it_was(files: Path) -> None:
    small = ("--engine", "spark://local[2]", "--part-gb", "0.000001")
    run = command(files, "spark", *small)
    process = subprocess.Popen(run, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    until = monotonic() + MAX_S
    while monotonic() < until and process.poll() is None:
        if len(list(files.glob("spark/visits.parts/*/_rejected"))) >= 2:
            java = java_below(process.pid)
            assert java is not None
            os.kill(java, signal.SIGKILL)
            break
        sleep(0.02)
    told, complaint = process.communicate(timeout=MAX_S)
    assert process.returncode == 2, complaint
    assert told == ""
    assert complaint.count("\n") == 1, complaint
    assert "the same command continues from where it stopped" in complaint
    say(f"killed: {complaint.strip()}")
    kept = len(list(files.glob("spark/visits.parts/*/_rejected")))
    assert 2 <= kept < 4
    again = subprocess.run(run, capture_output=True, text=True, timeout=MAX_S, check=False)
    assert again.returncode == 0, again.stderr
    assert f"part {kept} of 4" in again.stderr
    duck = subprocess.run(command(files, "duck"), capture_output=True, text=True, timeout=MAX_S, check=False)
    assert duck.returncode == 0, duck.stderr
    compare("killed and resumed", files / "duck", files / "spark")


def test_a_file_ten_times_larger_than_the_memory_given_to_duckdb_finishes(tmp_path: Path) -> None:
    with scratch(tmp_path / "large") as folder:
        AREA.save(folder / "area.json")
        rows = 0
        with (folder / "t.csv").open("w") as file:
            file.write(CSV)
            for visits in SyntheticCity(9, 165_000, CitySettings(45)):
                names, user = visits.users, visits.user.tolist()
                columns = (user, visits.utc_s.tolist(), visits.latitude.tolist(), visits.longitude.tolist())
                file.writelines(f"{names[u]},{t},{lat!r},{lon!r}\n" for u, t, lat, lon in zip(*columns, strict=True))
                rows += len(visits)
        size = (folder / "t.csv").stat().st_size
        assert size > 10 * MEMORY_MB * 1_000_000
        asked = ["--traces", f"{folder}/t.csv", "--area", f"{folder}/area.json", "--out", f"{folder}/out"]
        options = ["--memory", f"{MEMORY_MB}MB", "--start", "2024-01-01", "--periods", "46"]
        started = perf_counter()
        run = [sys.executable, "-m", "crowdveil", "profile", *asked, *options]
        process = subprocess.Popen(run, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        peak_kb = 0
        while process.poll() is None:
            peak_kb = max(peak_kb, peak_of(process.pid))
            sleep(0.2)
        told, complaint = process.communicate()
        assert process.returncode == 0, complaint
        assert f"fixes: {rows:,} counted" in told or "outside of the area" in told
        figures = f"{perf_counter() - started:.0f} s, peak {peak_kb / 1000:.0f} MB"
        say(f"{size / 1e9:.2f} GB of CSV, {rows:,} rows, in {MEMORY_MB} MB: {figures}")


def peak_of(process: int) -> int:
    """The most memory that a process ever had, in kB."""
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("VmHWM")), 0)

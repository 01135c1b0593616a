"""Install the core alone into a new environment, run its verbs there, and print its size and how fast it starts.

`make core` runs this. It fails if a verb does not run or if the installed files are too large. The start is a ratio of
two medians from the same run and only printed, because the clock of a shared machine should fail nobody's change.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter

from crowdveil.server.local import local_server

ROOT = Path(__file__).parent.parent.parent
LOCK = ROOT / "requirements-core.lock"
MAX_SIZE_MB = 250.0
MAX_START_RATIO = 2.0
REPEATS = 9
INSTALLERS = ("pip", "setuptools", "pkg_resources", "_distutils_hack")
"""What `venv` puts into every environment."""

AREA = ["area", "grid", "--bounds", "40.65,-74.03,40.82,-73.90", "--cell-km", "1", "--out", "area.json"]
ALONE = [
    AREA,
    [
        *("policy", "--area", "area.json", "--targets", "40.75, -73.98; 40.71, -74.00", "--epsilon-per-km", "ln4"),
        *("--users", "1083", "--wanted", "54", "--out", "policy.json"),
    ],
    ["certify", "policy.json"],
    ["draw", "policy.json", "--lat", "40.75", "--lon", "-73.98"],
    ["compare", "--seeds", "1", "--rounds", "2", "--json"],
]
"""Verbs that need no server."""
WITH_SERVER = [
    [
        *("campaign", "create", "coffee", "--offer", "A coffee", "--area", "area.json", "--targets", "40.75, -73.98"),
        *("--users", "20", "--wanted", "2", "--rounds", "1", "--enrolment", "open"),
    ],
    ["campaign", "start", "coffee"],
    ["device", "create", "--ledger", "mine.ledger"],
    ["device", "join", "coffee", "--ledger", "mine.ledger", "--profile", "profile.csv", "--yes"],
    ["device", "status", "coffee", "--ledger", "mine.ledger"],
]
"""Verbs of an operator and a participant, against a server that runs in the environment of this module."""
MISSING = {"serve": ["serve"], "demo": ["demo", "--out", "demo"]}
"""Verbs that need an extra, and should name it in one line."""


class FailedError(Exception):
    """A command that did not do what it should."""


def main(wheel: Path) -> int:
    """Run everything; return the exit code."""
    with TemporaryDirectory() as folder:
        home, work = Path(folder, "environment"), Path(folder, "work")
        work.mkdir()
        try:
            _install(home, wheel)
            _try_verbs(home, work)
            _try_missing(home, work)
        except FailedError as error:
            print(f"core: {error}", file=sys.stderr)  # noqa: T201
            return 1
        files, bytecode = _size_mb(home)
        ratio = _start_ratio(home, work)
    _say("size", f"{files:.0f} MB of files (limit: {MAX_SIZE_MB:.0f} MB), and {bytecode:.0f} MB of bytecode from pip")
    goal = f"goal: at most {MAX_START_RATIO:g}"
    _say("start", f"ratio {ratio:.1f} ({goal}), `crowdveil --help` to `python -c 'import typer, rich'`")
    if files > MAX_SIZE_MB:
        print(f"core: {files:.0f} MB is more than {MAX_SIZE_MB:.0f} MB", file=sys.stderr)  # noqa: T201
        return 1
    return 0


def _install(home: Path, wheel: Path) -> None:
    _run([sys.executable, "-m", "venv", str(home)], ROOT)
    pip = [str(home / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    _run([*pip, "--require-hashes", "-r", str(LOCK)], ROOT)
    _run([*pip, "--no-deps", str(wheel.resolve())], ROOT)
    _run([str(home / "bin" / "python"), "-m", "pip", "check"], ROOT)  # what the wheel requires, the lock holds


def _try_verbs(home: Path, work: Path) -> None:
    command = str(home / "bin" / "crowdveil")
    for arguments in ALONE:
        _timed(command, arguments, work)
    (work / "profile.csv").write_text("cell,probability\n125,0.9\n", encoding="ascii")
    data = work / "server"
    data.mkdir()
    with local_server(data) as server:
        access = {"CROWDVEIL_SERVER": server.url, "CROWDVEIL_TOKEN": server.token}
        for arguments in WITH_SERVER:
            _timed(command, arguments, work, access)


def _try_missing(home: Path, work: Path) -> None:
    for verb, arguments in MISSING.items():
        done = _start([str(home / "bin" / "crowdveil"), *arguments], work)
        said = done.stderr.strip()
        if done.returncode == 0 or "pip install 'crowdveil[" not in said or len(said.splitlines()) != 1:
            raise FailedError(f"{verb} should say in one line which extra it needs, and said: {said or done.stdout}")
        _say(verb, said)


def _timed(command: str, arguments: list[str], work: Path, more: dict[str, str] | None = None) -> None:
    start = perf_counter()
    _run([command, *arguments], work, more)
    _say(" ".join(one for one in arguments[:2] if one.isalpha()), f"runs ({perf_counter() - start:.1f} s)")


def _run(command: list[str], folder: Path, more: dict[str, str] | None = None) -> None:
    done = _start(command, folder, more)
    if done.returncode != 0:
        raise FailedError(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")


def _start(command: list[str], folder: Path, more: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    # Without PYTHONPATH the environment finds nothing but what is installed in it.
    own = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "CROWDVEIL"))}
    return subprocess.run(command, cwd=folder, env=own | (more or {}), capture_output=True, text=True, check=False)


def _size_mb(home: Path) -> tuple[float, float]:
    """Return the size of the installed files and that of their bytecode, without the installers."""
    files = bytecode = 0
    (packages,) = home.glob("lib/python*/site-packages")
    for path in packages.rglob("*"):
        top = path.relative_to(packages).parts[0]
        if path.is_file() and not top.startswith(INSTALLERS):
            size = path.stat().st_size
            files, bytecode = (files, bytecode + size) if path.suffix == ".pyc" else (files + size, bytecode)
    return files / 1e6, bytecode / 1e6


def _start_ratio(home: Path, work: Path) -> float:
    """Return how much longer the help takes than importing what draws it, from runs that take turns."""
    commands = ([str(home / "bin" / "crowdveil"), "--help"], [str(home / "bin" / "python"), "-c", "import typer, rich"])
    taken: tuple[list[float], list[float]] = ([], [])
    for _ in range(REPEATS):
        for command, times in zip(commands, taken, strict=True):
            start = perf_counter()
            _run(command, work)
            times.append(perf_counter() - start)
    return median(taken[0]) / median(taken[1])


def _say(what: str, text: str) -> None:
    print(f"  {what:<16}{text}", flush=True)  # noqa: T201


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))

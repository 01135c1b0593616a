"""The rooms that are mutated, each with the tests that should notice."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE = "src/crowdveil"


@dataclass(frozen=True)
class Room:
    """Some files, and the tests that are run against every change of them."""

    files: tuple[str, ...]
    """Patterns below `src/crowdveil`."""
    tests: tuple[str, ...]
    left_out: tuple[str, ...] = ()
    """Tests that take long and look at the same lines as others."""
    least_share: float = 0.95
    """How many of all mutants should be noticed."""

    def paths(self) -> list[Path]:
        """The files themselves."""
        found = {path for pattern in self.files for path in (ROOT / SOURCE).glob(pattern)}
        return sorted(path for path in found if path.name != "__init__.py")


ROOMS = {
    "certify": Room(
        ("certify/*.py",),
        ("tests/certify",),
        (
            "tests/certify/test_mutants.py",
            "tests/certify/test_combined.py::"
            "test_three_reports_at_ln_4_on_one_grid_name_the_place_in_at_most_17_percent",
        ),
    ),
    "draw": Room(("draw.py",), ("tests/test_draw.py",)),
    "limits": Room(("limits/*.py",), ("tests/limits", "tests/client/test_hostile_campaigns.py")),
    "client": Room(
        (
            "client/device.py",
            "client/events.py",
            "client/history.py",
            "client/invite_link.py",
            "client/ledger*.py",
            "client/participant_client.py",
            "client/retry.py",
            "client/transport.py",
        ),
        ("tests/client",),
        ("tests/client/test_kills.py", "tests/client/test_fleet.py", "tests/client/test_operator.py"),
    ),
    "guards": Room(
        (
            *("server/access.py", "server/rate_limit.py", "server/request_guard.py", "server/requests.py"),
            "server/tokens.py",
        ),
        ("tests/server/test_requests.py", "tests/server/test_guards.py", "tests/server/test_team.py"),
    ),
    "campaign": Room(("campaign/*.py",), ("tests/campaign",), least_share=0.9),
    "profile": Room(("profile/*.py",), ("tests/profile",), least_share=0.9),
    "prior": Room(("prior/*.py",), ("tests/prior",), ("tests/prior/test_more_reports.py",), least_share=0.9),
}


def changed_rooms(since: str | None = None) -> list[str]:
    """The rooms with a file that differs from a commit; by default from where this branch left `main`."""
    base = since or _git("merge-base", "HEAD", "main") or "HEAD~1"
    if base == _git("rev-parse", "HEAD"):
        base = "HEAD~1"
    changed = {ROOT / name for name in _git("diff", "--name-only", base).splitlines()}
    return [name for name, room in ROOMS.items() if changed.intersection(room.paths())]


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else ""

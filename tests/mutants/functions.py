"""Change functions one operator, number or argument at a time, with mutmut, and run the tests of their room each time.

mutmut reads one configuration from the folder it runs in, and copies the sources next to it; so every room has a folder
of its own below `.mutants`. mutmut tests every mutant in a fork of one process, by the tests that reach the changed
function, quickest first, until one fails.

Statements that raise are left alone, and counted: changed, they differ in their words only. Whether they are reached is
decided by the conditions around them, which are changed. mutmut changes functions alone; `constants` does the rest.
"""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.mutants.rooms import ROOT, SOURCE, Room

FOLDER = ROOT / ".mutants"
KILLED = {1, 3, 36, 24, -24, 152, 255, -9, -11}
"""Exit codes of mutmut: a test failed, or the mutant ran out of time or crashed."""
PYTEST = ["-n", "0", "-p", "no:cacheprovider", "-W", "default", "-m", "not long", "-k", "not postgresql"]


def run(name: str, room: Room, children: int, *, again: bool) -> tuple[int, dict[str, str]]:
    """Test all mutants of a room; return how many there were, and the diff of every one that survived.

    Again means: only those that survived the last time, or that are new, against the tests of today. mutmut notes once
    which functions a test reaches: what a test reaches only since it was changed is noticed by a run from the start.
    """
    folder = FOLDER / name
    if again and (folder / "mutants").exists():
        _forget_survivors(folder)
    else:
        _prepare(folder, room)
    command = [sys.executable, "-m", "mutmut", "run", "--max-children", str(children)]
    environment = {key: text for key, text in os.environ.items() if key != "PYTHONPATH"}
    environment |= {"OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    codes = _codes(folder)
    if done.returncode != 0 or not codes or None in codes.values():
        raise RuntimeError(f"mutmut did not finish on {name}:\n{done.stdout.decode()[-3000:]}")
    survivors = sorted(key for key, code in codes.items() if code not in KILLED)
    return len(codes), {_text(folder, key): key for key in survivors}


def left_alone(room: Room) -> int:
    """How many statements of a room raise, and are not changed."""
    trees = (ast.parse(path.read_text(encoding="utf-8")) for path in room.paths())
    return sum(isinstance(node, ast.Raise) for tree in trees for node in ast.walk(tree))


def _codes(folder: Path) -> dict[str, int | None]:
    """What became of every mutant, as mutmut wrote it down."""
    codes: dict[str, int | None] = {}
    for meta in (folder / "mutants").rglob("*.meta"):
        codes |= json.loads(meta.read_text())["exit_code_by_key"]
    return codes


def _forget_survivors(folder: Path) -> None:
    """Let mutmut test again what survived: it tests whatever has no result."""
    for path in (folder / "mutants").rglob("*.meta"):
        meta = json.loads(path.read_text())
        codes = meta["exit_code_by_key"]
        meta["exit_code_by_key"] = {key: code if code in KILLED else None for key, code in codes.items()}
        path.write_text(json.dumps(meta))


def _prepare(folder: Path, room: Room) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "src").symlink_to(ROOT / "src")
    (folder / "tests").symlink_to(ROOT / "tests")
    settings = {
        "source_paths": ["src"],
        "only_mutate": [str(path.relative_to(ROOT)) for path in room.paths()],
        "pytest_add_cli_args": PYTEST,
        "pytest_add_cli_args_test_selection": [
            *(test for test in room.tests if (ROOT / test).exists()),
            *(f"--deselect={test}" for test in room.left_out),
        ],
        "do_not_mutate_patterns": [r"^\s*raise \w"],
    }
    lines = [f"{key} = {json.dumps(value)}" for key, value in settings.items()]
    text = (ROOT / "pyproject.toml").read_text()
    (folder / "pyproject.toml").write_text("\n".join([text, "[tool.mutmut]", *lines, ""]))
    assert (ROOT / SOURCE).is_dir()


def _text(folder: Path, key: str) -> str:
    """What a mutant changes: the function, and the lines that differ; its number may change with the next version."""
    done = subprocess.run(
        [sys.executable, "-m", "mutmut", "show", key], cwd=folder, capture_output=True, text=True, check=True
    )
    lines = [line for line in done.stdout.splitlines() if line[:1] in "+-" and line[:3] not in ("+++", "---")]
    return f"{key.rpartition('__mutmut_')[0]}: " + " ".join(f"{line[0]} {line[1:].strip()}" for line in lines)

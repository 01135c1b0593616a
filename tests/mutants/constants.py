"""Change the numbers that stand outside of functions by a tenth, up and down, and run the tests of their room.

These are the limits and sizes: the constants of modules and the defaults of fields, which mutmut leaves alone.
"""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

from tests.mutants.functions import FOLDER, PYTEST
from tests.mutants.rooms import ROOT, Room

LONGEST_S = 600


@dataclass(frozen=True)
class Changed:
    """One number of one file, and what it is changed to."""

    path: Path
    name: str
    old: ast.Constant
    new: int | float

    def __str__(self) -> str:
        return f"{self.path.relative_to(ROOT / 'src')}: {self.name}: {self.old.value!r} → {self.new!r}"

    def source(self) -> str:
        """The file with the number changed."""
        lines = self.path.read_text(encoding="utf-8").splitlines(keepends=True)
        line = lines[self.old.lineno - 1].encode()
        line = line[: self.old.col_offset] + repr(self.new).encode() + line[self.old.end_col_offset :]
        return "".join([*lines[: self.old.lineno - 1], line.decode(), *lines[self.old.lineno :]])


def run(name: str, room: Room, children: int, *, again: bool) -> tuple[int, dict[str, str]]:
    """Test all changes of a room; return how many there were, and those that no test noticed.

    Again means: only those that were not noticed the last time.
    """
    changes = [change for path in room.paths() for change in changes_of(path)]
    kept = FOLDER / f"{name}-constants.json"
    before = json.loads(kept.read_text(encoding="utf-8")) if again and kept.exists() else None
    chosen = [change for change in changes if before is None or str(change) in before]
    folders: SimpleQueue[Path] = SimpleQueue()
    for number in range(children):
        folders.put(_copy(FOLDER / f"{name}-constants-{number}"))

    def noticed(change: Changed) -> bool:
        folder = folders.get()
        try:
            return _noticed(change, folder, room)
        finally:
            folders.put(folder)

    with ThreadPoolExecutor(children) as pool:
        found = list(pool.map(noticed, chosen))
    survivors = [str(change) for change, seen in zip(chosen, found, strict=True) if not seen]
    kept.write_text(json.dumps(survivors), encoding="utf-8")
    return len(changes), {text: text for text in survivors}


def _copy(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(ROOT / "src", folder / "src", ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "tests").symlink_to(ROOT / "tests")
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


def changes_of(path: Path) -> Iterator[Changed]:
    """Every number outside of functions, a tenth (at least one) higher and lower."""
    for name, value in _assigned(ast.parse(path.read_text(encoding="utf-8"))):
        for node in ast.walk(value):
            number = node.value if isinstance(node, ast.Constant) else None
            if not isinstance(node, ast.Constant) or isinstance(number, bool) or not isinstance(number, int | float):
                continue
            step = max(1, abs(number) // 10) if isinstance(number, int) else number / 10 or 0.1
            yield Changed(path, name, node, number + step)
            yield Changed(path, name, node, number - step)


def _assigned(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    bodies = [tree.body, *(node.body for node in tree.body if isinstance(node, ast.ClassDef))]
    for statement in (one for body in bodies for one in body):
        if isinstance(statement, ast.Assign) and statement.value is not None:
            yield ast.unparse(statement.targets[0]), statement.value
        elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
            yield ast.unparse(statement.target), statement.value


def _noticed(change: Changed, folder: Path, room: Room) -> bool:
    target = folder / change.path.relative_to(ROOT)
    target.write_text(change.source(), encoding="utf-8")
    tests = [test for test in room.tests if (ROOT / test).exists()]
    command = [sys.executable, "-m", "pytest", "-x", *PYTEST, *tests]
    command += [f"--deselect={test}" for test in room.left_out]
    environment = {**os.environ, "PYTHONPATH": str(folder / "src"), "OPENBLAS_NUM_THREADS": "1"}
    try:
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, timeout=LONGEST_S)
        return done.returncode != 0
    except subprocess.TimeoutExpired:
        return True
    finally:
        shutil.copy(change.path, target)

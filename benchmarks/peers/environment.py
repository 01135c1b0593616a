"""The environments of the peers: made once from hashed locks, made again when a lock changes, and asked questions."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
PEERS = ROOT / ".peers"
NAMES = tuple(sorted(path.stem for path in HERE.glob("*.in")))
SETUP_S, ANSWER_S = 600, 300


class AbsentError(Exception):
    """A peer that cannot be installed or run, and why."""


def prepare(name: str) -> None:
    """Make a peer's environment unless it is there."""
    lock, home = HERE / f"{name}.lock", PEERS / name
    ready = home / f".ready-{hashlib.sha256(lock.read_bytes()).hexdigest()[:16]}"
    if ready.exists():
        return
    _run([sys.executable, "-m", "venv", "--clear", str(home)], SETUP_S)
    install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--require-hashes", "-r"]
    _run([str(_python(name)), *install, str(lock)], SETUP_S)
    ready.touch()


def ask(name: str, **question: ArrayLike) -> dict[str, NDArray[Any]]:
    """Run the peer's worker on some arrays; what it returns are arrays."""
    prepare(name)
    with TemporaryDirectory() as folder:
        asked, answered = Path(folder) / "question.npz", Path(folder) / "answer.npz"
        np.savez(asked, **{key: np.asarray(array) for key, array in question.items()})  # type: ignore[arg-type]
        _run([str(_python(name)), "-m", f"benchmarks.peers.{name}", str(asked), str(answered)], ANSWER_S)
        with np.load(answered) as stored:
            return dict(stored)


def _python(name: str) -> Path:
    return PEERS / name / "bin" / "python"


def _run(command: list[str], limit_s: float) -> None:
    """Run to the end with one thread for linear algebra; the last line of what went wrong becomes the reason."""
    one_thread = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    try:
        subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=True,
            timeout=limit_s,
            cwd=ROOT,
            env={**os.environ, **one_thread, "PYTHONWARNINGS": "ignore"},
        )
    except subprocess.TimeoutExpired:
        raise AbsentError(f"not done after {limit_s:.0f} s") from None
    except subprocess.CalledProcessError as error:
        lines = [line for line in error.stderr.splitlines() if line.strip() and not line.startswith("WARNING")]
        raise AbsentError(lines[-1].strip() if lines else f"ended with code {error.returncode}") from None

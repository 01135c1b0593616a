"""Check where results go before the work begins, and read and write files with a sign of activity."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path

from crowdveil.area import Area
from crowdveil.cli.console import working
from crowdveil.codec import write_atomically
from crowdveil.errors import InputError
from crowdveil.policy.policy import Policy


def check_destination(field: str, path: Path, suffixes: tuple[str, ...]) -> None:
    """Refuse, before the work begins, a file that could not be written."""
    if path.suffix.lower() not in suffixes:
        raise InputError(field, str(path), f"the name should end in {' or '.join(suffixes)}")
    target = path.resolve()
    if target.exists() and not stat.S_ISREG(target.stat().st_mode):
        raise InputError(field, str(path), "is a folder or a device; name a file")
    if not target.parent.is_dir():
        raise InputError(field, str(path), "the folder does not exist; make it first")
    _check_writable(field, path, target.parent)


def check_new_file(field: str, path: Path, suffixes: tuple[str, ...], what_then: str) -> None:
    """Refuse, before the work begins, a file that could not be written, or that is there already."""
    check_destination(field, path, suffixes)
    if path.exists():
        raise InputError(field, str(path), f"exists already; {what_then}")


def open_folder(path: Path, field: str = "out", *, private: bool = False) -> None:
    """Make the folder that results go to, and refuse one that cannot be written to.

    A private one that is made here is for its owner alone; one that exists is left as it is.
    """
    if path.exists() and not path.is_dir():
        raise InputError(field, str(path), "is a file; name a folder")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.mkdir(mode=0o700 if private else 0o777, exist_ok=True)
    except OSError as error:
        raise InputError(field, str(path), f"the folder cannot be made ({error.strerror})") from None
    _check_writable(field, path, path)


def _check_writable(field: str, path: Path, folder: Path) -> None:
    try:
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise InputError(field, str(path), f"the folder cannot be written to ({error.strerror})") from None


def write_file(path: Path, write: Callable[[Path], object]) -> int:
    """Write a file atomically; return its size in bytes."""
    with working(f"writing {path}"):
        return write_atomically(path, write)


def write_bytes(path: Path, content: bytes) -> int:
    """Write bytes to a file atomically; return their number."""
    return write_file(path, lambda temporary: temporary.write_bytes(content))


def write_private(path: Path, content: bytes) -> int:
    """Write bytes to a file that nobody else may read, whatever the umask; return their number."""
    with working(f"writing {path}"):
        return write_atomically(path, lambda temporary: temporary.write_bytes(content), private=True)


def append_private(path: Path, content: bytes) -> int:
    """Add bytes to a file that `write_private` made, and wait until they are on the disk; return their number."""
    with path.open("ab") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    return len(content)


def load_area(path: Path) -> Area:
    """Read an area."""
    with working(f"reading {path}"):
        return Area.load(path)


def load_policy(path: Path) -> Policy:
    """Read a policy."""
    with working(f"reading {path}"):
        return Policy.load(path)

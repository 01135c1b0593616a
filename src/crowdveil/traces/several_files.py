"""Find the files that some patterns name, and put the visits of several files together."""

from __future__ import annotations

import glob
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from crowdveil.arrays import joined
from crowdveil.errors import FileFormatError
from crowdveil.traces.trace_files import reading
from crowdveil.traces.visits import Visits

DATA_SETS = ("*.plt", "new_*.txt")
"""Files of GeoLife and Cabspotting: a folder that holds them is read as a whole."""
TABLES = (".csv", ".tsv", ".parquet")
PACKED = (".gz", ".xz")
WILDCARDS = "*?["


def find_trace_files(patterns: Sequence[str | Path]) -> list[Path]:
    """List the files that are named, match a pattern, or are tables in a folder; each once.

    A folder that is a published data set stays one entry.
    """
    found: dict[Path, Path] = {}
    for pattern in patterns:
        for path in _matching(pattern):
            found.setdefault(path.resolve(), path)
    return list(found.values())


def _matching(pattern: str | Path) -> list[Path]:
    path = Path(pattern)
    if path.is_dir():
        return _in_folder(path)
    if path.exists() or not any(sign in str(pattern) for sign in WILDCARDS):
        return [path]  # a reader says what is wrong with it
    files = [Path(one) for one in sorted(glob.glob(str(pattern), recursive=True))]
    files = [one for one in files if one.is_file()]
    if not files:
        raise FileFormatError(f"{pattern}: no file matches")
    return files


def _in_folder(folder: Path) -> list[Path]:
    with reading(folder):
        if any(next(folder.rglob(pattern), None) is not None for pattern in DATA_SETS):
            return [folder]
        tables = sorted(path for path in folder.rglob("*") if path.is_file() and _is_table(path))
    return tables or [folder]


def _is_table(path: Path) -> bool:
    name = path.name.lower()
    return name.endswith((*TABLES, *(table + packed for table in TABLES for packed in PACKED)))


def merge_visits(parts: Sequence[Visits]) -> Visits:
    """Put the visits of several files together: users of one name are one person, and each visit knows its file.

    >>> import crowdveil as cv
    >>> one = cv.synthetic_visits(1, users=20, weeks=4)
    >>> both = merge_visits([one, one])
    >>> len(both) == 2 * len(one), len(both.users)
    (True, 20)
    """
    if len(parts) == 1:
        return parts[0]
    numbers: dict[str, int] = {}
    users, files, dropped = [], [], dict[str, int]()
    for file, part in enumerate(parts):
        number = np.array([numbers.setdefault(name, len(numbers)) for name in part.users], dtype=np.int64)
        users.append(number[part.user])
        files.append(np.full(len(part), file))
        for reason, rows in part.dropped.items():
            dropped[reason] = dropped.get(reason, 0) + rows
    utc_s, offset_s = joined([part.utc_s for part in parts]), joined([part.offset_s for part in parts])
    latitude, longitude = joined([part.latitude for part in parts]), joined([part.longitude for part in parts])
    return Visits(tuple(numbers), joined(users), utc_s, offset_s, latitude, longitude, dropped, joined(files))

"""Read many files of numbers with DuckDB, and leave every row that it cannot read to the reader in Python.

DuckDB reads rows of the usual layout on all cores, as columns of numbers. A row that it rejects, or whose time it
cannot read, comes back as text, so that the reader that knows the format judges it: which rows are kept, and why others
are dropped, does not depend on who reads them. (Only rows of one user and second may come in another order.) Files go
through in groups, for the progress and for memory.

As for Parquet, DuckDB runs in a sandbox: no network, no extensions, no file outside of the folder, nothing written.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import duckdb
import numpy as np

from crowdveil.arrays import FloatArray, IntArray
from crowdveil.traces.layout import Layout
from crowdveil.traces.trace_files import MAGIC_GZIP, MAGIC_XZ, reading
from crowdveil.traces.visit_builder import MAX_NUMBER

GROUP_BYTES = 64 << 20
HEAD_BYTES = 64
"""What tells packed and binary files from text."""
CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "allow_persistent_secrets": False,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "temp_directory": "",
}
REJECTED = (
    "SELECT DISTINCT file_path, line, csv_line FROM reject_errors JOIN reject_scans USING (scan_id, file_id) "
    "ORDER BY file_path, line"
)


class Block(NamedTuple):
    """The rows of some files."""

    file: IntArray
    """Which of the files each row is from."""
    utc_s: FloatArray
    latitude: FloatArray
    longitude: FloatArray
    odd: dict[int, list[str]]
    """Lines that could not be read, by the number of their file."""
    whole: list[int]
    """Files to be read in Python from beginning to end: compressed, or with no row for DuckDB."""
    files_done: int
    """How many files have been read, these included."""


def scan_blocks(folder: Path, files: Sequence[Path], layout: Layout) -> Iterator[Block]:
    """Yield the rows of files in their order, a group of files at a time; the next group is read meanwhile."""
    with reading(folder):
        groups = _groups([file.stat().st_size for file in files])
    with ThreadPoolExecutor(1) as reader:
        waiting = reader.submit(_block, folder, files, groups[0], layout)
        for group in groups[1:]:
            block = waiting.result()
            waiting = reader.submit(_block, folder, files, group, layout)
            yield block
        yield waiting.result()


def _groups(sizes: Sequence[int]) -> list[range]:
    """Divide files into groups of about `GROUP_BYTES`, at least one file each."""
    starts, size = [0], 0
    for number, one in enumerate(sizes):
        if number > starts[-1] and size + one > GROUP_BYTES:
            starts.append(number)
            size = 0
        size += one
    return [range(start, stop) for start, stop in zip(starts, [*starts[1:], len(sizes)], strict=True)]


def _block(folder: Path, files: Sequence[Path], group: range, layout: Layout) -> Block:
    plain = [number for number in group if _is_plain_text(files[number])]
    try:
        if not plain:
            return _left_to_python(group)
        with _opened(folder) as connection:
            paths = [_plain(files[number]) for number in plain]
            columns = connection.execute(_rows(layout), [paths]).fetchnumpy()
            rejected = connection.execute(REJECTED).fetchall()
            unread = np.ma.getmaskarray(columns["utc_s"])
            # read again, because a column of text takes longer to fetch than all numbers
            texts = connection.execute(_unread(layout), [paths]).fetchall() if unread.any() else []
    except duckdb.InterruptException:
        raise KeyboardInterrupt from None
    except (duckdb.Error, UnicodeError):
        return _left_to_python(group)  # which says what is wrong with a file, or reads it
    file = np.array(plain)[columns["file"]]
    utc_s, latitude, longitude = (
        _finite(np.ma.filled(columns[name], np.nan)) for name in ("utc_s", "latitude", "longitude")
    )
    odd: dict[int, list[str]] = {}
    for place, line in texts:
        odd.setdefault(plain[place], []).append(line)
    numbers = {str(files[number]): number for number in plain}
    for path, _, line in rejected:
        odd.setdefault(numbers[path], []).append(line)
    if texts:
        file, utc_s, latitude, longitude = (one[~unread] for one in (file, utc_s, latitude, longitude))
    found = np.bincount(file - group.start, minlength=len(group)) > 0
    whole = [number for number in group if not found[number - group.start] and number not in odd]
    return Block(file, utc_s, latitude, longitude, odd, whole, group.stop)


def _finite(numbers: FloatArray) -> FloatArray:
    """Turn numbers that are too large into NaN, as `to_floats` does."""
    if len(numbers) and not -MAX_NUMBER <= numbers.min() <= numbers.max() <= MAX_NUMBER:
        return np.where(np.abs(numbers) <= MAX_NUMBER, numbers, np.nan)
    return numbers


def _left_to_python(group: range) -> Block:
    nothing = np.empty(0)
    return Block(np.empty(0, np.int64), nothing, nothing, nothing, {}, list(group), group.stop)


def _rows(layout: Layout) -> str:
    return f"SELECT file_index::INTEGER AS file, {layout.utc_s} AS utc_s, latitude, longitude FROM {_table(layout)}"


def _unread(layout: Layout) -> str:
    return f"SELECT file_index, {layout.text} FROM {_table(layout)} WHERE {layout.utc_s} IS NULL"


def _table(layout: Layout) -> str:
    columns = ", ".join(f"'{name}': '{kind}'" for name, kind in layout.columns.items())
    return (
        f"read_csv(?, columns = {{{columns}}}, delim = '{layout.delimiter}', skip = {layout.skip}, "
        "auto_detect = false, header = false, quote = '', escape = '', strict_mode = false, ignore_errors = true, "
        "store_rejects = true)"
    )


@contextmanager
def _opened(folder: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(config=CONFIG) as connection:
        connection.execute("SET enable_progress_bar = false")
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute("SET allowed_directories = ?", [[f"{folder.resolve()}{os.sep}"]])
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")
        yield connection


def _is_plain_text(path: Path) -> bool:
    with reading(path), path.open("rb") as file:
        head = file.read(HEAD_BYTES)
    return not head.startswith((MAGIC_GZIP, MAGIC_XZ)) and b"\0" not in head


def _plain(path: Path) -> str:
    """Put special characters in brackets, because DuckDB reads a name as a pattern."""
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in str(path))

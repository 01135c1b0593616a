"""The files of a batch: which there are, whether each can be read, and in which parts they are taken.

Every file is opened before the work begins, its heading or footer read and its columns compared: a file that is cut
off or of another kind is named then, not after an hour.
"""

from __future__ import annotations

import csv
import glob
import gzip
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from crowdveil.errors import FileFormatError, InputError
from crowdveil.profile.batch.fixes import BROKEN_ROW, Layout, check_types
from crowdveil.traces.open_any import is_parquet, reading

ENDINGS = (".parquet", ".csv", ".csv.gz", ".tsv", ".tsv.gz")
HEADING_BYTES = 1 << 20
XZ = b"\xfd7zXZ\x00"
GZIP = b"\x1f\x8b"


@dataclass(frozen=True)
class Inputs:
    """Files of one kind and one set of columns."""

    paths: tuple[str, ...]
    delimiter: str | None
    """Of CSV; None for Parquet."""
    columns: tuple[str, ...] = ()
    """Of CSV: the heading."""
    remote: bool = False
    """Named by an address that only the engine can look at."""
    dropped: Mapping[str, int] = field(default_factory=dict)
    """Rows that were dropped when these files were made, by reason."""

    def sizes(self) -> list[int]:
        """Bytes of each file; 0 for what only the engine can look at."""
        return [0 if self.remote else Path(path).stat().st_size for path in self.paths]

    def identity(self) -> list[list[object]]:
        """Name, size and time of change of each file: a rerun goes on only where they are the same."""
        if self.remote:
            return [[path] for path in self.paths]
        stats = [Path(path).stat() for path in self.paths]
        return [[path, stat.st_size, stat.st_mtime_ns] for path, stat in zip(self.paths, stats, strict=True)]

    def parts(self, part_bytes: int) -> list[tuple[str, ...]]:
        """Files in order, gathered until a part is full; no file is cut."""
        if part_bytes < 1:
            raise InputError("part_bytes", part_bytes, "should be at least 1")
        parts: list[list[str]] = []
        filled = part_bytes
        for path, size in zip(self.paths, self.sizes(), strict=True):
            if filled + size > part_bytes:
                parts.append([])
                filled = 0
            parts[-1].append(path)
            filled += size
        return [tuple(part) for part in parts]


def find_inputs(patterns: Sequence[str], layout: Layout) -> Inputs:
    """Files that match any of some patterns (or lie in a folder), each checked; none at all is an error."""
    if any("://" in pattern for pattern in patterns):
        if not all("://" in pattern for pattern in patterns):
            raise InputError("traces", list(patterns), "should all be local, or all be addresses")
        kinds = {pattern.endswith((".csv", ".csv.gz")) for pattern in patterns}
        if kinds != {False}:
            raise InputError("traces", list(patterns), "addresses should be of Parquet; fetch CSV first")
        return Inputs(tuple(patterns), None, remote=True)
    paths = sorted({str(Path(path).resolve()) for pattern in patterns for path in _matching(pattern)})
    if not paths:
        raise FileFormatError(f"{', '.join(patterns)}: no file matches; expected Parquet or CSV files")
    kinds = {is_parquet(Path(path)) for path in paths}
    if len(kinds) > 1:
        other = next(path for path in paths if not is_parquet(Path(path)))
        raise FileFormatError(f"{other}: is no Parquet, others are; profile one kind of files at a time")
    if kinds == {True}:
        _check_parquet(paths, layout)
        return Inputs(tuple(paths), None)
    delimiter, columns = _check_csv(paths, layout)
    return Inputs(tuple(paths), delimiter, columns)


def name_damaged(paths: Sequence[str], columns: Sequence[str]) -> str | None:
    """The first Parquet file that cannot be read to its end; None if all can."""
    for path in paths:
        try:
            with pq.ParquetFile(path) as file:
                for _ in file.iter_batches(columns=list(columns)):
                    pass
        except (pa.ArrowException, OSError):
            return path
    return None


def _matching(pattern: str) -> list[str]:
    path = Path(pattern)
    if path.is_dir():
        return [str(one) for one in path.rglob("*") if one.is_file() and one.name.lower().endswith(ENDINGS)]
    if path.is_file():
        return [pattern]
    return [found for found in glob.glob(pattern, recursive=True) if Path(found).is_file()]


def _check_parquet(paths: Sequence[str], layout: Layout) -> None:
    first: dict[str, pa.DataType] = {}
    for path in paths:
        with reading(Path(path)):
            try:
                schema = pq.read_schema(path)
            except pa.ArrowException as error:
                reason = str(error).partition("\n")[0][:200]
                what = f"cannot be read as Parquet; is it damaged or cut off? ({reason})"
                raise FileFormatError(f"{path}: {what}") from None
        _check_columns(path, schema.names, layout)
        try:
            check_types(pa.schema([schema.field(name) for name in dict.fromkeys(layout.columns)]), layout)
        except FileFormatError as error:
            raise FileFormatError(f"{path}: {error}") from None
        kinds = {name: schema.field(name).type for name in layout.columns}
        for name, kind in kinds.items():
            if first.setdefault(name, kind) != kind:
                what = f"its column {name!r} is of type {kind}, that of {paths[0]} of type {first[name]}"
                raise FileFormatError(f"{path}: {what}; they should be the same")


def _check_csv(paths: Sequence[str], layout: Layout) -> tuple[str, tuple[str, ...]]:
    first: tuple[str, tuple[str, ...]] | None = None
    for path in paths:
        found = _heading(path)
        _check_columns(path, found[1], layout)
        first = first or found
        if found != first:
            raise FileFormatError(f"{path}: its first line is not that of {paths[0]}; they should be the same")
    assert first is not None
    return first


def _heading(path: str) -> tuple[str, tuple[str, ...]]:
    with reading(Path(path)), open(path, "rb") as raw:
        head = raw.read(len(XZ))
        if head == XZ:
            raise FileFormatError(f"{path}: is packed with xz, which engines cannot read; unpack it, or use gz")
        raw.seek(0)
        with gzip.open(raw) if head.startswith(GZIP) else raw as file:
            line = file.readline(HEADING_BYTES).decode("utf-8", errors="replace")
    text = line.removeprefix("\ufeff").strip("\r\n")
    delimiter = max(",\t;", key=text.count)
    names = tuple(name.strip() for name in next(csv.reader([text], delimiter=delimiter), []))
    if len(set(names)) != len(names):
        raise FileFormatError(f"{path}: its first line names a column twice: {text[:200]}")
    if BROKEN_ROW in names:
        raise FileFormatError(f"{path}: its column {BROKEN_ROW!r} has a meaning of its own here; rename it")
    return delimiter, names


def _check_columns(path: str, names: Sequence[str], layout: Layout) -> None:
    if not any(names):
        raise FileFormatError(f"{path}: has no heading; expected the columns {', '.join(layout.columns)}")
    for name in layout.columns:
        if name not in names:
            raise FileFormatError(f"{path}: has no column {name!r}; its columns are: {', '.join(names)[:200]}")
        alike = [other for other in names if other.lower() == name.lower()]
        if len(alike) > 1:
            # DuckDB takes one for the other
            what = f"has the columns {', '.join(alike)}, which differ in case at most; rename one"
            raise FileFormatError(f"{path}: {what}")

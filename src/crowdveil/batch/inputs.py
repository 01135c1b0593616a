"""The files of a batch: which there are, whether each can be read, and in which parts they are taken.

Every file is opened before the work begins, its heading or footer read and its columns compared: a file that is cut
off or of another kind is named then, not after an hour.
"""

from __future__ import annotations

import glob
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from crowdveil.batch.fixes import BROKEN_ROW, ColumnNames, check_types
from crowdveil.batch.headings import Heading, check_columns, read_heading, reserved
from crowdveil.errors import FileFormatError, InputError
from crowdveil.traces.trace_files import is_parquet, reading

ENDINGS_OF_CSV = (".csv", ".csv.gz", ".tsv", ".tsv.gz")
ENDINGS = (".parquet", *ENDINGS_OF_CSV)
LOCAL = "file://"
WRITTEN = re.compile(
    r"prior\.csv|summary\.json|\.spill/.*|visits(\.(parts|whole))?/.*|(profile|places)(\.(half|old))?/.*"
)
"""What a batch leaves in the folder of its results, which may lie in that of the traces."""


@dataclass(frozen=True)
class Inputs:
    """Files of one kind and one set of columns."""

    paths: tuple[str, ...]
    delimiter: str | None
    """Of CSV; None for Parquet."""
    columns: tuple[str, ...] = ()
    """Of CSV: a name for each column; that of the heading where it is read."""
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
        filled = 0
        for path, size in zip(self.paths, self.sizes(), strict=True):
            # sizes of addresses are not known: 0 fills nothing, and they are one part
            if not parts or filled + size > part_bytes:
                parts.append([])
                filled = 0
            parts[-1].append(path)
            filled += size
        return [tuple(part) for part in parts]


def find_inputs(patterns: Sequence[str], column_names: ColumnNames, out: Path | None = None) -> Inputs:
    """Files that match some patterns (or lie in a folder), each checked; a pattern without any is an error.

    What earlier runs wrote to `out` is passed over, unless a file of it is named.
    """
    patterns = [_local(pattern) for pattern in patterns]
    if any("://" in pattern for pattern in patterns):
        return _addresses(patterns)
    written = None if out is None else out.resolve()
    paths = sorted({path for pattern in patterns for path in _matching(pattern, written)})
    kinds = {is_parquet(Path(path)) for path in paths}
    if len(kinds) > 1:
        other = next(path for path in paths if not is_parquet(Path(path)))
        raise FileFormatError(f"{other}: is no Parquet, others are; profile one kind of files at a time")
    if kinds == {True}:
        _check_parquet(paths, column_names)
        return Inputs(tuple(paths), None)
    heading = _check_csv(paths, column_names)
    return Inputs(tuple(paths), heading.delimiter, heading.for_engine(column_names))


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


def _local(pattern: str) -> str:
    """A pattern without the address of this machine."""
    if not pattern.strip():
        raise InputError("traces", pattern, "should name a file, a folder or a pattern")
    if not pattern.startswith(LOCAL):
        return pattern
    if not pattern.startswith(f"{LOCAL}/"):
        raise InputError("traces", pattern, f"should have three slashes, such as {LOCAL}/data/fixes.parquet")
    return pattern.removeprefix(LOCAL)


def _addresses(patterns: Sequence[str]) -> Inputs:
    if not all("://" in pattern for pattern in patterns):
        raise InputError("traces", list(patterns), "should all be local, or all be addresses")
    if any(pattern.lower().endswith(ENDINGS_OF_CSV) for pattern in patterns):
        raise InputError("traces", list(patterns), "addresses should be of Parquet; fetch CSV first")
    return Inputs(tuple(patterns), None, remote=True)


def _matching(pattern: str, out: Path | None) -> list[str]:
    path = Path(pattern)
    if path.is_file():
        return [str(path.resolve())]
    if path.is_dir():
        found = [one for one in path.rglob("*") if one.name.lower().endswith(ENDINGS)]
    else:
        found = [Path(one) for one in glob.glob(pattern, recursive=True)]
    files = [one.resolve() for one in found if one.is_file()]
    traces = [str(one) for one in files if out is None or not _is_written(one, out)]
    if not traces:
        raise FileFormatError(f"{pattern}: no file matches; expected Parquet or CSV files")
    return traces


def _is_written(file: Path, out: Path) -> bool:
    return file.is_relative_to(out) and WRITTEN.fullmatch(file.relative_to(out).as_posix()) is not None


def _check_parquet(paths: Sequence[str], column_names: ColumnNames) -> None:
    first: dict[str, pa.DataType] = {}
    for path in paths:
        with reading(Path(path)):
            try:
                schema = pq.read_schema(path)
            except pa.ArrowException as error:
                reason = str(error).partition("\n")[0][:200]
                what = f"cannot be read as Parquet; is it damaged or cut off? ({reason})"
                raise FileFormatError(f"{path}: {what}") from None
        check_columns(path, schema.names, column_names)
        if BROKEN_ROW in schema.names:
            raise reserved(path)
        try:
            check_types(pa.schema([schema.field(name) for name in dict.fromkeys(column_names.columns)]), column_names)
        except FileFormatError as error:
            raise FileFormatError(f"{path}: {error}") from None
        kinds = {name: schema.field(name).type for name in column_names.columns}
        for name, kind in kinds.items():
            if first.setdefault(name, kind) != kind:
                what = f"its column {name!r} is of type {kind}, that of {paths[0]} of type {first[name]}"
                raise FileFormatError(f"{path}: {what}; they should be the same")


def _check_csv(paths: Sequence[str], column_names: ColumnNames) -> Heading:
    first = read_heading(paths[0], column_names)
    for path in paths[1:]:
        if read_heading(path, column_names) != first:
            raise FileFormatError(f"{path}: its first line is not that of {paths[0]}; they should be the same")
    return first

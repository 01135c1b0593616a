"""The beginning of a CSV file: whether it is text, whether its name says how it is packed, and which columns it has.

Engines tell by the name alone whether a file is packed, and read one that is named otherwise as no rows at all. So the
first bytes of every file have to agree with its name before anything is counted.
"""

from __future__ import annotations

import csv
import gzip
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from crowdveil.batch.fixes import BROKEN_ROW, ColumnNames
from crowdveil.errors import FileFormatError
from crowdveil.traces.trace_files import MAGIC_GZIP, MAGIC_XZ, reading

HEADING_BYTES = 1 << 20
UNREAD = {
    MAGIC_XZ: "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"BZh91AY&SY": "bzip2",
    b"PK\x03\x04": "zip",
}
"""How files begin that not every engine can unpack."""
UTF_16 = (b"\xff\xfe", b"\xfe\xff")
ENDINGS_OF_PACKED = (".gz", ".xz", ".zst", ".bz2", ".zip", ".lz4", ".snappy", ".deflate")


class Heading(NamedTuple):
    """The first line of a file."""

    delimiter: str
    names: tuple[str, ...]

    def for_engine(self, column_names: ColumnNames) -> tuple[str, ...]:
        """Name the columns that are read; give made-up names to the others, whose own may be empty or repeated."""
        unused = "unused"
        while any(name.lower().startswith(unused) for name in column_names.columns):
            unused += "_"
        return tuple(
            name if name in column_names.columns else f"{unused}{number}" for number, name in enumerate(self.names)
        )


def read_heading(path: str, column_names: ColumnNames) -> Heading:
    """Read the columns of a file; refuse one that is not of the type that its name says."""
    with reading(Path(path)), open(path, "rb") as raw:
        head = raw.read(max(map(len, UNREAD)))
        _check_name(path, head)
        raw.seek(0)
        with gzip.open(raw) if head.startswith(MAGIC_GZIP) else raw as file:
            line = file.readline(HEADING_BYTES + 1)
    expected = f"expected CSV whose first line names the columns {', '.join(column_names.columns)}"
    if line.startswith(UTF_16):
        raise FileFormatError(f"{path}: is text in UTF-16; save it as UTF-8")
    if b"\0" in line:
        raise FileFormatError(f"{path}: is no text; {expected}")
    if len(line) > HEADING_BYTES:
        raise FileFormatError(f"{path}: its first line has more than {HEADING_BYTES:,} bytes; {expected}")
    text = line.decode("utf-8", errors="replace").removeprefix("\ufeff").strip("\r\n")
    if "\r" in text:
        raise FileFormatError(f"{path}: its lines end in CR alone; they should end in LF, or in CR and LF")
    delimiter = max(",\t;", key=text.count)
    try:
        names = tuple(name.strip() for name in next(csv.reader([text], delimiter=delimiter), []))
    except csv.Error as error:
        raise FileFormatError(f"{path}: its first line is no heading ({error}); {expected}") from None
    check_columns(path, names, column_names)
    return Heading(delimiter, names)


def check_columns(path: str, names: Sequence[str], column_names: ColumnNames) -> None:
    """Refuse columns, of CSV or Parquet, among which those that are read are missing or cannot be told apart."""
    if not any(names):
        raise FileFormatError(f"{path}: has no heading; expected the columns {', '.join(column_names.columns)}")
    many = Counter(names)
    for name in column_names.columns:
        if name not in names:
            raise FileFormatError(f"{path}: has no column {name!r}; its columns are: {', '.join(names)[:200]}")
        if name == BROKEN_ROW:
            raise reserved(path)
        if many[name] > 1:
            raise FileFormatError(f"{path}: has the column {name!r} {many[name]} times; rename all but one")
        alike = [other for other in names if other.lower() == name.lower()]
        if len(alike) > 1:
            # DuckDB takes one for the other
            what = f"has the columns {', '.join(alike)}, which differ in case at most; rename one"
            raise FileFormatError(f"{path}: {what}")


def reserved(path: str) -> FileFormatError:
    """Make the error for a file with a column that engines add."""
    return FileFormatError(f"{path}: its column {BROKEN_ROW!r} has a meaning of its own here; rename it")


def _check_name(path: str, head: bytes) -> None:
    for magic, kind in UNREAD.items():
        if head.startswith(magic):
            raise FileFormatError(f"{path}: is packed with {kind}, which engines cannot read; unpack it, or use gz")
    name = Path(path).name
    ending = next((end for end in ENDINGS_OF_PACKED if name.lower().endswith(end)), "")
    bare = name[: len(name) - len(ending)]
    if head.startswith(MAGIC_GZIP):
        if not name.endswith(".gz"):
            what = "is packed with gzip, which engines tell by the name alone"
            raise FileFormatError(f"{path}: {what}; it should be called {bare}.gz")
        if "?" in path:
            what = "is packed with gzip, which DuckDB does not see behind a question mark"
            raise FileFormatError(f"{path}: {what}; rename it without")
    elif head and ending:
        raise FileFormatError(f"{path}: is not packed, though its name ends in {ending}; it should be called {bare}")

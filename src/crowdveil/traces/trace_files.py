"""Open plain, gzip and xz files alike, and yield their rows in batches.

Files are recognised by their first bytes, not by their names. Batches limit the memory, since a row of strings takes
ten times as much as its numbers.
"""

from __future__ import annotations

import csv
import gzip
import io
import lzma
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path

from crowdveil.errors import FileFormatError
from crowdveil.traces.visit_builder import BROKEN_QUOTING, VisitBuilder
from crowdveil.vocabulary import Progress

BATCH_BYTES = 1 << 20
BATCH_ROWS = 1 << 13
"""Small enough for the processor's cache; batches of 2^16 rows are slower."""
MAGIC_BYTES = 6
MAGIC_PARQUET = b"PAR1"
MAGIC_GZIP = b"\x1f\x8b"
MAGIC_XZ = b"\xfd7zXZ\x00"


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn any failure to read into one error that names the file."""
    try:
        yield
    except FileNotFoundError:
        raise FileFormatError(f"{path}: not found") from None
    except IsADirectoryError:
        raise FileFormatError(f"{path}: is a folder, should be a file") from None
    except (EOFError, lzma.LZMAError, zlib.error, gzip.BadGzipFile):
        raise FileFormatError(
            f"{path}: the compressed data is damaged or cut off; fetch or compress it again"
        ) from None
    except OSError as error:
        raise FileFormatError(f"{path}: cannot be read ({error.strerror or error})") from None


@contextmanager
def _opened(path: Path) -> Iterator[tuple[io.BufferedIOBase, io.BufferedIOBase]]:
    """Yield the unpacked stream and the raw one below it, whose position tells the progress."""
    with reading(path), path.open("rb") as raw:
        head = raw.read(MAGIC_BYTES)
        raw.seek(0)
        if head.startswith(MAGIC_GZIP):
            with gzip.GzipFile(fileobj=raw) as unpacked:
                yield unpacked, raw
        elif head == MAGIC_XZ:
            with lzma.LZMAFile(raw) as unpacked_xz:
                yield unpacked_xz, raw
        else:
            yield raw, raw


def is_parquet(path: Path) -> bool:
    """Tell whether a file starts like Parquet, or is named so (the Parquet reader then says what is wrong)."""
    with reading(path), path.open("rb") as file:
        return file.read(len(MAGIC_PARQUET)) == MAGIC_PARQUET or path.suffix.lower() == ".parquet"


def is_text(path: Path) -> bool:
    """Tell whether the unpacked content starts like text: it has no zero byte."""
    with _opened(path) as (file, _):
        return b"\0" not in file.read(BATCH_BYTES)


def read_bytes(path: Path) -> bytes:
    """Return the whole unpacked content."""
    with _opened(path) as (file, _):
        return file.read()


def _text_batches(path: Path, encoding: str, progress: Progress | None) -> Iterator[str]:
    """Yield about a megabyte of whole lines at a time; a TextIOWrapper reads 8 kB at a time, which is far slower."""
    with _opened(path) as (file, raw):
        size, rest = path.stat().st_size, b""
        while chunk := file.read(BATCH_BYTES):
            whole, newline, tail = chunk.rpartition(b"\n")
            if newline:
                yield (rest + whole + newline).decode(encoding, errors="replace")
                rest = tail
            else:
                rest += chunk
            if progress:
                progress(min(raw.tell(), size), size)
        yield rest.decode(encoding, errors="replace")


def line_batches(path: Path, *, encoding: str, progress: Progress | None = None) -> Iterator[list[str]]:
    """Yield lines without their line ends, leaving out blank ones."""
    for text in _text_batches(path, encoding, progress):
        yield [line for line in text.replace("\r", "").split("\n") if line and not line.isspace()]


def csv_batches(path: Path, builder: VisitBuilder, *, progress: Progress | None = None) -> Iterator[list[list[str]]]:
    """Yield rows of fields without quotes and blank lines; the first line tells the delimiter (comma, tab or ;)."""
    # lines reach the CSV reader one by one, so that a quoted field may span two batches
    lines = (line for text in _text_batches(path, "utf-8", progress) for line in io.StringIO(text, newline=""))
    first = next(lines, "").removeprefix("\ufeff")
    reader = csv.reader(chain([first], lines), delimiter=max(",\t;", key=first.count))
    more = True
    while more:
        rows: list[list[str]] = []
        try:
            rows.extend(islice(reader, BATCH_ROWS))
            more = len(rows) == BATCH_ROWS
        except csv.Error:
            builder.drop(BROKEN_QUOTING)
        yield [row for row in rows if row]


def files_of(folder: Path, pattern: str, expected: str) -> list[Path]:
    """Return the files below a folder that match, in order; raise an error that says what was expected if none does."""
    with reading(folder):
        if not folder.exists():
            raise FileFormatError(f"{folder}: not found; expected {expected}")
        if not folder.is_dir():
            raise FileFormatError(f"{folder}: is a file, should be a folder; expected {expected}")
        found = sorted(path for path in folder.rglob(pattern) if path.is_file())
    if not found:
        raise FileFormatError(f"{folder}: contains no {pattern}; expected {expected}")
    return found

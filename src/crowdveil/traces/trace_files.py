"""Opening plain, gzip and xz files alike, and handing out their rows in batches.

Files are recognised by their first bytes, not by their names. Batches bound the memory: a row of strings weighs ten
times what its numbers do.
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
"""Small enough for the processor's cache: batches of 2^16 rows take longer."""
MAGIC_BYTES = 6
MAGIC_PARQUET = b"PAR1"
MAGIC_GZIP = b"\x1f\x8b"
MAGIC_XZ = b"\xfd7zXZ\x00"


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn whatever goes wrong below into one error that names the file."""
    try:
        yield
    except FileNotFoundError:
        raise FileFormatError(f"{path}: there is no such file") from None
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
    """The unpacked stream, and the raw one below it, whose position tells the progress."""
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
    """Whether a file starts like Parquet, or is called so (then the reader of Parquet says what is wrong with it)."""
    with reading(path), path.open("rb") as file:
        return file.read(len(MAGIC_PARQUET)) == MAGIC_PARQUET or path.suffix.lower() == ".parquet"


def read_bytes(path: Path) -> bytes:
    """Return the whole unpacked content."""
    with _opened(path) as (file, _):
        return file.read()


def _text_batches(path: Path, encoding: str, progress: Progress | None) -> Iterator[str]:
    """A megabyte of whole lines at a time. (A TextIOWrapper asks the unpacker for 8 kB at a time: far slower.)"""
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
    """Lines without their ends, blank ones left out."""
    for text in _text_batches(path, encoding, progress):
        yield [line for line in text.replace("\r", "").split("\n") if line and not line.isspace()]


def csv_batches(path: Path, builder: VisitBuilder, *, progress: Progress | None = None) -> Iterator[list[list[str]]]:
    """Rows of fields, quotes undone, blank lines left out; the delimiter (, tab or ;) is read off the first line."""
    # a batch's lines reach the reader one by one, so that a quoted line break may lie across two batches
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
    """Files below a folder that match, in order; none at all is an error that says what was looked for."""
    with reading(folder):
        if not folder.exists():
            raise FileFormatError(f"{folder}: there is no such folder; expected {expected}")
        if not folder.is_dir():
            raise FileFormatError(f"{folder}: is a file; expected {expected}")
        found = sorted(path for path in folder.rglob(pattern) if path.is_file())
    if not found:
        raise FileFormatError(f"{folder}: holds no {pattern}; expected {expected}")
    return found

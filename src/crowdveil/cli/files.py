"""Files in and out: CSV that people write, and results that appear whole or not at all."""

from __future__ import annotations

import csv
import json
import os
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from crowdveil.area import Area
from crowdveil.arrays import FloatArray, as_cells
from crowdveil.cli.console import working
from crowdveil.codec import read_text
from crowdveil.errors import CrowdveilError, FileFormatError, InputError
from crowdveil.policy.files import FORMAT, MAGIC
from crowdveil.policy.policy import Policy

LATITUDE_NAMES = ("lat", "latitude")
LONGITUDE_NAMES = ("lon", "lng", "long", "longitude")

# --- writing ------------------------------------------------------------------------------------------------


def check_destination(field: str, path: Path, suffixes: tuple[str, ...]) -> None:
    """Find out before the work, not after it, that a result could not be written."""
    if path.suffix.lower() not in suffixes:
        raise InputError(field, str(path), f"the name should end in {' or '.join(suffixes)}")
    target = path.resolve()
    if target.exists() and not stat.S_ISREG(target.stat().st_mode):
        raise InputError(field, str(path), "is a folder or a device; name a file")
    if not target.parent.is_dir():
        raise InputError(field, str(path), "the folder does not exist; make it first")
    try:
        tempfile.TemporaryFile(dir=target.parent).close()
    except OSError as error:
        raise InputError(field, str(path), f"the folder cannot be written to ({error.strerror})") from None


def open_folder(path: Path, field: str = "out") -> None:
    """Make the folder that results go to, unless it is there; find out before the work that it takes no files."""
    if path.exists() and not path.is_dir():
        raise InputError(field, str(path), "is a file; name a folder")
    try:
        path.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=path).close()
    except OSError as error:
        raise InputError(field, str(path), f"the folder cannot be written to ({error.strerror})") from None


def write_whole(path: Path, write: Callable[[Path], object]) -> int:
    """Write to a temporary file beside `path`, then rename: nobody ever sees half a file.

    Returns the size in bytes. Whatever goes wrong is told about `path`, not about the temporary file.
    """
    target = path.resolve()
    try:
        handle, name = tempfile.mkstemp(prefix=f".{target.stem}-", suffix=target.suffix, dir=target.parent)
        os.close(handle)
        temporary = Path(name)
        try:
            with working(f"writing {path}"):
                write(temporary)
                os.chmod(temporary, 0o666 & ~_umask())
                with temporary.open("rb") as written:
                    os.fsync(written.fileno())
            size = temporary.stat().st_size
            os.replace(temporary, target)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise FileFormatError(f"{path}: cannot be written ({error.strerror or error})") from None
    except InputError as error:
        if error.value != name:
            raise
        raise FileFormatError(f"{path}: {error.expected}") from None
    return size


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


# --- reading areas and policies -----------------------------------------------------------------------------


def load_area(path: Path) -> Area:
    """Read an area; what is wrong with it is said with the file's name."""
    with working(f"reading {path}"):
        try:
            return Area.load(path)
        except CrowdveilError as error:
            raise _about(path, error, "an area") from None


def load_policy(path: Path) -> Policy:
    """Read a policy; what is wrong with it is said with the file's name."""
    with working(f"reading {path}"):
        try:
            return Policy.load(path)
        except CrowdveilError as error:
            raise _about(path, error, "a policy") from None


def _about(path: Path, error: CrowdveilError, wanted: str) -> FileFormatError:
    found = _kind(path)
    if found not in ("", wanted):
        return FileFormatError(f"{path}: is {found}, not {wanted}")
    told = str(error).removeprefix(f"{path}: ").removeprefix("policy: ").removeprefix("area: ")
    return FileFormatError(f"{path}: {told}")


def _kind(path: Path) -> str:
    """What a file seems to be, whether or not it is whole; empty if it is neither area nor policy."""
    try:
        data = path.read_bytes()
        if data.startswith(MAGIC):
            return "a policy"
        document = json.loads(data)
    except (OSError, ValueError, RecursionError):
        return ""
    if not isinstance(document, dict):
        return ""
    if document.get("format") == FORMAT:
        return "a policy"
    return "an area" if str(document.get("kind")) in Area.kinds else ""


# --- reading CSV --------------------------------------------------------------------------------------------

COMMAS = "separate columns by commas"


def read_rows(path: Path) -> list[tuple[int, list[str]]]:
    """Rows of a CSV file with their line numbers; blank lines and lines that begin with # are skipped."""
    text = read_text(path).removeprefix("\ufeff")
    rows: list[tuple[int, list[str]]] = []
    reader = csv.reader(text.splitlines())
    try:
        for row in reader:
            cells = [cell.strip() for cell in row]
            if any(cells) and not cells[0].startswith("#"):
                if len(cells) == 1 and (";" in cells[0] or "\t" in cells[0]):
                    raise FileFormatError(f"{path}, line {reader.line_num}: {cells[0]!r}: {COMMAS}")
                rows.append((reader.line_num, cells))
    except csv.Error as error:
        raise FileFormatError(f"{path}, line {reader.line_num}: not CSV ({error})") from None
    if not rows:
        raise FileFormatError(f"{path}: has no rows")
    return rows


def read_number(path: Path, line: int, field: str, text: str) -> float:
    """One number of a CSV file."""
    try:
        return float(text)
    except ValueError:
        hint = f"; {COMMAS}" if ";" in text or "\t" in text else ""
        raise FileFormatError(f"{path}, line {line}: {field} = {text!r}: should be a number{hint}") from None


def is_header(row: list[str]) -> bool:
    """Tell names from numbers: a header has no number in it."""
    for text in row:
        try:
            float(text)
        except ValueError:
            continue
        return False
    return True


def read_pairs(path: Path, first: tuple[str, ...], second: tuple[str, ...]) -> tuple[FloatArray, FloatArray]:
    """Two named columns of a CSV file; without a header, its only two columns."""
    rows = read_rows(path)
    at = (0, 1)
    line, header = rows[0]
    wanted = f"{first[0]},{second[0]}"
    if is_header(header):
        names = [name.lower() for name in header]
        found = [next((names.index(name) for name in options if name in names), -1) for options in (first, second)]
        if -1 in found:
            raise FileFormatError(f"{path}, line {line}: header = {','.join(header)!r}: should name {wanted}")
        at = (found[0], found[1])
        rows = rows[1:]
        if not rows:
            raise FileFormatError(f"{path}: has a header but no rows")
    elif len(header) != 2:
        raise FileFormatError(f"{path}, line {line}: {len(header)} columns: should be {wanted}, or have a header")
    pairs = np.empty((len(rows), 2))
    for number, (line, row) in enumerate(rows):
        if len(row) <= max(at):
            raise FileFormatError(f"{path}, line {line}: {','.join(row)!r}: should have both of {wanted}")
        for column, (place, name) in enumerate(zip(at, (first[0], second[0]), strict=True)):
            pairs[number, column] = read_number(path, line, name, row[place])
    return pairs[:, 0], pairs[:, 1]


def read_prior(path: Path, n: int) -> FloatArray:
    """One number per cell, on lines of their own or all on one; or `cell,probability`, cells not named having 0."""
    rows = read_rows(path)
    if len(rows) == 1 and len(rows[0][1]) == n > 2:
        rows = [(rows[0][0], [entry]) for entry in rows[0][1]]
    if is_header(rows[0][1]) and len(rows[0][1]) == 1:
        rows = rows[1:]
    if rows and len(rows[0][1]) == 1:
        for line, row in rows:
            if len(row) != 1:
                raise FileFormatError(f"{path}, line {line}: {','.join(row)!r}: should be one number")
        return np.array([read_number(path, line, "prior", row[0]) for line, row in rows])
    cells, chances = read_pairs(path, ("cell",), ("probability", "prior"))
    broken = cells[~((np.abs(cells) < 2**53) & (cells == np.rint(cells)))]
    if broken.size:
        raise InputError("cell of prior", float(broken[0]), "cells are whole numbers")
    whole = as_cells("cell of prior", cells.astype(np.int64), n)
    named, times = np.unique(whole, return_counts=True)
    if (times > 1).any():
        raise InputError("cell of prior", int(named[times > 1][0]), "is named twice")
    prior = np.zeros(n)
    prior[whole] = chances
    return prior

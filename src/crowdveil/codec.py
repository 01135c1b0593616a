"""Read and write files strictly: canonical JSON, CSV, whole numbers, and results that are written atomically.

An error names the file, the line or the field, the value, and what would be right.
"""

from __future__ import annotations

import csv
import json
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from crowdveil.arrays import FloatArray, IntArray
from crowdveil.errors import CrowdveilError, FileFormatError, InputError

# --- JSON -------------------------------------------------------------------------------------------------------


_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def canonical_json(value: object) -> str:
    """JSON with sorted keys, no spaces and ASCII only: one text for one value."""
    return _ENCODER.encode(value)


class _NotStrictError(ValueError):
    """Something that JSON, or this program, does not know."""


def _refuse(constant: str) -> None:
    raise _NotStrictError(f"{constant} is not a number that JSON knows")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise _NotStrictError("a field is given twice")
    return found


_DECODER = json.JSONDecoder(parse_constant=_refuse, object_pairs_hook=_once)


def parse_json(text: str, what: str) -> Any:
    """Parse JSON, refusing NaN and infinities, with an error that says what was being read."""
    try:
        return json.loads(text) if text.startswith("\ufeff") else _DECODER.decode(text)  # only the first refuses a mark
    except _NotStrictError as error:
        raise FileFormatError(f"{what}: {error}") from None
    except (ValueError, RecursionError) as error:
        raise FileFormatError(f"{what}: not JSON, or cut short ({error})") from None


def read_text(path: str | Path) -> str:
    """Text of a file, or an error that names the file."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise FileFormatError(f"{path}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise FileFormatError(f"{path}: not UTF-8 text") from None


def whole_numbers(field: str, values: object, width: int) -> IntArray:
    """Read a JSON list of whole numbers, or of rows of `width` of them."""
    try:
        array = np.asarray(values)
    except ValueError:  # rows of different lengths
        array = np.empty(0)
    shape = (array.size,) if width == 1 else (array.size // width, width)
    if array.dtype.kind != "i" or array.shape != shape:
        raise FileFormatError(f"{field}: should be a list of {'rows of ' * (width > 1)}whole numbers")
    return array.astype(np.int64)


def whole_pair(field: str, values: object) -> tuple[int, int]:
    """Read two whole numbers."""
    pair = whole_numbers(field, values, width=1).tolist()
    if len(pair) != 2:
        raise FileFormatError(f"{field} = {pair}: should be two whole numbers")
    return pair[0], pair[1]


def whole_number(field: str, value: object, low: int, high: int) -> int:
    """Read one whole number of a description."""
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise FileFormatError(f"{field} = {value!r}: should be a whole number from {low:,} to {high:,}")
    return value


# --- CSV --------------------------------------------------------------------------------------------------------

USE_COMMAS = "separate columns by commas"


def read_rows(path: str | Path) -> list[tuple[int, list[str]]]:
    """Read the rows of a CSV file with their line numbers; skip blank lines and lines that begin with #."""
    text = read_text(path).removeprefix("\ufeff")
    rows: list[tuple[int, list[str]]] = []
    reader = csv.reader(text.splitlines())
    try:
        for row in reader:
            entries = [entry.strip() for entry in row]
            if any(entries) and not entries[0].startswith("#"):
                if len(entries) == 1 and (";" in entries[0] or "\t" in entries[0]):
                    raise FileFormatError(f"{path}, line {reader.line_num}: {entries[0]!r}: {USE_COMMAS}")
                rows.append((reader.line_num, entries))
    except csv.Error as error:
        raise FileFormatError(f"{path}, line {reader.line_num}: not CSV ({error})") from None
    if not rows:
        raise FileFormatError(f"{path}: has no rows")
    return rows


def read_number(path: str | Path, line: int, field: str, text: str) -> float:
    """Read one number of a CSV file."""
    try:
        return float(text)
    except ValueError:
        hint = f"; {USE_COMMAS}" if ";" in text or "\t" in text else ""
        raise FileFormatError(f"{path}, line {line}: {field} = {text!r}: should be a number{hint}") from None


def is_header(row: Sequence[str]) -> bool:
    """Tell names from numbers: a header has no number in it."""
    for text in row:
        try:
            float(text)
        except ValueError:
            continue
        return False
    return True


def read_pairs(path: str | Path, first: tuple[str, ...], second: tuple[str, ...]) -> tuple[FloatArray, FloatArray]:
    """Read two named columns of a CSV file, each known by several names; without a header, its only two columns."""
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


# --- files of the project ---------------------------------------------------------------------------------------


@contextmanager
def naming_file(path: str | Path, wanted: str) -> Iterator[None]:
    """Say errors about the content of a file with the file's name, and say if it is a file of another kind."""
    try:
        yield
    except CrowdveilError as error:
        found = _kind(Path(path))
        if found not in ("", wanted):
            raise FileFormatError(f"{path}: is {found}, not {wanted}") from None
        told = str(error).removeprefix(f"{path}: ").removeprefix("policy: ").removeprefix("area: ")
        raise FileFormatError(f"{path}: {told}") from None


def _kind(path: Path) -> str:
    """Say what a file seems to be, whether or not it is complete; empty for neither an area nor a policy."""
    try:
        data = path.read_bytes()
        if data.startswith(b"crowdveil-policy"):
            return "a policy"
        document = json.loads(data)
    except (OSError, ValueError, RecursionError):
        return ""
    if not isinstance(document, dict):
        return ""
    if document.get("format") == "crowdveil-policy":
        return "a policy"
    return "an area" if "kind" in document and "format" not in document else ""


def write_atomically(path: str | Path, write: Callable[[Path], object], *, private: bool = False) -> int:
    """Call `write` with a temporary file beside `path`, then rename it: nobody ever sees half a file.

    Returns the size in bytes. Errors name `path`, not the temporary file. A private file is for its owner alone,
    whatever the umask.
    """
    target = Path(path).resolve()
    try:
        handle, name = tempfile.mkstemp(prefix=f".{target.stem}-", suffix=target.suffix, dir=target.parent)
        os.close(handle)
        temporary = Path(name)
        try:
            write(temporary)
            os.chmod(temporary, 0o600 if private else 0o666 & ~_umask())
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

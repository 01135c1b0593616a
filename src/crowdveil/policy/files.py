"""Turn the fields of a policy into bytes or JSON, and read both strictly.

**Canonical form.** One policy has exactly one sequence of bytes: the length of the header (8 bytes), the header as
sorted JSON (text and whole numbers only; real numbers as the 16 hexadecimal digits of their IEEE double), then the
weights of all but the last symbol, most significant byte first. Symbols that have peaks (peaks.py) are described by
these in the header, and their weights are not written. The hash of a policy is the SHA-256 of these bytes, so
that any language can compute it. Compressed, with its hash in front, this is the compact file.

**JSON** holds the same fields for people and other languages, and the hash.

This module knows fields, not policies: `Policy` (policy.py) hands its fields over, and makes itself from fields that
were read here.
"""

from __future__ import annotations

import hashlib
import json
import struct
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from crowdveil.area import Area
from crowdveil.codec import canonical_json, parse_json, whole_number, whole_numbers
from crowdveil.errors import FileFormatError, InputError
from crowdveil.policy.checks import MAX_BITS, MAX_GRADES, MAX_TABLE_ENTRIES
from crowdveil.policy.encoding import listed, pack, read_columns, unpack, with_last

FORMAT = "crowdveil-policy"
VERSION = 1
MAGIC = b"crowdveil-policy-1\n"
"""The first bytes of a compact file."""
MAX_HEADER_BYTES = 1 << 25
MAX_UNPACKED_BYTES = MAX_HEADER_BYTES + 2 * 8 * MAX_TABLE_ENTRIES
"""Unpacking a compact file stops here: the largest policy needs no more, a decompression bomb would."""

_REALS = ("epsilon_per_km", "value", "beta")
_REQUIRED = {"format", "version", "area", "bits", "targets", "symbols", "selecting", "provenance", *_REALS}
_OPTIONAL_REALS = ("null_epsilon", "grade_epsilon")
_KNOWN = _REQUIRED | {"hash", "weights", "grades", "completion", "peaks", "values", *_OPTIONAL_REALS}
_PEAK_LISTS = {"symbol", "input", "weight", "floor"}

Fields = dict[str, Any]
"""The fields of a policy by their names in the files: `area` as its description, `weights` without the last column and
without those of symbols that have peaks, the completion's weights with all columns."""

# --- writing ----------------------------------------------------------------------------------------------------


def canonical_bytes(fields: Mapping[str, Any]) -> bytes:
    """Give the one sequence of bytes that stands for these fields."""
    arrays = ("weights", "completion")
    header = {"format": FORMAT, "version": VERSION, **{name: fields[name] for name in fields if name not in arrays}}
    for name in _reals(fields):
        header[name] = _hex(fields[name])
    if "values" in fields:
        header["values"] = [_hex(value) for value in fields["values"]]
    parts = [fields["weights"]]
    if "completion" in fields:
        refined = dict(fields["completion"])
        weights = refined.pop("weights")
        header["completion"] = {**refined, "rows": len(weights)}
        parts.append(weights[:, :-1])
    text = canonical_json(header).encode()
    return struct.pack(">Q", len(text)) + text + b"".join(pack(part, fields["bits"]) for part in parts)


def compact_bytes(canonical: bytes, policy_hash: str) -> bytes:
    """Compress the canonical form, with its hash in front: some kilobytes for thousands of cells."""
    return MAGIC + bytes.fromhex(policy_hash) + zlib.compress(canonical, level=6)


def json_text(fields: Mapping[str, Any], policy_hash: str) -> str:
    """Write the fields and the hash as JSON."""
    document = {"format": FORMAT, "version": VERSION, "hash": policy_hash, **fields}
    document["weights"] = listed(fields["weights"])
    if "completion" in fields:
        refined = fields["completion"]
        document["completion"] = {**refined, "weights": listed(refined["weights"][:, :-1])}
    return json.dumps(document, allow_nan=False)


# --- reading ----------------------------------------------------------------------------------------------------


def read_file(path: str | Path) -> bytes:
    """Read a file, or raise an error that names it."""
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise FileFormatError(f"{path}: {error.strerror or error}") from None


def read_compact(data: bytes) -> tuple[Fields, str]:
    """Read the fields and the hash from a compact file; refuse anything altered or cut short."""
    if not data.startswith(MAGIC):
        raise FileFormatError("policy: does not begin like a crowdveil policy file")
    digest, packed = data[len(MAGIC) : len(MAGIC) + 32], data[len(MAGIC) + 32 :]
    unpacker = zlib.decompressobj()
    try:
        canonical = unpacker.decompress(packed, MAX_UNPACKED_BYTES)
    except zlib.error as error:
        raise FileFormatError(f"policy: damaged or cut short ({error})") from None
    if not unpacker.eof or unpacker.unused_data:
        raise FileFormatError("policy: damaged, cut short, or followed by something else")
    if hashlib.sha256(canonical).digest() != digest:
        raise FileFormatError("policy: the content does not match its hash; the file was altered")
    return _read_canonical(canonical), digest.hex()


def read_json(text: str) -> tuple[Fields, str | None]:
    """Read the fields, and the hash that the file claims, from JSON."""
    document = parse_json(text, "policy")
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise FileFormatError(f"policy: not a crowdveil policy (format should be {FORMAT!r})")
    _check_names(document)
    try:
        bits = whole_number("bits", document["bits"], 1, MAX_BITS)
        document["weights"] = read_columns(document["weights"], _columns(document))
        if "completion" in document:
            refined = document["completion"]
            refined["weights"] = with_last(read_columns(refined["weights"], len(refined["cells"]) - 1), bits)
    except KeyError as error:
        raise FileFormatError(f"policy: the field {error} is missing") from None
    except (TypeError, AttributeError, OverflowError) as error:
        raise FileFormatError(f"policy: a field has the wrong type ({error})") from None
    return _checked(document), document.get("hash")


def _read_canonical(canonical: bytes) -> Fields:
    if len(canonical) < 8:
        raise FileFormatError("policy: cut short")
    (size,) = struct.unpack(">Q", canonical[:8])
    if size > MAX_HEADER_BYTES:
        raise FileFormatError(f"policy: a header of {size:,} bytes; should be at most {MAX_HEADER_BYTES:,}")
    header = parse_json(canonical[8 : 8 + size].decode("ascii", errors="replace"), "policy")
    data = canonical[8 + size :]
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise FileFormatError(f"policy: not a crowdveil policy (format should be {FORMAT!r})")
    _check_names(header)
    if "weights" in header:
        raise FileFormatError("policy: weights should follow the header, not stand in it")
    try:
        for name in _reals(header):
            header[name] = _real(header[name])
        if "values" in header:
            header["values"] = [_real(text) for text in header["values"]]
        bits = whole_number("bits", header["bits"], 1, MAX_BITS)
        n = len(Area.from_description(header["area"]))
        inputs = n * _grades(header) + ("null_epsilon" in header)
        header["weights"], data = unpack(data, inputs, _columns(header), bits)
        if "completion" in header:
            refined = header["completion"]
            rows = whole_number("completion.rows", refined.pop("rows"), 1, inputs)
            weights, data = unpack(data, rows, len(refined["cells"]) - 1, bits)
            refined["weights"] = with_last(weights, bits)
    except (KeyError, TypeError, ValueError, struct.error) as error:
        raise FileFormatError(f"policy: a field is missing or wrong ({error})") from None
    if data:
        raise FileFormatError("policy: followed by something else")
    return _checked(header)


def _check_names(document: Fields) -> None:
    version = document.get("version")
    if type(version) is not int or version != VERSION:
        raise FileFormatError(f"policy: version = {version!r}: this program reads version {VERSION}")
    for name in sorted(_REQUIRED - set(document)):
        raise FileFormatError(f"policy: the field {name!r} is missing")
    for name in sorted(set(document) - _KNOWN):
        raise FileFormatError(f"policy: unknown field {name!r}")


def _reals(fields: Mapping[str, Any]) -> list[str]:
    return [*_REALS, *(name for name in _OPTIONAL_REALS if name in fields)]


def _hex(real: float) -> str:
    return struct.pack(">d", real).hex()


def _real(text: str) -> float:
    (number,) = struct.unpack(">d", bytes.fromhex(text))
    return float(number)


def _columns(document: Fields) -> int:
    """Return how many columns of weights are written: not the last one, nor those of symbols that have peaks."""
    described = document["peaks"]["floor"] if "peaks" in document else []
    if not isinstance(described, list) or len(described) >= len(_names(document)):
        raise FileFormatError("policy: peaks.floor should be a list that is shorter than that of the symbols")
    return len(_names(document)) - 1 - len(described)


def _grades(document: Fields) -> int:
    return whole_number("grades", document.get("grades", 1), 1, MAX_GRADES)


def _names(document: Fields) -> list[str]:
    if not isinstance(document["symbols"], list):
        raise FileFormatError("policy: symbols should be a list of names")
    return document["symbols"]


def _checked(document: Fields) -> Fields:
    """Check the types of the fields that both forms share; their values are checked by `Policy` itself."""
    fields = {name: document[name] for name in document if name not in ("format", "version", "hash")}
    try:
        for name in ("targets", "selecting"):
            fields[name] = tuple(whole_numbers(name, document[name], width=1).tolist())
        fields["symbols"] = tuple(document["symbols"])
        if "grades" in document:
            fields["grades"] = _grades(document)
        for name in _reals(document):
            fields[name] = _number(name, document[name])
        if not isinstance(document["provenance"], dict):
            raise FileFormatError("policy: provenance should be a list of names with values")
        if "values" in document:
            fields["values"] = tuple(_number("values", value) for value in document["values"])
        if "completion" in document:
            fields["completion"] = _checked_completion(document["completion"])
        if "peaks" in document:
            fields["peaks"] = _checked_peaks(document["peaks"])
    except KeyError as error:
        raise FileFormatError(f"policy: the field {error} is missing") from None
    except (TypeError, AttributeError, OverflowError) as error:
        raise FileFormatError(f"policy: a field has the wrong type ({error})") from None
    return fields


def _checked_completion(refined: Fields) -> Fields:
    for name in sorted(set(refined) - {"cells", "row", "weights"}):
        raise FileFormatError(f"policy: unknown field 'completion.{name}'")
    return {
        "cells": tuple(whole_numbers("completion.cells", refined["cells"], width=1).tolist()),
        "row": whole_numbers("completion.row", refined["row"], width=1),
        "weights": refined["weights"],
    }


def _checked_peaks(peaks: Fields) -> Fields:
    for name in sorted(set(peaks) ^ _PEAK_LISTS):
        raise FileFormatError(f"policy: 'peaks.{name}' is {'unknown' if name in peaks else 'missing'}")
    return {name: whole_numbers(f"peaks.{name}", peaks[name], width=1) for name in sorted(_PEAK_LISTS)}


def _number(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(name, value, "should be a number")
    return float(value)

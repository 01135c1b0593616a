"""A policy: for every cell, whole-number weights of the symbols a phone there may send.

In symbols, with cells l, symbols s and B = `bits`:

    P(s | l) = weights[l, s] / 2^B,           weights[l, :].sum() = 2^B

A policy made for coverage has two symbols, `hit` (selects the user) and `other`. A *completion* may refine the last
symbol: who drew `other` draws a second time, with weights of its own that again sum to 2^B per row, so

    P(c | l) = weights[l, -1] / 2^B · completion.weights[completion.row[l], c] / 2^B.

A policy may take "no frequent place" as one more input, NULL, with a row of weights of its own and a privacy level
ε₀ = `null_epsilon` that holds between NULL and every cell:

    e^{-ε₀} ≤ P(s | NULL) / P(s | l) ≤ e^{ε₀}        for every cell l and every symbol s.

Without that row, who has no place says so in the clear, outside of the policy.

The value is frozen. Its canonical form is `canonical_bytes`: a header of sorted JSON (text and whole numbers only;
reals as the 16 hex digits of their IEEE double) followed by the weights, most significant byte first. The hash is the
SHA-256 of that, so every language can compute it. A policy travels as JSON or as that form compressed.
"""

from __future__ import annotations

import hashlib
import json
import re
import struct
import zlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from crowdveil.area import Area
from crowdveil.arrays import FloatArray, IntArray, as_array, as_cells, as_floats, frozen
from crowdveil.codec import canonical_json, naming_file, parse_json, whole_number, whole_numbers
from crowdveil.errors import FileFormatError, InputError
from crowdveil.policy.encoding import listed, pack, read_weights, row_sums, unpack

FORMAT = "crowdveil-policy"
VERSION = 1
MAGIC = b"crowdveil-policy-1\n"
DEFAULT_BITS = 53
"""Weights of 53 bits are whole numbers that every language's double holds exactly."""
MAX_BITS = 62
MAX_TABLE_ENTRIES = 16_000_000
MAX_HEADER_BYTES = 1 << 25
MAX_UNPACKED_BYTES = MAX_HEADER_BYTES + 2 * 8 * MAX_TABLE_ENTRIES
"""A compact file is unpacked no farther than the largest policy needs."""
_NAME = re.compile(r"[A-Za-z0-9._ -]{1,32}")


@dataclass(frozen=True, eq=False, repr=False)
class Completion:
    """How `other` is refined: one of the symbols `cells`, with weights that depend on the true cell's row."""

    cells: tuple[int, ...]
    """The cell each refined symbol stands for."""
    row: IntArray
    """Which row of `weights` each true cell uses, shape (n,). Cells that must not be told apart share one."""
    weights: IntArray
    """Whole numbers, shape (rows, symbols); each row sums to 2^bits."""
    null_row: int | None = None
    """Which row of `weights` a phone without a place uses, where the policy has a row for NULL."""

    def __repr__(self) -> str:
        return f"Completion({len(self.cells)} symbols, {len(self.weights)} different rows)"


@dataclass(frozen=True, eq=False, repr=False)
class Policy:
    """Weights of what a phone sends, for every cell it may be in; see the module's text for the meaning."""

    area: Area
    epsilon_per_km: float
    targets: tuple[int, ...]
    weights: IntArray
    """Whole numbers, shape (n, symbols); each row sums to 2^bits."""
    symbols: tuple[str, ...] = ("hit", "other")
    """Name of each column of `weights`: `hit`, `other`, or the number of a cell."""
    selecting: tuple[int, ...] = (0,)
    """The symbols whose senders are selected."""
    bits: int = DEFAULT_BITS
    completion: Completion | None = None
    value: float = 0.0
    """Share of the selected who really are at a target, Σ_T π_t p_t / β, under the prior it was made for."""
    beta: float = 0.0
    """Chance that a user who sends a symbol is selected, Σ π_l p_l, under the prior it was made for."""
    provenance: Mapping[str, str | int] = field(default_factory=dict)
    """How it was made: inputs, solver, versions, and the proven gap to the optimum."""
    null_epsilon: float | None = None
    """ε₀: largest loss between NULL and any cell. None: NULL is said in the clear, an unbounded loss."""
    null_weights: IntArray | None = None
    """Whole numbers, one for each symbol, summing to 2^bits: what a phone without a frequent place sends."""

    if TYPE_CHECKING:  # attached by the front door, because this room may not import the room that draws

        def plot(self, title: str | None = None) -> Any:
            """Draw the map of the chance of being selected; see `plots.maps.plot_policy`."""

    def __post_init__(self) -> None:
        n = len(self.area)
        object.__setattr__(self, "epsilon_per_km", check_epsilon(self.epsilon_per_km))
        whole_number("bits", self.bits, 1, MAX_BITS)
        object.__setattr__(self, "targets", check_targets(self.targets, n))
        object.__setattr__(self, "weights", _check_weights("weights", self.weights, n, len(self.symbols), self.bits))
        if len(set(self.symbols)) != len(self.symbols) or len(self.symbols) < 2:
            raise InputError("symbols", self.symbols, "should be two or more different names")
        for name in self.symbols:
            if not isinstance(name, str) or not _NAME.fullmatch(name):
                raise InputError("symbols", name, "should be a name of up to 32 letters, digits, spaces and -_.")
        selecting = as_cells("selecting", list(self.selecting), len(self.symbols))
        if len(set(selecting.tolist())) != len(self.selecting) or not 0 < len(selecting) < len(self.symbols):
            raise InputError("selecting", self.selecting, "should be some, not all, of the symbols' numbers")
        self._check_null()
        if self.completion is not None:
            object.__setattr__(self, "completion", self._check_completion(self.completion, n))
        for name in ("value", "beta"):
            number = getattr(self, name)
            if not (isinstance(number, float) and 0 <= number <= 1 + 1e-9):
                raise InputError(name, number, "should be a number from 0 to 1")
        for key, entry in self.provenance.items():
            if not isinstance(key, str) or isinstance(entry, bool) or not isinstance(entry, str | int):
                raise InputError(f"provenance[{key!r}]", entry, "should be text or a whole number")
        object.__setattr__(self, "provenance", MappingProxyType(dict(self.provenance)))

    def _check_null(self) -> None:
        if (self.null_epsilon is None) != (self.null_weights is None):
            given = "null_weights" if self.null_epsilon is None else "null_epsilon"
            raise InputError(given, getattr(self, given), "null_epsilon and null_weights go together, or neither")
        if self.null_epsilon is None or self.null_weights is None:
            return
        object.__setattr__(self, "null_epsilon", check_null_epsilon(self.null_epsilon))
        row = as_array("null_weights", self.null_weights, "should be whole numbers")
        if row.ndim != 1:
            raise InputError("null_weights", f"shape {row.shape}", "should be one whole number for each symbol")
        checked = _check_weights("null_weights", row[None, :], None, len(self.symbols), self.bits)
        object.__setattr__(self, "null_weights", frozen(checked[0]))

    def _check_completion(self, completion: Completion, n: int) -> Completion:
        cells = tuple(as_cells("completion.cells", list(completion.cells), n).tolist())
        if len(set(cells)) != len(cells) or len(cells) < 2:
            raise InputError("completion.cells", cells, "should be two or more different cells")
        if len(self.symbols) - 1 in self.selecting:
            raise InputError("selecting", self.selecting, "a completion refines the last symbol; it cannot select")
        weights = _check_weights("completion.weights", completion.weights, None, len(cells), self.bits)
        row = as_cells("completion.row", completion.row, len(weights))
        if row.shape != (n,):
            raise InputError("completion.row", row.shape, f"should have one entry for each of {n} cells")
        if (completion.null_row is None) != (self.null_weights is None):
            raise InputError("completion.null_row", completion.null_row, "belongs to a row for NULL, and a row to it")
        if completion.null_row is not None:
            as_cells("completion.null_row", [completion.null_row], len(weights))
        return Completion(cells, frozen(row), weights, completion.null_row)

    # --- what it says -----------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.area)

    def __repr__(self) -> str:
        targets = f"{len(self.targets)} target{'s' * (len(self.targets) > 1)}"
        shares = f"ε={self.epsilon_per_km:.4g}/km, β={self.beta:.2%}, value={self.value:.2%}"
        null = "" if self.null_epsilon is None else f", NULL at ε₀={self.null_epsilon:.4g}"
        symbols = f"{self.symbol_count:,} symbols"
        return f"Policy({len(self):,} cells, {targets}, {symbols}, {shares}{null}, hash {self.hash[:12]})"

    @property
    def total(self) -> int:
        """What every row of weights sums to, 2^bits."""
        return 1 << self.bits

    @cached_property
    def hit(self) -> FloatArray:
        """Chance that a phone in each cell is selected, p_l."""
        chosen: FloatArray = self.weights[:, list(self.selecting)].sum(axis=1) / self.total
        chosen.setflags(write=False)
        return chosen

    @property
    def symbol_count(self) -> int:
        """How many different symbols a phone may send."""
        return len(self.symbols) + (0 if self.completion is None else len(self.completion.cells) - 1)

    def symbol_name(self, symbol: int) -> str:
        """Name of a symbol: `hit`, `other`, or `cell 17`."""
        as_cells("symbol", [symbol], self.symbol_count)
        if self.completion is None or symbol < len(self.symbols) - 1:
            name = self.symbols[symbol]
            return f"cell {name}" if name.isdecimal() else name
        return f"cell {self.completion.cells[symbol - len(self.symbols) + 1]}"

    def table(self) -> FloatArray:
        """P(symbol | cell) as floats, shape (n, symbol_count); for areas of up to a few thousand cells."""
        if len(self) * self.symbol_count > MAX_TABLE_ENTRIES:
            size = f"{len(self):,} x {self.symbol_count:,}"
            raise InputError("table", size, f"at most {MAX_TABLE_ENTRIES:,} entries; ask for columns instead")
        first = self.weights / self.total
        if self.completion is None:
            return first
        second = self.completion.weights[self.completion.row] / self.total
        return np.hstack([first[:, :-1], first[:, -1:] * second])

    def inputs(self) -> tuple[IntArray, IntArray | None]:
        """Weights of every input, and which row of the completion each uses: the cells, then NULL if it has a row."""
        row = None if self.completion is None else self.completion.row
        if self.null_weights is None:
            return self.weights, row
        if self.completion is not None:
            row = np.array([*self.completion.row, self.completion.null_row], dtype=np.int64)
        return np.vstack([self.weights, self.null_weights]), row

    def null_table(self) -> FloatArray:
        """P(symbol | NULL) as floats, shape (symbol_count,); only where the policy has a row for NULL."""
        if self.null_weights is None:
            raise InputError("null_weights", None, "this policy has no row for NULL, which is said in the clear")
        first: FloatArray = self.null_weights / self.total
        if self.completion is None:
            return first
        return np.concatenate(
            [first[:-1], first[-1] * (self.completion.weights[self.completion.null_row] / self.total)]
        )

    @property
    def null_hit(self) -> float:
        """Chance that a phone without a place is selected, p_0; 0 where it says so in the clear."""
        return 0.0 if self.null_weights is None else int(self.null_weights[list(self.selecting)].sum()) / self.total

    def value_under(self, prior: ArrayLike | None, null_share: float = 0.0) -> float:
        """Σ_T π_t p_t / Σ π_l p_l for some prior (0 where nobody is ever selected).

        With a share ν of people without a place it is (1-ν) Σ_T π_t p_t / ( (1-ν) Σ π_l p_l + ν p_0 ).
        """
        pi = (1 - check_null_share(null_share)) * check_prior(prior, len(self))
        selected = float(pi @ self.hit) + null_share * self.null_hit
        return float(pi[list(self.targets)] @ self.hit[list(self.targets)]) / selected if selected else 0.0

    def to_geojson(self) -> dict[str, Any]:
        """Give the cells as a GeoJSON FeatureCollection, with what the policy does in each.

        Besides those of `Area.to_geojson`, every cell has the properties `hit_probability`, the chance that a phone
        there is selected, and `is_target`.

        >>> import crowdveil as cv
        >>> grid = cv.Grid.from_bounds(40.70, -74.02, 40.80, -73.93, cell_km=2.0)
        >>> policy = cv.optimal_policy(grid, None, [7], epsilon_per_km=1.0, beta=0.1)
        >>> policy.to_geojson()["features"][7]["properties"]["is_target"]
        True
        """
        targets = np.isin(np.arange(len(self)), self.targets)
        return self.area.to_geojson({"hit_probability": self.hit.tolist(), "is_target": targets.tolist()})

    # --- canonical form and hash ------------------------------------------------------------------------

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Policy) and self.hash == other.hash

    def __hash__(self) -> int:
        return hash(self.hash)

    @cached_property
    def hash(self) -> str:
        """SHA-256 of the canonical form, in hex."""
        return hashlib.sha256(self.canonical_bytes()).hexdigest()

    def canonical_bytes(self) -> bytes:
        """The one sequence of bytes that stands for this policy."""
        header: dict[str, Any] = {
            "format": FORMAT,
            "version": VERSION,
            "area": self.area.describe(),
            "bits": self.bits,
            "provenance": dict(self.provenance),
            "selecting": list(self.selecting),
            "symbols": list(self.symbols),
            "targets": list(self.targets),
        }
        for name in _REALS:
            header[name] = struct.pack(">d", getattr(self, name)).hex()
        parts = [self.weights[:, :-1]]
        if self.null_epsilon is not None and self.null_weights is not None:
            header["null_epsilon"] = struct.pack(">d", self.null_epsilon).hex()
            parts.append(self.null_weights[None, :-1])
        if self.completion is not None:
            header["completion"] = {
                "cells": list(self.completion.cells),
                "row": self.completion.row.tolist(),
                "rows": len(self.completion.weights),
            }
            if self.completion.null_row is not None:
                header["completion"]["null_row"] = self.completion.null_row
            parts.append(self.completion.weights[:, :-1])
        text = canonical_json(header).encode()
        return struct.pack(">Q", len(text)) + text + b"".join(pack(part, self.bits) for part in parts)

    def to_bytes(self) -> bytes:
        """The canonical form compressed, with its hash: some kilobytes for thousands of cells."""
        return MAGIC + bytes.fromhex(self.hash) + zlib.compress(self.canonical_bytes(), level=6)

    @staticmethod
    def from_bytes(data: bytes) -> Policy:
        """Read what `to_bytes` wrote; anything altered or cut short is refused."""
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
            raise FileFormatError("policy: the content does not match its hash; it was altered")
        policy = _from_canonical(canonical)
        if policy.hash != digest.hex():
            raise FileFormatError("policy: its bytes are not in canonical form")
        return policy

    # --- JSON -------------------------------------------------------------------------------------------

    def to_json(self) -> str:
        """JSON for people and other languages; the last symbol's weights are what is left of 2^bits."""
        document: dict[str, Any] = {
            "format": FORMAT,
            "version": VERSION,
            "hash": self.hash,
            "epsilon_per_km": self.epsilon_per_km,
            "value": self.value,
            "beta": self.beta,
            "targets": list(self.targets),
            "bits": self.bits,
            "symbols": list(self.symbols),
            "selecting": list(self.selecting),
            "provenance": dict(self.provenance),
            "area": self.area.describe(),
            "weights": listed(self.weights),
        }
        if self.null_weights is not None:
            document["null_epsilon"] = self.null_epsilon
            document["null_weights"] = listed(self.null_weights[None, :])[0]
        if self.completion is not None:
            document["completion"] = {
                "cells": list(self.completion.cells),
                "row": self.completion.row.tolist(),
                "weights": listed(self.completion.weights),
            }
            if self.completion.null_row is not None:
                document["completion"]["null_row"] = self.completion.null_row
        return json.dumps(document, allow_nan=False)

    @staticmethod
    def from_json(text: str) -> Policy:
        """Read what `to_json` wrote; anything that does not match its hash is refused."""
        document = parse_json(text, "policy")
        if not isinstance(document, dict) or document.get("format") != FORMAT:
            raise FileFormatError(f"policy: not a crowdveil policy (format should be {FORMAT!r})")
        claimed = document.get("hash")
        policy = _from_document(document)
        if policy.hash != claimed:
            raise FileFormatError(f"policy: hash = {claimed!r} but the content has {policy.hash}; it was altered")
        return policy

    # --- files ------------------------------------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Write JSON, or the compact form if the name does not end in .json."""
        target = Path(path)
        if target.suffix == ".json":
            target.write_text(self.to_json() + "\n", encoding="utf-8")
        else:
            target.write_bytes(self.to_bytes())

    @staticmethod
    def load(path: str | Path) -> Policy:
        """Read either form; the content tells which it is. An error names the file."""
        try:
            data = Path(path).read_bytes()
        except OSError as error:
            raise FileFormatError(f"{path}: {error.strerror or error}") from None
        with naming_file(path, "a policy"):
            if data.startswith(MAGIC):
                return Policy.from_bytes(data)
            try:
                return Policy.from_json(data.decode("utf-8"))
            except UnicodeDecodeError:
                raise FileFormatError("neither a policy in JSON nor in compact form") from None


# --- checks that makers of policies share -------------------------------------------------------------------


def check_epsilon(epsilon_per_km: float) -> float:
    """Refuse a privacy level that is not a positive finite number."""
    return _positive("epsilon_per_km", epsilon_per_km, "should be a finite number above 0, such as ln 4 = 1.386")


def check_null_epsilon(null_epsilon: float) -> float:
    """Refuse an ε₀ that is not a positive finite number; the clear form is None, not infinity."""
    return _positive("null_epsilon", null_epsilon, "should be a finite number above 0, such as ln 16 = 2.773, or None")


def check_null_share(null_share: float) -> float:
    """Refuse a share of people without a place that is not one."""
    if not (isinstance(null_share, int | float | np.floating) and 0 <= null_share <= 1):
        raise InputError("null_share", null_share, "should be a share from 0 to 1")
    return float(null_share)


def _positive(name: str, value: float, expected: str) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = float("nan")
    if not (np.isfinite(number) and number > 0):
        raise InputError(name, value, expected)
    return number


def check_targets(targets: ArrayLike, n: int) -> tuple[int, ...]:
    """Refuse no target, all cells, repeated ones and cells that do not exist; return them sorted."""
    cells = as_cells("targets", targets, n).ravel().tolist()
    if not cells:
        raise InputError("targets", [], "name at least one cell to cover")
    if len(set(cells)) != len(cells):
        repeated = Counter(cells).most_common(1)[0][0]
        raise InputError("targets", repeated, "is named twice")
    if len(cells) == n:
        raise InputError("targets", f"all {n} cells", "everyone covers some target then; leave some cells out")
    return tuple(sorted(cells))


def check_prior(prior: ArrayLike | None, n: int) -> FloatArray:
    """Refuse a prior that is not n finite numbers ≥ 0 which sum to one (to 1e-6; it is then scaled to one).

    None stands for the uniform prior.
    """
    pi = np.full(n, 1 / n) if prior is None else as_floats("prior", prior)
    if pi.shape != (n,):
        raise InputError("prior", f"{pi.size} numbers", f"should have one number for each of {n} cells")
    for bad, what in ((~np.isfinite(pi), "should be finite"), (pi < 0, "should not be negative")):
        if bad.any():
            cell = int(np.flatnonzero(bad)[0])
            raise InputError(f"prior[{cell}]", float(pi[cell]), what)
    total = float(pi.sum())
    if abs(total - 1) > 1e-6:
        raise InputError("sum of prior", total, "should be 1; divide the numbers by their sum")
    return pi / total


# --- reading and writing ------------------------------------------------------------------------------------

_REALS = ("epsilon_per_km", "value", "beta")
_FIELDS = {"format", "version", "hash", "area", "bits", "targets", "symbols", "selecting", "weights"}
_FIELDS |= {*_REALS, "completion", "provenance", "null_epsilon", "null_weights"}


def _check_weights(name: str, weights: ArrayLike, n: int | None, symbols: int, bits: int) -> IntArray:
    array = as_array(name, weights, "should be rows of whole numbers, all of the same length")
    if array.dtype.kind not in "iu" or array.ndim != 2 or array.shape[1] != symbols:
        raise InputError(name, f"shape {array.shape} of {array.dtype}", f"should be whole numbers, {symbols} a row")
    if n is not None and len(array) != n:
        raise InputError(name, f"{len(array)} rows", f"should have one row for each of {n} cells")
    if array.size > MAX_TABLE_ENTRIES:
        raise InputError(name, array.shape, f"at most {MAX_TABLE_ENTRIES:,} entries")
    outside = (array < 0) | (array > 1 << bits)
    if outside.any():
        at = np.argwhere(outside)[0].tolist()
        raise InputError(f"{name}{at}", int(array[tuple(at)]), f"should lie between 0 and 2^{bits}")
    array = array.astype(np.int64)
    for row, total in enumerate(row_sums(array)):
        if total != 1 << bits:
            raise InputError(f"sum of {name}[{row}]", total, f"should be 2^{bits} = {1 << bits}")
    return frozen(array)


def _from_canonical(canonical: bytes) -> Policy:
    if len(canonical) < 8:
        raise FileFormatError("policy: cut short")
    (size,) = struct.unpack(">Q", canonical[:8])
    if size > MAX_HEADER_BYTES:
        raise FileFormatError(f"policy: a header of {size:,} bytes; at most {MAX_HEADER_BYTES:,}")
    header = parse_json(canonical[8 : 8 + size].decode("ascii", errors="replace"), "policy")
    data = canonical[8 + size :]
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise FileFormatError(f"policy: not a crowdveil policy (format should be {FORMAT!r})")
    try:
        for name in _REALS:
            (header[name],) = struct.unpack(">d", bytes.fromhex(header[name]))
        bits = whole_number("bits", header["bits"], 1, MAX_BITS)
        n = len(Area.from_description(header["area"]))
        weights, data = unpack(data, n, len(header["symbols"]) - 1, bits)
        header["weights"] = listed(weights)
        if "null_weights" in header:
            raise FileFormatError("policy: null_weights do not stand in the header")
        if "null_epsilon" in header:
            (header["null_epsilon"],) = struct.unpack(">d", bytes.fromhex(header["null_epsilon"]))
            weights, data = unpack(data, 1, len(header["symbols"]) - 1, bits)
            header["null_weights"] = listed(weights)[0]
        if "completion" in header:
            rows = whole_number("completion.rows", header["completion"]["rows"], 1, n + ("null_epsilon" in header))
            weights, data = unpack(data, rows, len(header["completion"]["cells"]) - 1, bits)
            header["completion"]["weights"] = listed(weights)
    except (KeyError, TypeError, ValueError, struct.error) as error:
        raise FileFormatError(f"policy: a field is missing or wrong ({error})") from None
    if data:
        raise FileFormatError("policy: followed by something else")
    return _from_document(header)


def _from_document(document: dict[str, Any]) -> Policy:
    """Build a policy from the fields that both forms share."""
    version = document.get("version")
    if type(version) is not int or version != VERSION:
        raise FileFormatError(f"policy: version = {version!r}: this program reads version {VERSION}")
    unknown = sorted(set(document) - _FIELDS)
    if unknown:
        raise FileFormatError(f"policy: unknown field {unknown[0]!r}")
    try:
        bits = whole_number("bits", document["bits"], 1, MAX_BITS)
        if not isinstance(document["symbols"], list):
            raise FileFormatError("policy: symbols should be a list of names")
        symbols = tuple(document["symbols"])
        completion = None
        if "completion" in document:
            refined = document["completion"]
            cells = tuple(whole_numbers("completion.cells", refined["cells"], width=1).tolist())
            row = whole_numbers("completion.row", refined["row"], width=1)
            null_row = refined.get("null_row")
            if null_row is not None:
                whole_number("completion.null_row", null_row, 0, len(refined["weights"]) - 1)
            completion = Completion(cells, row, read_weights(refined["weights"], len(cells), bits), null_row)
        null_weights = None
        if "null_weights" in document:
            null_weights = read_weights([document["null_weights"]], len(symbols), bits)[0]
        for name in (*_REALS, *(["null_epsilon"] if "null_epsilon" in document else [])):
            if isinstance(document[name], bool) or not isinstance(document[name], int | float):
                raise InputError(name, document[name], "should be a number")
        return Policy(
            area=Area.from_description(document["area"]),
            epsilon_per_km=float(document["epsilon_per_km"]),
            targets=tuple(whole_numbers("targets", document["targets"], width=1).tolist()),
            weights=read_weights(document["weights"], len(symbols), bits),
            symbols=symbols,
            selecting=tuple(whole_numbers("selecting", document["selecting"], width=1).tolist()),
            bits=bits,
            completion=completion,
            value=float(document["value"]),
            beta=float(document["beta"]),
            provenance=document["provenance"],
            null_epsilon=document.get("null_epsilon"),
            null_weights=null_weights,
        )
    except KeyError as error:
        raise FileFormatError(f"policy: the field {error} is missing") from None
    except (TypeError, AttributeError, OverflowError) as error:
        raise FileFormatError(f"policy: a field has the wrong type ({error})") from None

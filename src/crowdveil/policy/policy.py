"""Define the policy: for every cell, whole-number weights of the symbols that a device there may send.

In symbols, with cells l, symbols s and B = `bits`:

    P(s | l) = weights[l, s] / 2^B,           weights[l, :].sum() = 2^B

A policy made for coverage has two symbols: `hit`, whose senders are selected, and `other`. A *completion* may refine
the last symbol: a device that drew `other` draws a second time, from a second table of weights whose rows again sum to
2^B, so that

    P(c | l) = weights[l, -1] / 2^B · completion.weights[completion.row[l], c] / 2^B.

A policy may take "no frequent place" as one more input, NULL, with a row of weights of its own and a privacy level
ε₀ = `null_epsilon` that holds between NULL and every cell:

    e^{-ε₀} ≤ P(s | NULL) / P(s | l) ≤ e^{ε₀}        for every cell l and every symbol s.

Without that row, a device without a frequent place says so in the clear, outside of the policy.

The value is frozen, and it is known by its hash: the SHA-256 of its canonical form. Bytes and JSON are in files.py.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from crowdveil.area import Area
from crowdveil.arrays import FloatArray, IntArray, as_array, as_cells, frozen
from crowdveil.codec import naming_file, whole_number
from crowdveil.errors import FileFormatError, InputError
from crowdveil.policy import files
from crowdveil.policy.checks import (
    DEFAULT_BITS,
    MAX_BITS,
    MAX_TABLE_ENTRIES,
    check_epsilon,
    check_null_epsilon,
    check_null_share,
    check_prior,
    check_targets,
    check_weights,
)

_NAME = re.compile(r"[A-Za-z0-9._ -]{1,32}")


@dataclass(frozen=True, eq=False, repr=False)
class Completion:
    """Refine `other` into one of the symbols `cells`, with weights that depend on the true cell's row."""

    cells: tuple[int, ...]
    """The cell that each refined symbol stands for."""
    row: IntArray
    """Which row of `weights` each true cell uses, shape (n,). Cells that must not be distinguished share one."""
    weights: IntArray
    """Whole numbers, shape (rows, symbols); each row sums to 2^bits."""
    null_row: int | None = None
    """Which row of `weights` a device without a frequent place uses, where the policy has a row for NULL."""

    def __repr__(self) -> str:
        return f"Completion({len(self.cells)} symbols, {len(self.weights)} different rows)"


@dataclass(frozen=True, eq=False, repr=False)
class Policy:
    """Give the weights of the symbols that a device sends, for every cell that it may be in.

    The module's docstring defines what the weights mean.
    """

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
    """Probability that a user who sends a symbol is selected, Σ π_l p_l, under the prior it was made for."""
    provenance: Mapping[str, str | int] = field(default_factory=dict)
    """How it was made: inputs, solver, versions, and the proven gap to the optimum."""
    null_epsilon: float | None = None
    """ε₀: the largest privacy loss between NULL and any cell. None: NULL is sent in the clear, an unbounded loss."""
    null_weights: IntArray | None = None
    """Whole numbers, one for each symbol, summing to 2^bits: what a device without a frequent place sends."""

    if TYPE_CHECKING:  # attached by the front door, because this room may not import the room that draws

        def plot(self, title: str | None = None) -> Any:
            """Draw the map of the chance of being selected; see `plots.maps.plot_policy`."""

    def __post_init__(self) -> None:
        n = len(self.area)
        object.__setattr__(self, "epsilon_per_km", check_epsilon(self.epsilon_per_km))
        whole_number("bits", self.bits, 1, MAX_BITS)
        object.__setattr__(self, "targets", check_targets(self.targets, n))
        object.__setattr__(self, "weights", check_weights("weights", self.weights, n, len(self.symbols), self.bits))
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
            raise InputError(
                given,
                getattr(self, given),
                "should be given together with the other of null_epsilon and null_weights, or not at all",
            )
        if self.null_epsilon is None or self.null_weights is None:
            return
        object.__setattr__(self, "null_epsilon", check_null_epsilon(self.null_epsilon))
        row = as_array("null_weights", self.null_weights, "should be whole numbers")
        if row.ndim != 1:
            raise InputError("null_weights", f"shape {row.shape}", "should be one whole number for each symbol")
        checked = check_weights("null_weights", row[None, :], None, len(self.symbols), self.bits)
        object.__setattr__(self, "null_weights", frozen(checked[0]))

    def _check_completion(self, completion: Completion, n: int) -> Completion:
        cells = tuple(as_cells("completion.cells", list(completion.cells), n).tolist())
        if len(set(cells)) != len(cells) or len(cells) < 2:
            raise InputError("completion.cells", cells, "should be two or more different cells")
        if len(self.symbols) - 1 in self.selecting:
            raise InputError(
                "selecting", self.selecting, "should not contain the last symbol, which the completion refines"
            )
        weights = check_weights("completion.weights", completion.weights, None, len(cells), self.bits)
        row = as_cells("completion.row", completion.row, len(weights))
        if row.shape != (n,):
            raise InputError("completion.row", row.shape, f"should have one entry for each of {n} cells")
        if (completion.null_row is None) != (self.null_weights is None):
            raise InputError(
                "completion.null_row",
                completion.null_row,
                "should be given if and only if the policy has a row for NULL",
            )
        if completion.null_row is not None:
            as_cells("completion.null_row", [completion.null_row], len(weights))
        return Completion(cells, frozen(row), weights, completion.null_row)

    # --- probabilities ----------------------------------------------------------------------------------

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
        """The sum of every row of weights, 2^bits."""
        return 1 << self.bits

    @cached_property
    def hit(self) -> FloatArray:
        """Probability p_l that a device in each cell is selected."""
        chosen: FloatArray = self.weights[:, list(self.selecting)].sum(axis=1) / self.total
        chosen.setflags(write=False)
        return chosen

    @property
    def symbol_count(self) -> int:
        """How many different symbols a device may send."""
        return len(self.symbols) + (0 if self.completion is None else len(self.completion.cells) - 1)

    def symbol_name(self, symbol: int) -> str:
        """Give the name of a symbol: `hit`, `other`, or `cell 17`."""
        as_cells("symbol", [symbol], self.symbol_count)
        if self.completion is None or symbol < len(self.symbols) - 1:
            name = self.symbols[symbol]
            return f"cell {name}" if name.isdecimal() else name
        return f"cell {self.completion.cells[symbol - len(self.symbols) + 1]}"

    def table(self) -> FloatArray:
        """Give P(symbol | cell) as floats, shape (n, symbol_count), for areas of up to a few thousand cells."""
        if len(self) * self.symbol_count > MAX_TABLE_ENTRIES:
            size = f"{len(self):,} x {self.symbol_count:,}"
            raise InputError("table", size, f"should have at most {MAX_TABLE_ENTRIES:,} entries; use `weights` instead")
        first = self.weights / self.total
        if self.completion is None:
            return first
        second = self.completion.weights[self.completion.row] / self.total
        return np.hstack([first[:, :-1], first[:, -1:] * second])

    def inputs(self) -> tuple[IntArray, IntArray | None]:
        """Give the weights of every input, and its row of the completion: all cells, then NULL if it has a row."""
        row = None if self.completion is None else self.completion.row
        if self.null_weights is None:
            return self.weights, row
        if self.completion is not None:
            row = np.array([*self.completion.row, self.completion.null_row], dtype=np.int64)
        return np.vstack([self.weights, self.null_weights]), row

    def null_table(self) -> FloatArray:
        """Give P(symbol | NULL) as floats, shape (symbol_count,), where the policy has a row for NULL."""
        if self.null_weights is None:
            raise InputError("null_weights", None, "this policy has no row for NULL, which is sent in the clear")
        first: FloatArray = self.null_weights / self.total
        if self.completion is None:
            return first
        return np.concatenate(
            [first[:-1], first[-1] * (self.completion.weights[self.completion.null_row] / self.total)]
        )

    @property
    def null_hit(self) -> float:
        """Probability p_0 that a device without a place is selected; 0 where NULL is sent in the clear."""
        return 0.0 if self.null_weights is None else int(self.null_weights[list(self.selecting)].sum()) / self.total

    def value_under(self, prior: ArrayLike | None, null_share: float = 0.0) -> float:
        """Compute Σ_T π_t p_t / Σ π_l p_l for a given prior; 0 where nobody is ever selected.

        With a share ν of people without a place the value is (1-ν) Σ_T π_t p_t / ( (1-ν) Σ π_l p_l + ν p_0 ).
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

    # --- identity, bytes and files ----------------------------------------------------------------------

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Policy) and self.hash == other.hash

    def __hash__(self) -> int:
        return hash(self.hash)

    @cached_property
    def hash(self) -> str:
        """SHA-256 of the canonical form, in hex."""
        return hashlib.sha256(self.canonical_bytes()).hexdigest()

    def canonical_bytes(self) -> bytes:
        """Give the one sequence of bytes that stands for this policy."""
        return files.canonical_bytes(self._fields())

    def to_bytes(self) -> bytes:
        """Give the compact form: the canonical form compressed, with its hash."""
        return files.compact_bytes(self.canonical_bytes(), self.hash)

    @staticmethod
    def from_bytes(data: bytes) -> Policy:
        """Read what `to_bytes` gave; refuse anything altered or cut short."""
        fields, digest = files.read_compact(data)
        policy = _from_fields(fields)
        if policy.hash != digest:
            raise FileFormatError("policy: its bytes are not in canonical form")
        return policy

    def to_json(self) -> str:
        """Give JSON for people and other languages; the last symbol's weights are what is left of 2^bits."""
        return files.json_text(self._fields(), self.hash)

    @staticmethod
    def from_json(text: str) -> Policy:
        """Read what `to_json` gave; refuse anything that does not match its hash."""
        fields, claimed = files.read_json(text)
        policy = _from_fields(fields)
        if policy.hash != claimed:
            expected = f"the content has {policy.hash}; the file was altered"
            raise FileFormatError(f"policy: hash = {claimed!r}: {expected}")
        return policy

    def save(self, path: str | Path) -> None:
        """Write JSON if the name ends in .json, otherwise the compact form."""
        target = Path(path)
        if target.suffix == ".json":
            target.write_text(self.to_json() + "\n", encoding="utf-8")
        else:
            target.write_bytes(self.to_bytes())

    @staticmethod
    def load(path: str | Path) -> Policy:
        """Read either form; the content tells which it is. An error names the file."""
        data = files.read_file(path)
        with naming_file(path, "a policy"):
            if data.startswith(files.MAGIC):
                return Policy.from_bytes(data)
            try:
                return Policy.from_json(data.decode("utf-8"))
            except UnicodeDecodeError:
                raise FileFormatError("neither a policy in JSON nor in compact form") from None

    def _fields(self) -> files.Fields:
        """Return all fields by their names in the files, in the order of the JSON."""
        fields: files.Fields = {
            "epsilon_per_km": self.epsilon_per_km,
            "value": self.value,
            "beta": self.beta,
            "targets": list(self.targets),
            "bits": self.bits,
            "symbols": list(self.symbols),
            "selecting": list(self.selecting),
            "provenance": dict(self.provenance),
            "area": self.area.describe(),
            "weights": self.weights,
        }
        if self.null_weights is not None:
            fields["null_epsilon"] = self.null_epsilon
            fields["null_weights"] = self.null_weights
        if self.completion is not None:
            refined = self.completion
            fields["completion"] = {
                "cells": list(refined.cells),
                "row": refined.row.tolist(),
                "weights": refined.weights,
            }
            if refined.null_row is not None:
                fields["completion"]["null_row"] = refined.null_row
        return fields


def _from_fields(fields: Mapping[str, Any]) -> Policy:
    """Make a policy from fields that were read from a file."""
    completion = Completion(**fields["completion"]) if "completion" in fields else None
    try:
        return Policy(**{**fields, "area": Area.from_description(fields["area"]), "completion": completion})
    except (TypeError, AttributeError, OverflowError) as error:
        raise FileFormatError(f"policy: a field has the wrong type ({error})") from None

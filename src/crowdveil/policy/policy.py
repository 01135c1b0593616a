"""Define the policy: for every input, whole-number weights of the symbols that a device with it may send.

An *input* is what a device knows about its owner: a cell; a cell and a *grade*, which says how regularly its owner
visits it (grade 0: regularly); or NULL, being outside, without any place in the area. With inputs i, symbols s and
B = `bits`:

    P(s | i) = weights[i, s] / 2^B,           weights[i, :].sum() = 2^B

The rows come in the order: all n cells at grade 0, all cells at grade 1, ..., and NULL last, if it is an input.

**What is protected.** For every symbol and any two inputs i and j the quotient P(s | i) / P(s | j) is at most e^D(i,j):

    D((l, g), (l', g'))  =  min( ε d(l, l') + ε₁ |g - g'|,  2 ε₀ )        D((l, g), NULL)  =  ε₀

with ε = `epsilon_per_km`, ε₁ = `grade_epsilon` and ε₀ = `null_epsilon`. Without `null_epsilon` NULL is no input: a
device without a frequent place says so in the clear, outside of the policy, as in the paper; there are no grades then.

**Symbols.** In the clear form there are two: `hit`, whose senders are selected, and `other`. In the protected form they
are `hit`, `outside`, and one for each grade. A *stack* (solver/stack.py) has, in the place of `hit`, a symbol for each
target, and may have one for each other cell; the columns of these are described by their peaks (peaks.py), from which
the weights follow. A *completion* may refine the last symbols, `other` or those of the
grades: a device that drew one of these draws a second time, from a second table of weights whose rows again sum to 2^B,
so that

    P(h, c | i) = weights[i, h] / 2^B · completion.weights[completion.row[i], c] / 2^B.

The value is frozen, and it is known by its hash: the SHA-256 of its canonical form. Bytes and JSON are in files.py.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from crowdveil.area import Area
from crowdveil.arrays import FloatArray, IntArray, as_cells, frozen
from crowdveil.codec import naming_file, whole_number
from crowdveil.errors import FileFormatError, InputError
from crowdveil.policy import files
from crowdveil.policy.checks import (
    DEFAULT_BITS,
    MAX_BITS,
    MAX_GRADES,
    MAX_TABLE_ENTRIES,
    check_epsilon,
    check_grade_chances,
    check_grade_epsilon,
    check_null_epsilon,
    check_null_share,
    check_prior,
    check_targets,
    check_weights,
)
from crowdveil.policy.encoding import with_last
from crowdveil.policy.peaks import Peaks, check_peaks, weights_of
from crowdveil.vocabulary import NULL

_NAME = re.compile(r"[A-Za-z0-9._ -]{1,32}")


@dataclass(frozen=True, eq=False, repr=False)
class Completion:
    """Refine the last symbols into one for each of `cells`, with weights that depend on the input's row."""

    cells: tuple[int, ...]
    """The cell that each refined symbol stands for."""
    row: IntArray
    """Which row of `weights` each input uses. Inputs that must not be distinguished share one."""
    weights: IntArray
    """Whole numbers, shape (rows, symbols); each row sums to 2^bits."""

    def __repr__(self) -> str:
        return f"Completion({len(self.cells)} symbols, {len(self.weights)} different rows)"


@dataclass(frozen=True, eq=False, repr=False)
class Policy:
    """Give the weights of the symbols that a device sends, for every input that it may have.

    The module's docstring defines what the weights mean.
    """

    area: Area
    epsilon_per_km: float
    targets: tuple[int, ...]
    weights: IntArray
    """Whole numbers, shape (inputs, symbols); each row sums to 2^bits. With `peaks` the policy is made from the weights
    of the symbols without peaks, but for the last one, and computes the others."""
    symbols: tuple[str, ...] = ("hit", "other")
    """Name of each column of `weights`: `hit`, `other`, `outside`, `grade 1`, or the number of a cell."""
    selecting: tuple[int, ...] = (0,)
    """The symbols whose senders are selected."""
    bits: int = DEFAULT_BITS
    completion: Completion | None = None
    value: float = 0.0
    """Share of the selected who really are at a target, under the prior it was made for; with grades: regularly, or, if
    it was made with `grade_chances`, the share who are expected to come."""
    beta: float = 0.0
    """Probability that a user who sends a symbol is selected, Σ π_l p_l, under the prior it was made for."""
    provenance: Mapping[str, str | int] = field(default_factory=dict)
    """How it was made: inputs, solver, versions, and the proven gap to the optimum."""
    null_epsilon: float | None = None
    """ε₀: the largest privacy loss between NULL and any cell. None: NULL is sent in the clear, an unbounded loss."""
    grade_epsilon: float | None = None
    """ε₁: the largest privacy loss between one grade and the next at the same cell. None: there are no grades."""
    grades: int = 1
    """How many grades there are."""
    peaks: Peaks | None = None
    """From which the weights of the first symbols are computed; None where all weights are given."""
    values: tuple[float, ...] = ()
    """With a symbol for each target: the share of its senders who really are at that target, in the order of the
    targets, under the prior it was made for."""

    if TYPE_CHECKING:  # attached by the front door, because this room may not import the room that draws

        def plot(self, title: str | None = None) -> Any:
            """Draw the map of the chance of being selected; see `plots.maps.plot_policy`."""

    def __post_init__(self) -> None:
        n = len(self.area)
        object.__setattr__(self, "epsilon_per_km", check_epsilon(self.epsilon_per_km))
        whole_number("bits", self.bits, 1, MAX_BITS)
        object.__setattr__(self, "targets", check_targets(self.targets, n, all_cells=True))
        self._check_inputs()
        if self.peaks is not None:
            self._compute_weights(self.peaks)
        object.__setattr__(
            self, "weights", check_weights("weights", self.weights, self.input_count, len(self.symbols), self.bits)
        )
        if len(set(self.symbols)) != len(self.symbols) or len(self.symbols) < 2:
            raise InputError("symbols", self.symbols, "should be two or more different names")
        for name in self.symbols:
            if not isinstance(name, str) or not _NAME.fullmatch(name):
                raise InputError("symbols", name, "should be a name of up to 32 letters, digits, spaces and -_.")
        selecting = as_cells("selecting", list(self.selecting), len(self.symbols))
        if len(set(selecting.tolist())) != len(self.selecting) or not 0 < len(selecting) < len(self.symbols):
            raise InputError("selecting", self.selecting, "should be some, not all, of the symbols' numbers")
        if self.completion is not None:
            object.__setattr__(self, "completion", self._check_completion(self.completion, n))
        if self.values and len(self.values) != len(self.targets):
            raise InputError("values", self.values, f"should be one for each of {len(self.targets)} targets")
        for name, number in (("value", self.value), ("beta", self.beta), *(("values", one) for one in self.values)):
            if not (isinstance(number, float) and 0 <= number <= 1 + 1e-9):
                raise InputError(name, number, "should be a number from 0 to 1")
        for key, entry in self.provenance.items():
            if not isinstance(key, str) or isinstance(entry, bool) or not isinstance(entry, str | int):
                raise InputError(f"provenance[{key!r}]", entry, "should be text or a whole number")
        object.__setattr__(self, "provenance", MappingProxyType(dict(self.provenance)))

    def _check_inputs(self) -> None:
        whole_number("grades", self.grades, 1, MAX_GRADES)
        if (self.grades > 1) != (self.grade_epsilon is not None):
            raise InputError("grades", self.grades, "should be 2 or more if and only if grade_epsilon is given")
        if self.null_epsilon is not None:
            object.__setattr__(self, "null_epsilon", check_null_epsilon(self.null_epsilon))
        elif self.grade_epsilon is not None:
            raise InputError("grade_epsilon", self.grade_epsilon, "should be given only together with null_epsilon")
        if self.grade_epsilon is not None:
            object.__setattr__(self, "grade_epsilon", check_grade_epsilon(self.grade_epsilon))

    def _compute_weights(self, given: Peaks) -> None:
        """Replace the weights that were given by those of all symbols."""
        peaks = check_peaks(given, self.input_count, len(self.symbols), self.bits)
        losses = (self.epsilon_per_km, self.null_epsilon, self.grade_epsilon, self.grades)
        computed = weights_of(peaks, self.area, *losses)
        if self.weights.shape == (self.input_count, len(self.symbols)):  # of a policy that was made before
            others = self.weights[:, len(peaks.floor) : -1]
        else:
            others = self.weights
        if others.shape != (self.input_count, len(self.symbols) - 1 - len(peaks.floor)):
            expected = "should be those of the symbols without peaks, but for the last symbol"
            raise InputError("weights", f"shape {others.shape}", expected)
        object.__setattr__(self, "peaks", peaks)
        object.__setattr__(self, "weights", with_last(np.hstack([computed, others]), self.bits))

    def _check_completion(self, completion: Completion, n: int) -> Completion:
        cells = tuple(as_cells("completion.cells", list(completion.cells), n).tolist())
        if len(set(cells)) != len(cells) or len(cells) < 2:
            raise InputError("completion.cells", cells, "should be two or more different cells")
        if self.refined_from < 1 or max(self.selecting) >= self.refined_from:
            raise InputError(
                "selecting", self.selecting, "should not contain the last symbols, which the completion refines"
            )
        weights = check_weights("completion.weights", completion.weights, None, len(cells), self.bits)
        row = as_cells("completion.row", completion.row, len(weights))
        if row.shape != (self.input_count,):
            raise InputError(
                "completion.row", row.shape, f"should have one entry for each of {self.input_count} inputs"
            )
        return Completion(cells, frozen(row), weights)

    # --- inputs -----------------------------------------------------------------------------------------

    @property
    def input_count(self) -> int:
        """How many inputs, hence rows of weights, there are."""
        return len(self.area) * self.grades + (self.null_epsilon is not None)

    def input_of(self, cell: int, grade: int = 0) -> int:
        """Return the row of weights of a cell and a grade, or of NULL, which has no grade."""
        if cell == NULL and self.null_epsilon is not None:
            return self.input_count - 1
        (place,) = as_cells("cell", [cell], len(self)).tolist()
        if isinstance(grade, bool) or not isinstance(grade, int | np.integer) or not 0 <= grade < self.grades:
            raise InputError("grade", grade, f"should be a whole number from 0 to {self.grades - 1}")
        return int(grade) * len(self) + int(place)

    def input_prior(self, prior: ArrayLike | None, null_share: float = 0.0) -> FloatArray:
        """Return the prior of all inputs: (1-ν) π of the cells, grade by grade, and ν of NULL, if it is an input.

        `prior` is joint, of shape (grades, n), where there is more than one grade.
        """
        pi = check_prior(prior, len(self), self.grades).ravel()
        share = check_null_share(null_share)
        if self.null_epsilon is None:
            if share:
                raise InputError("null_share", null_share, "should be 0: under this policy NULL is sent in the clear")
            return pi
        return np.append((1 - share) * pi, share)

    # --- probabilities ----------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.area)

    def __repr__(self) -> str:
        targets = f"{len(self.targets)} target{'s' * (len(self.targets) > 1)}"
        shares = f"ε={self.epsilon_per_km:.4g}/km, β={self.beta:.2%}, value={self.value:.2%}"
        null = "" if self.null_epsilon is None else f", ε₀={self.null_epsilon:.4g}"
        null += "" if self.grade_epsilon is None else f", {self.grades} grades at ε₁={self.grade_epsilon:.4g}"
        symbols = f"{self.symbol_count:,} symbols"
        return f"Policy({len(self):,} cells, {targets}, {symbols}, {shares}{null}, hash {self.hash[:12]})"

    @property
    def total(self) -> int:
        """The sum of every row of weights, 2^bits."""
        return 1 << self.bits

    @cached_property
    def hit(self) -> FloatArray:
        """Probability that a device with each input is selected; the first n are the cells (at grade 0)."""
        chosen: FloatArray = self.weights[:, list(self.selecting)].sum(axis=1) / self.total
        chosen.setflags(write=False)
        return chosen

    @property
    def symbol_count(self) -> int:
        """How many different symbols a device may send."""
        if self.completion is None:
            return len(self.symbols)
        return self.refined_from + self.grades * len(self.completion.cells)

    @property
    def refined_from(self) -> int:
        """The first of the symbols that a completion refines: the last one, or those of the grades."""
        return len(self.symbols) - self.grades

    def symbol_name(self, symbol: int) -> str:
        """Give the name of a symbol: `hit`, `outside`, `other`, `grade 2`, `cell 17`, or `cell 17, grade 2`."""
        as_cells("symbol", [symbol], self.symbol_count)
        if self.completion is None or symbol < self.refined_from:
            name = self.symbols[symbol]
            return f"cell {name}" if name.isdecimal() else name
        grade, cell = divmod(int(symbol) - self.refined_from, len(self.completion.cells))
        name = f"cell {self.completion.cells[cell]}"
        return name if self.grades == 1 else f"{name}, {self.symbols[self.refined_from + grade]}"

    def table(self) -> FloatArray:
        """Give P(symbol | input) as floats, shape (inputs, symbol_count), for areas of up to a few thousand cells."""
        if self.input_count * self.symbol_count > MAX_TABLE_ENTRIES:
            size = f"{self.input_count:,} x {self.symbol_count:,}"
            raise InputError("table", size, f"should have at most {MAX_TABLE_ENTRIES:,} entries; use `weights` instead")
        first = self.weights / self.total
        if self.completion is None:
            return first
        second = self.completion.weights[self.completion.row] / self.total
        start = self.refined_from
        refined = [first[:, start + grade, None] * second for grade in range(self.grades)]
        return np.hstack([first[:, :start], *refined])

    def probabilities(self, cell: int, grade: int = 0) -> FloatArray:
        """Give P(symbol | input) as floats for one input, shape (symbol_count,)."""
        row = self.input_of(cell, grade)
        first: FloatArray = self.weights[row] / self.total
        if self.completion is None:
            return first
        second = self.completion.weights[self.completion.row[row]] / self.total
        start = self.refined_from
        return np.concatenate([first[:start], np.outer(first[start:], second).ravel()])

    def value_under(
        self, prior: ArrayLike | None, null_share: float = 0.0, grade_chances: Sequence[float] | None = None
    ) -> float:
        """Compute Σ w_g π_(t,g) p_(t,g) / Σ π_i p_i over targets and all inputs i; 0 where nobody is ever selected.

        w is `grade_chances`; by default those at a target count at grade 0 only. `input_prior` says how prior and share
        are given.
        """
        pi = self.input_prior(prior, null_share)
        selected = float(pi @ self.hit)
        return float((pi * self.worth(self.targets, grade_chances)) @ self.hit) / selected if selected else 0.0

    def worth(self, targets: Sequence[int], grade_chances: Sequence[float] | None = None) -> FloatArray:
        """Give what selecting a device with each input is worth: the chance of a visit at a target, else 0."""
        found: FloatArray = np.zeros(self.input_count)
        for grade, chance in enumerate(check_grade_chances(grade_chances, self.grades)):
            found[grade * len(self) + np.array(targets)] = chance
        return found

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
        return self.area.to_geojson({"hit_probability": self.hit[: len(self)].tolist(), "is_target": targets.tolist()})

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
        """Give JSON for people and other languages; the last symbol's weights are what is left of 2^bits.

        The weights of symbols that have peaks are not written: peaks.py says how to compute them.
        """
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
            "weights": self.weights[:, 0 if self.peaks is None else len(self.peaks.floor) : -1],
        }
        if self.values:
            fields["values"] = list(self.values)
        if self.peaks is not None:
            parts = ("symbol", "input", "weight", "floor")
            fields["peaks"] = {name: getattr(self.peaks, name).tolist() for name in parts}
        if self.null_epsilon is not None:
            fields["null_epsilon"] = self.null_epsilon
        if self.grade_epsilon is not None:
            fields["grade_epsilon"] = self.grade_epsilon
            fields["grades"] = self.grades
        if self.completion is not None:
            refined = self.completion
            fields["completion"] = {
                "cells": list(refined.cells),
                "row": refined.row.tolist(),
                "weights": refined.weights,
            }
        return fields


def _from_fields(fields: Mapping[str, Any]) -> Policy:
    """Make a policy from fields that were read from a file."""
    completion = Completion(**fields["completion"]) if "completion" in fields else None
    peaks = Peaks(**fields["peaks"]) if "peaks" in fields else None
    try:
        bits = whole_number("bits", fields["bits"], 1, MAX_BITS)
        weights = fields["weights"] if peaks is not None else with_last(fields["weights"], bits)
        made = {"area": Area.from_description(fields["area"]), "completion": completion, "peaks": peaks}
        return Policy(**{**fields, **made, "weights": weights})
    except (TypeError, AttributeError, OverflowError) as error:
        raise FileFormatError(f"policy: a field has the wrong type ({error})") from None

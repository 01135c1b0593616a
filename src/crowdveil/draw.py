"""Draw one report: a symbol from a certified policy, in whole numbers, from the operating system's generator.

A row of weights sums to 2^B, so B random bits u, uniform on 0 .. 2^B - 1, choose exactly:

    symbol s   when   c_{s-1} ≤ u < c_s,      c_s = w_0 + ... + w_s,

so P(s | l) = w_s / 2^B to the last bit.

A completion refines the last symbols, `other` or those of the grades, by a second draw of B bits, independent of the
first.

A device outside draws in the same way, from the row for NULL, where the policy has one.

Symbols are numbered as the columns of `weights`; with a completion the columns that it refines, from number f on, give
way to the refined symbols: with C cells, column f + h refined to cell j is number f + h·C + j (as in
`Policy.symbol_name`).

This module keeps nothing. That a device draws only once for a report is ensured by `client.ledger.Ledger.draw_once`.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from crowdveil.arrays import IntArray, WordArray, as_array, as_cells
from crowdveil.certify import Certificate
from crowdveil.errors import InputError, NotPrivateError
from crowdveil.policy.policy import Policy
from crowdveil.vocabulary import NULL

CHUNK = 1 << 16
"""Simulated draws made at once, so that the arrays stay in the processor's cache."""


def draw(
    policy: Policy,
    cell: int,
    certificate: Certificate,
    random_bits: Callable[[int], int] = secrets.randbits,
    *,
    grade: int = 0,
) -> int:
    """Draw the symbol that a device in `cell` sends. Draw once and keep the symbol: every further draw costs privacy.

    `NULL` (-1) draws for a device outside, from a policy that has a row for it. `grade` says how regular a visitor the
    owner is, where the policy has grades; 0 is regular.
    `random_bits(k)` gives a whole number uniform on 0 .. 2^k - 1; by default from the operating system.
    """
    _require(certificate, policy)
    row = policy.input_of(cell, grade)
    # Side channels: neither the time nor the amount of randomness that this takes may depend on the place.
    # So both stages are always drawn and always looked up, whichever symbol the first one gives, and a
    # look-up compares with every boundary instead of stopping at the right one. What is left (caches, the
    # interpreter's own arithmetic) is far below the jitter of a network; still, the symbol should be sent at a
    # time that was fixed before it was drawn.
    symbol = _pick(policy.weights[row], _bits(random_bits, policy.bits))
    if policy.completion is None:
        return symbol
    refined = _pick(policy.completion.weights[policy.completion.row[row]], _bits(random_bits, policy.bits))
    start, width = policy.refined_from, len(policy.completion.cells)
    return symbol + (symbol >= start) * ((symbol - start) * (width - 1) + refined)


def draw_many(
    policy: Policy,
    cells: ArrayLike,
    certificate: Certificate,
    generator: np.random.Generator,
    grades: ArrayLike | None = None,
) -> IntArray:
    """Draw a symbol for each of many cells, or `NULL`, for simulations; a device uses `draw`.

    `grades` has one grade for each cell, where the policy has grades (default: all are 0, regular).
    """
    _require(certificate, policy)
    if not isinstance(generator, np.random.Generator):
        raise InputError("generator", generator, "should be a numpy.random.Generator, such as default_rng(7)")
    inputs = _inputs("cells", cells, grades, policy)
    flat = inputs.ravel()
    symbols = np.empty(flat.shape, dtype=np.int64)
    if policy.weights.shape[1] == 2:
        _draw_pairs(np.ascontiguousarray(policy.weights[:, 0]), flat, policy.bits, generator, symbols)
    else:
        _look_up(policy.weights, flat, _random(policy.bits, len(flat), generator), symbols)
    if policy.completion is not None:
        late = np.flatnonzero(symbols >= policy.refined_from)
        refined = np.empty_like(late)
        numbers = _random(policy.bits, len(late), generator)
        _look_up(policy.completion.weights, policy.completion.row[flat[late]], numbers, refined)
        symbols[late] = _refined(policy, symbols[late], refined)
    return symbols.reshape(inputs.shape)


def draw_by_words(
    policy: Policy,
    cells: ArrayLike,
    certificate: Certificate,
    words: tuple[WordArray, WordArray],
    grades: ArrayLike | None = None,
) -> IntArray:
    """Draw like `draw_many` from given random words of 64 bits, two for each cell, for distributed simulations.

    What a sender sends then depends only on that sender's words, not on the order or number of senders.
    """
    _require(certificate, policy)
    inputs = _inputs("cells", cells, grades, policy)
    symbols = np.empty(inputs.shape, dtype=np.int64)
    _look_up(policy.weights, inputs, _high_bits(words[0], policy.bits), symbols)
    if policy.completion is not None:
        refined = np.empty_like(symbols)
        row = policy.completion.row[inputs]
        _look_up(policy.completion.weights, row, _high_bits(words[1], policy.bits), refined)
        symbols = np.where(symbols >= policy.refined_from, _refined(policy, symbols, refined), symbols)
    return symbols


def _require(certificate: Certificate, policy: Policy) -> None:
    if certificate.policy_hash != policy.hash:
        raise NotPrivateError(
            f"policy {policy.hash[:12]}: the certificate is for another policy, "
            f"{certificate.policy_hash[:12]}; certify this one"
        )
    if certificate.epsilon_per_km > policy.epsilon_per_km:
        raise NotPrivateError(
            f"policy {policy.hash[:12]}: it states ε = {policy.epsilon_per_km:.12g} per km, "
            f"but the certificate is for {certificate.epsilon_per_km:.12g}; certify it at the ε that it states"
        )
    if not certificate.ok:
        raise NotPrivateError(f"policy {policy.hash[:12]}: refusing to draw from it. {certificate.explain()}")


def _refined(policy: Policy, symbols: IntArray, refined: IntArray) -> IntArray:
    """Number refined symbols; those of columns that are not refined mean nothing."""
    assert policy.completion is not None
    start, width = policy.refined_from, len(policy.completion.cells)
    return start + (symbols - start) * width + refined


def _inputs(name: str, cells: ArrayLike, grades: ArrayLike | None, policy: Policy) -> IntArray:
    """Return the rows to draw from: those of cells at their grades, and the last for NULL where it is an input."""
    given = as_array(name, cells, "cells are whole numbers")
    n = len(policy)
    nowhere = np.zeros(given.shape, dtype=bool)
    if policy.null_epsilon is not None and given.dtype.kind in "iu":
        nowhere = given == NULL
    rows = as_cells(name, np.where(nowhere, 0, given) if nowhere.any() else cells, n)
    if grades is not None:
        regular = as_array("grades", grades, "grades are whole numbers")
        if regular.shape != given.shape:
            raise InputError("grades", f"shape {regular.shape}", f"should have the shape of {name}, {given.shape}")
        rows = rows + n * as_cells("grades", np.where(nowhere, 0, regular), policy.grades)
    return np.where(nowhere, policy.input_count - 1, rows)


def _bits(random_bits: Callable[[int], int], bits: int) -> int:
    number = random_bits(bits)
    if not 0 <= number < 1 << bits:
        raise InputError(f"random_bits({bits})", number, f"should give whole numbers from 0 to 2^{bits} - 1")
    return number


def _pick(weights: IntArray, number: int) -> int:
    """Count the boundaries c_s at or below `number`; the last one, 2^B, never is."""
    return int(np.count_nonzero(np.cumsum(weights) <= number))


def _random(bits: int, count: int, generator: np.random.Generator) -> IntArray:
    """Draw whole numbers uniform on 0 .. 2^bits - 1: the high bits of 64."""
    return _high_bits(generator.integers(0, 1 << 64, size=count, dtype=np.uint64), bits)


def _high_bits(words: WordArray, bits: int) -> IntArray:
    return (words >> np.uint64(64 - bits)).view(np.int64)


def _draw_pairs(first: IntArray, rows: IntArray, bits: int, generator: np.random.Generator, symbols: IntArray) -> None:
    """Draw one of two symbols: 0 if u lies below the first weight, else 1."""
    for start in range(0, len(rows), CHUNK):
        part = slice(start, start + CHUNK)
        boundary = first[rows[part]]
        np.greater_equal(_random(bits, len(boundary), generator), boundary, out=symbols[part])


def _look_up(weights: IntArray, rows: IntArray, numbers: IntArray, symbols: IntArray) -> None:
    """Draw one of many symbols: group equal rows, so that each row's boundaries are summed once."""
    order = np.argsort(rows, kind="stable")
    borders = np.flatnonzero(np.diff(rows[order], prepend=-1, append=-1))
    for start, end in pairwise(borders):
        group = order[start:end]
        boundaries = np.cumsum(weights[rows[group[0]]])
        symbols[group] = np.searchsorted(boundaries, numbers[group], side="right")

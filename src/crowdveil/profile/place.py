"""Choose the one place that a device reports, with its grade, or NULL.

A user's *frequent places* are the cells with a probability above δ: F_u = { l : p_u(l) > δ }. A user without a frequent
place reports `NULL`. Otherwise a rule chooses one of them:

    random         (the paper) each with the probability 1 / |F_u|
    target-aware   (ours) the most probable frequent place that is a target, of equally probable ones the first cell;
                   like `random` if no frequent place is a target

Privacy does not depend on the rule: Definition 1 bounds what a report tells about the chosen place, whichever rule
chose it. What the rule changes is the prior of *reported* places. Neither rule protects whether there was a
place to report; a policy with a row for `NULL` does.

**Grades.** In the protected form everyone who was seen in the area reports a place, with a grade: who has a frequent
place is a regular visitor of the place that the rule chooses (grade 0); anyone else is an occasional visitor (grade 1)
of their most probable place, of equally probable ones the first cell, under either rule: nobody would be selected for a
visit to a target that hardly ever happens. Only who was never seen in the area is outside.

A device draws from the operating system's generator; simulations pass in a seeded one. `choose_places` makes exactly
one draw for each user with a frequent place, under either rule, so that the same seed gives both rules the same choices
except where a target decides.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from typing import NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike

from crowdveil.arrays import IntArray, as_cells
from crowdveil.errors import InputError
from crowdveil.profile.counts import MAX_KEY
from crowdveil.profile.profile import Profile, check_delta
from crowdveil.vocabulary import NULL, Rule

REGULAR, OCCASIONAL = 0, 1
"""The grades of a place."""


class Place(NamedTuple):
    """What a device reports from: a cell with a grade, or `NULL`, whose grade means nothing and is 0."""

    cell: int
    grade: int = REGULAR


def choose_places(
    profile: Profile,
    delta: float,
    rule: Rule,
    generator: np.random.Generator,
    targets: ArrayLike | None = None,
) -> IntArray:
    """Choose a cell for each user, or `NULL` (-1), for simulations; a device uses `choose_place`."""
    if not isinstance(generator, np.random.Generator):
        raise InputError("generator", generator, "should be a numpy.random.Generator, such as default_rng(7)")
    _check_rule(rule, targets)
    rows = np.flatnonzero(profile.frequent(delta))
    chosen = np.full(profile.users, NULL, dtype=np.int64)
    reporters, first, number = np.unique(profile.user[rows], return_index=True, return_counts=True)
    if len(reporters) == 0:
        return chosen
    chosen[reporters] = profile.cell[rows[first + generator.integers(0, number)]]
    if rule == "target-aware":
        wanted = as_cells("targets", np.ravel(np.asarray(targets)), profile.cells)
        likeliest = _likeliest(profile, rows[np.isin(profile.cell[rows], wanted)])
        chosen = np.where(likeliest == NULL, chosen, likeliest)
    return chosen


def choose_graded_places(
    profile: Profile,
    delta: float,
    rule: Rule,
    generator: np.random.Generator,
    targets: ArrayLike | None = None,
) -> tuple[IntArray, IntArray]:
    """Choose a cell, or `NULL`, and a grade for each user, for simulations of the protected form."""
    chosen = choose_places(profile, delta, rule, generator, targets)
    likeliest = _likeliest(profile, np.flatnonzero(profile.probability > 0))
    occasional = (chosen == NULL) & (likeliest != NULL)
    return np.where(occasional, likeliest, chosen), np.where(occasional, OCCASIONAL, REGULAR)


def _likeliest(profile: Profile, rows: IntArray) -> IntArray:
    """Return each user's most probable cell among some rows, of equally probable ones the first, or `NULL`."""
    best_first = rows[np.lexsort((profile.cell[rows], -profile.probability[rows], profile.user[rows]))]
    users, best = np.unique(profile.user[best_first], return_index=True)
    cells = np.full(profile.users, NULL, dtype=np.int64)
    cells[users] = profile.cell[best_first[best]]
    return cells


def choose_place(
    profile: Mapping[int, float],
    delta: float,
    rule: Rule,
    targets: ArrayLike | None = None,
    random_below: Callable[[int], int] = secrets.randbelow,
) -> int:
    """Choose the cell that one device reports, or `NULL`, from its own profile (cell → probability).

    `random_below(k)` gives a whole number uniform on 0 .. k - 1; by default from the operating system.
    """
    check_delta(delta)
    _check_rule(rule, targets)
    for cell, probability in profile.items():
        if cell < 0 or not 0 <= probability <= 1:
            raise InputError(
                f"profile[{cell}]", probability, "should be a cell (0 or more) with a probability between 0 and 1"
            )
    frequent = sorted(cell for cell, probability in profile.items() if probability > delta)
    if not frequent:
        return NULL
    number = random_below(len(frequent))
    if not 0 <= number < len(frequent):
        raise InputError(f"random_below({len(frequent)})", number, f"should give 0 to {len(frequent) - 1}")
    if rule == "target-aware":
        wanted = set(as_cells("targets", np.ravel(np.asarray(targets)), MAX_KEY).tolist())
        hits = [cell for cell in frequent if cell in wanted]
        if hits:
            return max(hits, key=lambda cell: (profile[cell], -cell))
    return frequent[number]


def choose_graded_place(
    profile: Mapping[int, float],
    delta: float,
    rule: Rule,
    targets: ArrayLike | None = None,
    random_below: Callable[[int], int] = secrets.randbelow,
) -> Place:
    """Choose the cell that one device reports, or `NULL`, and its grade, from its own profile (cell → probability)."""
    regular = choose_place(profile, delta, rule, targets, random_below)
    seen = [cell for cell, probability in profile.items() if probability > 0]
    if regular != NULL or not seen:
        return Place(regular, REGULAR)
    return Place(max(seen, key=lambda cell: (profile[cell], -cell)), OCCASIONAL)


def _check_rule(rule: str, targets: ArrayLike | None) -> None:
    if rule not in get_args(Rule):
        raise InputError("rule", rule, f"should be one of {', '.join(get_args(Rule))}")
    if rule == "target-aware" and (targets is None or np.size(targets) == 0):
        raise InputError("targets", targets, "should be one or more cells for the rule 'target-aware'")

"""Choose the one place that a device reports, with its grade, or NULL.

A user's *frequent places* are the cells with a probability above δ: F_u = { l : p_u(l) > δ }. A user without a frequent
place reports `NULL`. Otherwise a rule chooses one of them:

    random         (the paper) each with the probability 1 / |F_u|
    target-aware   (ours) the most probable frequent place that is a target, of equally probable ones the first cell;
                   like `random` if no frequent place is a target

Privacy does not depend on the rule: Definition 1 bounds what a report tells about the chosen place, whichever rule
chose it. What the rule changes is the prior of *reported* places. Neither rule protects whether there was a
place to report; a policy with a row for `NULL` does.

**Grades.** In the protected form everyone who was seen in the area reports a place, with a grade. Thresholds
t_0 = δ > t_1 > ... divide the probabilities: the grade of a place is the number of thresholds that its probability does
not exceed, so that grade 0 is a regular visitor. The rules extend to everyone:

    random         a frequent place as above; without one, the most probable place
    target-aware   the most probable target that exceeds the *last* threshold: also its occasional visitors are known;
                   otherwise like `random`

Only who was never seen in the area is outside.

A device draws from the operating system's generator; simulations pass in a seeded one. `choose_places` makes exactly
one draw for each user with a frequent place, under either rule, so that the same seed gives both rules the same choices
except where a target decides.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike

from crowdveil.arrays import FloatArray, IntArray, as_cells
from crowdveil.errors import InputError
from crowdveil.profile.counts import MAX_KEY
from crowdveil.profile.profile import Profile, check_delta, check_thresholds
from crowdveil.vocabulary import NULL, Rule

REGULAR = 0
"""The grade of a place above δ; each threshold that a place does not exceed adds one."""


HOW_OFTEN = ("regularly", "occasionally", "now and then", "rarely")
"""For grade 0, 1, ...; the last word is that of all further grades."""


def how_often(grade: int) -> str:
    """Say how regularly a place of some grade is visited."""
    return HOW_OFTEN[min(grade, len(HOW_OFTEN) - 1)]


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
    thresholds: Sequence[float],
    rule: Rule,
    generator: np.random.Generator,
    targets: ArrayLike | None = None,
) -> tuple[IntArray, IntArray]:
    """Choose a cell, or `NULL`, and a grade for each user, for simulations of the protected form."""
    falling = check_thresholds(thresholds)
    chosen = choose_places(profile, falling[0], rule, generator, targets)
    if rule == "target-aware":
        wanted = as_cells("targets", np.ravel(np.asarray(targets)), profile.cells)
        there = (profile.probability > falling[-1]) & np.isin(profile.cell, wanted)
        target = _likeliest(profile, np.flatnonzero(there))
        chosen = np.where(target == NULL, chosen, target)
    chosen = np.where(chosen == NULL, _likeliest(profile, np.flatnonzero(profile.probability > 0)), chosen)
    users = np.flatnonzero(chosen != NULL)
    grades = np.zeros(profile.users, dtype=np.int64)
    grades[users] = grades_of(profile.at(users, chosen[users]), falling)
    return chosen, grades


def grades_of(probability: FloatArray, thresholds: Sequence[float]) -> IntArray:
    """Return how many of the falling thresholds each probability does not exceed."""
    not_above: IntArray = (probability[:, None] <= np.asarray(thresholds)).sum(axis=1)
    return not_above


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


def places_to_choose_from(
    shipped: Mapping[int, float], published: Mapping[int, float], least: float
) -> Mapping[int, float]:
    """Return the predictions from which a device's place and its grade follow where a campaign published constants.

    Published constants could call any place regular. So they are asked only about the places whose `shipped` prediction
    reaches the `least` threshold that the device's owner allows; if it reaches it nowhere, they are not asked at all.
    """
    likely = {cell: published[cell] for cell, probability in shipped.items() if probability >= least}
    return likely or shipped


def choose_graded_place(
    profile: Mapping[int, float],
    thresholds: Sequence[float],
    rule: Rule,
    targets: ArrayLike | None = None,
    random_below: Callable[[int], int] = secrets.randbelow,
) -> Place:
    """Choose the cell that one device reports, or `NULL`, and its grade, from its own profile (cell → probability)."""
    falling = check_thresholds(thresholds)
    chosen = choose_place(profile, falling[0], rule, targets, random_below)
    seen = [cell for cell, probability in profile.items() if probability > 0]
    if rule == "target-aware":
        wanted = set(as_cells("targets", np.ravel(np.asarray(targets)), MAX_KEY).tolist())
        there = [cell for cell in seen if cell in wanted and profile[cell] > falling[-1]]
        chosen = max(there, key=lambda cell: (profile[cell], -cell)) if there else chosen
    if chosen == NULL and seen:
        chosen = max(seen, key=lambda cell: (profile[cell], -cell))
    if chosen == NULL:
        return Place(NULL)
    return Place(chosen, sum(profile[chosen] <= threshold for threshold in falling))


def _check_rule(rule: str, targets: ArrayLike | None) -> None:
    if rule not in get_args(Rule):
        raise InputError("rule", rule, f"should be one of {', '.join(get_args(Rule))}")
    if rule == "target-aware" and (targets is None or np.size(targets) == 0):
        raise InputError("targets", targets, "should be one or more cells for the rule 'target-aware'")

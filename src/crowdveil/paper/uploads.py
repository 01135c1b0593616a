"""The paper's future work: a user who may report several places, with the budget split among them.

A user with frequent places F_u reports up to m of them, each under a policy for ε/m per km. Moving *all* m places by a
distance d changes the chance of what is sent by at most Π_j e^{(ε/m) d} = e^{ε d}: the same promise as one report at ε
(and a stronger one for each single place). A user is worth 1 - Π_j (1 - chance_j), the chance that one of the places
is a target.
"""

from __future__ import annotations

import numpy as np

from crowdveil.area import Area
from crowdveil.arrays import IntArray
from crowdveil.campaign import Plan
from crowdveil.campaign.selection import lottery_number
from crowdveil.prior import target_chances
from crowdveil.profile import Profile
from crowdveil.profile.place import choose_places
from crowdveil.simulate.simulation import SimulatedCampaign, run_rounds, wanted_of
from crowdveil.vocabulary import NULL, Rule


def several_places(
    profile: Profile, delta: float, rule: Rule, targets: tuple[int, ...], uploads: int, generator: np.random.Generator
) -> IntArray:
    """Choose up to so many different frequent places of each user, one column each; NULL where there is no other."""
    left = profile
    columns = []
    for _ in range(uploads):
        chosen = choose_places(left, delta, rule, generator, targets)
        columns.append(chosen)
        kept = left.cell != chosen[left.user]
        left = Profile(left.users, left.cells, left.user[kept], left.cell[kept], left.probability[kept])
    return np.stack(columns, axis=1)


def simulate_uploads(
    area: Area,
    profile: Profile,
    generator: np.random.Generator,
    seed: int,
    *,
    targets: tuple[int, ...],
    rule: Rule,
    delta: float,
    epsilon_per_km: float,
    rounds: int,
    uploads: int,
) -> SimulatedCampaign:
    """Simulate our campaign where a user may report several places; all reports of a user are in one round."""
    m = uploads
    places = several_places(profile, delta, rule, targets, m, generator)
    users = np.flatnonzero(places[:, 0] != NULL)
    order = np.random.default_rng([seed, 0]).permutation(users)
    wanted = wanted_of(len(users))
    # A report is a participant of its own, number user · m + which; reports there are none of send NULL.
    participants = (order[:, None] * m + np.arange(m)).ravel()
    plan = Plan(
        area=area,
        targets=targets,
        epsilon_per_km=epsilon_per_km / m,
        users=len(participants),
        wanted=wanted,
        rounds=min(rounds, len(participants)),
        seed=str(seed),
        null_epsilon=None,
        grade_epsilon=None,
    )
    state, reports, _ = run_rounds(plan, participants, places.ravel(), np.random.default_rng([seed, m]))
    chances = [target_chances(state.prior, policy) for policy in state.policies]
    chance = np.array([chances[r][s] for r, s in zip(reports.round.tolist(), reports.symbol.tolist(), strict=True)])
    missed = np.ones(len(places))
    np.multiply.at(missed, reports.participant // m, 1 - chance)
    best_first = sorted(
        users.tolist(), key=lambda user: (round(float(missed[user]), 6), lottery_number(str(seed), str(user)))
    )
    selected = np.array(best_first[:wanted], dtype=np.int64)
    return SimulatedCampaign(selected, wanted, reports=len(users), policies=len(state.closed))

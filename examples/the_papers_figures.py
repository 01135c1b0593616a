# %% [markdown]
# # The paper's figures
#
# crowdveil repeats the experiments of *Geographic Differential Privacy for Mobile Crowd Coverage Maximization* (Leye
# Wang, Gehua Qin, Dingqi Yang, Xiao Han and Xiaojuan Ma, AAAI 2018). The paper's own traces cannot be assumed to be
# here, so this notebook takes the synthetic tower city, which stands for the paper's call logs, and few seeds, so that
# intervals are wide. `crowdveil study` does the same in full, on real traces;
# [results](../docs/explanations/results.md) has what came out.

# %%
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from crowdveil.paper.cities import CitySource, open_city
from crowdveil.paper.figures import QUICK, attackers, divergences, epsilons, two_targets
from crowdveil.paper.runner import run_cases
from crowdveil.plots.charts import draw, map_of_cells
from crowdveil.simulate.records import Record

# %% [markdown]
# ## The city
#
# A region belongs to each tower. People call from home, work and elsewhere, several times a day; nine weekdays are
# there to learn from, and the tenth to test on.

# %% alt="Map of the regions of towers, coloured by how many people were seen in each; the busiest one has a star"
source = CitySource("tower-city")
city = open_city(source)
target = int(city.densest[0])
seen = np.bincount(city.counts.cell, weights=city.counts.visits, minlength=len(city.area))
print(f"{city.title}: {city.counts.users:,} people, {len(city.area)} towers, {int(seen.sum()):,} calls")
map_of_cells(city.area, seen / seen.sum(), [target], "Where people call from", "share of calls", percent=True)

# %% [markdown]
# ## Simulate
#
# Every figure of a study is a list of cases (a method, a target, a setting, some seeds) and a rule that makes records
# of their results. All cores work on the cases of all figures, and what two figures share is computed once. PRIVIC and
# remapped Laplace noise, which a whole study has too, are left out to save time.

# %%
effort = replace(QUICK, seeds=3)
shown = (two_targets.FIGURE, epsilons.FIGURE, divergences.FIGURE)
asked = [
    [case for case in figure.cases(source, effort) if case.method not in ("privic", "laplace-remapped")]
    for figure in shown
]
Path("study").mkdir()  # finished cases are kept there, so that an interrupted study goes on
results = iter(run_cases(source, [case for cases in asked for case in cases], Path("study")))
one_target, levels, beliefs = (
    figure.records(source, [(case, next(results)) for case in cases])
    for figure, cases in zip(shown, asked, strict=True)
)


def as_table(records: list[Record], *across: str) -> pd.DataFrame:
    """Return the values of some records, a row for each method, in percent."""
    rows = [{"method": r.method, "profile": r.profile, **{name: getattr(r, name) for name in across}} for r in records]
    frame = pd.DataFrame(rows).assign(coverage=[f"{r.value:.1%}" for r in records])
    return frame.pivot(index=["profile", "method"], columns=list(across), values="coverage")


# %% [markdown]
# ## Figure 5: one target
#
# The busiest region, and the tenth busiest. The profile `poisson` is the paper's, with the paper's rule for which place
# is reported; `recency` is what crowdveil compares itself with in studies. `none` knows every place and is a ceiling.

# %% alt="Bars: coverage of every method at the busiest and at the tenth busiest region, with intervals"
draw(two_targets.SPEC, one_target)

# %%
as_table(one_target, "label")


# %% [markdown]
# What holds here, at the busiest region: crowdveil selects better than the paper's Algorithm 2 with the paper's
# profile, and better than chance; and no private method reaches the ceiling of its profile.


# %%
def value(records: list[Record], method: str, profile: str, label: str) -> float:
    """Return the one value of a method."""
    (found,) = [r.value for r in records if (r.method, r.profile, r.label) == (method, profile, label)]
    return found


def dense(method: str, profile: str) -> float:
    """Return a method's coverage of the busiest region."""
    return value(one_target, method, profile, two_targets.DENSE)


print(f"crowdveil {dense('crowdveil', 'recency'):.1%}, Algorithm 2 {dense('algorithm-2', 'poisson'):.1%}")
assert dense("crowdveil", "recency") > dense("algorithm-2", "poisson") > dense("random", "poisson")
assert dense("crowdveil", "recency") < dense("none", "recency")
assert dense("algorithm-2", "poisson") < dense("none", "poisson")

# %% [markdown]
# ## Figure 6a: more privacy, less coverage
#
# The busiest region at four levels of privacy, from ln 2 (more private) to ln 8 per km.

# %% alt="Lines: coverage of every method over epsilon from ln 2 to ln 8 per km; private methods rise with epsilon"
draw(epsilons.SPEC, levels)

# %%
ours = {r.epsilon_per_km or 0.0: r.value for r in levels if r.method == "crowdveil"}
for level, covered in sorted(ours.items()):
    print(f"ε = ln {math.exp(level):.0f} per km: crowdveil covers {covered:.1%}")
assert ours[max(ours)] > ours[min(ours)], "less privacy should bring more coverage"

# %% [markdown]
# ## What the organiser learns
#
# The divergence between where people are and what the organiser believes, after k rounds. All start from the same
# even spread. Ours ends nearer to the truth than the paper's, with one target and with eight.

# %% alt="Lines: divergence from the truth after 0, 1 and 6 rounds, for one and for eight targets"
draw(divergences.SPEC, beliefs)

# %%
last = {(r.label, r.method): r.value for r in beliefs if r.k == max(r.k or 0 for r in beliefs)}
for (label, method), nats in sorted(last.items()):
    print(f"{label}, {method}: {nats:.2f} nats after the last round")
for label in {label for label, _ in last}:
    assert last[label, "crowdveil"] < last[label, "algorithm-2"]

# %% [markdown]
# ## What an attacker learns
#
# Not in the paper: how often the best guess of a reported place is right, for somebody who knows exactly where people
# are in total. It stays between the guess without any report and the bound that ε sets, for every policy.

# %% alt="Lines: share of right guesses over epsilon, between the floor without a report and the bound"
attacked = attackers.FIGURE.records(source, replace(effort, seeds=2))
draw(attackers.SPEC, attacked)

# %%
bound = {r.epsilon_per_km: r.value for r in attacked if r.method == "bound"}
floor = {r.epsilon_per_km: r.value for r in attacked if r.method == "no report"}
for r in attacked:
    assert floor[r.epsilon_per_km] - 0.005 <= r.value <= bound[r.epsilon_per_km] + 0.005, r.method
worst = max((r for r in attacked if r.method not in ("bound", "no report")), key=lambda r: r.value)
print(f"The most that is guessed: {worst.value:.1%}, under {worst.method} at ε = {worst.epsilon_per_km:.2f} per km")

# %% [markdown]
# Next: [choosing ε](choosing_epsilon.py), and [all studies](../docs/guides/studies.md).

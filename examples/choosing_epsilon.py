# %% [markdown]
# # Choosing ε
#
# ε per km says how much an answer may tell about a place: between two places `d` km apart, the odds of whoever sees the
# answer change at most by the factor e^(ε·d). Less ε is more private, and covers less. This notebook shows both sides
# on one synthetic city, so that you can choose.

# %%
import math
from typing import Literal

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import crowdveil as cv

LEVELS = {f"ln {base}": math.log(base) for base in (2, 4, 8, 16)}

# %% [markdown]
# ## First question: which places should stay hard to tell apart?
#
# Somebody thinks two places equally likely, and then sees an answer. The table has the most that they can become sure
# of, by the distance of the two places.

# %%
distances_km = (0.25, 0.5, 1.0, 2.0)
odds = {
    level: [math.exp(epsilon * distance) / (1 + math.exp(epsilon * distance)) for distance in distances_km]
    for level, epsilon in LEVELS.items()
}
sure = pd.DataFrame(odds, index=[f"{distance} km" for distance in distances_km])
assert math.isclose(sure.loc["1.0 km", "ln 4"], 4 / 5)  # an even bet becomes one of 4 to 1
sure.map("{:.0%}".format)

# %% [markdown]
# ## Second question: what does an answer allow on your map?
#
# An observer who knows how many people are where, and sees everything that a person ever answers, guesses the person's
# cell. `cv.guess_bound` says how often the best guess can be right at most, whatever policies were used, as long as
# they keep ε (ε₀ = ln 64 for being in the area, ε₁ = ln 8 from one grade to the next). Three answers are the most
# that devices give over a lifetime at the default ε; at a larger ε their owners would have to allow more.

# %%
visits = cv.synthetic_visits(5, users=1000, weeks=16)
area = cv.Grid.around(visits, cell_km=1)
cells = area.locate(visits.latitude, visits.longitude)
people = np.zeros((len(visits.users), len(area)))
people[visits.user[cells >= 0], cells[cells >= 0]] = 1
prior = people.sum(axis=0) / people.sum()

everywhere = np.arange(len(area))
rows = []
for level, epsilon in LEVELS.items():
    report = cv.AcceptedReport(area, epsilon, everywhere, null_epsilon=math.log(64), grade_epsilon=math.log(8))
    for answers in (1, 3):
        right = cv.guess_bound(cv.combined_loss([report] * answers), prior)
        rows.append({"ε per km": level, "answers": answers, "guessed right at most": right})
bounds = pd.DataFrame(rows).pivot(index="ε per km", columns="answers", values="guessed right at most").loc[list(LEVELS)]
print(f"{len(area)} cells; without any answer the best guess is right in {prior.max():.1%} of cases")
assert (bounds[1] >= prior.max()).all(), "an answer can only help"
assert (bounds[3] >= bounds[1]).all(), "more answers tell more"
assert bounds[1].is_monotonic_increasing, "more ε tells more"
bounds.map("{:.1%}".format)

# %% [markdown]
# The bound has to hold for every policy that keeps ε, so what a real policy gives away is usually far less:
# [attacking it yourself](attacking_it_yourself.py) measures that.
#
# ## Third question: what does it cost?
#
# The same people, the two busiest cells as targets, 20 people wanted, and whole campaigns of three rounds at each ε.
# `none` protects nothing and `random` knows nothing: the ceiling and the floor, which do not depend on ε.

# %%


def coverage(epsilon: float, *methods: Literal["none", "crowdveil", "random"]) -> pd.DataFrame:
    """Return the coverage of some methods at an ε, with its 95 % interval."""
    found = cv.compare(
        visits,
        area,
        densest=2,
        wanted=20,
        epsilon_per_km=epsilon,
        train=12,
        test=4,
        rounds=3,
        seeds=6,
        methods=methods,
    )
    return found.to_frame(backend="pandas").set_index("method")[["coverage", "ci_low", "ci_high"]]


ends = coverage(math.log(4), "none", "random")
ours = pd.concat([coverage(epsilon, "crowdveil") for epsilon in LEVELS.values()]).set_index(pd.Index(LEVELS))
ceiling, floor = ends.loc["none", "coverage"], ends.loc["random", "coverage"]
assert (ours["ci_low"] > floor).all(), "at each of these ε, crowdveil covers more than chance"
assert (ours["coverage"] < ceiling).all(), "privacy costs something"
assert ours["coverage"].iloc[-1] > ours["coverage"].iloc[0], "more ε covers more"
pd.concat([ends, ours]).map("{:.1%}".format)

# %% [markdown]
# Both sides in one picture: what is covered, and what an observer can be sure of. Where the first curve flattens and
# the second goes on rising, more ε is not worth it.

# %% alt="Two charts over epsilon: coverage between chance and no privacy, and the bounds on right guesses; all rise"
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
steps = np.arange(len(LEVELS))
spread = [ours["coverage"] - ours["ci_low"], ours["ci_high"] - ours["coverage"]]
left.errorbar(steps, ours["coverage"], spread, marker="o", capsize=4, color="#0067a5", label="crowdveil")
left.axhline(ceiling, linestyle="--", color="#4a4f55", label="no privacy")
left.axhline(floor, linestyle=":", color="#4a4f55", label="chance")
left.set(title="Coverage, with 95 % intervals")
for answers, style in ((1, "o-"), (3, "s-")):
    right.plot(steps, bounds[answers], style, label=f"after {answers} answer{'s' * (answers > 1)}, at most")
right.axhline(prior.max(), color="#4a4f55", linestyle=":", label="without any answer")
right.set(title="How often the best guess of the cell is right")
for axes in (left, right):
    axes.set_xticks(steps, list(LEVELS))
    axes.set(xlabel="ε per km", ylim=(0, None))
    axes.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
left.legend(loc="center right")
_ = right.legend(loc="lower right", bbox_to_anchor=(1, 0.08))

# %% [markdown]
# ## Fourth question: how many people do you have to ask?
#
# Privacy can be paid for with more people instead of less coverage. So many have to be asked that five come to each of
# two places with a chance of 80 %, if at most five are selected for each one who should come. *Default* says whether
# phones accept this ε without their owners allowing more.

# %%
places = tuple(int(cell) for cell in np.argsort(-prior)[:2])
plan = cv.Plan(area, places, math.log(4), users=1000, rounds=1, panel=True)
known = cv.Knowledge(shape=prior, known_from="population", regular_share=0.3)
needed = cv.people_needed(
    plan, 5, known, epsilons_per_km=list(LEVELS.values()), selected_for_one=5, max_people=20_000, crowds=20
)
asked = pd.DataFrame(
    {
        "people to ask": [one.people for one in needed],
        "selected for each place": [one.selected for one in needed],
        "default": [one.within_defaults for one in needed],
        "advice": [one.advice or "" for one in needed],
    },
    index=pd.Index(LEVELS, name="ε per km"),
)
enough = [one.people for one in needed if one.people is not None]
assert enough == sorted(enough, reverse=True), "with more ε, fewer people are enough"
asked

# %% [markdown]
# The default of crowdveil is ln 4 per km. Next: [a panel over a year](a_panel_over_a_year.py), which gets many
# selections out of one answer, and [what privacy means here](../docs/explanations/privacy.md).

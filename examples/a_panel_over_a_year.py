# %% [markdown]
# # A panel over a year
#
# A shop chain wants people at one of its shops every week for a year. Asking every phone every week would add up, and
# phones stop after three answers at the default ε. A panel asks once: everyone sends one answer, and all 52 selections
# are made from these answers. Whether somebody is chosen tells nobody more about them than the one answer did.

# %%
import math
from datetime import date

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import crowdveil as cv

EPSILON = math.log(4)

# %% [markdown]
# ## The people
#
# A synthetic city: half a year to learn everyone's habits from, and a year to see who really comes.

# %%
learn, year = 26, 52
visits = cv.synthetic_visits(11, users=2000, weeks=learn + year)
area = cv.Grid.around(visits, cell_km=1)
weeks = cv.Periods(date(2024, 1, 1), count=learn + year)
counts = cv.count_visits(visits, area, weeks)
profile = cv.logistic(counts, weeks.split(learn, year)[0])
print(f"{len(visits):,} visits of {counts.users:,} people in {len(area)} cells")

# %% [markdown]
# Twelve shops, spread over the busier half of the map. What each phone would answer about: its owner's place, and a
# grade that says how regular they are (0: comes with a chance above 0.5; 1: above 0.2; 2: less often).

# %%
generator = np.random.default_rng(3)
popularity = np.bincount(counts.cell, minlength=len(area))
busy = np.argsort(-popularity)[: len(area) // 2]
shops = tuple(int(cell) for cell in generator.choice(busy, 12, replace=False))
places, grades = cv.choose_graded_places(profile, (0.5, 0.2), "target-aware", generator, shops)
print(f"{np.isin(places[grades < 2], shops).sum()} people go to one of the shops with a chance above 0.2")

# %% [markdown]
# ## One answer each
#
# The plan is a panel over the shops. Nothing is wanted yet. Each answer names one of the shops, or none of them.

# %%
plan = cv.Plan(area, shops, EPSILON, users=counts.users, rounds=1, panel=True)
panel = cv.run_panel(plan, places, grades=grades, seed=1)
(policy,) = panel.state.policies
certificate = cv.certify(policy)
assert certificate.ok
print(panel)
certificate

# %% [markdown]
# ## 52 selections
#
# Each week another shop, and 15 people. `at_most=3` says that nobody is chosen more than three times in all.

# %%
WANTED = 15
drawn = generator.choice(shops, size=year)
WEEK_S = 7 * 24 * 3600
fair = panel.ask([cv.SelectionRequest((int(shop),), WANTED, at_most=3) for shop in drawn], every_s=WEEK_S)
free = panel.ask([cv.SelectionRequest((int(shop),), WANTED) for shop in drawn], every_s=WEEK_S)
assert len(fair) == len(free) == year

# %% [markdown]
# Who really came in that very week? Beside it: people who are chosen blindly, as many, and the best that anyone could
# do who knew every profile, which is not private.

# %%
came = np.zeros((counts.users, len(area), learn + year), dtype=bool)
came[counts.user, counts.cell, counts.period] = True
known = np.zeros((counts.users, len(area)))
known[profile.user, profile.cell] = profile.probability


def coverage(chosen: list[np.ndarray]) -> np.ndarray:
    """Return the share of those chosen in each week who came to that week's shop."""
    return np.array([came[who, drawn[week], learn + week].mean() for week, who in enumerate(chosen)])


weekly = pd.DataFrame(
    {
        "panel": coverage([one.participants for one in free]),
        "panel, at most 3 times": coverage([one.participants for one in fair]),
        "chance": came[:, drawn, learn + np.arange(year)].mean(axis=0),
        "no privacy": coverage([np.argsort(-known[:, shop])[:WANTED] for shop in drawn]),
    }
)
means = weekly.mean()
assert means["panel"] > 3 * means["chance"], "one answer should select far better than chance for a year"
assert means["panel, at most 3 times"] < means["panel"] < means["no privacy"]
means.map("{:.1%}".format).to_frame("coverage, mean of 52 weeks")

# %% [markdown]
# Week by week. The lines move for two reasons: every week has another shop, and some shops have more visitors; and
# people's habits change, so what was known at the beginning grows old.

# %% alt="Lines over 52 weeks: no privacy above, the panel in the middle, chance below; the upper ones fall in the end"
figure, axes = plt.subplots(figsize=(9, 4), layout="constrained")
smooth = weekly.rolling(8, min_periods=8, center=True).mean()
for name, style in (("no privacy", "--"), ("panel", "-"), ("panel, at most 3 times", "-"), ("chance", ":")):
    axes.plot(smooth.index + 1, smooth[name], style, label=name)
axes.set(xlabel="week", ylabel="came to the shop", ylim=(0, None), title="Mean of eight weeks at a time")
axes.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
_ = axes.legend()

# %% [markdown]
# ## How fast does it grow old?
#
# The same for all shops in all weeks, so that it makes no difference which shop was drawn: 15 people are chosen for
# each shop at the beginning, and how many of them come is counted in every quarter of the year.

# %%
chosen = {
    "panel": [one.participants for one in panel.ask([cv.SelectionRequest((shop,), WANTED) for shop in shops])],
    "no privacy": [np.argsort(-known[:, shop])[:WANTED] for shop in shops],
}
quarters = pd.DataFrame(
    {
        name: np.mean([came[who, shop, learn:].mean(axis=0) for who, shop in zip(people, shops, strict=True)], axis=0)
        for name, people in chosen.items()
    }
)
quarters = quarters.groupby(quarters.index // 13 + 1).mean().rename_axis("quarter")
assert (quarters.iloc[-1] < quarters.iloc[0]).all(), "old answers, and old profiles, are worth less"
quarters.map("{:.1%}".format)

# %% [markdown]
# So a panel that lasts longer should be renewed; phones with default limits answer three times in all.
#
# ## Is it fair?
#
# How often was each person chosen in the year? Among people who are alike, those who were chosen less often come first,
# so the same few are not asked again and again. `at_most` is a hard limit on top, and costs some coverage.

# %%
times = {
    name: np.bincount(np.concatenate([one.participants for one in asked]), minlength=counts.users)
    for name, asked in (("free", free), ("at most 3", fair))
}
assert times["at most 3"].max() <= 3
assert times["free"].sum() == times["at most 3"].sum() == year * WANTED, "the limit leaves no week short"
most = max(chosen.max() for chosen in times.values())
people = {name: np.bincount(chosen, minlength=most + 1) for name, chosen in times.items()}
pd.DataFrame(people).rename_axis("times chosen")

# %% [markdown]
# ## What did it cost in privacy?
#
# One answer at ln 4 per km, however many selections are made of it. The observer's best guess of somebody's cell, after
# one answer and after the 52 that weekly campaigns would have needed (which no phone with default limits would give):

# %%
everywhere = np.arange(len(area))
one_answer = cv.AcceptedReport(area, EPSILON, everywhere, null_epsilon=math.log(64), grade_epsilon=math.log(8))
bound = {answers: cv.guess_bound(cv.combined_loss([one_answer] * answers)) for answers in (1, 3, year)}
for answers, right in bound.items():
    print(f"after {answers:2} answers the best guess is right in at most {right:.1%} of cases")
assert bound[1] < bound[3] < bound[year]

# %% [markdown]
# Next: [ask once, select often](../docs/guides/panels.md) has the commands that run a panel on a server.

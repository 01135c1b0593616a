# %% [markdown]
# # Attacking it yourself
#
# crowdveil states bounds. This notebook plays the strongest observer there is and measures whether they hold: he has
# the policy's whole table, knows exactly how many people are where, sees the answer, and guesses by Bayes' rule. No
# other use of the same answer is right more often.

# %%
import math
import textwrap

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import crowdveil as cv
from crowdveil.policy.grades import chances_of_grades

EPSILON, NULL_EPSILON, GRADE_EPSILON = math.log(4), math.log(64), math.log(8)
PEOPLE = 200_000

# %% [markdown]
# ## What is attacked
#
# The default, protected form: the answer depends on a cell, on a grade (how regularly its owner goes there), and on
# whether the owner is in the area at all.

# %%
grid = cv.Grid.from_bounds(40.70, -74.02, 40.80, -73.93, cell_km=1.0)
targets = grid.locate([40.75, 40.71], [-73.98, -74.00])
everywhere = np.arange(len(grid))
near = np.exp(-grid.distances_km(everywhere, grid.locate([40.76, 40.72], [-73.98, -74.00])) / 1.2).sum(axis=1)
prior = near / near.sum()
shares = np.array([0.2, 0.3, 0.5])  # of the three grades
policy = cv.optimal_policy(
    grid,
    np.outer(shares, prior),
    targets,
    epsilon_per_km=EPSILON,
    beta=0.05,
    completion="informative",
    null_epsilon=NULL_EPSILON,
    grade_epsilon=GRADE_EPSILON,
    grade_chances=chances_of_grades((0.5, 0.2)),
)
certificate = cv.certify(policy)
assert certificate.ok
print(f"{len(grid)} cells, {policy.input_count} inputs, {policy.symbol_count} answers")
certificate

# %% [markdown]
# ## The attack
#
# `table[i, s]` is the chance of the answer s for the input i. Times the prior, this is the joint distribution; after
# the answer s the attacker names the cell of the largest joint chance. Answers are then drawn, exactly as devices draw
# them, for 200,000 people, and his guesses are counted.

# %%
table = policy.table()
inputs = policy.input_prior(np.outer(shares, prior))  # nobody outside, to make it easiest for him
by_cell = np.zeros((len(grid), policy.symbol_count))  # P(cell and answer), grades added up
for grade in range(len(shares)):
    rows = [policy.input_of(int(cell), grade) for cell in everywhere]
    by_cell += inputs[rows, None] * table[rows]
assert math.isclose(by_cell.sum(), 1)
best_guess = by_cell.argmax(axis=0)
expected = by_cell.max(axis=0).sum()

generator = np.random.default_rng(8)
cells = generator.choice(len(grid), PEOPLE, p=prior)
grades = generator.choice(len(shares), PEOPLE, p=shares)
answers = cv.draw_many(policy, cells, certificate, generator, grades=grades)
measured = (best_guess[answers] == cells).mean()
print(f"computed from the table {expected:.2%}, measured {measured:.2%}")
error = 5 * math.sqrt(expected * (1 - expected) / PEOPLE)  # five standard errors
assert abs(measured - expected) < error

# %% [markdown]
# ## Against the bound
#
# Without any answer his best guess is the fullest cell. `cv.guess_bound` is what crowdveil states: whatever policy
# keeps ε, and however anyone guesses, no more guesses are right.

# %%
report = cv.AcceptedReport(grid, EPSILON, everywhere, null_epsilon=NULL_EPSILON, grade_epsilon=GRADE_EPSILON)
bound = cv.guess_bound(cv.combined_loss([report]), prior)
blind = prior.max()
print(f"without an answer {blind:.2%}, with one {measured:.2%}, stated bound {bound:.2%}")
assert blind <= expected <= bound
assert measured < bound + error

# %% [markdown]
# ## Odds
#
# The promise behind the bound is about odds: after any answer, those between two cells `d` km apart have changed at
# most by e^(ε·d), and never by more than e^(2ε₀). Here are all pairs of cells, with the answer that changes their odds
# most.

# %% alt="Points: how much the odds of each pair of cells change, over their distance; all lie on or below a line"
regular = table[[policy.input_of(int(cell), 0) for cell in everywhere]]
log_regular = np.log(regular)
change = np.array([(log_regular[i] - log_regular).max(axis=1) for i in everywhere])
distance = np.array([grid.distances_km([int(i)], everywhere)[0] for i in everywhere])
apart = distance > 0
allowed_change = np.minimum(EPSILON * distance, 2 * NULL_EPSILON)
assert (change <= allowed_change + 1e-9).all()
share = change[apart] / allowed_change[apart]
print(f"Of what is allowed, the worst pair uses {share.max():.2%}, a pair in the middle {np.median(share):.0%}")
assert share.max() > 0.999, "a policy that selects as well as it can uses all that it may, somewhere"

figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
axes.scatter(distance[apart], np.exp(change[apart]), s=6, color="#0067a5", label="pairs of cells")
line = np.linspace(0, distance.max(), 50)
axes.plot(line, np.exp(np.minimum(EPSILON * line, 2 * NULL_EPSILON)), color="#d55e00", label="allowed")
axes.set(xlabel="km apart", ylabel="odds change by the factor", yscale="log")
_ = axes.legend()

# %% [markdown]
# ## How near can an attack come?
#
# That policy was made to find people near two targets, so it says little else, and the bound seems loose. An operator
# who wants to know where people are would publish a more telling policy that keeps ε: one that names every cell, each
# as often as privacy allows, in the clear form. Where all cells are equally likely, it comes near the bound that any
# policy has to keep.

# %%
telling = cv.panel_policy(grid, epsilon_per_km=EPSILON)
proven = cv.certify(telling)
assert proven.ok
even = generator.integers(len(grid), size=PEOPLE)
named = telling.table().argmax(axis=0)[cv.draw_many(telling, even, proven, generator)]
found = (named == even).mean()
allowed_clear = cv.guess_bound(cv.combined_loss([cv.AcceptedReport(grid, EPSILON, everywhere)]))
print(f"blindly {1 / len(grid):.1%}, measured {found:.1%}, stated bound {allowed_clear:.1%}")
assert 0.7 * allowed_clear < found < allowed_clear

# %% [markdown]
# ## Several answers
#
# A person who answers three times about the same place gives away more, and the bound grows with it. The attacker
# multiplies the chances of all answers, for each cell and grade, and then adds up the grades.

# %%
seen = []
asked = slice(0, 20_000)
by_grade = np.stack([table[[policy.input_of(int(cell), grade) for cell in everywhere]] for grade in range(len(shares))])
chances = np.repeat((shares[:, None] * prior)[:, :, None], 20_000, axis=2)  # of grade and cell, for each person
for count in (1, 2, 3):
    replies = cv.draw_many(policy, cells[asked], certificate, generator, grades=grades[asked])
    chances *= by_grade[:, :, replies]
    chances /= chances.sum(axis=(0, 1))
    right = (chances.sum(axis=0).argmax(axis=0) == cells[asked]).mean()
    allowed = cv.guess_bound(cv.combined_loss([report] * count), prior)
    assert right < allowed
    seen.append({"answers": count, "measured": right, "stated bound": allowed})
assert seen[-1]["measured"] > seen[0]["measured"], "more answers should tell more"
pd.DataFrame(seen).set_index("answers").map("{:.1%}".format)

# %% [markdown]
# ## Does the attack work at all?
#
# An attack that never breaks anything proves little. So here is a telling policy that keeps only ln 16 per km but
# claims ln 4. The attacker is right more often than ln 4 allows, the checker refuses the claim and names the worst
# pair, and no device would draw from it.

# %%
leaky = cv.panel_policy(grid, epsilon_per_km=math.log(16))
claim = cv.certify(leaky, epsilon_per_km=EPSILON)
assert not claim.ok
replies = cv.draw_many(leaky, even, cv.certify(leaky), generator)
caught = (leaky.table().argmax(axis=0)[replies] == even).mean()
print(f"measured {caught:.1%}, more than the {allowed_clear:.1%} that ln 4 per km allows")
assert caught > allowed_clear
log_leaky = np.log(leaky.table())
worst = claim.witness
assert worst is not None
shift = (log_leaky[worst.cell] - log_leaky[worst.other])[worst.symbol]
print(textwrap.fill(claim.explain(), 110))
allowed_odds = math.exp(EPSILON * worst.distance_km)
print(f"odds of cells {worst.cell} and {worst.other} change by {math.exp(abs(shift)):.1f}, allowed: {allowed_odds:.1f}")
assert abs(shift) > EPSILON * worst.distance_km
try:
    cv.draw(leaky, int(targets[0]), claim)
except cv.NotPrivateError as refused:
    print(textwrap.fill(f"refused: {refused}", 110))
else:
    raise AssertionError("a device should not draw from it")

# %% [markdown]
# And someone who names their place in the clear is always found:

# %%
clear = cv.identity(grid, prior, targets, EPSILON)
assert (clear.table().argmax(axis=0) == everywhere).all()
assert not cv.certify(clear, epsilon_per_km=EPSILON).ok
print("In the clear, every guess is right.")

# %% [markdown]
# `make attacks` plays a hostile operator against real devices; [attacks](../docs/explanations/attacks.md) has what is
# played, and what is not prevented.

# %% [markdown]
# # Five minutes in Python
#
# A city wants people at two places next week. Everybody's phone knows where its owner will probably be, and nobody
# should have to tell. This notebook makes the public table that decides what phones send, checks it, lets one phone
# answer, and then runs a whole campaign with 1,083 people. Everything runs on this machine.

# %%
import math

import numpy as np

import crowdveil as cv

# %% [markdown]
# ## A map and two targets
#
# Squares of 1 km over Manhattan and its surroundings. A target is a place; what counts is the cell that it lies in.

# %%
grid = cv.Grid.from_bounds(40.65, -74.03, 40.82, -73.90, cell_km=1.0)
targets = grid.locate([40.75, 40.71], [-73.98, -74.00])
print(f"{len(grid)} cells; the targets lie in the cells {targets.tolist()}")

# %% [markdown]
# ## Where people are
#
# Invented for this notebook: most people are near three centres. A real campaign starts with nothing, and learns this
# from the answers.

# %%
cells = np.arange(len(grid))
centres = grid.locate([40.75, 40.71, 40.78], [-73.98, -74.00, -73.95])
near = np.exp(-grid.distances_km(cells, centres) / 1.5).sum(axis=1)
prior = near / near.sum()

# %% [markdown]
# ## The policy
#
# The policy is a table: for every cell, the chance of each answer. ε = ln 4 per km means that an answer is at most 4
# times as likely from one cell as from another whose centre is 1 km away. `beta` is the share of people to be
# selected, so that 54 of 1,083 are found with 95 % confidence. The map shows the chance of being selected.

# %%
epsilon = math.log(4)
beta = cv.minimum_beta(users=1083, wanted=54, confidence=0.95)
policy = cv.optimal_policy(grid, prior, targets, epsilon_per_km=epsilon, beta=beta)
policy

# %% [markdown]
# `policy.value` is the share of the selected people who are expected at a target. Among people who are chosen blindly
# it would be the share of people who are there.

# %%
blindly = prior[targets].sum()
print(f"{policy.value:.1%} of the selected are expected at a target; blindly chosen, {blindly:.1%}")
assert policy.value > 2 * blindly

# %% [markdown]
# ## The certificate
#
# A checker that shares no code with the solver tests every inequality in exact arithmetic. Every device runs it too.

# %%
certificate = cv.certify(policy)
assert certificate.ok
certificate

# %% [markdown]
# The promise can also be seen without the checker. These are the chances of being selected in a target's cell and in
# those next to it; no two of them that are 1 km apart differ by more than the factor 4.

# %%
target = int(targets[0])
beside = [int(cell) for cell in cells if 0 < grid.distance_km(target, int(cell)) < 1.1]
for cell in [target, *beside]:
    print(f"cell {cell:3}: selected with chance {policy.hit[cell]:.2%}")
    assert policy.hit[target] <= math.exp(epsilon * grid.distance_km(target, cell)) * policy.hit[cell]

# %% [markdown]
# ## One phone answers
#
# The draw uses whole numbers from the operating system's generator, so this output differs whenever it runs.

# %%
symbol = cv.draw(policy, target, certificate)
print(f"The phone sends: {policy.symbol_name(symbol)}")

# %% [markdown]
# ## A whole campaign
#
# 1,083 people, in six rounds. The campaign knows nothing at first; after each round it knows better where people are,
# and makes a better policy. This is the default, protected form, which also hides how regularly somebody visits the
# place. `places` stays on the phones; the simulation has it, the server does not.

# %%
places = np.random.default_rng(1).choice(len(grid), size=1083, p=prior)
plan = cv.Plan(grid, tuple(targets.tolist()), epsilon, users=len(places), wanted=54)
campaign = cv.run_campaign(plan, places, seed=1)
found = campaign.at_target / len(campaign.selection)
there = np.isin(places, targets).mean()
print(campaign)
print(f"At a target: {found:.1%} of the {len(campaign.selection)} selected, {there:.1%} of all people")
assert len(campaign.selection) == 54
assert found > 2 * there

# %% [markdown]
# What the campaign has learnt of where people are, from noisy answers alone, is closer to the truth than the even
# spread with which it began.

# %%
even = np.full(len(grid), 1 / len(grid))
before, after = cv.divergence(prior, even), cv.divergence(prior, campaign.state.cell_prior)
print(f"Divergence from the truth: {before:.2f} nats before the first round, {after:.2f} after the last")
assert after < before

# %% [markdown]
# Every user who answered is one row of a frame, for further work.

# %%
campaign.to_frame().head()

# %% [markdown]
# Next: [your own CSV](your_own_csv.py), and [what ε per km means](../docs/explanations/privacy.md).

"""Compute the optimal policy, with a proven gap to the optimum.

optimal         `optimal_policy`: from a prior and targets to a policy
cutting_planes  the search for the real-valued optimum
closure         the least private policy above given probabilities at the targets
protected_closure   the same with grades, and NULL as one more input
quota_shift     moves all targets together until the quota β is met
relaxation      the upper bound: a linear program over the pieces seen so far
linear_program  the only module that uses the LP solver
duality         bounds from dual weights, by a fractional knapsack
grade_symbols   symbols for grades and for being outside
completion      symbols that hint at where those are who are not selected
laplace_scale   probabilities as quantiles of the Laplace distribution
"""

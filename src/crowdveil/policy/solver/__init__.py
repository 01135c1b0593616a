"""Compute the optimal policy, with a proven gap to the optimum.

optimal         `optimal_policy`: from a prior and targets to a policy
optimum         the cutting-plane search for the real-valued optimum
closure         the least private policy above given probabilities at the targets
null_closure    the same with NULL as one more input
quota_shift     moves all targets together until the quota β is met
relaxation      the upper bound: a linear program over the pieces seen so far
linear_program  the only module that uses the LP solver
duality         bounds from dual weights, by a fractional knapsack
completion      symbols for those who are not selected
laplace_scale   probabilities as quantiles of the Laplace distribution
"""

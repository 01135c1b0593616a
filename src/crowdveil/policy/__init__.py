"""Make, keep and bound policies: the probabilities with which a device answers, cell by cell.

policy          the frozen value that everybody shares, with its hash
checks          what makes a valid ε, target, prior or table of weights; the limits of each
files, encoding bytes and JSON
quota           how large a share of the users must be selectable (β)
rounding        from real probabilities to whole-number weights that stay private
provenance      the record of how a policy was made
solver/         the optimal policy, with a proven gap
baselines/      planar Laplace, exponential mechanism, no obfuscation
theory/         the paper's lemmas and theorem, and a closed form
"""

"""Make the policies that the optimum is compared with.

laplace         planar Laplace noise, reported as the nearest cell
exponential     the exponential mechanism over cells
blahut_arimoto  PRIVIC's mechanism: least mutual information for its mean distance, under a prior
remapping       replace what any policy reports by the place nearest to its sender on average
identity        no obfuscation: everyone names their own cell
tables          from a table of real numbers to a policy, with a proof that rounding keeps privacy
"""

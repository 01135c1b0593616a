"""Make the policies that the optimum is compared with.

laplace         planar Laplace noise, reported as the nearest cell
exponential     the exponential mechanism over cells
identity        no obfuscation: everyone names their own cell
tables          from a table of real numbers to a policy, with a proof that rounding keeps privacy
"""

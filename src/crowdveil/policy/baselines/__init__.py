"""Policies that the optimum is compared with: planar Laplace, exponential mechanism, no obfuscation."""

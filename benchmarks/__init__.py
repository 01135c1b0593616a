"""Measure crowdveil side by side with its peers, with ratios from one run: `make bench`."""

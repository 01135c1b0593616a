"""Policies: the optimal one, what bounds it, and what it is compared with."""

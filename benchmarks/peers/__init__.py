"""Peers whose pins would break any shared environment: each has one of its own (README.md)."""

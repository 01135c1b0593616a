"""Whole campaigns on traces, every method compared; crowds of any size."""

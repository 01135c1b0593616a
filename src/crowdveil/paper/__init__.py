"""The published experiments, one module per figure, and what is measured beyond them."""

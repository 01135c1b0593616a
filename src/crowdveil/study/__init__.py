"""The paper's experiments, one module per figure, and ours on top."""

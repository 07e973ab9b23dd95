"""The paper's examples and experiments, run on the real system."""

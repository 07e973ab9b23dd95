"""The paper's experiment 4: the noise and the utility of an answer."""

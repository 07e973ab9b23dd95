"""The paper's experiment 4: the noise of an answer, and what it is good for."""

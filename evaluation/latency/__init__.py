"""How long analysts wait if they ask at the same time, compared with a model of the paper's contract."""

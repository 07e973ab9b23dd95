"""How long analysts wait who ask at the same moment, beside a model of the paper's path."""

"""A Proof-of-Authority network of real go-ethereum nodes on this machine.

Unlike a single development node, a network of validators that take turns continues when one of them fails, and none of them
can rewrite its chain alone. On one machine it demonstrates how that works; it gives others assurance only if independent
parties run the validators.
"""

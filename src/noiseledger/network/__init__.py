"""A Proof-of-Authority network of real go-ethereum nodes on this machine.

Several validators that take turns are what one development node is not: a chain that goes on when one of them is gone, and
that none of them can rewrite alone. On one machine it shows how that works; it proves something to others only where
independent parties run the validators.
"""

"""The paper's workload side by side with what people use today: the same people, requests and budget for all of them.

Each peer runs in an environment of its own, by code that a user of that library would write (``<peer>/answer.py``).
"""

from noiseledger.experiments.peers.ours import our_row
from noiseledger.experiments.peers.setting import Job
from noiseledger.experiments.peers.table import Row
from noiseledger.experiments.peers.theirs import peer_names, peer_row

__all__ = ["Job", "Row", "our_row", "peer_names", "peer_row"]

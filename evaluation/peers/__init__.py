"""The paper's workload on other libraries, with the same data, requests and budget for all of them.

Each library runs in its own environment, with code that one of its users would write (``<library>/answer.py``).
"""

from evaluation.peers.ours import our_row
from evaluation.peers.setting import Job
from evaluation.peers.table import Row
from evaluation.peers.theirs import peer_names, peer_row

__all__ = ["Job", "Row", "our_row", "peer_names", "peer_row"]

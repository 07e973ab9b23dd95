"""``python -m noiseledger``: the same as ``noiseledger``."""

from noiseledger.cli import main

main()

"""The command line: ``noiseledger COMMAND``, each command also with ``--json``."""

from noiseledger.cli.app import main

__all__ = ["main"]

"""The command line: ``noiseledger COMMAND``, each command also with ``--json``."""

import gc

__all__ = ["main"]

#: How many new objects trigger a garbage collection. With Python's default of 700, collections while modules are loaded
#: take a tenth of a command's processor time.
_OBJECTS = 50_000


def main() -> None:
    """Load the commands and run one."""
    before = gc.get_threshold()
    gc.set_threshold(_OBJECTS, *before[1:])
    try:
        from noiseledger.cli.app import main as run  # noqa: PLC0415 - see above

        run()
    finally:
        gc.set_threshold(*before)

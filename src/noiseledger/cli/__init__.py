"""The command line: ``noiseledger COMMAND``, each command also with ``--json``."""

import gc

__all__ = ["main"]

#: How many new objects there may be before those without use are looked for. With Python's 700 that is a tenth of a
#: command's processor time, while all that happens is that modules are loaded.
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

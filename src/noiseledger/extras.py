"""Optional dependencies, such as ``pip install 'noiseledger[custodian]'``.

The analyst's side needs none of them. Code that needs an extra checks here first, so that a missing package leads to one
sentence with the command that installs it, and never to a traceback.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec

from noiseledger.errors import MissingExtra

#: The modules that each extra of pyproject.toml installs and that we import.
EXTRAS: Mapping[str, tuple[str, ...]] = {
    "custodian": ("duckdb", "ibis", "numpy", "prometheus_client", "pyarrow", "structlog"),
    "postgres": ("psycopg",),
    "spark": ("pyspark",),
    "mongodb": ("pymongo",),
    "combine": ("numpy",),
    "web": ("fastapi", "uvicorn"),
    "network": ("psutil",),
    "pandas": ("pandas",),
}


def missing(extra: str) -> list[str]:
    """Return the modules of an extra that are not installed."""
    return [module for module in EXTRAS[extra] if find_spec(module) is None]


def require(extra: str, what: str) -> None:
    """Raise an error if an extra is not installed; ``what`` begins the sentence.

    >>> require("custodian", "To publish a ledger")
    """
    absent = missing(extra)
    if absent:
        raise MissingExtra(what, extra, absent)

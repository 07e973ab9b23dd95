"""The ledger file, which a custodian hands out so that others can find the ledger and refer to its queries by name.

Only this module reads and writes it, except for the audit, which has its own reader on purpose.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from noiseledger.core.access import LONGEST_CONTACT
from noiseledger.core.address import is_address
from noiseledger.core.codebook import Codebook, shown
from noiseledger.core.composition import Promised
from noiseledger.core.query import Query
from noiseledger.core.relay_address import read_relay
from noiseledger.core.sensitivity import Neighbours
from noiseledger.errors import InvalidInput, LedgerNotFound
from noiseledger.ledger.durable import write_durably

_MOST_OTHERS = 100


@dataclass(frozen=True)
class OtherLedger:
    """Another ledger about the same data, and what it promises."""

    address: str
    chain_id: int
    promised: Promised

    @classmethod
    def read(cls, content: Mapping[str, Any]) -> OtherLedger:
        """Read what a ledger file says; anything that is not a promise raises an error."""
        epsilon, delta = (_fraction(content[name]) for name in ("epsilon", "delta"))
        promised = Promised(epsilon, delta, Neighbours(content["neighbours"]))
        _ = promised.precision  # refuses an epsilon or a delta that is none
        address = str(content["address"])
        if not is_address(address):
            raise ValueError
        return cls(address, int(content["chain_id"]), promised)

    @property
    def content(self) -> dict[str, Any]:
        """What stands in the file, as JSON values."""
        promised = self.promised
        return {
            "address": self.address,
            "chain_id": self.chain_id,
            "epsilon": str(promised.epsilon),
            "delta": str(promised.delta),
            "neighbours": promised.neighbours.value,
        }


@dataclass(frozen=True)
class LedgerFile:
    """Where the ledger is, what its queries are called, whom to ask for an allowance, and where to hand signed requests."""

    address: str
    chain_id: int | None = None
    block: int = 0
    queries: Mapping[str, Query] = field(default_factory=dict)
    #: Hash of the published catalogue, so that anyone who is shown a catalogue can check that it is the same.
    catalogue_sha256: str = ""
    #: How to reach the custodian, in their own words.
    contact: str = ""
    #: The format of the commitment.
    commitment: str = ""
    #: Who may buy, in one word.
    access: str = ""
    #: The other ledgers about the same data: a person in it is protected by all promises together.
    also_published: tuple[OtherLedger, ...] = ()
    #: What columns and values are called, in the custodian's words.
    codebook: Codebook = field(default_factory=Codebook)
    #: The address of the relay that brings signed requests to the chain; empty if there is none.
    relay: str = ""

    @classmethod
    def read(cls, file: Path) -> LedgerFile:
        """Read the file; refuse a file that is not a ledger file."""
        try:
            content = json.loads(file.read_text(encoding="utf-8"))
            json.dumps(content, ensure_ascii=False).encode()  # refuses lone surrogates, which cannot be displayed
            queries = {str(name): Query.parse(text) for name, text in content["queries"].items()}
            place = str(content["address"]), int(content["chain_id"]), int(content.get("block", 0))
            words = str(content.get("catalogue_sha256", "")), shown(content.get("contact") or "", LONGEST_CONTACT)
            others = tuple(OtherLedger.read(other) for other in content.get("also_published", [])[:_MOST_OTHERS])
            facts = str(content.get("commitment", "")), str(content.get("access", ""))
            found = cls(*place, queries, *words, *facts, others, Codebook.load(content))
        except OSError as error:
            raise LedgerNotFound(f"The ledger file {file} cannot be read: {error.strerror}.") from None
        except (ValueError, KeyError, TypeError, AttributeError, ArithmeticError, RecursionError):
            raise InvalidInput(
                f"{file} is not a ledger file: expected the ledger.json that a custodian hands out, or a local ledger."
            ) from None
        try:
            return replace(found, relay=read_relay(content.get("relay", "")))
        except InvalidInput as error:
            raise InvalidInput(f"{file} cannot be used: {error}") from None

    @property
    def content(self) -> dict[str, Any]:
        """The content of the file, as JSON values."""
        return {
            "address": self.address,
            "chain_id": self.chain_id,
            "block": self.block,
            "commitment": self.commitment,
            "catalogue_sha256": self.catalogue_sha256,
            "access": self.access,
            "contact": self.contact,
            "relay": self.relay,
            "also_published": [other.content for other in self.also_published],
            **self.codebook.dump(),
            "queries": {name: query.canonical for name, query in self.queries.items()},
        }

    def write(self, file: Path) -> None:
        """Write the file in one step."""
        write_durably(file, json.dumps(self.content, indent=1) + "\n")


def read_names(file: Path) -> list[str]:
    """Return the names of a ledger file's queries, whatever else it contains; none if it is not a ledger file."""
    try:
        return [str(name) for name in json.loads(file.read_text(encoding="utf-8"))["queries"]]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return []


def _fraction(text: object) -> Fraction:
    # Without exponents: a few digits could stand for a number of a gigabyte.
    if not isinstance(text, str) or not re.fullmatch(r"[0-9]{1,60}(/[0-9]{1,60}|\.[0-9]{1,60})?", text):
        raise ValueError
    return Fraction(text)


def catalogue_of(ledger_file: Path) -> Path | None:
    """Return the catalogue beside the custody folder that a ledger file is in; None for any other ledger file."""
    given = ledger_file.parent
    folder = given if given.suffix else ledger_file.resolve().parent  # in the folder itself, or through a link
    return folder.with_suffix(".toml") if folder.suffix == ".custody" else None


def find_on_chain(ledger: str) -> LedgerFile:
    """Return what is known about a ledger on a chain, from its file or only its address."""
    if is_address(ledger):
        return LedgerFile(ledger)
    if is_local(Path(ledger)):
        raise InvalidInput(
            f"{ledger} is a local ledger, but this needs a ledger on a chain: give its ledger.json or address."
        )
    return LedgerFile.read(Path(ledger))


def is_local(file: Path) -> bool:
    """Return whether this is the file of a local ledger, which is a SQLite database."""
    try:
        with file.open("rb") as stream:
            return stream.read(16) == b"SQLite format 3\0"
    except OSError:
        return False

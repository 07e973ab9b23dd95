"""Audit a ledger on its custodian's side: with the data and the secret, also what the chain cannot tell.

Why the promise holds: what is added to a report are yes or no, and p-values that :mod:`noiseledger.audit.plausible` has made
harmless. True answers stay in memory; no sentence, note or error contains one, nor the secret, nor any noise.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from hashlib import sha256
from pathlib import Path

from noiseledger.audit import wire
from noiseledger.audit.auditor import audit_with
from noiseledger.audit.chain import Heard
from noiseledger.audit.plausible import ENOUGH_TO_TELL, Plausibility
from noiseledger.audit.report import Report, Rule
from noiseledger.audit.scope import Opened, Scope
from noiseledger.core.query import Query
from noiseledger.data.catalogue import Catalogue, read_catalogue
from noiseledger.data.commitment import Commitment, bind, read_secret
from noiseledger.data.location import Location
from noiseledger.data.reading import Reading
from noiseledger.data.source import Source, check_query
from noiseledger.errors import DataMismatch, DataUnavailable, InvalidInput, NoiseledgerError

_IDENTITY = "journal.identity"


def audit_inside(
    ledger: str | os.PathLike[str],
    *,
    rpc: str,
    catalogue: Path,
    secret: Path | None = None,
    data: Path | None = None,
    block: str = "latest",
    from_genesis: bool = False,
    heard: Heard = lambda *_: None,
) -> Report:
    """Check everything that :func:`noiseledger.audit.audit` does, and that commitment, data and noise go together.

    Args:
        ledger: The custodian's ledger file, or the contract's address.
        rpc: The chain's endpoint, or several that are separated by commas.
        catalogue: The catalogue that the ledger was published from: it says where the data is.
        secret: The file with the commitment's secret; by default that in the catalogue's custody folder. The journal's
            identity is expected beside it, or else in that folder.
        data: A file to read instead of the catalogue's source.
        block: Look at the ledger as of this block: "latest", "safe", "finalized", or, say, "latest-3".
        from_genesis: Read from the chain's first block on, instead of the block that the ledger file names.
        heard: Called with the number of blocks that were read, and of all.
    """
    read = read_catalogue(catalogue)
    folder = read.file.with_suffix(".custody")
    secret_file = folder / "secret" if secret is None else Path(secret)
    key, journal = read_secret(secret_file), _journal_digest(secret_file, folder)
    with _opened(_location(read, data), read.reading) as source:
        dataset = Dataset(source, key, journal)
        return audit_with(
            lambda: Insider(dataset), ledger, rpc=rpc, from_genesis=from_genesis, block=block, heard=heard
        )


class Dataset:
    """The data as it is now: true totals, and what a ledger of them commits to."""

    def __init__(self, source: Source, secret: bytes, journal: bytes) -> None:
        """Read from an open source when asked to; ``journal`` is the hash of the journal's identity."""
        self.rows = source.rows
        self._source = source
        self._secret = secret
        self._journal = journal
        self._totals: dict[Query, tuple[int, ...]] = {}

    def totals(self, query: Query) -> Sequence[int]:
        """Return the true totals; raise if the data cannot answer the query."""
        if query not in self._totals:
            check_query(query, self._source.kinds)
            self._totals[query] = tuple(self._source.totals(query))
        return self._totals[query]

    def commitment(self) -> bytes:
        """Return what a ledger of these data, this secret and this journal would publish.

        The totals are compared afterwards: if they agree, they are those of the records that it was computed over.
        """
        root = Commitment(self._source.records(), self._secret).root
        if any(tuple(self._source.totals(query)) != known for query, known in self._totals.items()):
            raise DataMismatch("The data changed while it was read: try again once nobody writes to it.")
        return bind(root, self._journal)


@dataclass(frozen=True)
class _Answer:
    """What the data says to a registered query, in units of its sensitivity; None if it cannot say anything."""

    name: str
    truth: tuple[Fraction, ...] | None


class Insider:
    """Looks on with the data at hand."""

    def __init__(self, dataset: Dataset) -> None:
        """Know the data; of the ledger nothing yet."""
        self._dataset = dataset
        self._terms: wire.Terms | None = None
        self._registered: dict[str, wire.Registered] = {}
        self._answers: dict[str, _Answer] = {}
        self._noise = Plausibility()

    def take(self, log: wire.Log) -> None:
        """Take in what happened next; what breaks a rule of the record is reported by others, and not tested here."""
        match log:
            case wire.Published() if self._terms is None:
                self._terms = log.terms
            case wire.Registered():
                self._registered.setdefault(log.query, log)
            case wire.Revealed() if log.query in self._registered and log.start < log.end:
                self._reveal(log)

    def finish(self, report: Report) -> None:
        """Report whether the commitment opens, and if it does, whether the increments are plausible."""
        if self._terms is None:
            return
        opens = report.check(
            Rule.COMMITMENT,
            self._dataset.commitment() == self._terms.commitment,
            "Data, secret and journal's identity do not open the published commitment: at least one of them is not what the "
            "ledger was published with.",
        )
        if self._terms.replaces:
            sentence = "The data has another number of records than the ledger was published for."
            report.check(Rule.COMMITMENT, self._dataset.rows == self._terms.rows, sentence)
        report.scope = Scope(Opened.DONE if opens else Opened.FAILED)
        if opens:
            self._check_noise(report)
        else:
            report.notes.append("The noise was not tested, since that needs what the ledger was published with.")

    def _check_noise(self, report: Report) -> None:
        for answer in self._answers.values():
            sentence = f"'{answer.name}' was answered, and the data cannot answer it."
            report.check(Rule.NOISE, answer.truth is not None, sentence)
        outcomes = self._noise.outcomes()
        for outcome in outcomes:
            report.check(Rule.NOISE, outcome.holds, outcome.sentence)
            report.p_values[outcome.test.value] = outcome.p_value
        report.scope = Scope(Opened.DONE, self._noise.count, len(outcomes), ENOUGH_TO_TELL, self._noise.is_whole)

    def _reveal(self, log: wire.Revealed) -> None:
        if log.query not in self._answers:
            self._answers[log.query] = self._answer(self._registered[log.query])
        answer = self._answers[log.query]
        if answer.truth is not None and len(answer.truth) == len(log.increments):
            self._noise.take(answer.name, log.end - log.start, answer.truth, log.increments)

    def _answer(self, log: wire.Registered) -> _Answer:
        # Two queries may read the same in one line, and are told apart by their identifiers.
        short = f"query {log.query[:12]}"
        try:
            query = Query.parse(log.definition.decode())
            name = f"{query}, {short}"
            return _Answer(name, self._truth(query, log.sensitivity))
        except (NoiseledgerError, UnicodeDecodeError, RecursionError):
            return _Answer(short, None)

    def _truth(self, query: Query, sensitivity: Fraction | None) -> tuple[Fraction, ...] | None:
        if self._terms is None or not sensitivity:
            return None
        rows = self._terms.rows if self._terms.replaces else None
        return tuple(value / sensitivity for value in query.value(self._dataset.totals(query), rows))


def _journal_digest(secret_file: Path, folder: Path) -> bytes:
    beside = secret_file.parent / _IDENTITY
    file = beside if beside.exists() else folder / _IDENTITY
    try:
        identity = file.read_text(encoding="ascii", errors="replace").strip()
    except OSError as error:
        raise InvalidInput(
            f"The journal's identity in {file} cannot be read: {error.strerror}. The commitment opens only with it."
        ) from None
    if not re.fullmatch(r"[0-9a-f]{64}", identity):
        raise InvalidInput(f"{file} does not hold a journal's identity: expected 64 hexadecimal digits.")
    return sha256(bytes.fromhex(identity)).digest()


def _location(catalogue: Catalogue, data: Path | None) -> Location:
    source = catalogue.source
    if data is None:
        return source
    return replace(source, place=str(data)) if "://" not in source.place else Location.of({"file": str(data)}, Path())


@contextmanager
def _opened(location: Location, reading: Reading) -> Iterator[Source]:
    try:
        source = location.open(reading)
    except DataUnavailable as error:
        raise InvalidInput(str(error)) from None
    with closing(source):
        yield source

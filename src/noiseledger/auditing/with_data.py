"""Audit a ledger with the custodian's data and secret, which also checks what the chain alone cannot show.

Why the promise holds: this module adds only yes-or-no results to a report, and p-values that
:mod:`noiseledger.auditing.noise_tests` has rounded so that they do not disclose the noise. True answers stay in memory. No
sentence, note or error contains a true answer, the secret, or any noise.
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

from noiseledger.auditing import wire
from noiseledger.auditing.auditor import audit_with_observer
from noiseledger.auditing.chain import OnProgress
from noiseledger.auditing.noise_tests import ENOUGH_TO_TELL, NoiseTestSuite
from noiseledger.auditing.report import Report, Rule
from noiseledger.auditing.scope import Opening, Scope
from noiseledger.core.query import Query
from noiseledger.data.catalogue import Catalogue, read_catalogue
from noiseledger.data.commitment import Commitment, bind, read_secret
from noiseledger.data.location import Location
from noiseledger.data.reading import Reading
from noiseledger.data.source import Source, check_query
from noiseledger.errors import DataMismatch, DataUnavailable, InvalidInput, NoiseledgerError

_IDENTITY = "journal.identity"


def audit_with_data(
    ledger: str | os.PathLike[str],
    *,
    rpc: str,
    catalogue: Path,
    secret: Path | None = None,
    data: Path | None = None,
    block: str = "latest",
    from_genesis: bool = False,
    on_progress: OnProgress = lambda *_: None,
) -> Report:
    """Check everything that :func:`noiseledger.auditing.audit` checks, and also the commitment, the data and the noise.

    Args:
        ledger: The custodian's ledger file, or the contract's address.
        rpc: The URL of the chain's endpoint, or several URLs separated by commas.
        catalogue: The catalogue that the ledger was published from; it says where the data is.
        secret: The file with the commitment's secret; by default, the one in the catalogue's custody folder. The journal's
            identity must be in the same folder as the secret, or in the custody folder.
        data: A file to read instead of the catalogue's source.
        block: Audit the ledger as of this block: "finalized", "safe", "latest", or a number of blocks behind the newest,
            such as "latest-3".
        from_genesis: Read from the first block of the chain instead of the block that the ledger file names.
        on_progress: Called with the number of blocks read so far and the total number of blocks.
    """
    read = read_catalogue(catalogue)
    folder = read.file.with_suffix(".custody")
    secret_file = folder / "secret" if secret is None else Path(secret)
    key, journal = read_secret(secret_file), _journal_digest(secret_file, folder)
    with _opened(_location(read, data), read.reading) as source:
        dataset = Dataset(source, key, journal)
        return audit_with_observer(
            lambda: DataObserver(dataset),
            ledger,
            rpc=rpc,
            from_genesis=from_genesis,
            block=block,
            on_progress=on_progress,
        )


class Dataset:
    """The data as it is now: its true totals, and the commitment that a ledger of it would publish."""

    def __init__(self, source: Source, secret: bytes, journal: bytes) -> None:
        """Read from an open source on demand; ``journal`` is the hash of the journal's identity."""
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
        """Return the commitment that a ledger with this data, secret and journal would publish.

        Afterwards the totals are read again: if they are unchanged, they belong to the records that were committed to.
        """
        root = Commitment(self._source.records(), self._secret).root
        if any(tuple(self._source.totals(query)) != known for query, known in self._totals.items()):
            raise DataMismatch("The data changed while it was being read: try again when nobody is writing to it.")
        return bind(root, self._journal)


@dataclass(frozen=True)
class _Answer:
    """The true answer to a registered query, in units of its sensitivity; None if the data cannot answer it."""

    name: str
    truth: tuple[Fraction, ...] | None


class DataObserver:
    """Observes the events of a ledger, and compares them with its data."""

    def __init__(self, dataset: Dataset) -> None:
        """Start before the first event."""
        self._dataset = dataset
        self._terms: wire.Terms | None = None
        self._registered: dict[str, wire.Registered] = {}
        self._answers: dict[str, _Answer] = {}
        #: What is known of stretches of large answers that are not complete: where they start and end, and their numbers.
        self._parts: dict[str, tuple[int, int, list[int]]] = {}
        self._noise = NoiseTestSuite()

    def on_event(self, log: wire.Log) -> None:
        """Process the next event. The replay reports events that break a rule; they are not tested here."""
        match log:
            case wire.Published() if self._terms is None:
                self._terms = log.terms
            case wire.Registered():
                self._registered.setdefault(log.query, log)
            case wire.Revealed() if self._is_tested(log):
                self._reveal(log.query, log.end - log.start, log.increments)
            case wire.RevealedPiece() if self._is_tested(log):
                self._reveal_piece(log)

    def finish(self, report: Report) -> None:
        """Report whether the commitment opens and, if it does, whether the noise passes the tests."""
        if self._terms is None:
            return
        opens = report.check(
            Rule.COMMITMENT,
            self._dataset.commitment() == self._terms.commitment,
            "The data, the secret and the journal's identity do not open the published commitment: at least one of them is not "
            "what the ledger was published with.",
        )
        if self._terms.replaces:
            sentence = "The number of records in the data differs from the number the ledger was published for."
            report.check(Rule.COMMITMENT, self._dataset.rows == self._terms.rows, sentence)
        report.scope = Scope(Opening.DONE if opens else Opening.FAILED)
        if opens:
            self._check_noise(report)
        else:
            report.notes.append(
                "The noise was not tested, because that requires the data and the secret the ledger was published with."
            )

    def _check_noise(self, report: Report) -> None:
        for query, (start, end, numbers) in self._parts.items():
            # They are public too. Their path goes on when the stretch is complete, so they are tested on their own.
            self._reveal(query, end - start, numbers, is_complete=False)
        for answer in self._answers.values():
            sentence = f"'{answer.name}' was answered, but the data cannot answer it."
            report.check(Rule.NOISE, answer.truth is not None, sentence)
        outcomes = self._noise.outcomes()
        for outcome in outcomes:
            report.check(Rule.NOISE, outcome.holds, outcome.sentence)
            report.p_values[outcome.test.value] = outcome.p_value
        report.scope = Scope(Opening.DONE, self._noise.count, len(outcomes), ENOUGH_TO_TELL, self._noise.is_complete)

    def _is_tested(self, log: wire.Revealed | wire.RevealedPiece) -> bool:
        """Say whether the data is that of this answer: the data of later editions is not known."""
        return log.edition == 0 and log.query in self._registered and log.start < log.end

    def _reveal_piece(self, log: wire.RevealedPiece) -> None:
        """Collect the pieces of a stretch, and add it when it is complete; the replay reports what is out of order."""
        stretch, known = (log.start, log.end), self._parts.pop(log.query, (0, 0, []))
        numbers = known[2] if log.first else []
        if len(numbers) != log.first or (numbers and known[:2] != stretch):
            return
        numbers.extend(log.increments)
        if len(numbers) < self._registered[log.query].dimension:
            self._parts[log.query] = (*stretch, numbers)
        else:
            self._reveal(log.query, log.end - log.start, numbers)

    def _reveal(self, query: str, precision: int, increments: Sequence[int], *, is_complete: bool = True) -> None:
        if query not in self._answers:
            self._answers[query] = self._answer(self._registered[query])
        answer = self._answers[query]
        if answer.truth is None:
            return
        if is_complete and len(answer.truth) == len(increments):
            self._noise.add(answer.name, precision, answer.truth, increments)
        elif not is_complete and len(increments) < len(answer.truth):
            self._noise.add(f"{answer.name} (unfinished)", precision, answer.truth[: len(increments)], increments)

    def _answer(self, log: wire.Registered) -> _Answer:
        # Two queries may have the same short description, so the name includes the identifier.
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
            f"The journal's identity in {file} cannot be read: {error.strerror}. It is required to open the commitment."
        ) from None
    if not re.fullmatch(r"[0-9a-f]{64}", identity):
        raise InvalidInput(f"{file} does not contain a journal's identity: expected 64 hexadecimal digits.")
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

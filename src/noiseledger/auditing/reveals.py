"""Check each revealed stretch: it begins where the path ends, was bought, and is complete; large answers come in pieces."""

from __future__ import annotations

from noiseledger.auditing import wire
from noiseledger.auditing.books import Books, Listed, Path
from noiseledger.auditing.event_checks import EventChecks
from noiseledger.auditing.report import Rule


class Reveals:
    """Applies reveals, in order."""

    def __init__(self, books: Books, checks: EventChecks) -> None:
        """Write to the books, and report what is wrong."""
        self._books = books
        self._checks = checks

    def reveal(self, log: wire.Revealed) -> None:
        """Apply a stretch that was revealed at once."""
        self._checks.report.reveals += 1
        listed = self._listed(log)
        if listed is None:
            return
        path = self._books.path(log.edition, log.query)
        self._check_stretch(log, path)
        sizes = str(len(log.increments)), str(listed.dimension)
        sentence = "The number of values revealed is {}, but the query has {}."
        self._checks.check(Rule.REVEAL, sizes[0] == sizes[1], sentence, log, *sizes)
        sentence = "A large answer, of {} values, was not revealed in pieces."
        if self._checks.check(Rule.PIECES, not listed.is_large, sentence, log, sizes[1]):
            before = path.point or (0,) * len(log.increments)
            path.point = tuple(a + b for a, b in zip(before, log.increments, strict=False))
        path.revealed = log.end

    def reveal_piece(self, log: wire.RevealedPiece) -> None:
        """Apply a piece of a stretch, or all of it in one piece."""
        listed = self._listed(log)
        if listed is None:
            return
        path = self._books.path(log.edition, log.query)
        self._check_stretch(log, path)
        sentence = "A small answer, of {} values, was revealed in pieces."
        self._checks.check(Rule.PIECES, listed.is_large, sentence, log, str(listed.dimension))
        done = log.first + len(log.increments)
        self._check_piece(log, path, listed, done)
        path.digest = wire.piece_digest(path.digest or bytes.fromhex(log.query), log.end, log.first, log.increments)
        if done < listed.dimension:
            path.done, path.end = done, log.end
        else:
            path.done = path.end = 0
            path.revealed = log.end
            self._checks.report.reveals += 1

    def _listed(self, log: wire.Revealed | wire.RevealedPiece) -> Listed | None:
        listed = self._books.queries.get(log.query)
        sentence = "An answer was revealed for a query that is not registered."
        self._checks.check(Rule.RECORD, listed is not None, sentence, log)
        return listed

    def _check_stretch(self, log: wire.Revealed | wire.RevealedPiece, path: Path) -> None:
        if log.start < path.revealed:
            sentence = (
                "A stretch was revealed a second time: it starts at {}, but the path was already revealed up to {}."
            )
        else:
            sentence = "A stretch is missing: a reveal starts at {}, but the path was revealed only up to {}."
        self._checks.check(Rule.REVEAL, log.start == path.revealed, sentence, log, log.start, path.revealed)
        sentence = "A path was revealed backwards, from {} to {}."
        self._checks.check(Rule.REVEAL, log.start < log.end, sentence, log, log.start, log.end)
        sentence = "A path was revealed up to {}, but bought only up to {}."
        self._checks.check(Rule.REVEAL, log.end <= path.bought, sentence, log, log.end, path.bought)

    def _check_piece(self, log: wire.RevealedPiece, path: Path, listed: Listed, done: int) -> None:
        check = self._checks.check
        if log.first < path.done:
            sentence = "Numbers were revealed a second time: a piece starts after {} numbers of its stretch, but {} were known."
        else:
            sentence = "Numbers are missing: a piece starts after {} numbers of its stretch, but only {} were revealed."
        check(Rule.PIECES, log.first == path.done, sentence, log, str(log.first), str(path.done))
        sentence = "A piece belongs to a stretch up to {}, but the piece before it to one up to {}."
        check(Rule.PIECES, not path.done or log.end == path.end, sentence, log, log.end, path.end)
        sentence = "The pieces of a stretch have {} numbers, but the query has {}."
        sizes = str(done), str(listed.dimension)
        check(Rule.PIECES, done <= listed.dimension, sentence, log, *sizes)
        check(Rule.PIECES, len(log.increments) > 0, "A piece has no numbers.", log)

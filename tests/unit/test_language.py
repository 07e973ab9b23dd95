"""Plain English stays: phrases that readers stumbled over do not come back.

``RETIRED`` is the one list. A phrase on it is unambiguous: nobody needs it to say something else. Words that were replaced by a
term of the glossary are listed there.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
#: Lists retired words on purpose.
GLOSSARY = ROOT / "docs" / "reference" / "glossary.md"
DOCUMENTS = sorted({*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")} - {GLOSSARY})
FOLDERS = ("src", "evaluation", "scripts", "benchmarks")
SOURCES = sorted(
    file for folder in FOLDERS for kind in ("py", "html", "js", "vy") for file in (ROOT / folder).rglob(f"*.{kind}")
)
#: In documents, quotes of programs: they change with the programs.
QUOTED = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Phrase:
    """A phrase that must not come back, with what to write instead, and whether the source is free of it as well."""

    text: str
    instead: str
    gone_from_source: bool = False

    def __str__(self) -> str:
        """Name the test's case."""
        return self.text

    def lines(self, text: str) -> list[int]:
        """Return the numbers of the lines where it begins, whatever its case and wherever its lines are broken."""
        pattern = r"\b" + r"\s+".join(re.escape(word) for word in self.text.split())
        return [text.count("\n", 0, match.start()) + 1 for match in re.finditer(pattern, text, re.IGNORECASE)]


RETIRED = [
    Phrase(
        "a back to go behind", "say what is hidden: 'helps only if the best answer is hidden'", gone_from_source=True
    ),
    Phrase("tells otherwise", "'X and Y disagree on Z'", gone_from_source=True),
    Phrase("in so many words", "'explicitly'", gone_from_source=True),
    Phrase("error of ours", "'internal error'", gone_from_source=True),
    Phrase("within a hair", "'extremely close to'", gone_from_source=True),
    Phrase("lose its way", "say what the program does: 'gets stuck'", gone_from_source=True),
    Phrase("in the wrong hands", "'compromised'", gone_from_source=True),
    Phrase("what it may have said", "'answers that may have been sent'", gone_from_source=True),
    Phrase("look what is left", "'check what remains'", gone_from_source=True),
    Phrase("cannot bear", "'exceeds the budget'", gone_from_source=True),
    Phrase("budget bears", "'the budget can afford'", gone_from_source=True),
    Phrase("for the length of a block", "'as a context manager'", gone_from_source=True),
    Phrase("so close to the truth", "'largest acceptable error'", gone_from_source=True),
    Phrase("so far from the truth", "'largest acceptable error'", gone_from_source=True),
    Phrase("takes the place of", "'replaces'", gone_from_source=True),
    Phrase("took the place of", "'replaced'", gone_from_source=True),
    Phrase("here is no terminal", "'there is no terminal'", gone_from_source=True),
    Phrase("neither a yes", "'no confirmation'", gone_from_source=True),
    Phrase("what is free needs", "'free answers need'", gone_from_source=True),
    Phrase("in all its languages", "'in all notations'", gone_from_source=True),
    Phrase("fixed for ever", "'permanent'", gone_from_source=True),
    Phrase("play money", "'coins without value'", gone_from_source=True),
    Phrase("made-up", "'synthetic'", gone_from_source=True),
    Phrase("wish", "'accuracy', or 'want' as a verb", gone_from_source=True),
    Phrase("tells how it is", "'reports its health'", gone_from_source=True),
    Phrase("greet each other", "'reconnect'", gone_from_source=True),
    Phrase("knows nothing of", "'does not depend on'", gone_from_source=True),
    Phrase("on a stage of", "'with their own chain'", gone_from_source=True),
    Phrase("by turns", "'take turns'", gone_from_source=True),
    Phrase("what it does not.**", "'Limits.'"),
    Phrase("goes on where", "'continues where'", gone_from_source=True),
    Phrase("is lost to", "say how: 'averaging fresh answers is how privacy is lost'", gone_from_source=True),
    Phrase("so near to", "'within this distance of'", gone_from_source=True),
    Phrase("so many requests at", "'the given number of requests'", gone_from_source=True),
    Phrase("tells the same story", "'shows the same pattern'", gone_from_source=True),
    Phrase("phone and desk", "'mobile and desktop'", gone_from_source=True),
    Phrase("ask and pay", "'Ask, using 0.3% of the privacy budget'", gone_from_source=True),
    Phrase("the truth lies", "'the value in the data lies'", gone_from_source=True),
    Phrase("too expensive", "'not enough budget'", gone_from_source=True),
    Phrase("of which no mean", "'whose mean says nothing'", gone_from_source=True),
    Phrase("read otherwise", "'read differently'", gone_from_source=True),
    Phrase("tell facts about", "'reveal facts about'", gone_from_source=True),
    Phrase("something else than a", "'something other than a'"),
    Phrase("comes to mean", "'always means the same'"),
    Phrase("guarantee epsilon", "'promise epsilon', or 'use epsilon' of answers", gone_from_source=True),
    Phrase("guarantees epsilon", "'promises epsilon'", gone_from_source=True),
    Phrase("so far guarantee", "'the answers so far use epsilon'", gone_from_source=True),
    Phrase("answer is paid for", "'the answer is bought'", gone_from_source=True),
    Phrase("were already paid for", "'were already bought'", gone_from_source=True),
    Phrase("paid for in", "'bought in'", gone_from_source=True),
    Phrase("paid for", "'bought'"),
    Phrase("transaction that pays for", "'the transaction that buys it'", gone_from_source=True),
    Phrase("privacy that nobody", "'privacy that no budget contains'", gone_from_source=True),
    Phrase("p-value at most", "'by chance in at most 1 of 1,000 sound ledgers'", gone_from_source=True),
    Phrase("at cost", "'with privacy cost', or 'using 1% of the privacy budget'", gone_from_source=True),
    Phrase("mend", "'fix'", gone_from_source=True),
    Phrase("another journal than", "'X is not the journal that ...'", gone_from_source=True),
    Phrase("another secret than", "'not published with the secret in X'", gone_from_source=True),
    Phrase("another account than", "'did not sign with the account X'", gone_from_source=True),
    Phrase("other data than", "'not published with the data in X'", gone_from_source=True),
    Phrase("cannot be told here", "'this machine cannot tell'", gone_from_source=True),
    Phrase("apart from each other", "'in separate places'", gone_from_source=True),
    Phrase("answers of the past", "'earlier answers'", gone_from_source=True),
    Phrase("without a word", "'silently'"),
    Phrase("the budget pays for", "say how accurate answers can be, in per cent of the budget", gone_from_source=True),
]


@pytest.mark.parametrize("phrase", RETIRED, ids=str)
def test_no_document_uses_it(phrase: Phrase) -> None:
    assert _places(phrase, {file: _prose(file.read_text()) for file in DOCUMENTS}) == [], f"write {phrase.instead}"


@pytest.mark.parametrize("phrase", [phrase for phrase in RETIRED if phrase.gone_from_source], ids=str)
def test_no_source_uses_it(phrase: Phrase) -> None:
    assert _places(phrase, {file: file.read_text() for file in SOURCES}) == [], f"write {phrase.instead}"


def test_a_phrase_is_found_across_lines_and_outside_of_quotes_only() -> None:
    text = "One.\nThis Tells\n  otherwise.\n```\nIt tells otherwise.\n```\nretells otherwise\n"
    assert Phrase("tells otherwise", "").lines(_prose(text)) == [2]
    assert len(DOCUMENTS) > 20
    assert ROOT / "CONTRIBUTING.md" in DOCUMENTS
    assert all(any(ROOT / folder in file.parents for file in SOURCES) for folder in FOLDERS)


def _places(phrase: Phrase, texts: dict[Path, str]) -> list[str]:
    return [f"{file.relative_to(ROOT)}:{line}" for file, text in texts.items() for line in phrase.lines(text)]


def _prose(text: str) -> str:
    """Return a document without the programs' own words, with its lines where they were."""
    return QUOTED.sub(lambda quote: "\n" * quote[0].count("\n"), text)

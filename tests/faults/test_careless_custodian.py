"""A careless custodian: random sequences of sensible and foolish commands, with a real chain and real files.

Whatever was renamed, copied, edited, deleted, restored or repeated, with whichever key and chain, there is never a second
promise that nobody asked for or that its ledger does not name, a query on sale that the journal cannot answer, a secret or a
journal that a command made in the place of a lost one, a published answer to another question than its definition says, or a
name that means one query today and another one tomorrow.
"""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from command import Done, Runner, bare_environment
from depth import examples
from noiseledger.chain import Key, PrivacyLedgerContract, Rpc, Sender, encode_request, local_chain
from noiseledger.cli.exits import BUG
from noiseledger.core.query import Query
from noiseledger.custodian.journal import Journal
from noiseledger.errors import NoiseledgerError
from noiseledger.ledger.chain import ChainLedger
from noiseledger.ledger.file import LedgerFile

CUSTODIAN, WORKER, STRANGER = local_chain.PLAY_KEYS
KEYS = {Key.from_hex(key).address.lower(): key for key in local_chain.PLAY_KEYS}
ANALYST = Key.from_hex(local_chain.PLAY_ANALYSTS[1])
STEPS = 30
ONCE = ("--once", "--head", "latest", "--patience", "0")
ALLOW = ("allow", ANALYST.address, "--precision", "90", "--yes")
PRIVATE = ("secret", "journal.identity", "journal.ledger")
CATALOGUE = """
[source]
file = "people.csv"
[privacy]
epsilon = 60
delta = "1e-6"
neighbours = "replace"
access = "open"
[columns.age]
kind = "number"
lower = 0
upper = 80
missing = 0
[queries.over_60]
measure = "share"
where = "age > 60"
[queries.mean_age]
measure = "mean"
column = "age"
"""
#: Sensible and foolish edits: what is replaced by what.
EDITS = (
    ("upper = 80", "upper = 60"),
    ("missing = 0", "missing = 40"),
    ("age > 60", "age > 50"),
    ("epsilon = 60", "epsilon = 90"),
    ('access = "open"', 'access = "invitation"'),
    ("[queries.mean_age]", "[queries.average_age]"),
    ('measure = "mean"', 'measure = "sum"'),
    ('neighbours = "replace"', 'neighbours = "add-remove"'),
    ('kind = "number"\n', 'kind = "number"\nunknown = 1\n'),
    ('delta = "1e-6"', 'delta = "1e-6"\nallowance = true'),
    (CATALOGUE[CATALOGUE.index("[queries.mean_age]") :], ""),
    ("\n[source]", '[queries.over_30]\nmeasure = "share"\nwhere = "age > 30"\n[source]'),
    ("\n[source]", '[queries.tall]\nmeasure = "share"\nwhere = "height > 30"\n[source]'),
)


@dataclass
class Published:
    """A ledger on a chain, as the test found it: not from the register, which is under test."""

    url: str
    address: str
    custody: Path
    #: Folders with the catalogue, the data and the custody as they were after each command, the newest last.
    copies: list[Path] = field(default_factory=list)
    #: How many of them have a journal that was declared lost since.
    replaced: int = 0
    #: What every name meant in any ledger file of it.
    names: dict[str, Query] = field(default_factory=dict)


class Office:
    """The custodian's folders, and everything that is done in them."""

    def __init__(self, folder: Path, run: Runner, monkeypatch: pytest.MonkeyPatch, urls: tuple[str, str]) -> None:
        self.folder, self.run, self.monkeypatch, self.urls = folder, run, monkeypatch, urls
        self.home = folder / "office"
        self.backups = folder / "backups"
        self.ledgers: dict[tuple[str, str], Published] = {}
        self.seen: dict[str, int] = {}
        self.find_ledgers(self.home / "people.toml")
        self.ledgers.clear()  # those of other tests
        self.story: list[str] = []
        #: From now on, only custody folders beside a catalogue show what was published.
        self.is_forgetful = False
        self.home.mkdir()
        ages = [20 + n % 60 for n in range(200)]
        (self.home / "people.csv").write_text("\n".join(["age", *map(str, ages)]) + "\n")
        (self.home / "people.toml").write_text(CATALOGUE)

    # What can happen.

    def catalogues(self) -> list[Path]:
        return [file for folder in (self.home, self.folder / "copy") for file in sorted(folder.glob("*.toml"))]

    def custodies(self) -> list[Path]:
        return [file for folder in (self.home, self.folder / "copy") for file in sorted(folder.glob("*.custody"))]

    def live(self, chance: random.Random) -> None:
        """Do one thing."""
        actions: list[tuple[int, Callable[[random.Random], None]]] = [
            (8, self.publish),
            (5, self.work),
            (5, self.buy),
            (4, self.edit),
            (2, self.rename),
            (2, self.copy),
            (3, self.delete),
            (4, self.restore),
            (1, self.correct_the_data),
            (1, self.look),
            (1, self.lose_the_registers),
            (1, self.recover),
        ]
        weights, doings = zip(*actions, strict=True)
        (doing,) = chance.choices(doings, weights)
        doing(chance)

    def publish(self, chance: random.Random) -> None:
        flags = chance.choice(
            [
                [],
                ["--json"],
                ["--yes"],
                ["--yes"],
                ["--json", "--yes"],
                ["--yes", "--worker", Key.from_hex(WORKER).address],
            ]
        )
        if chance.random() < 0.15:
            flags = [*flags, "--second-promise"]
        typed = chance.choice([None, None, "y\n", "n\n"])
        self.command(chance, "publish", *flags, typed=typed)

    def work(self, chance: random.Random) -> None:
        self.command(chance, "work", *ONCE)

    def look(self, chance: random.Random) -> None:
        self.command(chance, chance.choice(["check", "doctor"]))

    def lose_the_registers(self, chance: random.Random) -> None:
        """Delete what is hidden beside a catalogue, or in the home; a custody folder that is there must be enough."""
        is_here = all((ledger.custody / "ledger.json").exists() for ledger in self.ledgers.values())
        if is_here and not (self.folder / "copy").exists():
            self.is_forgetful = True
            places = [self.home / ".noiseledger", self.folder / "state"]
            for place in places if chance.random() < 0.5 else [chance.choice(places)]:
                shutil.rmtree(place, ignore_errors=True)
                self.story.append(f"delete {place}")

    def recover(self, chance: random.Random) -> None:
        """Declare a journal lost; from then on, no copy of it may ever answer."""
        files = [file for file in self.catalogues() if (file.with_suffix(".custody") / "ledger.json").exists()]
        if not files:
            return
        file = chance.choice(files)
        journal = file.with_suffix(".custody") / "journal.ledger"
        lost = journal.read_bytes() if journal.exists() else b""
        journal.unlink(missing_ok=True)
        key, flags = chance.choice([(CUSTODIAN, []), (STRANGER, []), (STRANGER, ["--without-custodian-key"])])
        done = self.call(key, self.urls[0], file.parent, "recover", file.name, "--yes", *flags)
        self.story.append(f"recover {file.name}: exit {done.code} {done.err.strip()[:200]}")
        if done.code:
            journal.write_bytes(lost) if lost else None
            return
        if not flags:
            self.check_closed_is_not_sold(journal)
        rebuilt = journal.read_bytes()
        if lost:
            journal.write_bytes(lost)
            for command in ("publish", "--yes"), ("work", *ONCE):
                done = self.call(CUSTODIAN, self.urls[0], file.parent, command[0], file.name, *command[1:])
                assert done.code, f"{command[0]} goes on with a journal that was replaced"
            journal.write_bytes(rebuilt)
        # Older copies are replaced as well.
        for ledger in self.ledgers.values():
            if ledger.custody == file.with_suffix(".custody"):
                ledger.replaced = len(ledger.copies)
        self.copy_custodies()

    def check_closed_is_not_sold(self, journal_file: Path) -> None:
        with closing(Journal.open(journal_file)) as journal, Rpc(self.urls[0]) as rpc:
            contract = PrivacyLedgerContract(rpc, journal.address)
            assert all(contract.query_paused(identifier) for identifier in journal.closed())

    def edit(self, chance: random.Random) -> None:
        file = chance.choice(self.catalogues())
        before, after = chance.choice(EDITS)
        if chance.random() < 0.4:
            file.write_text(CATALOGUE)
            self.story.append(f"write {file.name} anew")
        else:
            file.write_text(file.read_text().replace(before, after))
            self.story.append(f"in {file.name}, write {after!r} for {before!r}")

    def rename(self, chance: random.Random) -> None:
        file = chance.choice(self.catalogues())
        new = file.with_name(chance.choice(["people", "new", "old"]) + ".toml")
        if not new.exists():
            file.rename(new)
            self.story.append(f"rename {file.name} to {new.name}")

    def copy(self, chance: random.Random) -> None:
        """Copy a catalogue under a new name, or everything but what is hidden or in custody to another folder."""
        other = self.folder / "copy"
        # A copy with other records is other data, as far as a program can tell; the docs say so.
        people = (self.home / "people.csv").read_bytes()
        published = [ledger.copies[0] / "people.csv" for ledger in self.ledgers.values() if ledger.copies]
        is_same = bool(published) and all(file.read_bytes() == people for file in published)
        if chance.random() < 0.5 and not other.exists() and is_same and not self.is_forgetful:
            shutil.copytree(self.home, other, ignore=shutil.ignore_patterns(".*", "*.custody"))
            self.story.append("copy the folder")
        else:
            file = chance.choice(self.catalogues())
            shutil.copy(
                file, file.with_name(chance.choice(["new", "old"]) + ".toml")
            ) if file.stem == "people" else None
            self.story.append(f"copy {file.name}")

    def delete(self, chance: random.Random) -> None:
        if custodies := self.custodies():
            custody = chance.choice(custodies)
            name = chance.choice([*PRIVATE] if self.is_forgetful else [*PRIVATE, "ledger.json", "", ""])
            if name:
                (custody / name).unlink(missing_ok=True)
            else:
                shutil.rmtree(custody)
            self.story.append(f"delete {custody.name}/{name}")

    def restore(self, chance: random.Random) -> None:
        """Restore any state that ever was, all of it or one file."""
        if copies := [(ledger, copy) for ledger in self.ledgers.values() for copy in ledger.copies]:
            ledger, copy = chance.choice(copies)
            one = [[name] for name in ("ledger.json", *PRIVATE)]
            names = chance.choice(one + [["ledger.json", *PRIVATE]] * 3)
            ledger.custody.mkdir(exist_ok=True)
            for name in names:
                shutil.copy(copy / "people.custody" / name, ledger.custody / name)
            self.story.append(f"restore {names} of {copy} to {ledger.custody}")

    def correct_the_data(self, chance: random.Random) -> None:
        """Change one record where the data is, or put the first version back."""
        file = self.home / "people.csv"
        if (self.folder / "copy").exists():
            return
        lines = file.read_text().splitlines()
        lines[1] = "79" if lines[1] == "20" else "20"
        file.write_text("\n".join(lines) + "\n")
        self.story.append("correct a record")

    def buy(self, chance: random.Random) -> None:
        """An analyst buys what is on sale, on any ledger."""
        if self.ledgers:
            ledger = chance.choice(list(self.ledgers.values()))
            with Rpc(ledger.url) as rpc:
                client = ChainLedger(PrivacyLedgerContract(rpc, ledger.address, Sender(rpc, ANALYST)), answer_seconds=0)
                with suppress(NoiseledgerError):
                    client.ask(chance.choice(client.queries()), precision=Fraction(chance.randint(1, 20), 10))
            self.story.append(f"buy from {ledger.address}")

    # How it is done, and what must hold afterwards.

    def command(self, chance: random.Random, name: str, *flags: str, typed: str | None = None) -> None:
        """Run a command, mostly with the right key and on the right chain, and look at what it did."""
        file = chance.choice(self.catalogues())
        key = chance.choice([CUSTODIAN] * 6 + [STRANGER])
        url = chance.choice([self.urls[0]] * 8 + [self.urls[1]])
        private, ledgers = self.private(), set(self.ledgers)
        self.story.append(
            f"{name} {file.relative_to(self.folder)} {' '.join(flags)} ({typed!r}, {key[:6]}, {url[-5:]})"
        )
        done = self.call(key, url, file.parent, name, file.name, *flags, typed=typed)
        self.story.append(f"  exit {done.code}: {(done.err or done.out).strip()[:300]}")
        for lost, content in private.items():
            now = lost.read_bytes() if lost.exists() else None
            # The name of a journal that was checked may be written again: it is the one that it always had.
            assert now in (content, self.name_of(lost)), f"{name} made something in the place of what was lost"
        self.find_ledgers(file)
        if name == "publish" and not done.code:
            self.check_journal(file.with_suffix(".custody"))
            self.check_names(file.with_suffix(".custody"))
        for new in set(self.ledgers) - ledgers:
            assert not ledgers or "--second-promise" in flags, "a second promise that nobody asked for"
            named = json.loads((self.ledgers[new].custody / "ledger.json").read_text()).get("also_published", [])
            assert {address for _, address in ledgers} <= {other["address"].lower() for other in named}
        self.copy_custodies()

    def check_journal(self, custody: Path) -> None:
        """Check that a journal that queries were added to has every answer that is on the chain."""
        known = json.loads((custody / "ledger.json").read_text())
        url = next(url for url, address in self.ledgers if address == known["address"].lower())
        with closing(Journal.open(custody / "journal.ledger")) as journal, Rpc(url) as rpc:
            contract = PrivacyLedgerContract(rpc, known["address"])
            for query in ChainLedger(contract).queries():
                meter = contract.meter(query.identifier)
                if meter.revealed > journal.closed().get(query.identifier, 0):
                    assert journal.known_point(query, meter.revealed) == contract.point(query.identifier)

    def check_names(self, custody: Path) -> None:
        """Check that a ledger file gives no name to another query than any earlier one did."""
        file = LedgerFile.read(custody / "ledger.json")
        (ledger,) = (ledger for (_, address), ledger in self.ledgers.items() if address == file.address.lower())
        for name, query in file.queries.items():
            assert ledger.names.setdefault(name, query) == query, f"{name} has another meaning now"

    def call(self, key: str, url: str, folder: Path, *arguments: str, typed: str | None = None) -> Done:
        self.monkeypatch.setenv("NOISELEDGER_KEY", key)
        self.monkeypatch.setenv("NOISELEDGER_RPC", url)
        self.monkeypatch.chdir(folder)
        done = self.run(*arguments, typed=typed)
        assert done.code != BUG, done.err
        return done

    def private(self) -> dict[Path, bytes | None]:
        """Return the secrets and the journals' names of folders from which something may have been published."""
        return {
            file: file.read_bytes() if file.exists() else None
            for custody in self.custodies()
            if (custody / "ledger.json").exists() or (custody / "journal.identity").exists()
            for file in (custody / "secret", custody / "journal.identity")
        }

    def name_of(self, file: Path) -> bytes | None:
        """Return the name that a custody folder's journal has in the copies, for its own file only."""
        if file.name != "journal.identity":
            return None
        copies = [copy for ledger in self.ledgers.values() if ledger.custody == file.parent for copy in ledger.copies]
        return (copies[-1] / "people.custody" / file.name).read_bytes() if copies else None

    def find_ledgers(self, file: Path) -> None:
        """Find the contracts that the last command deployed."""
        for url in self.urls:
            with Rpc(url) as rpc:
                newest = int(rpc.call("eth_blockNumber"), 16)
                for block in range(self.seen.get(url, 0), newest + 1):
                    for transaction in rpc.call("eth_getBlockByNumber", hex(block), True)["transactions"]:
                        if transaction["to"] is None:
                            address = rpc.call("eth_getTransactionReceipt", transaction["hash"])["contractAddress"]
                            self.ledgers[url, address] = Published(url, address, file.with_suffix(".custody"))
                self.seen[url] = newest + 1

    def copy_custodies(self) -> None:
        for number, ledger in enumerate(self.ledgers.values()):
            if all((ledger.custody / name).exists() for name in ("ledger.json", *PRIVATE)):
                copy = self.backups / f"{number}" / f"{len(ledger.copies)}"
                shutil.copytree(ledger.custody, copy / "people.custody")
                first = ledger.copies[0] if ledger.copies else None
                shutil.copy((first or ledger.custody.parent) / "people.csv", copy)
                catalogue = ledger.custody.with_suffix(".toml")
                if first is not None and not catalogue.exists():
                    catalogue = ledger.copies[-1] / "people.toml"
                shutil.copy(catalogue, copy / "people.toml")
                ledger.copies.append(copy)

    def come_to_their_senses(self) -> None:
        """With the best copy that ever was, everything on sale is answered, and every answer is the one to its question."""
        for ledger in self.ledgers.values():
            with Rpc(ledger.url) as rpc:
                contract = PrivacyLedgerContract(rpc, ledger.address, Sender(rpc, ANALYST))
                key, owner = KEYS[contract.worker().lower()], KEYS[contract.custodian().lower()]
                if contract.terms().requires_allowance:
                    self.call(owner, ledger.url, ledger.copies[-1], *ALLOW, "people.custody/ledger.json")
                known = ChainLedger(contract).queries()
                queries = [query for query in known if not contract.query_paused(query.identifier)]
                contract.ask([encode_request(q.identifier, contract.meter(q.identifier).bought + 1) for q in queries])
                copies = reversed(ledger.copies[ledger.replaced :])
                assert any(self.answers(copy, contract, queries, key, ledger) for copy in copies)

    def answers(self, copy: Path, contract: Any, queries: list[Query], key: str, ledger: Published) -> bool:
        """Return whether a copy, put back, answers everything; if so, the audit with the data must find no problem."""
        folder, catalogue = ledger.custody.parent, ledger.custody.with_suffix(".toml").name
        shutil.rmtree(ledger.custody, ignore_errors=True)
        shutil.copytree(copy / "people.custody", ledger.custody)
        shutil.copy(copy / "people.csv", folder)
        shutil.copy(copy / "people.toml", folder / catalogue)
        worked = self.call(key, ledger.url, folder, "work", catalogue, *ONCE)
        self.story.append(f"  work with {copy}: exit {worked.code} {worked.err[:300]}")
        meters = zip(queries, contract.meters([query.identifier for query in queries]), strict=True)
        left = {query.identifier for query, meter in meters if meter.bought > meter.revealed}
        with closing(Journal.open(ledger.custody / "journal.ledger")) as journal:
            # What was closed and is still sold, because recover had no custodian's key, was announced.
            if worked.code or left - set(journal.closed()):
                return False
        ledger_file = str(ledger.custody / "ledger.json")
        audited = self.call(
            key, ledger.url, folder, "audit", ledger_file, "--catalogue", catalogue, "--block", "latest"
        )
        assert audited.code == 0, audited.out
        return True


@pytest.fixture(scope="module")
def chains() -> Iterator[tuple[str, str]]:
    with local_chain.running() as chain, local_chain.running() as other, Rpc(other.url) as rpc:
        rpc.call("anvil_setChainId", local_chain.CHAIN_ID + 1)
        yield chain.url, other.url


@pytest.mark.parametrize("seed", range(examples(3)))
def test_a_careless_week(
    seed: int,
    chains: tuple[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    bare_environment(monkeypatch, tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    office = Office(tmp_path, Runner(monkeypatch, capsys), monkeypatch, chains)
    chance = random.Random(seed)
    try:
        for _ in range(STEPS):
            office.live(chance)
        office.come_to_their_senses()
    except BaseException:
        print("\n".join(office.story))
        raise

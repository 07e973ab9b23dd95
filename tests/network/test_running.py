"""Three validators: they take turns, keep to themselves, and sign nothing but blocks."""

from __future__ import annotations

import json
import stat
import subprocess
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import psutil
import pytest

from command import COMMAND, Run, Runner, bare_environment
from network.conftest import block_hash, pay, running, sealer, up_again, wait_for_blocks
from noiseledger.chain import Rpc
from noiseledger.errors import RpcFailed
from noiseledger.network import ipc
from noiseledger.network.layout import Layout, NetworkOptions
from noiseledger.network.network import Network
from noiseledger.network.signer import SOCKET


def sealers(network: Network, blocks: int) -> list[str]:
    asked = network.validators[0]
    last = int(asked.ask("eth_blockNumber"), 16)
    return [sealer(asked, number) for number in range(last - blocks + 1, last + 1)]


def processes(network: Network) -> list[psutil.Process]:
    pids = [pid for each in network.status() for pid in (each.pid, each.signer_pid)]
    return [psutil.Process(pid) for pid in pids]


def test_all_are_connected_and_take_turns(network: Network) -> None:
    wait_for_blocks(network, 9)
    assert [(each.running, each.peers) for each in network.status()] == [(True, 2)] * 3
    sealed = sealers(network, 9)
    assert set(sealed) == {member.address.lower() for member in network.layout.members}
    assert all(one != next_one for one, next_one in pairwise(sealed))
    assert sum(each.sealed or 0 for each in network.status()) == pytest.approx(1, abs=0.1)


def test_none_seals_before_all_are_ready(binary: Path, tmp_path: Path) -> None:
    # Else each could seal the first block for itself, and wait for the others for ever.
    folder, options = tmp_path / "net", NetworkOptions(validators=3, block_seconds=1, port=0)
    early = Network(Layout.open(folder, options)).validators[0]
    try:
        early.start(binary)
        early.wait_until_up()
        early.make_ready()
        time.sleep(4)
        assert early.ask("eth_blockNumber") == "0x0"
        network = Network.up(folder, options)
        assert len({block_hash(network, number, 1) for number in range(3)}) == 1
    finally:
        Network.at(folder).down()


def test_nothing_listens_beyond_loopback(network: Network) -> None:
    connections = [connection for process in processes(network) for connection in process.net_connections("inet")]
    assert sum(connection.status == psutil.CONN_LISTEN for connection in connections) == 9
    ends = [end for connection in connections for end in (connection.laddr, connection.raddr)]
    # What listens has no other end.
    assert {end.ip for end in ends if len(end)} == {"127.0.0.1"}


def test_over_http_nobody_can_sign_with_a_validators_key_or_manage_its_node(network: Network) -> None:
    member = network.layout.members[0]
    transaction = {"from": member.address, "to": member.address, "gas": "0x5208", "gasPrice": "0x77359400"}
    with Rpc(member.url) as rpc:
        for method, params in (
            ("eth_sendTransaction", [transaction]),
            ("eth_signTransaction", [transaction | {"nonce": "0x0", "value": "0x0"}]),
            ("eth_sign", [member.address, "0xdead"]),
        ):
            with pytest.raises(RpcFailed, match="seals blocks and signs nothing else"):
                rpc.call(method, *params)
        for method in ("clique_propose", "admin_nodeInfo", "personal_listAccounts", "miner_stop", "debug_setHead"):
            with pytest.raises(RpcFailed, match="not available"):
                rpc.call(method)


def test_the_signer_takes_no_transaction_for_a_block(network: Network) -> None:
    member = network.layout.members[0]
    socket = network.layout.home(member) / SOCKET
    # As long as a header, and a list as well; but its first field is no hash.
    disguised = "0xf90100" + "80" * 256
    for kind, data in (
        ("application/x-clique-header", disguised),
        ("application/x-clique-header", "0x"),
        ("text/plain", "0xdead"),
        ("data/plain", disguised),
    ):
        with pytest.raises(RpcFailed):
            ipc.ask(socket, "account_signData", kind, member.address, data)
    with pytest.raises(RpcFailed):
        ipc.ask(socket, "account_signTransaction", {})


def test_keys_are_for_their_owner_only_and_nowhere_else(network: Network) -> None:
    folder = network.layout.folder
    keys = [*folder.rglob("*.key"), *folder.rglob("jwtsecret")]
    assert len(keys) == 3 * 3 + 1
    assert all(stat.S_IMODE(key.stat().st_mode) == 0o600 for key in keys)
    homes = [folder, *(network.layout.home(member) for member in network.layout.members)]
    assert all(stat.S_IMODE(home.stat().st_mode) == 0o700 for home in homes)
    told = "".join(f"{process.cmdline()} {process.environ()}" for process in processes(network))
    told += "".join(
        file.read_text(errors="replace") for file in folder.rglob("*") if file.suffix in (".log", ".json", ".toml")
    )
    assert str(folder) in told
    assert not any(key.read_text().strip().removeprefix("0x") in told for key in keys)


def test_nothing_of_ours_is_in_the_environment_of_a_node(network: Network) -> None:
    for process in processes(network):
        assert set(process.environ()) <= {"PATH", "HOME", "PWD", "OLDPWD", "SHLVL", "_"}


def test_a_second_up_changes_nothing(network: Network) -> None:
    def seen() -> Any:
        files = [(file, file.read_bytes()) for file in sorted(network.layout.folder.glob("*")) if file.is_file()]
        return [(each.pid, each.signer_pid) for each in network.status()], files

    before = seen()
    up_again(network)
    assert seen() == before


def test_the_commands_show_and_measure(
    network: Network, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bare_environment(monkeypatch, tmp_path)
    run: Run = Runner(monkeypatch, capsys)
    folder = network.layout.folder
    started = run("network", "up", "--dir", folder, "--json").json
    assert started["rpc"] == ",".join(member.url for member in network.layout.members)
    assert Path(started["account_key_file"]).read_text() not in str(started)
    shown = run("network", "status", "--dir", folder)
    assert all(f"{member.name} {member.address} {member.url}" in shown.out for member in network.layout.members)
    idle = run("network", "idle", "--dir", folder, "--seconds", "2", "--json").json
    assert set(idle["by_validator"]) == {"validator-1", "validator-2", "validator-3"}
    assert idle["cpu_seconds_per_minute"] >= 0
    assert "processor seconds per minute" in run("network", "idle", "--dir", folder, "--seconds", "1").out


def test_two_commands_at_once_make_and_start_one_network(binary: Path, tmp_path: Path) -> None:
    folder = tmp_path / "net"
    command = [str(COMMAND), "network", "up", "--dir", str(folder), "--port", "0", "--block-seconds", "0", "--json"]
    try:
        both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
        told = [json.loads(process.communicate()[0]) for process in both]
    finally:
        Network.at(folder).down()
    one, other = ([(each["pid"], each["signer_pid"]) for each in each_told["validators"]] for each_told in told)
    assert one == other
    assert told[0]["account"] == told[1]["account"]
    assert [left.name for left in tmp_path.iterdir()] == ["net"]


def test_without_a_pace_there_are_blocks_only_for_transactions(binary: Path, tmp_path: Path) -> None:
    with running(tmp_path / "net", 0) as network:
        network.measure(3)
        assert {each.block for each in network.status()} == {0}
        for turn in range(6):
            pay(network, through=turn % 3)
        wait_for_blocks(network, 0)
        assert {each.block for each in network.status()} == {6}
        assert len(set(sealers(network, 6))) > 1

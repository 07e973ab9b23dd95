"""What goes wrong is said in one sentence, with what to do."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from command import Run, Runner, bare_environment
from network.conftest import running
from noiseledger.network import geth
from noiseledger.network.layout import Layout, NetworkOptions


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    bare_environment(monkeypatch, tmp_path)
    return Runner(monkeypatch, capsys)


@pytest.fixture
def bare_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine with nothing in its cache; return the only folder where programs are."""
    programs = tmp_path / "bin"
    programs.mkdir()
    monkeypatch.setenv("PATH", str(programs))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return programs


def fake_go(programs: Path, version: str, install: str) -> None:
    """Put a program in Go's place that does this to install."""
    go = programs / "go"
    go.write_text(
        f'#!/bin/sh\ncase "$1" in\nenv) echo {version} ;;\ninstall) {install} ;;\nversion) echo other ;;\nesac\n'
    )
    go.chmod(0o755)


def test_without_go_it_says_how_to_get_it(run: Run, bare_machine: Path, tmp_path: Path) -> None:
    done = run("network", "up", "--dir", tmp_path / "net")
    assert done.code == 5
    assert "apt-get install golang" in done.err
    assert "--rpc" in done.err
    assert not (tmp_path / "net").exists()


def test_a_go_that_is_too_old_is_named(run: Run, bare_machine: Path, tmp_path: Path) -> None:
    fake_go(bare_machine, "go1.19.8", "exit 1")
    assert "go1.19.8 is too old" in run("network", "up", "--dir", tmp_path / "net").err


def test_a_build_that_fails_leaves_nothing(run: Run, bare_machine: Path, tmp_path: Path) -> None:
    fake_go(bare_machine, "go1.24.1", "echo no such host >&2; exit 1")
    assert "could not be built (no such host)" in run("network", "up", "--dir", tmp_path / "net").err
    assert [file.name for file in (tmp_path / "cache" / "noiseledger").iterdir()] == [f"geth-{geth.VERSION}.lock"]


def test_another_source_is_not_kept(run: Run, bare_machine: Path, tmp_path: Path) -> None:
    fake_go(bare_machine, "go1.24.1", '/bin/mkdir -p "$GOBIN"; echo >"$GOBIN/geth"')
    assert "did not download the official source" in run("network", "up", "--dir", tmp_path / "net").err
    assert not (tmp_path / "cache" / "noiseledger" / f"geth-{geth.VERSION}").exists()


def test_the_build_is_told_no_secret(
    run: Run, bare_machine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NOISELEDGER_KEY", "5ec2e7" * 8)
    monkeypatch.setenv("NOISELEDGER_PASSWORD", "5ec2e7")
    fake_go(bare_machine, "go1.24.1", f"/usr/bin/env >{tmp_path}/told; exit 1")
    run("network", "up", "--dir", tmp_path / "net")
    told = (tmp_path / "told").read_text()
    assert "GOBIN=" in told
    assert "5ec2e7" not in told


def test_the_build_is_the_pinned_one(binary: Path) -> None:
    assert binary.parent.name == f"geth-{geth.VERSION}"
    assert os.access(binary, os.X_OK)


def test_a_port_in_use_is_named_before_anything_is_made(run: Run, binary: Path, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = run("network", "up", "--dir", tmp_path / "net", "--port", str(port))
    assert done.code == 5
    assert f"Port {port} cannot be used" in done.err
    assert list(tmp_path.iterdir()) == []


def test_a_port_that_was_taken_while_the_network_was_down_is_named(run: Run, binary: Path, tmp_path: Path) -> None:
    member = Layout.open(tmp_path / "net", NetworkOptions(port=0)).members[0]
    with socket.create_server(("127.0.0.1", member.peer_port)):
        done = run("network", "up", "--dir", tmp_path / "net")
    run("network", "down", "--dir", tmp_path / "net")
    assert done.code == 5
    assert f"Port {member.peer_port} of validator-1 is used by another program" in done.err


def test_networks_that_are_made_at_the_same_moment_have_ports_of_their_own(tmp_path: Path) -> None:
    """Two each by four processes, all alive until each was told to go, before any node has opened a port."""
    program = (
        "import sys, pathlib; from noiseledger.network.layout import Layout, NetworkOptions; input();"
        "nets = [Layout.open(pathlib.Path(folder), NetworkOptions(port=0)) for folder in sys.argv[1:]];"
        "print(*(p for net in nets for m in net.members for p in (m.rpc_port, m.peer_port, m.auth_port)))"
    )
    makers = [
        subprocess.Popen(
            [sys.executable, "-c", program, str(tmp_path / f"{number}a"), str(tmp_path / f"{number}b")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(4)
    ]
    ports = [port for maker in makers for port in maker.communicate("go\n")[0].split()]
    assert len(ports) == len(set(ports)) == 4 * 2 * 3 * 3


def test_another_network_is_not_touched(run: Run, binary: Path, tmp_path: Path) -> None:
    Layout.open(tmp_path / "net", NetworkOptions(validators=2, port=0))
    for option in (["--validators", "3"], ["--block-seconds", "7"], ["--chain-id", "5"], ["--fund", "0x" + "1" * 40]):
        done = run("network", "up", "--dir", tmp_path / "net", *option)
        assert done.code == 2
        assert "The network in" in done.err or "The first block of the network in" in done.err
    assert not any((tmp_path / "net").rglob("*.pid"))


def test_other_folders_are_not_touched(run: Run, binary: Path, tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    assert "contains something other" in run("network", "up", "--dir", tmp_path).err
    for command in ("down", "status", "idle"):
        assert "There is no network in" in run("network", command, "--dir", tmp_path).err
    assert "too long" in run("network", "up", "--dir", tmp_path / ("x" * 80)).err
    (tmp_path / "network.json").write_text("{}")
    assert "does not describe a network" in run("network", "status", "--dir", tmp_path).err
    assert (tmp_path / "thesis.txt").read_text() == "mine"


def test_who_gets_money_must_be_an_address(run: Run, binary: Path, tmp_path: Path) -> None:
    assert "is not an account's address" in run("network", "up", "--dir", tmp_path / "net", "--fund", "alice").err


def test_nothing_is_removed_without_a_yes(run: Run, binary: Path, tmp_path: Path) -> None:
    folder = tmp_path / "net"
    Layout.open(folder, NetworkOptions(port=0))
    assert "pass --yes" in run("network", "down", "--dir", folder, "--remove").err
    assert run("network", "down", "--dir", folder, "--remove", typed="n\n").code == 1
    assert (folder / "network.json").exists()
    assert run("network", "down", "--dir", folder, "--remove", typed="y\n").code == 0
    assert not folder.exists()


def test_what_is_stopped_cannot_be_measured_and_who_was_wished_money_has_it(
    run: Run, binary: Path, tmp_path: Path
) -> None:
    friend = "0x" + "ab" * 20
    folder = tmp_path / "net"
    Layout.open(folder, NetworkOptions(validators=3, port=0, block_seconds=0, fund=(friend,)))
    assert "Not all validators are running" in run("network", "idle", "--dir", folder).err
    with running(folder, 0) as network:
        assert int(network.validators[2].ask("eth_getBalance", friend, "latest"), 16) == 10**24

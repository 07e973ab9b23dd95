from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from integration.conftest import ANALYST, CUSTODIAN
from noiseledger.chain import Rpc, Sender, local_chain, npm
from noiseledger.errors import ChainError, ChainUnreachable

COMMAND = Path(sys.executable).with_name("noiseledger")


def test_state_is_kept_between_clean_stops(tmp_path: Path) -> None:
    state = tmp_path / "chain.json"
    with local_chain.running(state=state) as chain, Rpc(chain.url) as rpc:
        Sender(rpc, CUSTODIAN).wait(Sender(rpc, CUSTODIAN).send(ANALYST.address, "0x"))
        height = rpc.call("eth_blockNumber")
    with local_chain.running(state=state) as chain, Rpc(chain.url) as rpc:
        assert rpc.call("eth_blockNumber") == height == "0x1"


def test_it_listens_on_loopback_only_and_is_gone_when_stopped() -> None:
    with local_chain.running() as chain:
        assert chain.url.startswith("http://127.0.0.1:")
        url = chain.url
    assert chain.process.returncode is not None
    with pytest.raises(ChainUnreachable):
        Rpc(url, attempts=1)


def test_it_leaves_nothing_on_the_disk(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    # Where anvil puts its files by itself, and where we tell it to.
    home, ours = tmp_path / "home", tmp_path / "ours"
    binary = local_chain.install()
    monkeypatch.setattr(local_chain, "install", lambda: binary)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setattr(tempfile, "tempdir", str(ours))
    ours.mkdir()
    with local_chain.running(options=["--max-persisted-states", "100"]) as chain, Rpc(chain.url) as rpc:
        rpc.call("anvil_mine", hex(600))
        assert list(ours.iterdir())
    assert not list(ours.iterdir())
    assert not list(home.rglob("*state*"))


def test_blocks_come_at_the_time_given() -> None:
    with local_chain.running(block_seconds=60) as chain, Rpc(chain.url) as rpc:
        Sender(rpc, CUSTODIAN).send(ANALYST.address, "0x")
        assert rpc.call("eth_blockNumber") == "0x0"


def test_a_port_in_use_is_said_plainly() -> None:
    with local_chain.running() as chain:
        port = int(chain.url.rsplit(":", 1)[1])
        with pytest.raises(ChainError, match=r"Port \d+ cannot be used"):
            local_chain.start(port)


def test_a_port_is_kept_for_its_server() -> None:
    with local_chain.kept_port() as port:
        with socket.socket() as stranger, pytest.raises(OSError, match="Address already in use"):
            stranger.bind(("127.0.0.1", port))
        with socket.create_server(("127.0.0.1", port)), pytest.raises(ChainError, match=f"Port {port} cannot be used"):
            local_chain.free_port(port)
    assert local_chain.free_port(port) == port


def test_without_npm_it_says_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("shutil.which", lambda _: None)
    monkeypatch.setattr(npm, "find_spec", lambda _: None)
    with pytest.raises(ChainError, match=r"install Node\.js"):
        local_chain.install()


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_the_command_runs_a_chain_and_stops_cleanly(stop: signal.Signals, tmp_path: Path) -> None:
    state = tmp_path / "chain.json"
    command = [str(COMMAND), "chain", "--port", "0", "--json", "--state", str(state)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        lines = ""
        while not lines.endswith("}\n"):
            lines += process.stdout.readline()
        started = json.loads(lines)
        with Rpc(started["rpc"], chain_id=started["chain_id"]) as rpc:
            assert rpc.call("eth_blockNumber") == "0x0"
        process.send_signal(stop)
        assert process.wait() == 0
    assert state.is_file()
    with pytest.raises(ChainUnreachable):
        Rpc(started["rpc"], attempts=1)

"""The comparison with what people use today: the facts that its table claims, and how it copes with what cannot be had."""

from __future__ import annotations

import hashlib
import os
import signal
import socket
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from evaluation.peers import Job, Row, our_row, peer_names, peer_row, theirs
from evaluation.peers.environments import environment
from evaluation.peers.setting import truths
from evaluation.peers.table import Measured, Outcome, PeerAnswer, charges
from evaluation.peers.theirs import Peer
from evaluation.workload import paper_requests
from noiseledger.errors import InvalidInput, NoiseledgerError

ROOT = Path(__file__).parents[2]
#: Enough to use up epsilon 8 where epsilons add up, and few enough for libraries that take seconds for each.
JOB = Job(tuple(paper_requests(20, seed=1)), repeats=5)
#: Everyone's median error is some hundredths of this; an answer to another question is further off.
FAR = 0.5


def affordable(epsilons: list[float]) -> int:
    """Count the requests that are answered if epsilons add up, each that still fits."""
    left, answered = 8.0, 0
    for epsilon in epsilons:
        if epsilon <= left:
            left, answered = left - epsilon, answered + 1
    return answered


@pytest.mark.parametrize(
    ("name", "kept"), [("diffprivlib", True), pytest.param("opendp", False, marks=pytest.mark.deep)]
)
def test_a_peer_answers_until_its_epsilons_add_up_and_charges_for_every_repeat(name: str, kept: bool) -> None:
    row = peer_row(name, JOB)
    assert row.answered == affordable([float(request.epsilon) for request in JOB.requests]), row.note
    assert 0 < row.answered < 20 == row.of
    assert row.overdrawn == 0
    assert (row.charged, row.repeats) == (5, 5)
    assert row.relative_error is not None
    assert row.relative_error < FAR
    assert row.seconds is not None
    assert row.seconds > 0
    assert row.epsilon_left is not None
    assert 0 <= row.epsilon_left < 1.1
    # One hands out what was spent, and takes it back; of the other's budget nothing survives its process.
    assert row.epsilon_left_after_restart == pytest.approx(row.epsilon_left if kept else 8)


@pytest.mark.parametrize("kind", ["local", "chain"])
def test_our_ledger_charges_once_and_its_budget_survives_the_restart(kind: str) -> None:
    row = our_row("local" if kind == "local" else "chain", JOB)
    assert (row.answered, row.of, row.overdrawn) == (20, 20, 0)
    assert (row.charged, row.repeats) == (1, 5)
    assert row.relative_error is not None
    assert row.relative_error < FAR
    assert row.epsilon_left is not None
    assert 0 < row.epsilon_left < 8
    assert row.epsilon_left_after_restart == row.epsilon_left


def test_every_peer_has_a_script_that_reads_and_a_version_that_is_pinned() -> None:
    assert {"opendp", "smartnoise", "diffprivlib", "tumult", "lomas"} <= set(peer_names())
    for name in peer_names():
        peer = theirs.PEERS[name]
        if peer.obstacle:
            continue
        compile((peer.home / peer.script).read_text(encoding="utf-8"), peer.script, "exec")
        assert (peer.home / "requirements.in").read_text(encoding="utf-8").splitlines()[0].endswith(f"=={peer.version}")


def test_what_is_no_peer_is_refused_with_the_names_of_those_that_are() -> None:
    with pytest.raises(InvalidInput, match="opendp, "):
        peer_row("opendpp", JOB)


# What the figures mean


def outcome(*entries: PeerAnswer) -> Outcome:
    return Outcome((8.0, 1e-4), entries)


def test_answers_beyond_the_budget_do_not_count_as_answered() -> None:
    requests = JOB.requests[:4]
    truth = [truths()[request.query] for request in requests]
    entries = (
        PeerAnswer(truth[0] * 1.5, 1.0, (1.0, 1e-4)),
        PeerAnswer(None, 9.0, (1.0, 1e-4)),
        PeerAnswer(truth[2] * 3, 9.0, (-0.5, 1e-4)),
        PeerAnswer(truth[3] * 3, 9.0, (-0.5, -1e-5)),
    )
    row = Measured(outcome(*entries), (8.0, 1e-4), outcome()).row("s", "1", Job(requests), "")
    assert (row.answered, row.overdrawn, row.of) == (1, 2, 4)
    assert row.relative_error == pytest.approx(0.5)
    assert row.seconds == 1.0
    assert (row.epsilon_left, row.epsilon_left_after_restart) == (-0.5, 8.0)
    assert row.json()["answered"] == 1


def test_a_system_that_answers_nothing_or_tells_nothing_has_no_figures_made_up() -> None:
    row = Measured(
        Outcome(None, (PeerAnswer(None, 1.0, None),)), None, Outcome(None, (PeerAnswer(1.0, 1.0, None),))
    ).row("s", "1", Job(JOB.requests[:1]), "")
    assert (row.answered, row.relative_error, row.seconds, row.epsilon_left, row.charged) == (0, None, None, None, None)


def test_a_charge_is_seen_in_epsilon_or_in_delta() -> None:
    entries = [PeerAnswer(1.0, 1.0, left) for left in ((7.0, 1e-4), (7.0, 1e-4), (7.0, 5e-5), (6.0, 5e-5))]
    assert charges(outcome(*entries)) == 3


# Environments


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of a peer with one package, which lies in a folder beside it; caches are new, too."""
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    wheel = wheels / "tiny-1-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as file:
        file.writestr("tiny.py", "")
        file.writestr("tiny-1.dist-info/METADATA", "Metadata-Version: 2.1\nName: tiny\nVersion: 1\n")
        file.writestr("tiny-1.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        file.writestr("tiny-1.dist-info/RECORD", "tiny.py,,\n")
    peer = tmp_path / "tiny"
    peer.mkdir()
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    (peer / "requirements.lock").write_text(f"tiny==1 --hash=sha256:{digest}\n")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheels))
    return peer


def made(tiny: Path) -> list[Path]:
    return list((tiny.parent / "cache" / "noiseledger").glob("peer-*"))


def as_peer(tiny: Path, monkeypatch: pytest.MonkeyPatch, script: str = "", *programs: str) -> Row:
    (tiny / "answer.py").write_text(script)
    monkeypatch.setitem(theirs.PEERS, "tiny", Peer("Tiny", str(tiny), "tiny", programs=programs))
    return peer_row("tiny", JOB)


def test_an_environment_is_made_once_and_again_when_its_interpreter_is_gone(tiny: Path) -> None:
    python = environment(tiny)
    subprocess.run([python, "-c", "import tiny"], check=True)
    born = python.parent.stat().st_ino
    assert environment(tiny) == python
    assert python.parent.stat().st_ino == born
    python.unlink()
    subprocess.run([environment(tiny), "-c", "import tiny"], check=True)
    assert made(tiny) == [python.parent.parent]


@pytest.mark.deep
def test_an_environment_that_was_killed_half_made_is_not_taken_for_whole(tiny: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as index:
        # An index that takes the call and never answers: whoever is killed while it waits has made half of it.
        variables = {
            name: value for name, value in os.environ.items() if name not in ("PIP_NO_INDEX", "PIP_FIND_LINKS")
        }
        variables["PIP_INDEX_URL"] = f"http://127.0.0.1:{index.getsockname()[1]}/"
        words = "import pathlib, sys; from evaluation.peers import environments as made"
        code = f"{words}; made.environment(pathlib.Path(sys.argv[1]))"
        process = subprocess.Popen(
            [sys.executable, "-c", code, str(tiny)], cwd=ROOT, env=variables, start_new_session=True
        )
        index.settimeout(120)
        call, _ = index.accept()
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        call.close()
    assert made(tiny) == []
    subprocess.run([environment(tiny), "-c", "import tiny"], check=True)


def test_what_does_not_match_its_hash_is_not_installed(tiny: Path) -> None:
    (wheel,) = (tiny.parent / "wheels").iterdir()
    with zipfile.ZipFile(wheel, "a") as file:
        file.writestr("tiny_more.py", "")
    with pytest.raises(NoiseledgerError, match=r"^The environment of tiny cannot be created: "):
        environment(tiny)
    assert made(tiny) == []


def test_an_install_that_fails_becomes_a_row_with_a_sentence(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_FIND_LINKS", "")
    row = as_peer(tiny, monkeypatch)
    assert (row.system, row.version, row.answered, row.charged) == ("Tiny", "1", None, None)
    assert row.note == "Not run: The environment of tiny cannot be created: No matching distribution found for tiny==1."


def test_a_script_that_fails_becomes_a_row_with_its_last_words(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert as_peer(tiny, monkeypatch, "raise ValueError('no luck')").note == "Not run: ValueError: no luck."
    # One that writes no result.
    assert as_peer(tiny, monkeypatch, "").note.startswith("Not run: ")
    # What it is told of this machine is none of our secrets.
    monkeypatch.setenv("NOISELEDGER_KEY", "not for others")
    told = as_peer(tiny, monkeypatch, "import os, sys; sys.exit(' '.join(os.environ))").note
    assert "PATH" in told
    assert "NOISELEDGER" not in told


def test_a_peer_that_needs_a_program_says_so(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    row = as_peer(tiny, monkeypatch, "", "no-such-program")
    assert row.note == "Not run: It needs no-such-program, which is not on this machine."
    assert made(tiny) == []

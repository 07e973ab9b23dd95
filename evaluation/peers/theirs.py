"""Other libraries in the comparison, each in its own environment, with code that its users would write."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evaluation.peers.environments import LOCK, environment, last_words
from evaluation.peers.setting import Job, Task
from evaluation.peers.table import Left, Measured, Outcome, PeerAnswer, Row
from evaluation.people import people
from noiseledger.data.catalogue import Catalogue, read_catalogue
from noiseledger.data.ipums import ROWS
from noiseledger.errors import InvalidInput, NoiseledgerError

#: The folder with the libraries' scripts, and the module that they share.
FOLDER = Path(__file__).parent
#: No library needs this long for a thousand requests. One that hangs must not stop the others.
_SECONDS = 4 * 3600
#: The environment variables that a library gets.
_VARIABLES = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "TZ", "JAVA_HOME")


@dataclass(frozen=True)
class Peer:
    """A system to compare with."""

    title: str
    #: The folder of its lock and scripts, the package whose version is shown, and the script with its user's code.
    folder: str
    package: str
    script: str = "answer.py"
    #: What is not comparable.
    note: str = ""
    #: The programs that it needs on this machine.
    programs: tuple[str, ...] = ()
    #: Why it cannot be run at all, if that is so.
    obstacle: str = ""

    @property
    def home(self) -> Path:
        """Its folder."""
        return FOLDER / self.folder

    @property
    def version(self) -> str:
        """The version that its lock pins."""
        lock = self.home / LOCK
        found = (
            re.search(rf"^{re.escape(self.package)}==(\S+)", lock.read_text("utf-8"), re.M) if lock.exists() else None
        )
        return found[1] if found else ""


_LAPLACE = "Laplace noise, which does not use the requests' deltas; with this budget, epsilons simply add up."
_ONE_MORE_OR_LESS = (
    "Neighbours differ by one added or removed record, not by a replaced one: 1% less noise on incomes, the same on "
    "shares."
)

_ZCDP = "Gaussian noise; all costs are converted to rho, which adds up."
_SEARCH = "Most of its time is spent on the search for the scale of the noise."

PEERS = {
    "opendp": Peer("OpenDP", "opendp", "opendp", note=f"{_LAPLACE} {_SEARCH}"),
    "opendp-zcdp": Peer(
        "OpenDP (zCDP)",
        "opendp",
        "opendp",
        "answer_zcdp.py",
        note=f"{_ZCDP} {_SEARCH}",
    ),
    "smartnoise": Peer(
        "SmartNoise SQL",
        "smartnoise",
        "smartnoise-sql",
        note=f"{_LAPLACE} {_ONE_MORE_OR_LESS} It never refuses because of the budget; it fails if the noise would exceed ten "
        "million.",
    ),
    "diffprivlib": Peer(
        "diffprivlib",
        "diffprivlib",
        "diffprivlib",
        note=f"{_LAPLACE} The budget survives a restart because the script saves what was spent and passes it in again.",
    ),
    "tumult": Peer(
        "Tumult Analytics", "tumult", "tmlt-analytics", note=f"{_LAPLACE} {_ONE_MORE_OR_LESS}", programs=("java",)
    ),
    "tumult-zcdp": Peer(
        "Tumult Analytics (zCDP)",
        "tumult",
        "tmlt-analytics",
        "answer_zcdp.py",
        note=f"{_ZCDP} {_ONE_MORE_OR_LESS}",
        programs=("java",),
    ),
    "lomas": Peer(
        "Lomas",
        "lomas",
        "lomas-server",
        obstacle="lomas-server 0.4.1 depends on PyTorch with CUDA, several gigabytes, and on a version of scikit-learn that "
        "its diffprivlib cannot import.",
    ),
}


def peer_names() -> tuple[str, ...]:
    """Return the names of the peers."""
    return tuple(PEERS)


def peer_row(name: str, job: Job) -> Row:
    """Run the job on a library; if it cannot be installed or run here, the row gives the reason."""
    if name not in PEERS:
        raise InvalidInput(f"There is no library {name!r}: expected one of {', '.join(PEERS)}.")
    peer = PEERS[name]
    try:
        measured = _measure(peer, job)
    except (NoiseledgerError, OSError) as error:
        return Row(peer.title, peer.version, note=f"Not run: {error}")
    return measured.row(peer.title, peer.version, job, peer.note)


def _measure(peer: Peer, job: Job) -> Measured:
    if peer.obstacle:
        raise NoiseledgerError(peer.obstacle)
    for program in peer.programs:
        if not shutil.which(program):
            raise NoiseledgerError(f"It needs {program}, which is not on this machine.")
    python = environment(peer.home)
    with tempfile.TemporaryDirectory(prefix="noiseledger-peer-") as folder:
        workload = _run(peer, python, job.workload, Path(folder))
        # A new process in the same folder continues, as far as the library supports that.
        restarted = _run(peer, python, Task(()), Path(folder), resume=True)
    with tempfile.TemporaryDirectory(prefix="noiseledger-peer-") as folder:
        repetition = _run(peer, python, job.repetition, Path(folder))
    return Measured(workload, restarted.start, repetition)


def _run(peer: Peer, python: Path, task: Task, folder: Path, *, resume: bool = False) -> Outcome:
    with people(task.epsilon) as file:
        content = _content(read_catalogue(file), task) | {"resume": resume}
        (folder / "job.json").write_text(json.dumps(content), encoding="utf-8")
        command = [str(python), str(peer.home / peer.script), "job.json", "result.json"]
        known = {name: os.environ[name] for name in _VARIABLES if name in os.environ}
        # Other Pythons must not write into our folder.
        known |= {"PYTHONPATH": str(FOLDER), "PYTHONDONTWRITEBYTECODE": "1"}
        try:
            done = subprocess.run(  # noqa: S603 - fixed words
                command, cwd=folder, env=known, capture_output=True, text=True, check=False, timeout=_SECONDS
            )
        except subprocess.TimeoutExpired:
            raise NoiseledgerError(f"It did not finish within {_SECONDS // 3600} hours.") from None
    if done.returncode:
        raise NoiseledgerError(last_words(done.stderr))
    return _outcome(json.loads((folder / "result.json").read_text(encoding="utf-8")))


def _content(catalogue: Catalogue, task: Task) -> dict[str, Any]:
    """Return the job in the form that job.py reads."""
    requests = [{"query": r.query, "epsilon": float(r.epsilon), "delta": float(r.delta)} for r in task.requests]
    return {
        "data": catalogue.source.place,
        "rows": ROWS,
        "epsilon": float(catalogue.budget.epsilon),
        "delta": float(catalogue.budget.delta),
        "bounds": {column.name: (int(column.lower), int(column.upper)) for column in catalogue.columns},
        "requests": requests,
    }


def _outcome(result: dict[str, Any]) -> Outcome:
    entries = (PeerAnswer(entry["value"], entry["seconds"], _left(entry["remaining"])) for entry in result["entries"])
    return Outcome(_left(result["start"]), tuple(entries))


def _left(pair: list[float] | None) -> Left | None:
    return None if pair is None else (pair[0], pair[1])

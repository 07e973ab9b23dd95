"""Real processes of the command line, quickly: forked from one that has everything loaded and nothing open.

Run as a module it is that process: it reads jobs from standard input, and all its children die with it.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
import traceback
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

_PR_SET_PDEATHSIG = 1
#: All that a worker loads.
_LIBRARIES = (
    "coincurve",
    "faults.worker.subject",
    "ibis.backends.duckdb.converter",
    "noiseledger.chain",
    "noiseledger.cli",
    "noiseledger.custodian.log",
    "noiseledger.custodian.metrics",
    "noiseledger.custodian.publish",
    "noiseledger.custodian.recover",
    "noiseledger.custodian.service",
    "noiseledger.data.engines.files",
    "pyarrow.compute",
    "typer._adapters",
)


@dataclass(frozen=True)
class Job:
    """One run of the command line."""

    arguments: list[str]
    key: str
    output: str
    #: Kill -9 at the n-th time that this moment comes; see ``faults.worker.moments``.
    moment: str = ""
    count: int = 1
    #: A worker that is weakened on purpose; see ``faults.worker.weakened``.
    weakness: str = ""
    #: The wall clock jumps about.
    jumpy: bool = False


class Nursery:
    """Starts jobs, and knows how they ended."""

    def __init__(self) -> None:
        self._server = subprocess.Popen(
            [sys.executable, "-m", "faults.worker.nursery"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "OPENBLAS_NUM_THREADS": "1"},
            text=True,
        )

    def close(self) -> None:
        """End the nursery; the kernel ends its children."""
        self._server.kill()
        for stream in (self._server.stdin, self._server.stdout):
            if stream:
                stream.close()
        self._server.wait()

    def start(self, job: Job) -> Process:
        return Process(self, int(self._exchange({"start": asdict(job)})))

    def code(self, pid: int) -> int | None:
        """Return how a child ended, negative for the signal that killed it; None while it runs."""
        code = self._exchange({"code": pid})
        return None if code is None else int(code)

    def _exchange(self, order: dict[str, Any]) -> Any:
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        self._server.stdin.write(json.dumps(order) + "\n")
        self._server.stdin.flush()
        return json.loads(self._server.stdout.readline())


class Process:
    """A running job."""

    def __init__(self, nursery: Nursery, pid: int) -> None:
        self.pid = pid
        self._nursery = nursery
        self._code: int | None = None

    def code(self) -> int | None:
        if self._code is None:
            self._code = self._nursery.code(self.pid)
        return self._code

    def wait(self, seconds: float = 30) -> int:
        """Return how it ended."""
        give_up = time.monotonic() + seconds
        while (code := self.code()) is None:
            assert time.monotonic() < give_up, "the process does not end"
            time.sleep(0.005)
        return code

    def signal(self, number: int) -> None:
        if self.code() is None:
            os.kill(self.pid, number)

    def kill(self) -> int:
        self.signal(signal.SIGKILL)
        return self.wait()


def _serve() -> None:
    _preload()
    codes: dict[int, int] = {}
    for line in sys.stdin:
        order = json.loads(line)
        if "start" in order:
            pid = os.fork()
            if pid == 0:
                _run(Job(**order["start"]))
            reply: int | None = pid
        else:
            pid = order["code"]
            if pid not in codes:
                ended, status = os.waitpid(pid, os.WNOHANG)
                codes |= {ended: os.waitstatus_to_exitcode(status)} if ended else {}
            reply = codes.get(pid)
        print(json.dumps(reply), flush=True)


def _preload() -> None:
    for name in _LIBRARIES:
        importlib.import_module(name)
    # Libraries may have threads of their own that survive a fork; we have none.
    assert threading.active_count() == 1


def _run(job: Job) -> None:
    """Be the command line, until the end of this process."""
    code = 70
    try:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        output = os.open(job.output, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        nothing = os.open(os.devnull, os.O_RDONLY)
        for old, new in ((nothing, 0), (output, 1), (output, 2)):
            os.dup2(old, new)
        os.environ["NOISELEDGER_KEY"] = job.key
        # Scenes are copies of one ledger: what one of them did must not be known to the others.
        os.environ["XDG_STATE_HOME"] = str(Path(job.output).parent / "user-state")
        from faults.worker import subject

        subject.prepare(job)
        sys.argv = ["noiseledger", *job.arguments]
        from noiseledger.cli import main

        main()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:  # shown as Python shows what nobody caught
        traceback.print_exc()
        code = 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    _serve()

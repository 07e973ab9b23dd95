"""A background process that outlives the command that started it, identified by its pid file."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from noiseledger.errors import ChainError

_PROC = Path("/proc")
#: The process writes its own pid before it executes the program, so it never runs without a pid file.
_BECOME = 'umask 077; echo $$ >"$1"; shift; exec "$@"'
_LOOK_SECONDS = 0.05


@dataclass(frozen=True)
class Process:
    """A program that may be running."""

    #: The pid file.
    file: Path
    #: A text in its command line that no other program has, because pids are reused.
    mark: str

    @property
    def pid(self) -> int | None:
        """Its pid, or None if it does not run."""
        try:
            number = int(self.file.read_text(encoding="ascii"))
        except (OSError, ValueError):
            return None
        if self.mark in _command(number):
            return number
        with suppress(ChildProcessError):
            # If it was our own child, reap it.
            os.waitpid(number, os.WNOHANG)
        return None

    def start(self, command: Sequence[str], log: Path, environment: Mapping[str, str]) -> None:
        """Start it in its own session, so that Ctrl-C does not reach it; append its output to a file."""
        self.file.unlink(missing_ok=True)
        append = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        child = os.posix_spawn(
            "/bin/sh",
            ["sh", "-c", _BECOME, "sh", str(self.file), *command],
            environment,
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                (os.POSIX_SPAWN_OPEN, 1, str(log), append, 0o600),
                (os.POSIX_SPAWN_DUP2, 1, 2),
            ],
            setsid=True,
            setsigdef=[signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE],
        )
        while not (self.file.exists() and self.file.read_text(encoding="ascii").endswith("\n")):
            if os.waitpid(child, os.WNOHANG)[0]:
                raise ChainError(f"{Path(command[0]).name} did not start: {last_words(log)}")
            time.sleep(_LOOK_SECONDS)

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal, if it runs."""
        pid = self.pid
        if pid is not None:
            with suppress(ProcessLookupError):
                os.kill(pid, number)

    def wait(self, seconds: float) -> None:
        """Wait until it has ended; kill it after this many seconds."""
        give_up = time.monotonic() + seconds
        while self.pid is not None:
            if time.monotonic() > give_up:
                self.signal(signal.SIGKILL)
            time.sleep(_LOOK_SECONDS)

    @property
    def cpu_seconds(self) -> float:
        """The processor time that it has used; 0 if it does not run."""
        pid = self.pid
        return 0.0 if pid is None else _cpu_seconds(pid)


def last_words(log: Path) -> str:
    """Return the last line of a log."""
    try:
        lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    except OSError:
        lines = []
    return (lines or ["no output"])[-1]


def _command(pid: int) -> str:
    """Return a process's command line; an empty text if it has ended."""
    if not _PROC.is_dir():
        return _command_elsewhere(pid)
    try:
        return (_PROC / str(pid) / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def _cpu_seconds(pid: int) -> float:
    if not _PROC.is_dir():
        return _cpu_seconds_elsewhere(pid)
    try:
        # The name is the second field, in parentheses, and may contain anything; user and system time are fields 14 and 15.
        fields = (_PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _command_elsewhere(pid: int) -> str:
    psutil = _psutil()
    try:
        return " ".join(psutil.Process(pid).cmdline())
    except psutil.Error:
        return ""


def _cpu_seconds_elsewhere(pid: int) -> float:
    psutil = _psutil()
    try:
        times = psutil.Process(pid).cpu_times()
    except psutil.Error:
        return 0.0
    return float(times.user + times.system)


def _psutil() -> Any:
    try:
        import psutil  # noqa: PLC0415 - only where there is no /proc
    except ImportError:
        raise ChainError(
            "On this kind of machine, a network needs psutil: pip install 'noiseledger[network]'."
        ) from None
    return psutil

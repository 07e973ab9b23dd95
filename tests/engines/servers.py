"""Real servers for the tests, on loopback and in temporary folders: PostgreSQL, and FerretDB, which speaks MongoDB's protocol.

PostgreSQL comes from Debian's packages. FerretDB is built once from the Go module proxy, about two minutes, and kept in
the user's cache. Where that is impossible, ``Missing`` says what to install.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg

from machine import Missing, apt_install, cache, free_port, locked, run

PASSWORD = "p@ss/w:rd"
DEADLINE_SECONDS = 60

FERRETDB = "github.com/FerretDB/FerretDB"
FERRETDB_VERSION = "v1.24.2"
FERRETDB_SUM = "h1:trrUU0LbmusMbyubhPS1IELncvrIwKrsRT2LW1UUWCw="


@contextmanager
def postgres() -> Iterator[str]:
    """Run an empty PostgreSQL cluster; yield the url of its owner."""
    programs = _postgres_programs()
    with tempfile.TemporaryDirectory(prefix="noiseledger-") as name:
        folder = Path(name)
        account = _give_away(folder)
        secret = folder / "password"
        secret.write_text(PASSWORD, encoding="utf-8")
        secret.chmod(0o644)
        initdb: list[str | Path] = [programs / "initdb", "--pgdata", folder / "data", "--username=owner"]
        initdb += ["--pwfile", secret, "--auth=scram-sha-256", "--encoding=UTF8", "--locale=C", "--no-sync"]
        run(initdb, cwd=folder, **account)
        port = free_port()
        options: list[str | Path] = ["-h", "127.0.0.1", "-p", str(port), "-k", folder, "-F"]  # no syncing to disk
        url = f"postgresql://owner:p%40ss%2Fw%3Ard@127.0.0.1:{port}/postgres"
        with _running([programs / "postgres", "-D", folder / "data", *options], folder, **account) as is_up:
            _await(lambda: psycopg.connect(url).close(), psycopg.OperationalError, is_up)
            yield url


@contextmanager
def ferretdb() -> Iterator[str]:
    """Run an empty FerretDB; yield its url, without a database."""
    program = _ferretdb_program()
    with tempfile.TemporaryDirectory(prefix="noiseledger-") as name:
        port = free_port()
        options = ["--handler=sqlite", f"--sqlite-url=file:{name}/", f"--listen-addr=127.0.0.1:{port}"]
        options += ["--telemetry=disable", "--debug-addr=-", f"--state-dir={name}", "--log-level=error"]
        with _running([program, *options], Path(name)) as is_up:
            _await(lambda: socket.create_connection(("127.0.0.1", port), timeout=1).close(), OSError, is_up)
            yield f"mongodb://127.0.0.1:{port}"


def _postgres_programs() -> Path:
    """Find the newest PostgreSQL; on a Debian machine that is ours, install it."""
    if not _find_postgres():
        apt_install("postgresql")
    found = _find_postgres()
    if not found:
        raise Missing("There is no PostgreSQL server on this machine: on Debian, apt-get install postgresql.")
    return found


def _find_postgres() -> Path | None:
    packaged = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: float(path.parts[4]))
    on_path = shutil.which("initdb")
    initdb = packaged[-1] if packaged else on_path and Path(on_path).resolve()
    return initdb.parent if initdb and (initdb.parent / "postgres").exists() else None


def _give_away(folder: Path) -> dict[str, Any]:
    """PostgreSQL refuses to run as root: then it runs as the user of its package, who gets the folder."""
    if os.geteuid() != 0:
        return {}
    shutil.chown(folder, "postgres", "postgres")
    return {"user": "postgres", "group": "postgres", "extra_groups": []}


def _ferretdb_program() -> Path:
    program = cache() / f"ferretdb-{FERRETDB_VERSION}"
    with locked("ferretdb"):
        if not program.exists():
            _build_ferretdb(program)
    return program


def _build_ferretdb(program: Path) -> None:
    if not shutil.which("go"):
        raise Missing("FerretDB is built by Go 1.24 or newer, which is not on this machine: see https://go.dev/dl.")
    with tempfile.TemporaryDirectory(prefix="noiseledger-") as name:
        source = Path(name) / "source"
        module = json.loads(run(["go", "mod", "download", "-json", f"{FERRETDB}@{FERRETDB_VERSION}"], cwd=name))
        if module["Sum"] != FERRETDB_SUM:
            raise Missing(f"The module proxy's {FERRETDB} is not the one we know.")
        shutil.copytree(module["Dir"], source, copy_function=shutil.copyfile)
        for folder in [source, *source.rglob("*/")]:
            folder.chmod(0o755)  # the module cache is read-only
        # Part of a release and not of the module; without it the server does not start.
        (source / "build" / "version" / "version.txt").write_text(FERRETDB_VERSION)
        built = Path(name) / "ferretdb"
        run(["go", "build", "-tags", "ferretdb_no_postgresql", "-o", built, "./cmd/ferretdb"], cwd=source)
        unfinished = program.with_suffix(".new")
        shutil.copy(built, unfinished)
        unfinished.rename(program)


@contextmanager
def _running(command: Sequence[str | Path], folder: Path, **options: Any) -> Iterator[Callable[[], bool]]:
    """Run a server, yield a check that it runs, and end it in any case."""
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log, **options)
    try:
        yield lambda: process.poll() is None
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _await(attempt: Callable[[], None], not_yet: type[Exception], is_up: Callable[[], bool]) -> None:
    deadline = time.monotonic() + DEADLINE_SECONDS
    while True:
        try:
            return attempt()
        except not_yet:
            if not is_up() or time.monotonic() > deadline:
                raise
            time.sleep(0.1)

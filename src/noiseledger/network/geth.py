"""go-ethereum, built from its official source with Go, in one pinned version, stored in the user's cache."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from noiseledger.errors import ChainError
from noiseledger.settings import cache_folder

#: The last release that can seal Proof-of-Authority chains and supports everything that we use.
VERSION = "1.13.15"
#: The expected checksum of this source according to Go, whatever proxy it came from.
CHECKSUM = "h1:U7sSGYGo4SPjP6iNIifNoyIAiNjrmQkz6EwQG+/EZWo="
#: Its go.mod requires 1.20. We build with 1.26; older versions than this are refused because they are untested.
OLDEST_GO = (1, 21)
#: From this version on, the linker rejects one of its dependencies unless a flag allows it.
_STRICT_GO = (1, 23)

_MODULE = "github.com/ethereum/go-ethereum"
_INSTEAD = "or use an existing Ethereum chain with --rpc"
#: The only environment variables that are passed to the build: it must not see our keys or passwords.
_PASSED_ON = (
    *("PATH", "HOME", "TMPDIR", "XDG_CACHE_HOME", "SSL_CERT_FILE", "SSL_CERT_DIR"),
    *("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"),
    *("GOPROXY", "GOSUMDB", "GONOSUMDB", "GOPRIVATE", "GONOPROXY", "GOFLAGS", "GOPATH", "GOMODCACHE", "GOCACHE"),
    *("GOROOT", "GOTMPDIR", "GOTOOLCHAIN", "CC", "CGO_ENABLED"),
)


def install(say: Callable[[str], None] = lambda _: None) -> Path:
    """Return geth's binary; build it the first time, which takes minutes and is announced by ``say``."""
    home = cache_folder() / f"geth-{VERSION}"
    if not home.is_dir():
        go, version = _find_go()
        home.parent.mkdir(parents=True, exist_ok=True)
        with _alone(home.with_name(f"{home.name}.lock")):
            if not home.is_dir():
                say(f"Building go-ethereum {VERSION} from source, which is needed only once and takes some minutes.")
                _build(go, version, home)
    return home / "geth"


def _find_go() -> tuple[str, tuple[int, int]]:
    go = shutil.which("go")
    how = f"install Go {OLDEST_GO[0]}.{OLDEST_GO[1]} or newer (Debian: apt-get install golang; or https://go.dev/dl)"
    if go is None:
        raise ChainError(f"Go, which builds go-ethereum {VERSION}, was not found: {how}, {_INSTEAD}.")
    said = _run([go, "env", "GOVERSION"]).stdout.strip()
    found = re.match(r"go(\d+)\.(\d+)", said)
    # A version without a number was built from Go's latest source.
    version = (int(found[1]), int(found[2])) if found else _STRICT_GO
    if version < OLDEST_GO:
        raise ChainError(f"{said} is too old to build go-ethereum {VERSION}: {how}, {_INSTEAD}.")
    return go, version


def _build(go: str, version: tuple[int, int], home: Path) -> None:
    with tempfile.TemporaryDirectory(dir=home.parent) as folder:
        new = Path(folder) / "new"
        options = ["-trimpath", *(["-ldflags=-checklinkname=0"] if version >= _STRICT_GO else [])]
        done = _run([go, "install", *options, f"{_MODULE}/cmd/geth@v{VERSION}"], GOBIN=str(new))
        if done.returncode:
            said = done.stderr.strip().splitlines() or ["no message"]
            raise ChainError(f"go-ethereum {VERSION} could not be built ({said[-1]}): try again, {_INSTEAD}.")
        if f"\tmod\t{_MODULE}\tv{VERSION}\t{CHECKSUM}\n" not in _run([go, "version", "-m", str(new / "geth")]).stdout:
            raise ChainError(
                f"Go did not download the official source of go-ethereum {VERSION}: check GOPROXY. The download was deleted."
            )
        new.rename(home)


def _run(command: list[str], **more: str) -> subprocess.CompletedProcess[str]:
    environment = {name: os.environ[name] for name in _PASSED_ON if name in os.environ} | more
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)  # noqa: S603 - fixed words


@contextmanager
def _alone(file: Path) -> Iterator[None]:
    """Let only one process build at a time; a second one waits and then finds the result."""
    with file.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


if __name__ == "__main__":
    install(print)

"""go-ethereum, built from its official source by Go, in one pinned version, kept in the user's cache."""

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

#: The last release that seals Proof-of-Authority chains and still knows all that we use.
VERSION = "1.13.15"
#: What Go's checksum of this source must be, whatever proxy it came from.
CHECKSUM = "h1:U7sSGYGo4SPjP6iNIifNoyIAiNjrmQkz6EwQG+/EZWo="
#: Its go.mod asks for 1.20. We build with 1.26; what is older than this is refused, since nobody tried it.
OLDEST_GO = (1, 21)
#: From here on the linker forbids what one of its dependencies does, unless it is told not to.
_STRICT_GO = (1, 23)

_MODULE = "github.com/ethereum/go-ethereum"
_INSTEAD = "or use any Ethereum chain that is there with --rpc"
#: All that the build learns of our environment: no key or password of ours has a place in it.
_PASSED_ON = (
    *("PATH", "HOME", "TMPDIR", "XDG_CACHE_HOME", "SSL_CERT_FILE", "SSL_CERT_DIR"),
    *("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"),
    *("GOPROXY", "GOSUMDB", "GONOSUMDB", "GOPRIVATE", "GONOPROXY", "GOFLAGS", "GOPATH", "GOMODCACHE", "GOCACHE"),
    *("GOROOT", "GOTMPDIR", "GOTOOLCHAIN", "CC", "CGO_ENABLED"),
)


def install(say: Callable[[str], None] = lambda _: None) -> Path:
    """Return geth's binary; build it the first time, which takes minutes: ``say`` is told so."""
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "noiseledger" / f"geth-{VERSION}"
    if not home.is_dir():
        go, version = _find_go()
        home.parent.mkdir(parents=True, exist_ok=True)
        with _alone(home.with_name(f"{home.name}.lock")):
            if not home.is_dir():
                say(f"Building go-ethereum {VERSION} from its source, once; this takes some minutes.")
                _build(go, version, home)
    return home / "geth"


def _find_go() -> tuple[str, tuple[int, int]]:
    go = shutil.which("go")
    how = f"install Go {OLDEST_GO[0]}.{OLDEST_GO[1]} or newer (Debian: apt-get install golang; or https://go.dev/dl)"
    if go is None:
        raise ChainError(f"No Go here to build go-ethereum {VERSION} with: {how}, {_INSTEAD}.")
    said = _run([go, "env", "GOVERSION"]).stdout.strip()
    found = re.match(r"go(\d+)\.(\d+)", said)
    # What has no number was built from Go's own newest source.
    version = (int(found[1]), int(found[2])) if found else _STRICT_GO
    if version < OLDEST_GO:
        raise ChainError(f"{said} is too old to build go-ethereum {VERSION} with: {how}, {_INSTEAD}.")
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
                f"What Go fetched as go-ethereum {VERSION} is not the official source: check GOPROXY. It was not kept."
            )
        new.rename(home)


def _run(command: list[str], **more: str) -> subprocess.CompletedProcess[str]:
    environment = {name: os.environ[name] for name in _PASSED_ON if name in os.environ} | more
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)  # noqa: S603 - fixed words


@contextmanager
def _alone(file: Path) -> Iterator[None]:
    """Let whoever comes second wait, and find it done."""
    with file.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


if __name__ == "__main__":
    install(print)

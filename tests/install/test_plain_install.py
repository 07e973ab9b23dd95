"""What ``pip install noiseledger`` brings, without extras: how large it is, what works, and what is said of the rest."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import weight
from noiseledger.chain import local_chain

ROOT = Path(__file__).parents[2]
LIMIT_MEGABYTES = 120
#: What takes long to load, and what no free answer needs; all of it is installed where the tests run.
HEAVY = {
    "Crypto.Cipher",
    "asyncio",
    "coincurve",
    "duckdb",
    "eth_abi",
    "eth_account",
    "eth_utils",
    "fastapi",
    "ibis",
    "jinja2",
    "matplotlib",
    "numpy",
    "pandas",
    "py_ecc",
    "pyarrow",
    "scipy",
}
PROGRAM = """
import json, sys
from noiseledger.cli import main
sys.argv = ["noiseledger", *sys.argv[1:]]
before = sys.getrecursionlimit()
try:
    main()
finally:
    facts = {"limit": sys.getrecursionlimit() == before, "modules": sorted(sys.modules)}
    print(json.dumps(facts), file=sys.stderr)
"""
CATALOGUE = """
[source]
file = "people.{ending}"

[privacy]
epsilon = 1
delta = "1e-6"
neighbours = "replace"

[columns.age]
kind = "number"

[queries.over_60]
measure = "count"
where = "age > 60"
"""


@dataclass(frozen=True)
class Plain:
    """An environment with the wheel and what it cannot do without."""

    home: Path
    folder: Path

    def __call__(self, program: str, *arguments: str | Path, **variables: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.home / "bin" / program, *arguments],
            cwd=self.folder,
            env=weight.clean_environment() | {"COLUMNS": "200", "NO_COLOR": "1"} | variables,
            capture_output=True,
            text=True,
            check=False,
        )


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Plain:
    folder = tmp_path_factory.mktemp("plain")
    weight.install(weight.build_wheel(folder), folder / "venv")
    return Plain(folder / "venv", folder)


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, weight.MeasuredLedger]]:
    with weight.ledger_on_chain() as chain:
        yield {"local": weight.local_ledger(tmp_path_factory.mktemp("local")), "chain": chain}


def test_it_is_small(plain: Plain) -> None:
    size = weight.megabytes(plain.home)
    print(f"{size:.0f} MB")
    assert 20 < size < LIMIT_MEGABYTES
    for module in ("duckdb", "pyarrow", "pandas", "fastapi", "numpy", "eth_account", "py_ecc"):
        assert not [*plain.home.glob(f"lib/*/site-packages/{module}")], module


def test_the_example_of_the_readme_works(plain: Plain) -> None:
    options = ("-o", "ELLIPSIS", "-o", "NORMALIZE_WHITESPACE")
    done = plain("python", "-m", "doctest", *options, ROOT / "README.md")
    assert (done.returncode, done.stdout) == (0, ""), done


def test_every_command_has_its_help(plain: Plain) -> None:
    shown = plain("noiseledger", "--help")
    assert shown.returncode == 0
    for command in ("quote", "ask", "publish", "work", "web", "audit", "doctor", "network"):
        assert command in shown.stdout
        assert plain("noiseledger", command, "--help").returncode == 0, command


@pytest.mark.parametrize("where", ["local", "chain"])
def test_what_is_free_is_quoted_and_answered(
    plain: Plain, places: dict[str, weight.MeasuredLedger], where: str
) -> None:
    place = places[where]
    for command in ("quote", "ask"):
        words = weight.free_command(Path("noiseledger"), command, place)
        done = plain(*map(str, words), **place.environment)
        assert (done.returncode, "free" in done.stdout, done.stderr) == (0, True, ""), done


def test_a_signed_request_needs_nothing_more(plain: Plain, places: dict[str, weight.MeasuredLedger]) -> None:
    chain = places["chain"]
    key = {"NOISELEDGER_KEY": local_chain.PLAY_KEYS[2]}
    words = ("ask", weight.QUERY.identifier, chain.ledger, "--precision", "0.3", "--yes", "--wait", "0")
    done = plain("noiseledger", *words, **chain.environment, **key)
    # Nobody answers here, but it is bought.
    assert done.returncode == 4, done
    assert "Mined in block" in done.stderr


def test_a_small_file_is_read_and_other_files_name_the_extra(plain: Plain) -> None:
    (plain.folder / "people.csv").write_text("age\n" + "61\n" * 5)
    (plain.folder / "people.parquet").write_bytes(b"PAR1 and so on")
    for ending in ("csv", "parquet"):
        (plain.folder / f"{ending}.toml").write_text(CATALOGUE.format(ending=ending))
    found = plain("noiseledger", "check", "csv.toml", "--json")
    assert found.returncode == 0, found
    assert json.loads(found.stdout)["rows"] == 5, found
    refused = plain("noiseledger", "check", "parquet.toml")
    assert (refused.returncode, "pip install 'noiseledger[custodian]'" in refused.stderr) == (2, True), refused


@pytest.mark.parametrize(
    ("words", "extra"),
    [
        (("publish", "people.toml"), "custodian"),
        (("work", "people.toml"), "custodian"),
        (("recover", "people.toml"), "custodian"),
        (("web", "0x" + "00" * 20), "web"),
        (("demo",), "custodian"),
        (("audit", "0x" + "00" * 20, "--catalogue", "people.toml"), "custodian"),
    ],
)
def test_what_is_missing_is_named_with_the_command_that_installs_it(
    plain: Plain, words: tuple[str, ...], extra: str
) -> None:
    done = plain("noiseledger", *words)
    assert done.returncode == 2, done
    assert done.stderr.count("\n") == 1
    assert done.stderr.endswith(f"must be installed: pip install 'noiseledger[{extra}]'\n")


def test_the_doctor_lists_what_is_not_installed(plain: Plain, places: dict[str, weight.MeasuredLedger]) -> None:
    done = plain("noiseledger", "doctor", places["local"].ledger, "--json")
    (python,) = (check for check in json.loads(done.stdout)["checks"] if check["name"] == "python")
    assert "not installed: custodian, postgres, spark, mongodb, combine, web" in python["found"]


def test_the_library_says_the_same(plain: Plain) -> None:
    for program, extra in (("import noiseledger.web", "web"), ("import noiseledger.data.ipums", "custodian")):
        done = plain("python", "-c", program)
        assert done.stderr.splitlines()[-1].startswith("noiseledger.errors.MissingExtra: "), done
        assert f"noiseledger[{extra}]" in done.stderr


@pytest.mark.parametrize("command", ["quote", "ask"])
@pytest.mark.parametrize("where", ["local", "chain"])
def test_a_free_answer_loads_nothing_heavy(places: dict[str, weight.MeasuredLedger], command: str, where: str) -> None:
    place = places[where]
    _, *words = weight.free_command(Path(), command, place)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *words], env=place.environment, capture_output=True, text=True, check=True
    )
    facts = json.loads(done.stderr)
    assert facts["limit"]
    assert not HEAVY & set(facts["modules"])
    assert "noiseledger" in facts["modules"]
    assert ("httpx2" in facts["modules"]) == (where == "chain")

"""Settings: one table, documented, and the only place that knows their names."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from noiseledger.cli.config import FILE_KEYS, find_ledger, find_rpc
from noiseledger.settings import KEY, LEDGER, PASSWORD, RPC, SECRETS, SETTINGS, Setting

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "src" / "noiseledger").rglob("*.py"))


def row_of(setting: Setting) -> list[str]:
    """Return the cells of a setting's row in the reference."""
    page = (ROOT / "docs" / "reference" / "command-line.md").read_text(encoding="utf-8")
    rows = [line.split("|") for line in page.splitlines() if f"| `{setting.variable}` |" in line]
    assert len(rows) == 1, f"{setting.name} needs one row in docs/reference/command-line.md"
    return [cell.strip() for cell in rows[0]]


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.name)
def test_every_setting_is_documented(setting: Setting) -> None:
    _, what, flag, variable, key, default, _ = row_of(setting)
    assert what
    assert variable == f"`{setting.variable}`"
    assert flag.strip("`") == (setting.flag or "")
    assert key.strip("`") == (setting.file_key or "")
    assert default.strip("`") == setting.default


def test_names_and_variables_are_unique() -> None:
    assert (
        len({setting.name for setting in SETTINGS}) == len({setting.variable for setting in SETTINGS}) == len(SETTINGS)
    )
    assert set(FILE_KEYS) == {"ledger", "rpc", "key"}


def test_a_secret_is_neither_a_flag_nor_in_a_file() -> None:
    assert {KEY, PASSWORD} == set(SECRETS)
    assert all(setting.flag is None and setting.file_key is None for setting in SECRETS)


def test_the_order_is_argument_environment_file_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(RPC.variable, raising=False)
    assert RPC.find() == RPC.default
    assert RPC.find(configured="from the file") == "from the file"
    monkeypatch.setenv(RPC.variable, "from the environment")
    assert RPC.find(configured="from the file") == "from the environment"
    assert RPC.find("given", configured="from the file") == "given"
    monkeypatch.setenv(RPC.variable, "")  # as good as not set
    assert (RPC.find(), RPC.is_in_environment) == (RPC.default, False)


def test_commands_follow_the_same_order(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    for setting in (RPC, LEDGER):
        monkeypatch.delenv(setting.variable, raising=False)
    (tmp_path / "noiseledger").mkdir()
    (tmp_path / "noiseledger" / "config.toml").write_text(f'rpc = "http://file"\nledger = "0x{"ab" * 20}"\n')
    assert (find_rpc(None), find_ledger(None)) == ("http://file", "0x" + "ab" * 20)
    monkeypatch.setenv(RPC.variable, "http://environment")
    monkeypatch.setenv(LEDGER.variable, "environment.json")
    assert (find_rpc(None), find_ledger(None)) == ("http://environment", "environment.json")
    assert (find_rpc("http://flag"), find_ledger("flag.json")) == ("http://flag", "flag.json")


def test_only_the_table_names_variables_and_the_default_endpoint() -> None:
    literal = re.compile(rf'"NOISELEDGER_[A-Z]+"|{re.escape(RPC.default)}')
    found = {file.name for file in SOURCES if literal.search(file.read_text(encoding="utf-8"))}
    assert found == {"settings.py"}


def test_only_the_table_reads_settings_from_the_environment() -> None:
    reading = re.compile(
        r"os\.(environ\.get|getenv)\([^)]*\.variable|os\.environ\[[^]]*\.variable|\.variable in os\.environ"
    )
    found = {file.name for file in SOURCES if reading.search(file.read_text(encoding="utf-8"))}
    assert found == {"settings.py"}


def test_nothing_changes_the_environment() -> None:
    change = re.compile(
        r"os\.environ\.(pop|update|setdefault|clear)\(|os\.environ\[[^\]]*\] = |del os\.environ|putenv\("
    )
    assert [file for file in SOURCES if change.search(file.read_text(encoding="utf-8"))] == []

"""What people install: the package, without experiments, benchmarks, tests and weakened copies of the system."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

from hatchling.builders.wheel import WheelBuilder

ROOT = Path(__file__).parents[2]


def wheel_files() -> set[str]:
    """Return the files that hatchling puts into the wheel, without building it."""
    return {file.distribution_path for file in WheelBuilder(str(ROOT)).recurse_included_files()}


def test_the_wheel_holds_the_package_only() -> None:
    found = wheel_files()
    assert {PurePosixPath(file).parts[0] for file in found} == {"noiseledger"}
    # What `noiseledger demo` and `noiseledger example` need is there.
    assert {"noiseledger/demo/system.py", "noiseledger/demo/worked_example.py", "noiseledger/data/acs12.csv"} <= found


def test_the_wheel_holds_no_experiment() -> None:
    parts = {part for file in wheel_files() for part in PurePosixPath(file).parts}
    assert not parts & {"evaluation", "experiments", "membership", "peers", "ablations"}
    (contract,) = {part for part in parts if part.endswith(".vy")}
    assert contract == "PrivacyLedger.vy"  # and not the model of the paper's contract

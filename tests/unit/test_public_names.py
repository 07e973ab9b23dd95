from __future__ import annotations

import inspect
import re
from pathlib import Path

import noiseledger as nl
from noiseledger import errors


def test_the_public_names_are_short_sorted_and_there() -> None:
    assert sorted(nl.__all__) == nl.__all__
    assert len(nl.__all__) <= 32
    assert all(hasattr(nl, name) for name in nl.__all__)


def test_every_public_name_has_an_example() -> None:
    page = (Path(__file__).parents[2] / "docs" / "reference" / "python.md").read_text()
    examples = "".join(re.findall(r"```python\n(.*?)```", page, re.DOTALL))
    assert [name for name in nl.__all__ if not re.search(rf"\bnl\.{name}\b", examples)] == []


def test_the_exception_tree_is_drawn_as_it_is() -> None:
    classes = {
        name: cls for name, cls in inspect.getmembers(errors, inspect.isclass) if cls.__module__ == errors.__name__
    }
    drawn = errors.__doc__ or ""
    assert all(name in drawn for name in classes)
    assert all(issubclass(cls, nl.NoiseledgerError) for cls in classes.values())


def test_every_error_is_in_the_reference() -> None:
    reference = (Path(__file__).parents[2] / "docs" / "reference" / "index.md").read_text()
    for name, cls in inspect.getmembers(errors, inspect.isclass):
        if cls.__module__ != errors.__name__:
            continue
        assert f"`{name}`" in reference or name in ("NoiseledgerError", "Fraction", "ChainError"), name

"""Real child processes, quickly: forked from a server that has the library loaded, has one thread and no open ledger."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import ParamSpec, TypeVar

_P = ParamSpec("_P")
_R = TypeVar("_R")

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["noiseledger", "unittest.mock"])


def start(target: Callable[_P, object], *args: _P.args, **kwargs: _P.kwargs) -> BaseProcess:
    """Start a child and return at once."""
    child = _CONTEXT.Process(target=target, args=args, kwargs=kwargs)
    child.start()
    return child


def run(target: Callable[_P, object], *args: _P.args, **kwargs: _P.kwargs) -> int:
    """Run a child to its end; return its exit code, negative for the signal that killed it."""
    child = start(target, *args, **kwargs)
    child.join()
    code = child.exitcode
    assert code is not None
    return code


def call(target: Callable[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R:
    """Return what a function returns in a child."""
    here, there = _CONTEXT.Pipe(duplex=False)
    child = _CONTEXT.Process(target=_report, args=(there, target, args, kwargs))
    child.start()
    there.close()
    with here:
        result: _R = here.recv()
    child.join()
    return result


def _report(
    there: Connection, target: Callable[..., object], args: tuple[object, ...], kwargs: dict[str, object]
) -> None:
    there.send(target(*args, **kwargs))

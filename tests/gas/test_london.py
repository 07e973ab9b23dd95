"""The contract works on a chain that stops at London, as clique chains do, and costs the same there."""

from __future__ import annotations

from fractions import Fraction

import pytest

from benchmarks import gas
from benchmarks.shop import Shop, chain, increments, requests
from noiseledger.chain.values import from_units
from noiseledger.errors import LedgerRefused, NotAllowed, UnknownQuery


def test_the_whole_cycle() -> None:
    with chain("london") as rpc:
        # What only later forks know: without this the test could run on any of them.
        assert "withdrawals" not in rpc.call("eth_getBlockByNumber", "latest", False)
        shop = Shop(rpc)
        (query,) = shop.register(3, 1)
        (first,), (more,) = requests([query], "first"), requests([query], "repeat")
        low, high = (from_units(request.precision) for request in (first, more))
        assert shop.contract.price(query, low) == (low, low)
        shop.ask([first])
        shop.reveal([query])
        assert shop.contract.point(query) == increments(query, 3)
        assert shop.contract.price(query, high) == (high, high - low)
        shop.ask([more])
        shop.reveal([query])
        assert shop.contract.point(query) == tuple(2 * value for value in increments(query, 3))
        assert shop.contract.spent() == shop.contract.meter(query).revealed == high
        assert shop.contract.price(query, low) == (low, Fraction(0))
        names = [event.name for event in shop.contract.events(["Registered", "Asked", "Revealed"])]
        assert names == ["Registered", "Asked", "Revealed", "Asked", "Revealed"]


def test_refusals_are_told_apart() -> None:
    with chain("london") as rpc:
        shop = Shop(rpc)
        with pytest.raises(UnknownQuery):
            shop.ask(requests(["ab" * 32], "first"))
        with pytest.raises(NotAllowed):
            shop.contract.pause(True)
        (query,) = shop.register(1, 1)
        with pytest.raises(LedgerRefused, match="Only what was bought"):
            shop.reveal([query])


def test_gas_is_the_same_as_on_the_newest_fork() -> None:
    kept = gas.read_snapshot()
    measured = gas.snapshot(gas.measure(dimensions=(1, 10), records=(10,), hardfork="london", large=()))
    assert measured == {name: kept[name] for name in measured}

"""A ledger on a network whose nodes are killed: worker and analyst go on with the others, and the promise is kept."""

from __future__ import annotations

import signal
import time
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import httpx2

from network.conftest import kill, up_again, wait_for_blocks, wait_until
from network.show import on_show
from noiseledger.core.path import Case
from noiseledger.demo.system import web_pages
from noiseledger.network.network import Network


def test_both_go_on_when_the_node_they_talk_to_is_killed(network: Network) -> None:
    with on_show(network, [0, 1, 2]) as show, show.analyst(network.layout.urls) as client:
        assert client.ask("over_60", precision="0.01").case is Case.NEW
        network.validators[0].node.signal(signal.SIGKILL)
        assert client.ask("over_60", precision="0.02").case is Case.EXTEND
        up_again(network)
        network.validators[1].node.signal(signal.SIGKILL)
        assert client.ask("white", precision="0.01").case is Case.NEW
        up_again(network)
        show.check()


def test_so_do_the_web_pages(network: Network) -> None:
    with (
        on_show(network, [0, 1, 2]) as show,
        web_pages(show.system) as site,
        show.analyst(network.layout.urls) as client,
    ):

        def shown() -> Fraction:
            return Fraction(httpx2.get(f"{site}/api/v1/budget").json()["spent_exact"])

        client.ask("over_60", precision="0.01")
        wait_until(lambda: shown() == Fraction(1, 100), "the first request on the page")
        network.validators[0].node.signal(signal.SIGKILL)
        client.ask("over_60", precision="0.02")
        wait_until(lambda: shown() == Fraction(2, 100), "the second request on the page")
        up_again(network)


def test_a_request_waits_while_two_are_dead_and_is_answered_when_they_are_back(network: Network) -> None:
    with (
        on_show(network, [2]) as show,
        show.analyst(network.layout.members[2].url) as client,
        ThreadPoolExecutor() as beside,
    ):
        client.ask("over_60", precision="0.01")
        kill(network, 0, 1)
        asked = beside.submit(client.ask, "over_60", precision="0.02")
        time.sleep(5)
        assert not asked.done()
        up_again(network)
        assert asked.result().cost == Fraction(1, 100)
        assert client.budget().spent == Fraction(2, 100)
        show.check()


def test_all_are_killed_and_come_back_with_everything_that_was_bought(network: Network) -> None:
    with on_show(network, [0, 1, 2]) as show, show.analyst(network.layout.urls) as client:
        before = client.ask("over_60", precision="0.01")
        # The newest block may still lose against another one.
        wait_for_blocks(network, 2)
        kill(network, 0, 1, 2)
        up_again(network)
        assert client.ask("over_60", precision="0.01").reveal.point == before.reveal.point
        assert client.ask("over_60", precision="0.02").case is Case.EXTEND
        show.check()

"""The paper's listing and the lower bound, against the paper's example and the real ledgers."""

from __future__ import annotations

from fractions import Fraction

from evaluation.ledgers import local_ledger, naive_ledger
from evaluation.schemes import LowerBound, PaperAlgorithm, classic_epsilon
from evaluation.workload import QUERIES, PaperRequest, paper_requests
from noiseledger.core.privacy import classic_precision_for
from noiseledger.demo.worked_example import REQUESTS
from noiseledger.ledger import LocalLedger


def test_the_paper_s_example() -> None:
    paper, bound = PaperAlgorithm(), LowerBound()
    for kind, sigma in REQUESTS:
        precision = 1 / Fraction(sigma) ** 2
        spent = paper.ask(kind, precision)
        assert bound.ask(kind, precision) == spent
    assert spent == Fraction(157, 9)


def test_what_the_real_ledgers_charge() -> None:
    paper, bound, full = PaperAlgorithm(), LowerBound(), Fraction(0)
    with local_ledger(LocalLedger) as ours, naive_ledger() as naive:
        for request in paper_requests(60, seed=5):
            spent = ours.ask(request.query, precision=request.classic).budget.spent
            assert paper.ask(request.query, request.classic) == bound.ask(request.query, request.classic) == spent
            full += request.classic
            assert naive.ask(request.query, exact_noise=True, precision=request.classic).budget.spent == full
        assert spent < full


def test_the_classic_conversion_there_and_back() -> None:
    assert abs(classic_epsilon(classic_precision_for("0.7", "1e-5"), "1e-5") - 0.7) < 1e-12


def test_requests_are_those_of_the_paper() -> None:
    requests = paper_requests(20_000, seed=3)
    epsilons, deltas = ([float(getattr(r, name)) for r in requests] for name in ("epsilon", "delta"))
    assert {request.query for request in requests} == set(QUERIES)
    for values, low, high in ((epsilons, 0.1, 1.1), (deltas, 1e-5, 1e-4)):
        assert low <= min(values) < low + 0.01 * (high - low)
        assert high - 0.01 * (high - low) < max(values) <= high
        # Of 20,000 uniform values the mean is within 6 deviations of the middle, but for once in a thousand million.
        assert abs(sum(values) / len(values) - (low + high) / 2) < 6 * (high - low) / (12 * len(values)) ** 0.5
    counts = [sum(request.query == name for request in requests) for name in QUERIES]
    assert max(abs(count - 4000) for count in counts) < 6 * (20_000 * 0.2 * 0.8) ** 0.5


def test_one_seed_gives_the_same_requests_everywhere() -> None:
    assert paper_requests(3, seed=1) == paper_requests(9, seed=1)[:3]
    assert paper_requests(1, seed=1) == [PaperRequest("mean_family_income", "0.669204", "0.000082204")]
    assert paper_requests(3, seed=1) != paper_requests(3, seed=2)

"""The workload with Tumult Analytics and zero-concentrated privacy: Gaussian noise, of which more fits into a budget."""

from math import log, sqrt

from answer import Tumult
from job import Job, Left, Request, run
from tmlt.analytics import PrivacyBudget, RhoZCDPBudget

# Tumult leaves it to its users to convert: rho keeps (rho + 2 sqrt(rho log(1/delta)), delta) for every delta
# (Bun and Steinke 2016).


def rho_for(epsilon: float, delta: float) -> float:
    """Return the rho that keeps (epsilon, delta)."""
    return (sqrt(log(1 / delta) + epsilon) - sqrt(log(1 / delta))) ** 2


def epsilon_for(rho: float, delta: float) -> float:
    """Return the epsilon that rho is worth at this delta."""
    return rho + 2 * sqrt(rho * log(1 / delta))


class ConcentratedTumult(Tumult):
    """The same sums and counts with Gaussian noise."""

    def __init__(self, job: Job) -> None:
        self.delta = job.delta
        super().__init__(job)

    def promise(self, job: Job) -> PrivacyBudget:
        """Return the budget; with this kind, noise is Gaussian."""
        return RhoZCDPBudget(rho_for(job.epsilon, job.delta))

    def price(self, request: Request) -> PrivacyBudget:
        """Return what the noise that keeps the request's epsilon and delta costs."""
        return RhoZCDPBudget(rho_for(request.epsilon, request.delta))

    def left(self) -> Left:
        """Return what is left of rho, as an epsilon at the budget's delta."""
        return epsilon_for(float(self.session.remaining_privacy_budget.rho), self.delta), self.delta


run(ConcentratedTumult)

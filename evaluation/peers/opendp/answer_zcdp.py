"""The workload with OpenDP and zero-concentrated privacy: Gaussian noise, of which more fits into a budget."""

import opendp.prelude as dp
from answer import OpenDP
from job import Job, Left, Request, run

SPACE = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)


def rho_for(epsilon: float, delta: float) -> float:
    """Return the rho of the Gaussian noise that keeps (epsilon, delta), by OpenDP's own conversion."""

    def noise(scale: float) -> object:
        return dp.c.make_fix_delta(dp.c.make_zCDP_to_approxDP(dp.m.make_gaussian(*SPACE, scale)), delta)

    scale = dp.binary_search_param(noise, d_in=1.0, d_out=(epsilon, delta), T=float)
    return float(dp.m.make_gaussian(*SPACE, scale).map(1.0))


def epsilon_for(rho: float, delta: float) -> float:
    """Return the epsilon that rho is worth at this delta."""
    if rho <= 0:
        return 0.0
    noise = dp.m.make_gaussian(*SPACE, (1 / (2 * rho)) ** 0.5)
    return float(dp.c.make_zCDP_to_approxDP(noise).map(1.0).epsilon(delta))


class ConcentratedOpenDP(OpenDP):
    """The same sums with Gaussian noise."""

    def __init__(self, job: Job) -> None:
        self.delta = job.delta
        super().__init__(job)

    def promise(self, job: Job) -> object:
        """Return the budget; with this kind, noise is Gaussian."""
        return dp.loss_of(rho=rho_for(job.epsilon, job.delta))

    def answer(self, request: Request) -> float | None:
        """Answer with the noise that keeps the request's epsilon and delta."""
        rho = rho_for(request.epsilon, request.delta)
        return self.release(request, rho=rho) if rho <= self.context.remaining_privacy_loss() else None

    def left(self) -> Left:
        """Return what is left of rho, as an epsilon at the budget's delta."""
        return epsilon_for(self.context.remaining_privacy_loss(), self.delta), self.delta


run(ConcentratedOpenDP)

"""The workload with OpenDP: a Context over a Polars frame, with pure noise and epsilons that add up."""

import opendp.prelude as dp
import polars as pl
from job import Job, Left, Request, run

dp.enable_features("contrib")


class OpenDP:
    """Sums with noise over a known number of records, of which neighbours have one changed."""

    def __init__(self, job: Job) -> None:
        self.rows = job.rows
        # A context lives in its process: nothing saves it, and a new one starts with all of the budget.
        self.context = dp.Context.compositor(
            data=pl.read_csv(job.data).lazy(),
            privacy_unit=dp.unit_of(changes=1),
            privacy_loss=self.promise(job),
            margins=[dp.polars.Margin(max_length=job.rows, invariant="lengths")],
        )
        self.sums = {
            "mean_personal_income": pl.col.INCTOT.fill_null(0).dp.sum(job.bounds["INCTOT"]),
            "mean_family_income": pl.col.FTOTINC.fill_null(0).dp.sum(job.bounds["FTOTINC"]),
            # The only other code in the data is 3, not a citizen.
            "citizens": (pl.col.CITIZEN < 3).cast(int).fill_null(0).dp.sum((0, 1)),
            "white": (pl.col.RACE == 1).cast(int).fill_null(0).dp.sum((0, 1)),
            "over_60": (pl.col.AGE > 60).cast(int).fill_null(0).dp.sum((0, 1)),
        }

    def promise(self, job: Job) -> object:
        """Return the budget; with this kind, noise is Laplace."""
        return dp.loss_of(epsilon=job.epsilon, delta=job.delta)

    def answer(self, request: Request) -> float | None:
        """Answer with noise for the request's epsilon; its delta is given, and not spent."""
        # The filter shuts for good when it is asked for too much, so its user looks first.
        if request.epsilon > self.left()[0]:
            return None
        return self.release(request, epsilon=request.epsilon, delta=request.delta)

    def release(self, request: Request, **loss: float) -> float:
        """Return a noisy mean that costs this much."""
        total = self.context.query(**loss).select(self.sums[request.query]).release().collect().item()
        return float(total / self.rows)

    def left(self) -> Left:
        """Return what is left of the budget."""
        epsilon, delta = self.context.remaining_privacy_loss()
        return epsilon, delta


if __name__ == "__main__":
    run(OpenDP)

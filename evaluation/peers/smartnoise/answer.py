"""The workload with SmartNoise SQL: a private reader over a pandas frame, and its odometer."""

import pandas as pd
import snsql
from job import Job, Left, Request, run
from snsql import Privacy


class SmartNoise:
    """Sums and counts with Laplace noise, where neighbours have one record more or less, not one replaced."""

    def __init__(self, job: Job) -> None:
        self.job = job
        amounts = {name: {"type": "int", "lower": lower, "upper": upper} for name, (lower, upper) in job.bounds.items()}
        codes = {name: {"type": "int"} for name in ("AGE", "RACE", "CITIZEN")}
        # Each row is one person, and no query has groups whose mere presence would tell.
        table = {"rows": job.rows, "row_privacy": True, "censor_dims": False, **amounts, **codes}
        self.reader = snsql.from_df(
            pd.read_csv(job.data),
            privacy=Privacy(epsilon=job.epsilon, delta=job.delta),
            metadata={"": {"census": {"people": table}}},
        )
        # The number of people is public. AVG would buy it a second time: it charges for a sum and for a count.
        self.queries = {
            "mean_personal_income": "SELECT SUM(INCTOT) FROM census.people",
            "mean_family_income": "SELECT SUM(FTOTINC) FROM census.people",
            "citizens": "SELECT COUNT(*) FROM census.people WHERE CITIZEN IN (0, 1, 2)",
            "white": "SELECT COUNT(*) FROM census.people WHERE RACE = 1",
            "over_60": "SELECT COUNT(*) FROM census.people WHERE AGE > 60",
        }

    def answer(self, request: Request) -> float | None:
        """Answer with noise for the request's epsilon, whatever was spent before."""
        # Laplace noise needs no delta; the odometer would add up one that it is given.
        self.reader.privacy = Privacy(epsilon=request.epsilon, delta=0.0)
        try:
            _, (total,) = self.reader.execute(self.queries[request.query])
        except ValueError as error:
            # Not for the budget, which it never looks at: it adds no noise of a scale above ten million.
            if "Noise scale is too large" in str(error):
                return None
            raise
        return float(total / self.job.rows)

    def left(self) -> Left:
        """Return the budget without what the odometer says is spent."""
        # The odometer counts what is spent, in this process; comparing it with a budget is left to the user.
        epsilon, delta = self.reader.odometer.spent
        return float(self.job.epsilon - epsilon), float(self.job.delta - delta)


run(SmartNoise)

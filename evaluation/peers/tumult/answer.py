"""The workload with Tumult Analytics: a Session with a budget of epsilon and delta."""

import os
import sys

from job import Job, Left, Request, run

# Spark starts its workers with whatever "python3" is on the path, unless it is told.
os.environ["PYSPARK_PYTHON"] = sys.executable

from pyspark.sql import SparkSession
from tmlt.analytics import AddOneRow, ApproxDPBudget, PrivacyBudget, QueryBuilder, Session


class Tumult:
    """Sums and counts with noise, where neighbours have one record more or less, not one replaced."""

    def __init__(self, job: Job) -> None:
        self.rows = job.rows
        spark = SparkSession.builder.config("spark.ui.showConsoleProgress", "false").getOrCreate()
        people = spark.read.csv(job.data, header=True, inferSchema=True).cache()
        # A session lives in its process: nothing saves it, and a new one starts with all of the budget.
        self.session = Session.from_dataframe(self.promise(job), "people", people, protected_change=AddOneRow())
        everyone = QueryBuilder("people")
        # The number of people is public. An average would buy it a second time: it pays for a sum and for a count.
        self.queries = {
            "mean_personal_income": everyone.sum("INCTOT", *job.bounds["INCTOT"]),
            "mean_family_income": everyone.sum("FTOTINC", *job.bounds["FTOTINC"]),
            "citizens": everyone.filter("CITIZEN IN (0, 1, 2)").count(),
            "white": everyone.filter("RACE = 1").count(),
            "over_60": everyone.filter("AGE > 60").count(),
        }

    def promise(self, job: Job) -> PrivacyBudget:
        """Return the budget; with this kind, noise is Laplace."""
        return ApproxDPBudget(job.epsilon, job.delta)

    def price(self, request: Request) -> PrivacyBudget:
        """Return what an answer costs."""
        # Laplace noise needs no delta; the session would charge one that it is given, and soon be out of it.
        return ApproxDPBudget(request.epsilon, 0)

    def answer(self, request: Request) -> float | None:
        """Answer with noise for that price."""
        try:
            (row,) = self.session.evaluate(self.queries[request.query], self.price(request)).collect()
        except RuntimeError as error:
            if "exceeding the Session privacy budget" in str(error):
                return None
            raise
        return float(row[0] / self.rows)

    def left(self) -> Left:
        """Return what is left of the budget."""
        budget = self.session.remaining_privacy_budget
        return float(budget.epsilon), float(budget.delta)


if __name__ == "__main__":
    run(Tumult)

"""The workload with diffprivlib: its tools, and its BudgetAccountant."""

import json
from pathlib import Path

import numpy as np
from diffprivlib import BudgetAccountant, tools
from diffprivlib.utils import BudgetError
from job import Job, Left, Request, run

#: diffprivlib writes nothing down by itself; it hands out the list of what was spent, and takes it back.
SPENT = Path("spent.json")


class Diffprivlib:
    """Means with Laplace noise; as we do, it takes neighbours that differ in one record, and the number of them as public."""

    def __init__(self, job: Job) -> None:
        spent = [tuple(pair) for pair in json.loads(SPENT.read_text())] if job.resume else None
        # Its tools need no delta of their own, so all of it is slack for the accountant's composition theorem.
        self.accountant = BudgetAccountant(job.epsilon, job.delta, slack=job.delta, spent_budget=spent)
        income, family, age, race, citizen = np.loadtxt(job.data, delimiter=",", skiprows=1, unpack=True)
        self.values = {
            "mean_personal_income": (income, job.bounds["INCTOT"]),
            "mean_family_income": (family, job.bounds["FTOTINC"]),
            "citizens": (np.isin(citizen, (0, 1, 2)), (0, 1)),
            "white": (race == 1, (0, 1)),
            "over_60": (age > 60, (0, 1)),
        }

    def answer(self, request: Request) -> float | None:
        """Answer with noise for the request's epsilon."""
        values, bounds = self.values[request.query]
        try:
            mean = tools.mean(values, epsilon=request.epsilon, bounds=bounds, accountant=self.accountant)
        except BudgetError:
            return None
        SPENT.write_text(json.dumps(self.accountant.spent_budget))
        return float(mean)

    def left(self) -> Left:
        """Return what is left of the budget, for one more request."""
        epsilon, delta = self.accountant.remaining()
        return float(epsilon), float(delta)


run(Diffprivlib)

"""Rows of the record of ``closed-loop``: what each rung promised, and what the judging seeds delivered."""

import math
from collections.abc import Mapping, Sequence

from scipy import stats

from depl.benchmarks.studies.policies.problems import TIGHT_EPOCHS
from depl.models.estimation.binomial import clopper_pearson, refuting_p_value
from depl.models.policy.replay import ReplayedRun

Row = dict[str, object]

FIXED, STOPPED, CLAIRVOYANT, RESET = "fixed", "fixed, stopped", "clairvoyant", "reset rule"
OPTIMAL_COUNTED, OPTIMAL_LEDGER = "optimal, counted", "optimal, ledger"
POLICIES = ("static, counted", OPTIMAL_COUNTED, "static, ledger", OPTIMAL_LEDGER)
"""Those with a certified promise: rung of `depl.solve_policy`, and certificate."""

_SIGNIFICANCE = 0.05
_HIGHEST = 0.999999
"""The greatest promise that the exact test takes."""


def delivered(runs: Sequence[ReplayedRun], level: float) -> Row:
    """What runs did: the share that reached the target, its 95 % interval, p-value against omega, costs."""
    many = len(runs)
    missed = sum(run.end != "reached" for run in runs)
    interval = clopper_pearson(missed, many, 0.95)
    cost = math.fsum(run.cost for run in runs) / many
    return {
        "runs": many,
        "delivered": 1 - missed / many,
        "lower": 1 - interval.upper,
        "upper": 1 - interval.lower,
        "p_value": refuting_p_value(missed, many, level),
        "cost": cost,
        "cost_error": math.sqrt(math.fsum((run.cost - cost) ** 2 for run in runs) / (many - 1) / many),
        "abandoned_at_start": sum(run.end != "reached" and run.epochs == 0 for run in runs),
    }


def cost_ratios(rows: Sequence[Row], level: float, rung: str = OPTIMAL_COUNTED) -> list[float]:
    """Costs in that of the fixed plan trained to its end, of the problems that are not tight."""
    asked = [row for row in rows if row["omega"] == level and row["maximum_epochs"] != TIGHT_EPOCHS]
    fixed = {
        (row["family"], row["maximum_loss"]): number(row["cost"]) for row in asked if row["rung"] == FIXED
    }
    keys = [(row, (row["family"], row["maximum_loss"])) for row in asked if row["rung"] == rung]
    return [number(row["cost"]) / fixed[key] for row, key in keys if "cost" in row and key in fixed]


def refuted(p_values: Sequence[float]) -> int:
    """How many of several promises are refuted at 5 % all together: Holm's step-down procedure."""
    ordered = sorted(p_values)
    for place, value in enumerate(ordered):
        if value > _SIGNIFICANCE / (len(ordered) - place):
            return place
    return len(ordered)


def of_promise(row: Mapping[str, object]) -> float:
    """p-value of the certified probability itself, which is above omega where the promise is slack."""
    promised, share, runs = (number(row[name]) for name in ("promised", "delivered", "runs"))
    return refuting_p_value(round((1 - share) * runs), int(runs), min(promised, _HIGHEST))


def of_cost(row: Mapping[str, object]) -> float:
    """p-value of the certified cost: the mean of the runs against it, by Student's one-sided test."""
    cost, error, runs = (number(row[name]) for name in ("cost", "cost_error", "runs"))
    excess = cost - number(row["promised_cost"])
    return float(stats.t.sf(excess / error, runs - 1)) if error > 0 else float(excess <= 0)


def number(value: object) -> float:
    """A number of a row; NaN where there is none."""
    return float(value) if isinstance(value, int | float) else math.nan

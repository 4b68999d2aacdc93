"""Rows of the record: what was promised, and what the runs of the judging seeds delivered."""

import math
from collections.abc import Mapping, Sequence

from scipy import stats

from depl.benchmarks.studies.policies.problems import TIGHT_EPOCHS
from depl.models.estimation.binomial import clopper_pearson, refuting_p_value
from depl.models.policy.replay import ReplayedRun
from depl.models.problem.policy import Policy

Row = dict[str, object]

FIXED, STOPPED, CLAIRVOYANT, RESET = "fixed", "fixed, stopped", "clairvoyant", "reset rule"
STATIC_COUNTED, STATIC_LEDGER = "static, counted", "static, ledger"
OPTIMAL_COUNTED, OPTIMAL_LEDGER = "optimal, counted", "optimal, ledger"
POLICIES = (STATIC_COUNTED, OPTIMAL_COUNTED, STATIC_LEDGER, OPTIMAL_LEDGER)
"""Those with a certified promise: rung and certificate."""

_SIGNIFICANCE = 0.05
_HIGHEST = 0.999999
"""The greatest promise that the exact test takes."""


def delivered(runs: Sequence[ReplayedRun], level: float, failure_cost: float) -> Row:
    """What two runs or more did: the share that reached the target with its 95 % interval, costs, ends.

    Parameters
    ----------
    level : float
        omega, which the p-value is for.
    failure_cost : float
        Of the objective [cost].
    """
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
        "objective": cost + failure_cost * missed / many,
        "deadline": sum(run.end == "exhausted" for run in runs),
        "abandoned": sum(run.end in ("abandoned", "beyond") for run in runs),
        "abandoned_at_start": sum(run.end != "reached" and run.epochs == 0 for run in runs),
    }


def cost_ratios(rows: Sequence[Row], level: float, who: str = OPTIMAL_COUNTED) -> list[float]:
    """Costs in that of the fixed plan trained to its end, of the problems that are not tight."""
    fixed = {_problem(row): number(row["cost"]) for row in rows if row["who"] == FIXED}
    return [
        number(row["cost"]) / fixed[_problem(row)]
        for row in rows
        if row["who"] == who
        and "cost" in row
        and row["omega"] == level
        and row["maximum_epochs"] != TIGHT_EPOCHS
        and _problem(row) in fixed
    ]


def _problem(row: Row) -> tuple[object, ...]:
    return tuple(row[name] for name in ("family", "maximum_loss", "maximum_epochs", "omega"))


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


def is_fixed(policy: Policy) -> bool:
    """Whether a policy is a fixed plan that is left as soon as the target is reached."""
    least = policy.grid.target
    return all(
        len({row.action for row in node.rows if row.upto > least or not node.may_stop}) == 1
        for node in policy.nodes
    )


def number(value: object) -> float:
    """A number of a row; NaN where there is none."""
    return float(value) if isinstance(value, int | float) else math.nan

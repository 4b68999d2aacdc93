"""Regret of estimation: what a plan delivers and costs when its laws were estimated, the truth being known.

A plan is solved on an estimated instance and evaluated on the true one: its probability of missing the
target is certified there, and its cost is compared with the true optimum. Costs do not depend on laws, so
a plan on wrong laws costs more than needed, breaks its promise, or both; laws that are too pessimistic may
find no plan at all. All three are told.

For a plan that does not depend on the runs there is a formula. With n runs of it the mean of the final loss
is known up to a normal error of standard deviation sigma / sqrt(n), so a margin of z_p sigma becomes one of
(z_p + N / sqrt(n)) sigma, N standard normal. The violation is Phi(-z_p + N / sqrt(n)): on average
Phi(-z_p / sqrt(1 + 1/n)), and at most c p with probability q as soon as n >= (z_{1-q} / (z_p - z_{cp}))**2. A
solver that chooses among models prefers those that were overestimated, which is why `trial` plans anew.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from depl.models.evaluation.evaluate import evaluate
from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.instance import Instance
from depl.models.problem.plan import Plan
from depl.models.solving.result import Result, Solution
from depl.models.solving.solve import solve


@dataclass(frozen=True)
class Trial:
    """One plan on estimated laws, judged under the true ones.

    Attributes
    ----------
    planned : bool
        Whether a plan was found; without one the numbers are infinite.
    violation : float
        Certified upper bound of P(l(K) > l_max) under the true laws.
    promised : float
        The same under the estimated laws.
    allowed : float
        1 - omega.
    extra_cost : float
        Cost over the true optimum, less 1; negative where the plan is cheaper because it promises too much.
    proved : bool
        Whether the plan is the proved optimum of the estimated instance.
    """

    planned: bool
    violation: float
    promised: float
    allowed: float
    extra_cost: float
    proved: bool

    @property
    def kept(self) -> bool:
        """Whether the promise holds under the true laws."""
        return self.violation <= self.allowed

    @property
    def excess(self) -> float:
        """True violation over the allowed one."""
        return self.violation / self.allowed


@dataclass(frozen=True)
class RegretRow:
    """Trials of one kind in figures.

    Attributes
    ----------
    label : str
    trials, without_plan : int
    kept : float
        Share of the plans whose promise holds under the true laws.
    mean_violation, mean_excess : float
        Mean true violation of the plans, and over the allowed one.
    ninth_excess : float
        The excess that nine plans in ten do not exceed.
    extra_cost : float
        Mean over the plans that keep their promise; NaN without one.
    """

    label: str
    trials: int
    without_plan: int
    kept: float
    mean_violation: float
    mean_excess: float
    ninth_excess: float
    extra_cost: float


def true_optimum(instance: Instance, method: str = "exact", time_limit: float | None = None) -> Result:
    """The proved optimum that trials are compared with.

    Raises
    ------
    InvalidInputError
        If it was not proved within the time limit, or there is no plan.
    """
    result = solve(instance, method, time_limit=time_limit)
    if result.solution is not Solution.PROVEN_OPTIMAL:
        raise InvalidInputError(f"no optimum of {instance.name!r} was proved: {result.termination.value}")
    return result


def trial(
    true: Instance,
    estimated: Instance,
    optimum: float,
    method: str = "exact",
    time_limit: float | None = None,
) -> Trial:
    """Plan on estimated laws and judge the plan under the true ones.

    Parameters
    ----------
    true, estimated : Instance
        Alike in everything but their laws.
    optimum : float
        Cost of the true optimum [cost].
    method : str
        What solves the estimated instance.
    time_limit : float, optional
        Wall seconds of the solve.
    """
    result = solve(estimated, method, time_limit=time_limit)
    allowed = float(true.target.violation_budget)
    if result.plan is None or result.violation is None or result.cost is None:
        return Trial(False, math.inf, math.inf, allowed, math.inf, False)
    plan = Plan(data=result.plan.data, epochs=result.plan.epochs)  # without the fingerprint of the other
    judged = evaluate(true, plan, quantile=False)
    return Trial(
        planned=True,
        violation=judged.violation.upper,
        promised=result.violation.upper,
        allowed=allowed,
        extra_cost=judged.cost / optimum - 1 if optimum else judged.cost,
        proved=result.solution is Solution.PROVEN_OPTIMAL,
    )


def regret_row(label: str, trials: Iterable[Trial]) -> RegretRow:
    """Trials of one kind in figures.

    Raises
    ------
    InvalidInputError
        If there are none.
    """
    found = list(trials)
    if not found:
        raise InvalidInputError("there is no trial to summarise")
    plans = [item for item in found if item.planned]
    excess = np.array([item.excess for item in plans])
    kept = [item.extra_cost for item in plans if item.kept]
    return RegretRow(
        label=label,
        trials=len(found),
        without_plan=len(found) - len(plans),
        kept=len(kept) / len(plans) if plans else math.nan,
        mean_violation=float(np.mean([item.violation for item in plans])) if plans else math.nan,
        mean_excess=float(excess.mean()) if plans else math.nan,
        ninth_excess=float(np.quantile(excess, 0.9, method="higher")) if plans else math.nan,
        extra_cost=float(np.mean(kept)) if kept else math.nan,
    )


def expected_violation(allowed: float, runs: int) -> float:
    """Mean true violation of a fixed plan whose margin comes from ``runs`` runs of it; see the module.

    Raises
    ------
    InvalidInputError
        If ``allowed`` does not lie in (0, 1) or there is no run.
    """
    if not 0 < allowed < 1 or runs < 1:
        raise InvalidInputError(f"needs a probability and at least one run, not {allowed} and {runs}")
    return float(special.ndtr(special.ndtri(allowed) / math.sqrt(1 + 1 / runs)))


def runs_by_formula(allowed: float, excess: float = 2.0, share: float = 0.9) -> int:
    """Fewest runs of a fixed plan so that it misses at most ``excess`` times as often as allowed.

    Parameters
    ----------
    allowed : float
        p = 1 - omega.
    excess : float
        Above 1, so that ``excess * allowed`` is a probability below 1.
    share : float
        Probability, over the runs, with which that holds; at least 1/2.

    Raises
    ------
    InvalidInputError
        If a number is out of range.
    """
    if not (0 < allowed < excess * allowed < 1 and 0.5 <= share < 1):
        raise InvalidInputError(
            f"needs 0 < p < excess p < 1 and a share in [1/2, 1), not {allowed}, {excess} and {share}"
        )
    distance = float(special.ndtri(excess * allowed) - special.ndtri(allowed))
    return max(1, math.ceil((float(special.ndtri(share)) / distance) ** 2))


def runs_needed(runs: Sequence[int], rows: Sequence[RegretRow], excess: float = 2.0) -> float:
    """The fewest runs from which on nine plans in ten miss at most ``excess`` times as often as allowed.

    Parameters
    ----------
    runs : sequence of int
        Ascending.
    rows : sequence of RegretRow
        One for each of ``runs``.

    Returns
    -------
    float
        One of ``runs``; infinite if even the most do not suffice.
    """
    needed = math.inf
    for count, row in zip(reversed(runs), reversed(rows), strict=True):
        if not row.ninth_excess <= excess:
            break
        needed = float(count)
    return needed

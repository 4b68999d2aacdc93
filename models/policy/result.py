"""What planning a policy returns."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import msgspec

from depl.models.foundation.documents import document
from depl.models.foundation.interval import float_above
from depl.models.foundation.showing import Shown
from depl.models.problem.instance import Instance
from depl.models.problem.policy import Policy
from depl.models.solving.result import Solution, Termination

Rung = Literal["static", "optimal"]
RUNGS: tuple[Rung, ...] = ("static", "optimal")
"""Kinds of policies: fixed plans that are left when the target is reached, and all that are allowed."""


_ROUNDING = 1e-15
"""Of 1 less a probability: an objective of so many prices of a failure is one of nothing."""


@dataclass(frozen=True, repr=False)
class PolicyResult(Shown):
    """The outcome of `depl.solve_policy`.

    Under the law of the instance, and before the first epoch, runs that follow the policy reach the target
    with probability ``reached`` at least and cost ``cost`` at most in the mean. *Reached* means that the
    loss met the target when the run stopped, with the model of that epoch kept.

    Attributes
    ----------
    instance : Instance
    policy : Policy or None
    termination : Termination
        GAP_REACHED, TIME_LIMIT, INFEASIBLE (no policy keeps the promise), STUCK (the finest grid leaves a
        greater gap), EXHAUSTED (undecided on the finest grid, or all that can be counted was) or INTERRUPTED.
    failure_cost : float or None
        rho, the price of a failed run [cost].
    ratio : (float, float) or None
        Certified ends of rho*, the least expected cost of a success [cost].
    lower_bound : float
        Of cost + failure_cost * P(failed), for every policy that keeps the promise; 0 where none is proved,
        as where runs are counted [cost].
    cells : int
        Of the finest grid that was used.
    reason : str
        Why there is no policy, or no smaller gap.
    restriction : str
        What all policies that were looked at have in common, if a limit of the training time restricts them:
        ``lower_bound`` and ``ratio`` are then of this class. Empty if all policies were looked at.
    seconds : float
        Wall time [s].
    """

    instance: Instance
    policy: Policy | None = None
    termination: Termination = Termination.EXHAUSTED
    failure_cost: float | None = None
    ratio: tuple[float, float] | None = None
    lower_bound: float = 0.0
    cells: int = 0
    reason: str = ""
    restriction: str = ""
    seconds: float = 0.0

    @property
    def solution(self) -> Solution:
        """FEASIBLE or NONE; a policy has a gap, however small, so none is called optimal."""
        return Solution.NONE if self.policy is None else Solution.FEASIBLE

    @property
    def cost(self) -> float | None:
        """Upper bound of the expected cost [cost]."""
        return None if self.policy is None else self.policy.certificate.cost

    @property
    def reached(self) -> float | None:
        """Lower bound of P(target reached)."""
        return None if self.policy is None else self.policy.certificate.reached

    @property
    def multiplier(self) -> float | None:
        """lam, the price for which the policy is best; above rho where the promise binds [cost]."""
        return None if self.policy is None else self.policy.multiplier

    @property
    def objective(self) -> float | None:
        """Upper bound of expected cost and price of failures, which is what is minimised [cost]."""
        if self.cost is None or self.failure_cost is None or self.reached is None:
            return None
        failed = 1 - Fraction(self.reached)
        return float_above(Fraction(self.cost) + Fraction(self.failure_cost) * failed)

    @property
    def gap(self) -> float | None:
        """By which share of the objective the lower bound is below it; None without a policy or a bound."""
        if self.objective is None:
            return None
        if self.objective <= _ROUNDING * (self.failure_cost or 0.0):
            return 0.0
        if self.lower_bound <= 0:
            return None
        return max(0.0, 1 - self.lower_bound / self.objective)

    @property
    def per_success(self) -> float | None:
        """Upper bound of the expected cost of a success, C / P [cost]."""
        if self.cost is None or self.reached is None:
            return None
        return float_above(Fraction(self.cost) / Fraction(self.reached)) if self.reached > 0 else math.inf

    @property
    def promise_binds(self) -> bool:
        """Whether the promise, and not the price of failures alone, decides on the policy."""
        return (self.multiplier or 0.0) > (self.failure_cost or 0.0)

    def to_dict(self) -> dict[str, Any]:
        """The outcome as plain data, with the keys that results have; what is infinite or absent is None."""
        per_success = self.per_success
        missed = None if self.reached is None else float_above(1 - Fraction(self.reached))
        policy = self.policy
        return {
            "termination": self.termination.value,
            "solution": self.solution.value,
            "cost": self.cost,
            "reached": self.reached,
            "per_success": None if per_success is None or math.isinf(per_success) else per_success,
            "failure_cost": self.failure_cost,
            "failure_cost_rule": None if policy is None else policy.failure_cost_rule,
            "ratio": None if self.ratio is None else list(self.ratio),
            "multiplier": self.multiplier,
            "promise_binds": self.promise_binds,
            "objective": self.objective,
            "lower_bound": self.lower_bound,
            "gap": self.gap,
            "certified_by": None if policy is None else policy.certificate.method,
            "violation": {"lower": None, "upper": missed},
            "quantile": {"lower": None, "upper": None},
            "epochs": None,
            "training_time": None,
            "reason": self.reason or None,
            "restriction": self.restriction or None,
            "instance": self.instance.fingerprint,
            "cells": self.cells,
            "wall_seconds": self.seconds,
            "policy": None if policy is None else document(policy),
        }

    def to_json(self) -> str:
        """The outcome as one JSON object."""
        return msgspec.json.encode(self.to_dict()).decode()

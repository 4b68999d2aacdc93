"""Form ``price``: resources and times projected out onto the price of time.

For a fixed sequence the cheapest resources cost max over lam >= 0 of sum psi_k(lam) - lam T_max
(`depl.models.problem.allocation`), where psi is the least kappa x + lam (c / x + s / b) of one epoch. As
exactly one configuration g trains in an epoch, psi of the epoch is sum_g psi_{k,g}(lam) w[k, g], linear in w.
So

    minimise  transfers + theta   subject to   theta >= sum_{k,g} psi_{k,g}(lam) w[k, g] - lam T_max

for all lam >= 0 is the whole problem, and any finite set of prices a relaxation. The limit of the cuts for
lam to infinity says that full resources must keep T_max:

    sum_{k,g} (c / r + s / b) w[k, g] <= T_max.

Without T_max there is no time row, and theta >= sum psi(0) w is exact. A configuration that misses the round
deadline has psi infinite, and no variable.

Tolerance. A sequence whose fastest time f exceeds T_max by at most 1e-9 T_max counts as feasible, with full
resources (`depl.models.problem.allocation`): what it costs is the least cost within the time max(T_max, f).
The time row and the cuts at prices that no sequence has asked for therefore speak of (1 + 1e-9) T_max, and
hold for every feasible sequence. The cut that makes the program exact at a sequence speaks of its own
max(T_max, f), at which it is tight. It holds for every sequence with a fastest time up to there. One that
needs more of the tolerance is let through all the same, at a price that may be up to lam 1e-9 T_max too high:
bounds are true up to that, as those of `depl.models.problem.allocation.dual_bound` are.

==================  ===========================================================================
component           meaning
==================  ===========================================================================
``theta``           cost of all resources, in units of ``cost_unit``
``eq2_price_cuts``  (2), (4), (5) and the round deadline at one price of time each
``eq4_time``        (4) with full resources, divided by T_max
==================  ===========================================================================
"""

import math
from collections.abc import Iterable
from typing import Any

import pyomo.environ as pyo

from depl.models.evaluation.evaluate import INTENT, Reading
from depl.models.exact.sampled import SampledProblem
from depl.models.foundation.tolerances import TIME_TOLERANCE
from depl.models.problem.allocation import Allocation
from depl.models.problem.epoch_costs import EpochCosts
from depl.models.programs.attainable import Attainable
from depl.models.programs.common import plan_frame, usable_keys
from depl.models.programs.components import linear
from depl.models.programs.notes import mark_as_relaxation

LARGEST_COEFFICIENT = 1e7
"""Cuts with greater ones are left out: HiGHS, whose tolerance they multiply, ends in errors on them."""

_FIRST_PRICES = 8
"""Prices with cuts from the start, each a quarter of the one before: set by hand, over a factor of 16,000.
Others are added where they are violated, so fewer cost rounds and the answer is the same."""


class PriceSpace:
    """The form ``price`` with cuts at a few prices of time, a relaxation, and the cuts that make it exact.

    Attributes
    ----------
    model : pyomo.environ.ConcreteModel

    Parameters
    ----------
    problem : SampledProblem
    bounds : Attainable
        Of this problem.
    reading : depl.models.evaluation.evaluate.Reading
        Intent or letter of (2) and (6).
    cost_unit : float
        The objective counts in this many units of cost.

    Raises
    ------
    NotCoveredError
        If no plan with an epoch can be feasible, so that there is nothing to write down.
    """

    def __init__(
        self,
        problem: SampledProblem,
        bounds: Attainable,
        reading: Reading = INTENT,
        cost_unit: float = 1.0,
    ) -> None:
        """Write the program down."""
        self.problem, self.cost_unit = problem, cost_unit
        self.keys = usable_keys(problem, bounds)
        position = {g: index for index, g in enumerate(problem.configurations)}
        loads = [problem.loads[key[0] - 1][position[g]] for key, g in self.keys.items()]
        target = problem.instance.target
        self.curves = EpochCosts.of(loads, target.round_deadline)
        self.model = model = plan_frame(problem, bounds, reading)
        mark_as_relaxation(model)
        self._variables = [model.w[key] for key in self.keys]
        model.theta = pyo.Var(bounds=(0, None), doc="(2): cost of all resources")
        model.eq2_cost = pyo.Objective(
            expr=model.transfers / cost_unit + model.theta, doc="(2): cost of transfers and resources"
        )
        model.eq2_price_cuts = pyo.ConstraintList(
            doc="(2), (4), (5) and the round deadline at one price of time"
        )
        self._known: set[tuple[float, float]] = set()
        self._latest = math.inf if target.maximum_time is None else target.maximum_time * (1 + TIME_TOLERANCE)
        if target.maximum_time is not None:
            shares = self.curves.shortest / target.maximum_time
            model.eq4_time = pyo.Constraint(
                expr=linear(shares, self._variables) <= 1 + TIME_TOLERANCE, doc="(4) with full resources"
            )
        self.add_cuts(self.first_multipliers())

    def first_multipliers(self) -> list[float]:
        """Prices spread over the range in which resources move; 0 alone without T_max."""
        curves = self.curves
        if self.problem.instance.target.maximum_time is None or not curves.movable.any():
            return [0.0]
        return [0.0, *(float(curves.end.max()) ** 2 * 4.0**-power for power in range(_FIRST_PRICES))]

    def add_cuts(self, multipliers: Iterable[float], allowed_time: float | None = None) -> list[Any]:
        """Add the cuts of some prices, those that are there already left out; returns the new ones.

        They hold for sequences that can take ``allowed_time``, which is (1 + 1e-9) T_max unless given.
        """
        time = self._latest if allowed_time is None else allowed_time
        added = []
        for multiplier in multipliers:
            if (multiplier, time) in self._known or (time == math.inf and multiplier > 0):
                continue
            self._known.add((multiplier, time))
            charge = 0.0 if multiplier == 0 else multiplier * time / self.cost_unit
            psi = self.curves.prices(multiplier) / self.cost_unit
            if max(charge, psi.max(initial=0.0)) <= LARGEST_COEFFICIENT:
                total = linear([*psi, -1.0], [*self._variables, self.model.theta])
                added.append(self.model.eq2_price_cuts.add(total <= charge))
        return added

    def tighten(self, allocation: Allocation) -> list[Any]:
        """Make the program exact at a feasible sequence with these resources; returns the new constraints."""
        maximum = self.problem.instance.target.maximum_time
        allowed = None if maximum is None else max(maximum, allocation.fastest_time)
        return self.add_cuts([allocation.multiplier], allowed)

    def write_cost(self, allocation: Allocation) -> None:
        """Set theta to the cost of the resources of a plan, as a start."""
        self.model.theta.set_value(allocation.cost / self.cost_unit)

"""Program F1: resources x and computing times t as variables, the product x t >= c by tangents.

For every epoch k and cluster n let x[k, n] be the resources of one node and t[k, n] its computing time. If
configuration g trains there, x t >= c_g, x_min_g <= x <= r; if none does, x = t = 0. As exactly one w is 1,
the convex hull of these alternatives has the supporting lines with coefficients 1/u and u, u > 0:

    x / u + u t >= sum_g phi_g(u) w[k, g],   phi_g(u) = min { x / u + u c_g / x : x_min_g <= x <= r },

whose minimiser is x = clip(u sqrt(c_g), x_min_g, r); unclipped, phi = 2 sqrt(c). Validity: take w = e_g and
any x, t that are allowed; then x / u + u t >= x / u + u c / x >= phi_g(u). Tightness: at u = x* / sqrt(c) the
line touches the hyperbola x t = c in x*; with one such line per trained epoch at the cheapest x*, the program
has the same optimal multiplier there as the convex one and is exact for that sequence.

Exact up to the solver's tolerance, however, and that counts lam times: a solver that lets (4) pass with
1 + 1e-9 for 1 saves lam T_max 1e-9, and lam T_max may be many times the cost (where epochs communicate for
long, or T_max leaves them hardly any choice). So if a sequence comes back whose tangents are all there, the
*sum of its rows* is added, with coefficients from the closed form instead of the solver's arithmetic:

    surcharge + sum kappa x >= sum_{k,g} psi_{k,g}(lam) w[k, g] - lam T,   T = max(T_max, f),

with the multiplier lam and the fastest time f of that sequence. Proof: (4) times lam and, for the epoch of
configuration g, the least psi of kappa x + lam (c / x + s / b) over the allowed x, added up, give
sum kappa x >= sum psi - lam T for all x that keep the time T; equality holds at the cheapest x of the
sequence, which makes the bound of the sequence its cost, to the rounding of one row. ``surcharge`` >= 0 is
part of the cost. A sequence with a fastest time of at most T pays none; one that needs more of the tolerance
of T_max (`depl.models.problem.allocation`) is let through, as in F2 (`depl.models.programs.price_space`), for
a surcharge of at most lam 1e-9 T_max, so that no sequence within the tolerance is cut off. For the same
reason (4) speaks of (1 + 1e-9) T_max.

============================  =====================================================================
component                     meaning
============================  =====================================================================
``x``, ``t``                  resources per node [resource], computing time [time]
``eq2_cost``                  (2): transfers and nodes * kappa * x, in units of ``cost_unit``
``surcharge``                 what the sums of rows ask for beside (2), in the same units
``eq2_sums``                  sums of the rows of single sequences
``eq4_time``                  (4): all times, divided by T_max
``eq5_most``, ``eq5_least``   (5): x within r and x_min where an epoch computes, else 0
``round_deadline``            t + s / b <= tau
``tangents``                  x t >= c
============================  =====================================================================
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyomo.environ as pyo

from depl.models.evaluation.evaluate import INTENT, Reading
from depl.models.exact.choices import Configuration
from depl.models.exact.sampled import SampledProblem
from depl.models.foundation.tolerances import TIME_TOLERANCE
from depl.models.problem.allocation import Allocation
from depl.models.problem.epoch_costs import EpochCosts
from depl.models.problem.laws import FloatArray
from depl.models.programs.attainable import Attainable, attainable
from depl.models.programs.common import labels, linear, plan_frame, usable_keys
from depl.models.programs.export import mark_as_relaxation
from depl.models.programs.price_space import LARGEST_COEFFICIENT

_FIRST_TANGENTS = 5
"""Tangents from the start: set by hand. Others are added where they are violated, so fewer cost rounds and
the answer is the same."""

_SLOWEST = 8.0
"""The first tangents reach from full resources down to this part of them."""


def resource_space(
    problem: SampledProblem,
    reading: Reading = INTENT,
    *,
    bounds: Attainable | None = None,
    cost_unit: float = 1.0,
) -> pyo.ConcreteModel:
    """Program F1 with a few tangents: a relaxation, whose plan may cost more than its optimum.

    Parameters
    ----------
    problem : SampledProblem
    reading : depl.models.evaluation.evaluate.Reading
        Intent or letter of (2) and (6).
    bounds : Attainable, optional
        Of this problem, if it is known already.
    cost_unit : float
        The objective counts in this many units of cost.

    Returns
    -------
    pyomo.environ.ConcreteModel
        A relaxation whose optimum is at most that of the problem; add tangents by `ResourceSpace.tighten`.

    Raises
    ------
    NotCoveredError
        If no plan with an epoch can be feasible, so that there is nothing to write down.
    """
    return ResourceSpace(problem, bounds or attainable(problem), reading, cost_unit).model


class ResourceSpace:
    """Program F1 and the tangents that make it exact.

    Attributes
    ----------
    model : pyomo.environ.ConcreteModel
    """

    def __init__(
        self, problem: SampledProblem, bounds: Attainable, reading: Reading = INTENT, cost_unit: float = 1.0
    ) -> None:
        """Write the program down; the arguments are those of `resource_space`."""
        self.problem, self.cost_unit = problem, cost_unit
        self.model = plan_frame(problem, bounds, reading)
        mark_as_relaxation(self.model)
        keys = usable_keys(problem, bounds)
        position = {g: index for index, g in enumerate(problem.configurations)}
        self._loads = {key: problem.loads[key[0] - 1][position[g]] for key, g in keys.items()}
        deadline = problem.instance.target.round_deadline
        self._places: dict[tuple[int, str], tuple[list[Any], EpochCosts]] = {}
        for place in sorted({key[:2] for key in keys}):
            there = [key for key in keys if key[:2] == place]
            curves = EpochCosts.of([self._loads[key] for key in there], deadline)
            self._places[place] = [self.model.w[key] for key in there], curves
        self._every = EpochCosts.of(list(self._loads.values()), deadline)
        self._known: set[tuple[int, str, float]] = set()
        self._summed: set[tuple[float, float]] = set()
        self._add_resources()
        self._add_time()
        for place, (_, curves) in self._places.items():
            self._add_tangents(place, _first_slopes(curves))

    def tighten(self, choices: Sequence[Configuration], allocation: Allocation) -> list[Any]:
        """Make the program exact at a feasible sequence; returns the new constraints."""
        added = []
        for k, (g, x) in enumerate(zip(choices, allocation.resources, strict=True), start=1):
            named = labels(self.problem, g)
            work = self._loads[k, *named].work
            if work > 0:
                added += self._add_tangents((k, named[0]), [float(x) / work**0.5])
        return added or self._add_sum(allocation)

    def separate(self) -> list[Any]:
        """Cut off the present values of the variables, integer or not; returns the new constraints."""
        added = []
        for place, (variables, curves) in self._places.items():
            x, t = (float(v[place].value or 0.0) for v in (self.model.x, self.model.t))
            if x <= 0 or t <= 0:
                continue
            slope = (x / t) ** 0.5
            weights = np.array([max(variable.value or 0.0, 0.0) for variable in variables])
            needed = float(weights @ _support(curves, slope))
            if needed > (x / slope + slope * t) * (1 + 1e-6) + 1e-9:
                added += self._add_tangents(place, [slope])
        return added

    def write_resources(self, choices: Sequence[Configuration], allocation: Allocation) -> None:
        """Set x and t to the cheapest resources of a plan, as a start."""
        for place in self.model.x:
            self.model.x[place].set_value(0.0)
            self.model.t[place].set_value(0.0)
        for k, (g, x) in enumerate(zip(choices, allocation.resources, strict=True), start=1):
            named = labels(self.problem, g)
            work = self._loads[k, *named].work
            if work > 0:
                self.model.x[k, named[0]].set_value(float(x))
                self.model.t[k, named[0]].set_value(work / float(x))
        self.model.surcharge.set_value(0.0)
        short = [pyo.value(row.lower - row.body) for row in self.model.eq2_sums.values()]
        self.model.surcharge.set_value(max([0.0, *short]))

    def _add_resources(self) -> None:
        """Objective (2), constraint (5), and the variables."""
        model, places = self.model, self._places
        price = {place: float(curves.price[0]) for place, (_, curves) in places.items()}
        model.x = pyo.Var(list(places), bounds=lambda _, k, n: (0, float(places[k, n][1].capacity[0])))
        model.t = pyo.Var(list(places), bounds=(0, None))
        model.surcharge = pyo.Var(bounds=(0, None))
        model.spent = pyo.Expression(
            expr=linear(
                [1.0, *(price[place] / self.cost_unit for place in places)],
                [model.surcharge, *(model.x[place] for place in places)],
            )
        )
        model.eq2_cost = pyo.Objective(expr=model.transfers / self.cost_unit + model.spent)
        model.eq2_sums = pyo.ConstraintList()

        def most(block: Any, k: int, n: str) -> Any:
            variables, curves = places[k, n]
            return linear([1.0, *-curves.most], [block.x[k, n], *variables]) <= 0

        def least(block: Any, k: int, n: str) -> Any:
            variables, curves = places[k, n]
            return linear([-1.0, *curves.least], [block.x[k, n], *variables]) <= 0

        model.eq5_most = pyo.Constraint(list(places), rule=most)
        hurried = [place for place, (_, curves) in places.items() if curves.least.any()]
        model.eq5_least = pyo.Constraint(hurried, rule=least)
        model.tangents = pyo.ConstraintList()

    def _add_time(self) -> None:
        """Constraint (4) and the round deadline."""
        model, target = self.model, self.problem.instance.target
        if target.maximum_time is not None:
            shares = [item.communication / target.maximum_time for item in self._loads.values()]
            shares += [1 / target.maximum_time] * len(self._places)
            variables = [*(model.w[key] for key in self._loads), *(model.t[place] for place in self._places)]
            model.eq4_time = pyo.Constraint(expr=linear(shares, variables) <= 1 + TIME_TOLERANCE)
        if target.round_deadline is None:
            return
        deadline = target.round_deadline

        def punctual(block: Any, k: int, n: str) -> Any:
            variables, curves = self._places[k, n]
            # A deadline that is kept by its tolerance only leaves full resources no more time than c / r.
            left = np.maximum(deadline, curves.shortest) - curves.communication
            return linear([1.0, *-left], [block.t[k, n], *variables]) <= 0

        model.round_deadline = pyo.Constraint(list(self._places), rule=punctual)

    def _add_sum(self, allocation: Allocation) -> list[Any]:
        """Add the sum of the rows of a feasible sequence unless it is there; see the module's docstring."""
        maximum = self.problem.instance.target.maximum_time
        multiplier = allocation.multiplier
        latest = 0.0 if maximum is None else max(maximum, allocation.fastest_time)
        charge, psi = multiplier * latest / self.cost_unit, self._every.prices(multiplier) / self.cost_unit
        if (multiplier, charge) in self._summed or max(charge, psi.max(initial=0.0)) > LARGEST_COEFFICIENT:
            return []
        self._summed.add((multiplier, charge))
        least = linear(psi, [self.model.w[key] for key in self._loads])
        return [self.model.eq2_sums.add(self.model.spent - least >= -charge)]

    def _add_tangents(self, place: tuple[int, str], slopes: Sequence[float]) -> list[Any]:
        """Add lines at some u, those that are there already left out; each divided by its largest phi."""
        variables, curves = self._places[place]
        added = []
        for slope in slopes:
            if (*place, slope) in self._known:
                continue
            self._known.add((*place, slope))
            support = _support(curves, slope)
            unit = float(support.max())
            line = linear(
                [1 / (slope * unit), slope / unit, *(-support / unit)],
                [self.model.x[place], self.model.t[place], *variables],
            )
            added.append(self.model.tangents.add(line >= 0))
        return added


def _support(curves: EpochCosts, slope: float) -> FloatArray:
    """phi_g(u) for all configurations of one epoch and cluster: psi where x costs 1 / u, and time u."""
    nothing = np.zeros_like(curves.work)
    return replace(curves, price=nothing + 1 / slope, communication=nothing).prices(slope)


def _first_slopes(curves: EpochCosts) -> list[float]:
    """u from full resources for the least work to an eighth of them for the greatest."""
    work = curves.work[curves.work > 0]
    if not len(work):
        return []
    capacity = float(curves.capacity[0])
    fastest, slowest = capacity / work.min() ** 0.5, capacity / (_SLOWEST * work.max() ** 0.5)
    return [float(u) for u in np.geomspace(slowest, fastest, _FIRST_TANGENTS)]

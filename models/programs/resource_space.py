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

The other components are those of `depl.models.programs.resource_frame`.

============================  =====================================================================
component                     meaning
============================  =====================================================================
``surcharge``                 what the sums of rows ask for beside (2), in the same units
``eq2_sums``                  sums of the rows of single sequences
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
from depl.models.problem.allocation import Allocation
from depl.models.problem.epoch_costs import EpochCosts
from depl.models.problem.laws import FloatArray
from depl.models.programs.attainable import Attainable, attainable, unrestricted
from depl.models.programs.components import linear
from depl.models.programs.notes import mark_as_relaxation
from depl.models.programs.price_space import LARGEST_COEFFICIENT
from depl.models.programs.resource_frame import Place, ResourceFrame
from depl.models.programs.sequences import labels

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
    mutable: bool = False,
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
    mutable : bool
        Whether the parameters ``quantile_level``, ``maximum_time``, ``capacity`` and ``unit_cost`` may be
        changed later; the program is a relaxation of the changed problem then.

    Returns
    -------
    pyomo.environ.ConcreteModel
        A relaxation whose optimum is at most that of the problem; add tangents by `ResourceSpace.tighten`.

    Raises
    ------
    NotCoveredError
        If no plan with an epoch can be feasible, so that there is nothing to write down.
    """
    bounds = bounds or (unrestricted(problem, capacities=True) if mutable else attainable(problem))
    return ResourceSpace(problem, bounds, reading, cost_unit, mutable=mutable).model


class ResourceSpace:
    """Program F1 and the tangents that make it exact.

    Attributes
    ----------
    model : pyomo.environ.ConcreteModel
    """

    def __init__(
        self,
        problem: SampledProblem,
        bounds: Attainable,
        reading: Reading = INTENT,
        cost_unit: float = 1.0,
        *,
        mutable: bool = False,
    ) -> None:
        """Write the program down; the arguments are those of `resource_space`."""
        self.problem, self.cost_unit = problem, cost_unit
        self._frame = frame = ResourceFrame(problem, bounds, reading, cost_unit, mutable)
        self.model = model = frame.model
        mark_as_relaxation(model)
        self._loads, self._places = frame.loads, frame.places
        deadline = problem.instance.target.round_deadline
        self._every = EpochCosts.of(list(self._loads.values()), deadline)
        self._known: set[tuple[int, str, float]] = set()
        self._summed: set[tuple[float, float]] = set()
        model.surcharge = pyo.Var(bounds=(0, None), doc="cost that the sums of rows ask for beside (2)")
        frame.add_objective(model.surcharge)
        model.eq2_sums = pyo.ConstraintList(doc="sums of the rows of single sequences")
        model.tangents = pyo.ConstraintList(doc="(1): tangents of x t >= c")
        for place, (_, curves) in self._places.items():
            self._add_tangents(place, _first_slopes(curves, frame.capacity[place]))

    def tighten(self, choices: Sequence[Configuration], allocation: Allocation) -> list[Any]:
        """Make the program exact at a feasible sequence; returns the new constraints."""
        added = []
        for k, (g, x) in enumerate(zip(choices, allocation.resources, strict=True), start=1):
            named = labels(self.problem, g)
            work = self._loads[k, *named].work
            if work > 0:
                added += self._add_tangents((k, named[0]), [float(x) / work**0.5])
        return added or self._add_sum(allocation)

    def write_resources(self, choices: Sequence[Configuration], allocation: Allocation) -> None:
        """Set x and t to the cheapest resources of a plan, as a start."""
        self._frame.write(choices, allocation)
        self.model.surcharge.set_value(0.0)
        short = [pyo.value(row.lower - row.body) for row in self.model.eq2_sums.values()]
        self.model.surcharge.set_value(max([0.0, *short]))

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

    def _add_tangents(self, place: Place, slopes: Sequence[float]) -> list[Any]:
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


def _first_slopes(curves: EpochCosts, capacity: float) -> list[float]:
    """u from full resources for the least work to an eighth of them for the greatest."""
    work = curves.work[curves.work > 0]
    if not len(work):
        return []
    fastest, slowest = capacity / work.min() ** 0.5, capacity / (_SLOWEST * work.max() ** 0.5)
    return [float(u) for u in np.geomspace(slowest, fastest, _FIRST_TANGENTS)]

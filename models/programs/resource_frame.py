"""What the programs with resources as variables share: x, t, and constraints (2), (4), (5) and the deadline.

For every epoch k and cluster n, x[k, n] are the resources of one node and t[k, n] is its computing time; both
are 0 where nothing trains. What ties them, x t >= c, is left to `depl.models.programs.resource_space`
(tangents) and `depl.models.programs.cone_space` (rotated cones).

If the parameters may change later, no row may lean on their first values: x_min and the lines then come from
loads without a capacity, and x <= r is a row and a bound with the parameter in it.

============================  =====================================================================
component                     meaning
============================  =====================================================================
``x``, ``t``                  resources per node [resource], computing time [time]
``eq2_cost``                  (2): transfers and nodes * kappa * x, in units of ``cost_unit``
``eq4_time``                  (4): all times, divided by T_max
``eq5_most``, ``eq5_least``   (5): x within r and x_min where an epoch computes, else 0
``round_deadline``            t + s / b <= tau
``capacity``, ``unit_cost``   parameters: r [resource], kappa [cost / resource], of a node
============================  =====================================================================
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyomo.environ as pyo

from depl.models.evaluation.evaluate import Reading
from depl.models.exact.choices import Configuration
from depl.models.exact.sampled import SampledProblem
from depl.models.foundation.tolerances import TIME_TOLERANCE
from depl.models.problem.allocation import Allocation
from depl.models.problem.epoch_costs import EpochCosts
from depl.models.problem.epochs import Load
from depl.models.programs.attainable import Attainable
from depl.models.programs.common import Key, add_maximum_time, plan_frame, usable_keys
from depl.models.programs.components import add_rows, linear
from depl.models.programs.sequences import labels

Place = tuple[int, str]
"""Epoch and cluster."""


class ResourceFrame:
    """The program without x t >= c.

    Attributes
    ----------
    model : pyomo.environ.ConcreteModel
    keys : list of Key
        Indices of w.
    loads : dict
        What each of them asks of its cluster; of infinite capacity if the parameters may change.
    places : dict
        For every epoch and cluster the variables w that train there, and their costs.
    cost_unit : float
    """

    def __init__(
        self, problem: SampledProblem, bounds: Attainable, reading: Reading, cost_unit: float, mutable: bool
    ) -> None:
        """Write the rows down, but for the objective, which `add_objective` adds."""
        self.problem, self.cost_unit, self.mutable = problem, cost_unit, mutable
        self.model = plan_frame(problem, bounds, reading, mutable=mutable)
        keys = usable_keys(problem, bounds)
        self.keys = list(keys)
        position = {g: index for index, g in enumerate(problem.configurations)}
        self.loads: dict[Key, Load] = {key: problem.loads[key[0] - 1][position[g]] for key, g in keys.items()}
        self.capacity = {key[:2]: load.capacity for key, load in self.loads.items()}
        if mutable:
            self.loads = {key: replace(load, capacity=math.inf) for key, load in self.loads.items()}
        deadline = problem.instance.target.round_deadline
        self.places: dict[Place, tuple[list[Any], EpochCosts]] = {}
        for place in sorted({key[:2] for key in keys}):
            there = [key for key in keys if key[:2] == place]
            curves = EpochCosts.of([self.loads[key] for key in there], deadline)
            self.places[place] = [self.model.w[key] for key in there], curves
        self._add_resources()
        self._add_time()

    def add_objective(self, *others: Any) -> None:
        """Add objective (2), with ``spent``, the cost of the resources and of ``others``, in cost units."""
        model = self.model
        nodes = {item.name: item.nodes for item in self.problem.instance.clusters}
        terms = [nodes[n] / self.cost_unit * model.unit_cost[n] for _, n in self.places]
        variables = [*others, *(model.x[place] for place in self.places)]
        if self.mutable:
            spent = sum(others) + sum(c * model.x[place] for c, place in zip(terms, self.places, strict=True))
        else:
            spent = linear([1.0] * len(others) + [pyo.value(c) for c in terms], variables)
        model.spent = pyo.Expression(expr=spent, doc="(2): cost of the resources")
        model.eq2_cost = pyo.Objective(
            expr=model.transfers / self.cost_unit + model.spent, doc="(2): cost of transfers and resources"
        )

    def write(self, choices: Sequence[Configuration], allocation: Allocation) -> dict[Place, float]:
        """Set x and t to the cheapest resources of a plan; returns the work of the epochs that compute."""
        for place in self.model.places:
            self.model.x[place].set_value(0.0)
            self.model.t[place].set_value(0.0)
        worked = {}
        for k, (g, x) in enumerate(zip(choices, allocation.resources, strict=True), start=1):
            named = labels(self.problem, g)
            place, work = (k, named[0]), self.loads[k, *named].work
            if work > 0:
                self.model.x[place].set_value(float(x))
                self.model.t[place].set_value(work / float(x))
                worked[place] = work
        return worked

    def _add_resources(self) -> None:
        """Constraint (5), and the variables."""
        model, places, clusters = self.model, self.places, self.problem.instance.clusters
        model.capacity = pyo.Param(
            model.clusters,
            initialize={item.name: item.capacity for item in clusters},
            mutable=self.mutable,
            doc="r: most resources of a node",
        )
        model.unit_cost = pyo.Param(
            model.clusters,
            initialize={item.name: item.unit_cost for item in clusters},
            mutable=self.mutable,
            doc="kappa: price of a unit of resources for an epoch",
        )
        model.places = pyo.Set(dimen=2, initialize=list(places), doc="epoch, cluster that may train in it")
        model.x = pyo.Var(model.places, doc="Sec. III: resources of a node")
        model.t = pyo.Var(model.places, bounds=(0, None), doc="computing time of the epoch there")
        for k, n in places:
            model.x[k, n].setlb(0)
            model.x[k, n].setub(model.capacity[n] if self.mutable else self.capacity[k, n])

        def most(k: int, n: str) -> Any:
            variables, curves = places[k, n]
            if self.mutable:
                busy = [x for x, work in zip(variables, curves.work, strict=True) if work > 0]
                return model.x[k, n] <= model.capacity[n] * sum(busy)
            return linear([1.0, *-curves.most], [model.x[k, n], *variables]) <= 0

        def least(k: int, n: str) -> Any:
            variables, curves = places[k, n]
            return linear([-1.0, *curves.least], [model.x[k, n], *variables]) <= 0

        add_rows(model, "eq5_most", model.places, most, "(5): no more than r, and nothing without training")
        hurried = [place for place, (_, curves) in places.items() if curves.least.any()]
        add_rows(model, "eq5_least", hurried, least, "(5): enough for the round deadline")

    def _add_time(self) -> None:
        """Constraint (4) and the round deadline."""
        model, target = self.model, self.problem.instance.target
        if target.maximum_time is not None:
            excess = add_maximum_time(model, target.maximum_time, self.mutable) * (1 + TIME_TOLERANCE)
            shares = [item.communication / target.maximum_time for item in self.loads.values()]
            shares += [1 / target.maximum_time] * len(self.places)
            variables = [*(model.w[key] for key in self.loads), *(model.t[place] for place in self.places)]
            model.eq4_time = pyo.Constraint(
                expr=linear(shares, variables) <= excess, doc="(4), divided by T_max"
            )
        if target.round_deadline is None:
            return
        deadline = target.round_deadline

        def punctual(k: int, n: str) -> Any:
            variables, curves = self.places[k, n]
            # A deadline that is kept by its tolerance only leaves full resources no more time than c / r.
            left = np.maximum(deadline, curves.shortest) - curves.communication
            return linear([1.0, *-left], [model.t[k, n], *variables]) <= 0

        add_rows(model, "round_deadline", model.places, punctual, "the epoch ends within tau")

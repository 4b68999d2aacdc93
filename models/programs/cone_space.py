"""Form ``cone``: the program as the paper writes it; resources x, computing times t, and x t >= c as cones.

For every epoch k and cluster n, x[k, n] are the resources of one node and t[k, n] is its computing time; both
are 0 where nothing trains. Let c_g be the work of the configuration g. As at most one w_g of an epoch is 1,
sum_g sqrt(c_g) w_g is the root of the work that is done there, and

    (sum_g sqrt(c_g) w[k, g])**2 <= x[k, n] t[k, n],   x, t >= 0,

is x t >= c_g where g trains, and says nothing where none does. It is a rotated second-order cone, so the
program needs no cuts: solvers that know such cones (SCIP and others, not HiGHS) take it as it is. Divided by
the greatest work C of that epoch and cluster, so that absolute tolerances mean something: root**2 <= x t / C,
root = sum sqrt(c / C) w. A solver keeps that to its tolerance, so ask for 1e-8: at 1e-6, costs are off by
about as much.

============================  =====================================================================
component                     meaning
============================  =====================================================================
``x``, ``t``                  resources per node [resource], computing time [time]
``root``                      square root of the work of the epoch there, in units of sqrt(C)
``eq2_cost``                  (2): transfers and nodes * kappa * x
``eq4_time``                  (4): all times, divided by T_max
``eq5_most``, ``eq5_least``   (5): x within r and x_min where an epoch computes, else 0
``round_deadline``            t + s / b <= tau
``work_root``                 root = sum sqrt(c / C) w
``cones``                     (1): root**2 <= x t / C
============================  =====================================================================
"""

from typing import Any

import numpy as np
import pyomo.environ as pyo

from depl.models.evaluation.evaluate import INTENT, Reading
from depl.models.exact.sampled import SampledProblem
from depl.models.foundation.tolerances import TIME_TOLERANCE
from depl.models.problem.epoch_costs import EpochCosts
from depl.models.programs.attainable import Attainable
from depl.models.programs.common import plan_frame, usable_keys
from depl.models.programs.components import add_rows, linear

Place = tuple[int, str]
"""Epoch and cluster."""


class ConeSpace:
    """The form ``cone``: its optimum is that of the problem.

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

    Raises
    ------
    NotCoveredError
        If no plan with an epoch can be feasible, so that there is nothing to write down.
    """

    def __init__(self, problem: SampledProblem, bounds: Attainable, reading: Reading = INTENT) -> None:
        """Write the program down."""
        self.problem = problem
        self.model = model = plan_frame(problem, bounds, reading)
        keys = usable_keys(problem, bounds)
        position = {g: index for index, g in enumerate(problem.configurations)}
        self._loads = {key: problem.loads[key[0] - 1][position[g]] for key, g in keys.items()}
        deadline = problem.instance.target.round_deadline
        self._places: dict[Place, tuple[list[Any], EpochCosts]] = {}
        for place in sorted({key[:2] for key in keys}):
            there = [key for key in keys if key[:2] == place]
            curves = EpochCosts.of([self._loads[key] for key in there], deadline)
            self._places[place] = [model.w[key] for key in there], curves
        self._greatest = {place: float(curves.work.max()) for place, (_, curves) in self._places.items()}
        self._add_resources()
        self._add_time()
        self._add_cost()
        self._add_cones()

    def _add_resources(self) -> None:
        """Constraint (5), and the variables."""
        model, places = self.model, self._places
        model.places = pyo.Set(dimen=2, initialize=list(places), doc="epoch, cluster that may train in it")
        model.x = pyo.Var(model.places, bounds=(0, None), doc="Sec. III: resources of a node")
        model.t = pyo.Var(model.places, bounds=(0, None), doc="computing time of the epoch there")
        for key, load in self._loads.items():
            model.x[key[:2]].setub(load.capacity)

        def most(k: int, n: str) -> Any:
            variables, curves = places[k, n]
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
            shares = [item.communication / target.maximum_time for item in self._loads.values()]
            shares += [1 / target.maximum_time] * len(self._places)
            variables = [*(model.w[key] for key in self._loads), *(model.t[place] for place in self._places)]
            model.eq4_time = pyo.Constraint(
                expr=linear(shares, variables) <= 1 + TIME_TOLERANCE, doc="(4), divided by T_max"
            )
        if target.round_deadline is None:
            return
        deadline = target.round_deadline

        def punctual(k: int, n: str) -> Any:
            variables, curves = self._places[k, n]
            # A deadline that is kept by its tolerance only leaves full resources no more time than c / r.
            left = np.maximum(deadline, curves.shortest) - curves.communication
            return linear([1.0, *-left], [model.t[k, n], *variables]) <= 0

        add_rows(model, "round_deadline", model.places, punctual, "the epoch ends within tau")

    def _add_cost(self) -> None:
        """Objective (2)."""
        model = self.model
        prices = {item.name: item.nodes * item.unit_cost for item in self.problem.instance.clusters}
        spent = linear([prices[n] for _, n in self._places], [model.x[place] for place in self._places])
        model.eq2_cost = pyo.Objective(
            expr=model.transfers + spent, doc="(2): cost of transfers and resources"
        )

    def _add_cones(self) -> None:
        """x t >= c."""
        model = self.model
        busy = [place for place, work in self._greatest.items() if work > 0]
        model.busy_places = pyo.Set(dimen=2, initialize=busy, doc="epoch, cluster that may compute in it")
        model.root = pyo.Var(model.busy_places, bounds=(0, 1), doc="square root of the work, over sqrt(C)")

        def root(k: int, n: str) -> Any:
            variables, curves = self._places[k, n]
            roots = np.sqrt(curves.work / self._greatest[k, n])
            return linear([-1.0, *roots], [model.root[k, n], *variables]) == 0

        add_rows(model, "work_root", model.busy_places, root, "root of the work that is done")
        add_rows(
            model,
            "cones",
            model.busy_places,
            lambda k, n: model.root[k, n] ** 2 - model.x[k, n] * model.t[k, n] / self._greatest[k, n] <= 0,
            "(1): computing with x takes c / x",
        )

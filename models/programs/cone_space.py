"""Program F3: resources x and computing times t as variables, the product x t >= c as rotated cones.

For every epoch k and cluster n let c_g be the work of the configuration g. As at most one w_g of an epoch is
1, sum_g sqrt(c_g) w_g is the root of the work that is done there, and

    (sum_g sqrt(c_g) w[k, g])**2 <= x[k, n] t[k, n],   x, t >= 0,

is x t >= c_g where g trains, and says nothing where none does. It is a rotated second-order cone, so the
program needs no cuts: solvers that know such cones (SCIP and others, not HiGHS) take it as it is. Divided by
the greatest work C of that epoch and cluster, so that absolute tolerances mean something: root**2 <= x t / C,
root = sum sqrt(c / C) w. A solver keeps that to its tolerance, so ask for 1e-8: at 1e-6, costs are off by
about as much.

The other components are those of `depl.models.programs.resource_frame`.

=====================  ====================================================================================
component              meaning
=====================  ====================================================================================
``root``               square root of the work of the epoch there, in units of sqrt(C)
``work_root``          root = sum sqrt(c / C) w
``cones``              (1): root**2 <= x t / C
=====================  ====================================================================================
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyomo.environ as pyo

from depl.models.evaluation.evaluate import INTENT, Reading
from depl.models.exact.choices import Configuration
from depl.models.exact.sampled import SampledProblem
from depl.models.problem.allocation import Allocation
from depl.models.programs.attainable import Attainable, attainable, unrestricted
from depl.models.programs.components import add_rows, linear
from depl.models.programs.resource_frame import ResourceFrame


def cone_space(
    problem: SampledProblem,
    reading: Reading = INTENT,
    *,
    bounds: Attainable | None = None,
    cost_unit: float = 1.0,
    mutable: bool = False,
) -> pyo.ConcreteModel:
    """Program F3: exact as it is, for solvers that know rotated second-order cones.

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
        changed later; the program is that of the changed problem then.

    Returns
    -------
    pyomo.environ.ConcreteModel
        Its optimum is that of the problem.

    Raises
    ------
    NotCoveredError
        If no plan with an epoch can be feasible, so that there is nothing to write down.
    """
    bounds = bounds or (unrestricted(problem, capacities=True) if mutable else attainable(problem))
    return ConeSpace(problem, bounds, reading, cost_unit, mutable=mutable).model


class ConeSpace:
    """Program F3.

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
        """Write the program down; the arguments are those of `cone_space`."""
        self.problem = problem
        self._frame = frame = ResourceFrame(problem, bounds, reading, cost_unit, mutable)
        self.model = model = frame.model
        self._greatest = {place: float(curves.work.max()) for place, (_, curves) in frame.places.items()}
        frame.add_objective()
        busy = [place for place, work in self._greatest.items() if work > 0]
        model.busy_places = pyo.Set(dimen=2, initialize=busy, doc="epoch, cluster that may compute in it")
        model.root = pyo.Var(model.busy_places, bounds=(0, 1), doc="square root of the work, over sqrt(C)")

        def root(k: int, n: str) -> Any:
            variables, curves = frame.places[k, n]
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

    def write_resources(self, choices: Sequence[Configuration], allocation: Allocation) -> None:
        """Set x, t and the roots to the cheapest resources of a plan."""
        for place in self.model.root:
            self.model.root[place].set_value(0.0)
        for place, work in self._frame.write(choices, allocation).items():
            self.model.root[place].set_value(float(np.sqrt(work / self._greatest[place])))

"""The two objects that the paper's words name, of an instance, by one call each: to look at or to change.

`data_programs` are the convex programs of stage 1 as ``cvxpy.Problem``, `embedding` is the instance of
service embedding (VNF placement) that stage 3 makes of a plan's models, data and clusters.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from depl.heuristics.baselines.paper_extension import part_answer, require_few
from depl.heuristics.data.problem import selection_problem
from depl.heuristics.placement.problem import placement_problem
from depl.heuristics.placement.service import ServiceEmbedding, service_embedding
from depl.models.problem.instance import Instance
from depl.models.problem.plan import Plan

if TYPE_CHECKING:
    import cvxpy

    from depl.heuristics.set_functions.answers import Minimum


@dataclass(frozen=True, eq=False)
class DataProgram:
    """The program of the sets whose first dataset is given, solved.

    Attributes
    ----------
    first : str
        The dataset that all of these sets use; they use none listed before it.
    names : tuple of str
        Datasets of the entries of the variable ``x``.
    problem : cvxpy.Problem
        The Lovász extension on that face of the cube, as far as its cuts describe it.
    unit : float
        The objective of ``problem`` times this is K^ T^ [time].
    minimum : Minimum
        The best set met, by places in ``names``, and what is proved of it.
    """

    first: str
    names: tuple[str, ...]
    problem: "cvxpy.Problem"
    unit: float
    minimum: "Minimum"

    @property
    def datasets(self) -> tuple[str, ...]:
        """The best set met."""
        return (self.first, *(self.names[place] for place in sorted(self.minimum.subset)))


def data_programs(instance: Instance) -> tuple[DataProgram, ...]:
    """Stage 1 of an instance as convex programs: one for each dataset that may come first but the last.

    The best of their sets, or the last dataset alone, is what ``depl-paper`` begins with.

    Raises
    ------
    NotCoveredError
        If there are more datasets than `depl.heuristics.baselines.paper_extension.LARGEST_DATASETS`, or cvxpy
        is not installed.
    """
    problem = selection_problem(instance)
    require_few(problem)
    found = []
    for place in range(problem.size - 1):
        answer = part_answer(problem, frozenset({place}), frozenset(range(place)))
        names = problem.names[place], problem.names[place + 1 :]
        found.append(DataProgram(*names, answer.problem, answer.unit, answer.minimum))
    return tuple(found)


def embedding(instance: Instance, plan: Plan) -> ServiceEmbedding:
    """Stage 3 of an instance as service embedding: clusters host the models that a plan trains.

    Parameters
    ----------
    instance : Instance
    plan : Plan
        Its models and its data are read; its clusters and resources are what an embedding decides.

    Raises
    ------
    InvalidInputError
        If the plan does not fit the instance, or nothing limits time (complexity then requires nothing).
    """
    datasets = frozenset(name for item in plan.data for name in item.datasets)
    data = {place.name: datasets for place in instance.clusters}
    return service_embedding(placement_problem(instance, [epoch.model for epoch in plan.epochs], data))

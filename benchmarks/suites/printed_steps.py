"""What each printed step of ``depl-paper`` loses against the exact stage, given what went before it.

Names, all numbers or None where there is nothing to compare:

- ``data_over_best``: K^ T^ of the set that stage 1 begins with, over the least of all sets (proved without
  submodularity); 1 where the printed step loses nothing;
- ``placement_over_best``: cost of the plan over that of the cheapest placement of its own models and data;
- ``placements_late``: how many paths stage 3 gave up because what it rounded misses a limit.
"""

from collections.abc import Mapping

from depl.benchmarks.measure.registry import Draw
from depl.heuristics.data.problem import selection_problem
from depl.heuristics.data.select import select_datasets
from depl.heuristics.placement.place import place
from depl.heuristics.placement.problem import placement_problem
from depl.models.problem.instance import Instance
from depl.models.solving.decisions import Stage
from depl.models.solving.result import Result

METHOD = "depl-paper"


def printed_steps(draw: Draw, instance: Instance, result: Result) -> Mapping[str, float | None]:
    """The figures that the module lists, for attempts of ``depl-paper``; none for those of other methods."""
    if result.method != METHOD:
        return {}
    chosen = [item.value for item in result.decisions if item.stage is Stage.DATA and item.value is not None]
    late = [item for item in result.decisions if item.stage is Stage.RESOURCES and not item.kept]
    return {
        "data_over_best": _data_over_best(instance, chosen[0]) if chosen else None,
        "placement_over_best": _placement_over_best(instance, result),
        "placements_late": float(len(late)),
    }


def _data_over_best(instance: Instance, value: float) -> float | None:
    best = select_datasets(selection_problem(instance))
    return value / best.value if best.optimal and best.value > 0 else None


def _placement_over_best(instance: Instance, result: Result) -> float | None:
    if result.plan is None or not result.plan.epochs or result.cost is None:
        return None
    datasets = frozenset(name for item in result.plan.data for name in item.datasets)
    data = {item.name: datasets for item in instance.clusters}
    found = place(placement_problem(instance, [epoch.model for epoch in result.plan.epochs], data))
    return result.cost / found.cost if found.optimal and found.cost > 0 else None

"""The decisions of the loop in words, one function for each kind."""

from collections import Counter
from collections.abc import Sequence

from depl.heuristics.baselines.paper_data import DataChoice
from depl.heuristics.baselines.paper_graph import GraphPath
from depl.heuristics.baselines.paper_resources import RoundedPlacement
from depl.heuristics.placement.problem import PlacementProblem
from depl.models.foundation.wording import counted, number, rounded_up
from depl.models.problem.instance import Instance
from depl.models.risk.interval import Interval
from depl.models.solving.decisions import Decision, Stage

START = 'the start, read for "no selected datasets"'
"""What stage 1 begins with, in the method's own words; see `depl.heuristics.baselines.paper_data`."""

_MOST_NAMES = 6
"""Items of a list that are named."""


def nothing_to_train(instance: Instance) -> Decision:
    """The initial loss meets the target."""
    target = instance.target
    told = f"l(0) = {number(target.initial_loss)} is within {number(target.maximum_loss)}"
    return Decision(Stage.DATA, "none", f"nothing has to be trained: {told}", cost=0.0)


def data(choice: DataChoice, outcome: str, kept: bool, first: bool = False) -> Decision:
    """A choice of stage 1 and what came of it; the first one names the reading that it rests on."""
    notes = [START] * first + [choice.doubt] * bool(choice.doubt)
    told = f"{listed(sorted(choice.datasets))} ({'; '.join([f'K^ T^ = {number(choice.value)}', *notes])})"
    return Decision(Stage.DATA, told, outcome, kept, value=choice.value)


def models(
    names: Sequence[str], path: GraphPath, label: str, violation: Interval, budget: float, kept: bool
) -> Decision:
    """A path of the graph and its certified violation."""
    told = f"{epochs(names)} (weight {number(path.weight)}, label {label})"
    share = f"certified violation {rounded_up(violation.upper, 6)}, allowed {number(budget)}"
    return Decision(Stage.MODELS, told, share, kept)


def resources(problem: PlacementProblem, placed: RoundedPlacement, outcome: str, kept: bool) -> Decision:
    """A rounded placement, its cost, and the bound of what was rounded."""
    totals = placed.assignment.sum(axis=0).tolist()
    told = [
        f"{counted(count, 'epoch')} on {name}"
        for name, count in zip(problem.clusters, totals, strict=True)
        if count
    ]
    return Decision(
        Stage.RESOURCES,
        listed(told),
        outcome,
        kept,
        placed.cost if kept else None,
        placed.relaxed.lower_bound,
    )


def epochs(names: Sequence[str]) -> str:
    """How many epochs on which models."""
    counts = Counter(names)
    return f"{counted(len(names), 'epoch')}: " + listed([f"{count} {name}" for name, count in counts.items()])


def listed(items: Sequence[str]) -> str:
    """Names with commas, the middle of a long list left out."""
    if len(items) <= _MOST_NAMES:
        return ", ".join(items)
    return ", ".join([*items[: _MOST_NAMES - 1], f"{len(items) - _MOST_NAMES + 1} more"])

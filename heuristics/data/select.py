"""Which datasets to use, and which rule proves it: the dispatcher of stage 1.

1. K^ from a table: all subsets, which the table lists.
2. 1/K^ convex and no transfer costs: the sorted prefix (`depl.heuristics.data.prefix`).
3. One density, K^ T^ concave (where the paper's claim is true, E4) and no transfer costs: an end.
4. Otherwise branch and bound (`depl.heuristics.data.branching`), which needs no submodularity. Where it
   is stopped by its limit, the answer carries its bound and is not called optimal.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

import numpy as np

from depl.heuristics.data.branching import branch_and_bound
from depl.heuristics.data.conditions import product_is_concave
from depl.heuristics.data.epochs_needed import NeededEpochs, TabledEpochs
from depl.heuristics.data.prefix import best_prefix, rule_holds
from depl.heuristics.data.problem import SelectionProblem, selection_problem
from depl.heuristics.set_functions.functions import (
    subset_of_index,
)
from depl.heuristics.set_functions.verdicts import UNKNOWN
from depl.models.foundation.errors import InvalidInputError, NotCoveredError
from depl.models.problem.instance import Instance

if TYPE_CHECKING:
    from depl.heuristics.set_functions.answers import Minimum
    from depl.heuristics.set_functions.k_best import RankedSet


class Rule(Enum):
    """What proves a selection."""

    TABLE = "table"
    """All subsets were tried."""
    PREFIX = "prefix"
    """1/K^ is convex: the sorted prefix."""
    ENDS = "ends"
    """K^ T^ is concave in the volume: the smallest dataset or everything."""
    BRANCHING = "branching"
    """The bound of branch and bound meets the value to 1e-9."""
    NONE = "none"
    """Nothing: the search was stopped before its bound met the value."""


@dataclass(frozen=True)
class Selection:
    """Datasets to use, and what is known of them.

    Attributes
    ----------
    datasets : tuple of str
        In the order of the problem.
    value : float
        K^ T^ plus transfers [time, or cost if time is priced].
    lower_bound : float
        No other choice has a smaller value.
    rule : Rule
        Why.
    nodes : int
        Of branch and bound; 0 for the other rules.
    """

    datasets: tuple[str, ...]
    value: float
    lower_bound: float
    rule: Rule
    nodes: int = 0

    @property
    def optimal(self) -> bool:
        """Whether no choice is better, proved by ``rule``."""
        return self.rule is not Rule.NONE


def select_datasets(
    given: Instance | SelectionProblem,
    *,
    time_price: float | None = None,
    nonempty: bool = True,
    nodes: int = 10_000,
) -> Selection:
    """The best datasets of stage 1, with the rule that proves them.

    Parameters
    ----------
    given : Instance or SelectionProblem
        An instance is read by `depl.heuristics.data.problem.selection_problem`.
    time_price : float, optional
        For an instance: cost of a unit of time, which makes transfers count.
    nonempty : bool
        Whether a dataset has to be used, as in every plan that trains.
    nodes : int
        Limit of branch and bound.

    Raises
    ------
    InvalidInputError
        If the price is given for a problem, which has its units already.
    """
    if isinstance(given, SelectionProblem):
        if time_price is not None:
            raise InvalidInputError("a problem has its units already; price an instance", "time_price")
        problem = given
    else:
        problem = selection_problem(given, time_price)
    if isinstance(problem.needed, TabledEpochs):
        return _answer(problem, _best_of_table(problem, nonempty), Rule.TABLE)
    if rule_holds(problem, nonempty):
        return _answer(problem, best_prefix(problem, nonempty), Rule.PREFIX)
    ends = _best_end(problem) if nonempty else None
    if ends is not None:
        return _answer(problem, ends, Rule.ENDS)
    found = branch_and_bound(problem, nonempty, nodes)
    rule = Rule.BRANCHING if found.optimal else Rule.NONE
    return Selection(_names(problem, found.subset), found.value, found.lower_bound, rule, found.nodes)


def ranked_selections(problem: SelectionProblem, count: int, nodes: int = 10_000) -> list[Selection]:
    """The ``count`` best nonempty selections in order, by Lawler's partition over branch and bound.

    Parameters
    ----------
    problem : SelectionProblem
        K^ by volume.
    count : int
        k >= 1; fewer are returned if there are no more.
    nodes : int
        Limit of branch and bound in each part.

    Raises
    ------
    InvalidInputError
        If ``count`` is not positive.
    NotCoveredError
        For K^ from a table.
    """
    # the general part imports nothing from here, and its partition is wanted by few
    from depl.heuristics.set_functions.answers import Minimum, Proof

    if count < 1:
        raise InvalidInputError(f"must be at least 1, not {count}", "count")
    if not isinstance(problem.needed, NeededEpochs):
        raise NotCoveredError("K^ from a table has no volumes; sort its sets")

    def minimise(inside: frozenset[int], outside: frozenset[int]) -> Minimum:
        found = branch_and_bound(problem.restricted(inside, outside), nonempty=False, nodes=nodes)
        proof = Proof.BRANCHING if found.optimal else Proof.NONE
        return Minimum(found.subset, found.value, found.lower_bound, proof, UNKNOWN)

    answers = []
    for item in partitioned(problem, minimise):
        if item.subset:
            rule = Rule.BRANCHING if item.optimal else Rule.NONE
            answers.append(Selection(_names(problem, item.subset), item.value, item.lower_bound, rule))
        if len(answers) == count:
            break
    return answers


def partitioned(
    problem: SelectionProblem,
    minimise: "Callable[[frozenset[int], frozenset[int]], Minimum]",
    nonempty: bool = False,
) -> "Iterator[RankedSet]":
    """All sets in order, by Lawler's partition over any way to minimise its parts.

    Parameters
    ----------
    problem : SelectionProblem
        K^ by volume or from a table.
    minimise : callable
        Takes the datasets that a part uses in any case and those that it leaves out; returns the best set
        among the others, numbered from 0.
    nonempty : bool
        Whether to leave the empty set out, so that every part uses a dataset.
    """
    from depl.heuristics.set_functions.k_best import ranked_by_parts

    return ranked_by_parts(problem.size, problem.value, minimise, nonempty)


def _best_of_table(problem: SelectionProblem, nonempty: bool) -> frozenset[int]:
    index = np.arange(1 if nonempty else 0, 1 << problem.size)
    members = (index[:, None] >> np.arange(problem.size)) & 1 == 1
    return subset_of_index(int(index[int(np.argmin(problem.values(members)))]))


def _best_end(problem: SelectionProblem) -> frozenset[int] | None:
    """The smallest dataset or everything, if K^ T^ is concave between them and transfers are nothing."""
    if problem.priced or not problem.size:
        return None
    smallest = int(np.argmin(problem.volumes))
    if not product_is_concave(problem, float(problem.volumes[smallest])):
        return None
    ends = frozenset({smallest}), frozenset(range(problem.size))
    return min(ends, key=problem.value)


def _answer(problem: SelectionProblem, subset: frozenset[int], rule: Rule) -> Selection:
    value = problem.value(subset)
    return Selection(_names(problem, subset), value, value, rule)


def _names(problem: SelectionProblem, subset: frozenset[int]) -> tuple[str, ...]:
    return tuple(problem.names[place] for place in sorted(subset))

"""Which datasets to use, and which rule proves it: the dispatcher of stage 1.

1. K^ from a table, or transfers that count: all subsets.
2. 1/K^ convex: the sorted prefix (`depl.heuristics.data.prefix`).
3. One density and K^ T^ concave (where the paper's claim is true, E4): an end.
4. Otherwise branch and bound (`depl.heuristics.data.branching`), which needs no submodularity. Where it
   is stopped by its limit, the answer carries its bound and is not called optimal.
"""

from dataclasses import dataclass
from enum import Enum

import numpy as np

from depl.heuristics.data.branching import branch_and_bound
from depl.heuristics.data.conditions import product_is_concave
from depl.heuristics.data.epochs_needed import TabledEpochs
from depl.heuristics.data.prefix import best_prefix, rule_holds
from depl.heuristics.data.problem import SelectionProblem, selection_problem
from depl.heuristics.set_functions.functions import (
    subset_of_index,
)
from depl.models.foundation.errors import InvalidInputError, NotCoveredError
from depl.models.problem.instance import Instance

MOST_LISTED = 16
"""Datasets of which all sets are listed where transfers count: 65,536, in some hundredths of a second."""


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
    NotCoveredError
        If transfers count and there are more than `MOST_LISTED` datasets, or there is none to use.
    """
    if isinstance(given, SelectionProblem):
        if time_price is not None:
            raise InvalidInputError("a problem has its units already; price an instance", "time_price")
        problem = given
    else:
        problem = selection_problem(given, time_price)
    if problem.priced and problem.size > MOST_LISTED:
        raise NotCoveredError(
            f"where transfers count all sets are listed, of {MOST_LISTED} datasets at most; not "
            f"{problem.size}"
        )
    if isinstance(problem.needed, TabledEpochs) or problem.priced:
        return _answer(problem, _best_of_table(problem, nonempty), Rule.TABLE)
    if rule_holds(problem, nonempty):
        return _answer(problem, best_prefix(problem, nonempty), Rule.PREFIX)
    ends = _best_end(problem) if nonempty else None
    if ends is not None:
        return _answer(problem, ends, Rule.ENDS)
    found = branch_and_bound(problem, nonempty, nodes)
    rule = Rule.BRANCHING if found.optimal else Rule.NONE
    return Selection(_names(problem, found.subset), found.value, found.lower_bound, rule, found.nodes)


def _best_of_table(problem: SelectionProblem, nonempty: bool) -> frozenset[int]:
    index = np.arange(1 if nonempty else 0, 1 << problem.size)
    members = (index[:, None] >> np.arange(problem.size)) & 1 == 1
    return subset_of_index(int(index[int(np.argmin(problem.values(members)))]))


def _best_end(problem: SelectionProblem) -> frozenset[int] | None:
    """The smallest dataset or everything, if K^ T^ is concave between them."""
    if not problem.size:
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

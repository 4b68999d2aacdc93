"""Stage 1 as printed: data in the order of eq. (7), the next best choice after each blacklisted one.

The chosen set D^ is the data of every cluster that trains. "The current dataset choice is blacklisted and
the datasets selection is repeated, still considering the most complex model" (Sec. IV-B) is read as:
minimise K^ T^ again over the nonempty sets that are not blacklisted.

The paper also says: "we begin with no selected datasets and add them as needed". No plan trains without
data, and nothing says which dataset to add or when; its own summary is that (7) is minimised "to
optimality". So the loop begins with the minimiser of (7), which may hold all datasets; what is added after
that is the next set in the order of (7), which may be a smaller one. That is a reading, and the record of
the method says so.

There are two ways to minimise: `DataSelection.LOVASZ` is the paper's reference, a convex program that is
right where K^ T^ is submodular (`depl.heuristics.baselines.paper_extension`); `DataSelection.CERTIFIED` needs
no such property and proves its order (`depl.heuristics.data.select`).
"""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum

import numpy as np

from depl.heuristics.baselines.paper_extension import ranked_by_extension
from depl.heuristics.data.epochs_needed import TabledEpochs
from depl.heuristics.data.problem import SelectionProblem, selection_problem
from depl.heuristics.data.select import Selection, ranked_selections, select_datasets
from depl.heuristics.set_functions.verdicts import Verdict
from depl.models.problem.instance import Instance

_FIRST = 2
"""Selections that are ranked at first, doubled until all are: the best is known before, so two bring one
more."""
_DOUBT = {
    Verdict.REFUTED: "heuristic: K^ T^ is not submodular",
    Verdict.UNKNOWN: "heuristic: K^ T^ is not proved submodular",
    Verdict.PROVED: "not proved least: the programs stopped with a gap",
}


class DataSelection(Enum):
    """How (7) is minimised."""

    LOVASZ = "lovasz"
    """The Lovász extension through cvxpy; heuristic where K^ T^ is not proved submodular."""
    CERTIFIED = "certified"
    """Sorted prefixes, ends, tables, or branch and bound; proved."""


@dataclass(frozen=True)
class DataChoice:
    """One choice of stage 1.

    Attributes
    ----------
    datasets : frozenset of str
        D^, never empty.
    value : float
        K^ T^: training time of the most complex model on the most capable cluster, fully allocated [time].
    proved : bool
        Whether no set that is not blacklisted has a smaller value, to the tolerance of the search.
    doubt : str
        Why it is not proved; empty where it is.
    """

    datasets: frozenset[str]
    value: float
    proved: bool
    doubt: str = ""


def data_choices(
    instance: Instance,
    selection: DataSelection = DataSelection.LOVASZ,
    proceed: Callable[[], bool] = lambda: True,
) -> Iterator[DataChoice]:
    """All nonempty sets of data, best K^ T^ first; each is worked out when it is asked for.

    Parameters
    ----------
    instance : Instance
    selection : DataSelection
        How each set is found.
    proceed : callable
        Asked before every linear program of `DataSelection.LOVASZ`; False ends it with the best set met.

    Raises
    ------
    NotCoveredError
        If there are more datasets than `DataSelection.LOVASZ` ranks.
    """
    problem = selection_problem(instance)
    if selection is DataSelection.LOVASZ:
        yield from _by_extension(problem, proceed)
    else:
        yield from _certified(problem)


def _by_extension(problem: SelectionProblem, proceed: Callable[[], bool]) -> Iterator[DataChoice]:
    for item, verdict in ranked_by_extension(problem, proceed):
        names = frozenset(problem.names[place] for place in item.subset)
        yield DataChoice(
            names, problem.value(item.subset), item.optimal, "" if item.optimal else _DOUBT[verdict]
        )


def _certified(problem: SelectionProblem) -> Iterator[DataChoice]:
    if isinstance(problem.needed, TabledEpochs):
        yield from _of_table(problem)
        return
    first = select_datasets(problem)
    blacklist = {frozenset(first.datasets)}
    yield _choice(first)
    sets = (1 << problem.size) - 1
    for count in (min(_FIRST << power, sets) for power in itertools.count()):
        for item in ranked_selections(problem, count):
            chosen = frozenset(item.datasets)
            if chosen not in blacklist:
                blacklist.add(chosen)
                yield _choice(item)
        if count >= sets:
            return


def _choice(found: Selection) -> DataChoice:
    doubt = "" if found.optimal else "not proved least"
    return DataChoice(frozenset(found.datasets), found.value, found.optimal, doubt)


def _of_table(problem: SelectionProblem) -> Iterator[DataChoice]:
    index = np.arange(1, 1 << problem.size)
    members = (index[:, None] >> np.arange(problem.size)) & 1 == 1
    values = problem.values(members)
    for row in np.argsort(values, kind="stable").tolist():
        names = frozenset(name for name, used in zip(problem.names, members[row], strict=True) if used)
        yield DataChoice(names, float(values[row]), True)

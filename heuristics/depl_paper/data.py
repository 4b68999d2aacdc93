"""Stage 1 by the letter: data in the order of eq. (7), the next best choice after each blacklisted one.

The chosen set D^ is the data of every cluster that trains. "The current dataset choice is blacklisted and the
datasets selection is repeated, still considering the most complex model" (Sec. IV-B) is read as: minimise
K^ T^ again over the nonempty sets that are not blacklisted. That lists all sets in the order of their value.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from depl.heuristics.datasets.epochs_needed import TabledEpochs
from depl.heuristics.datasets.problem import SelectionProblem, selection_problem
from depl.heuristics.datasets.select import ranked_selections, select_datasets
from depl.models.problem import Instance

_FIRST = 2


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
    """

    datasets: frozenset[str]
    value: float
    proved: bool


def data_choices(instance: Instance) -> Iterator[DataChoice]:
    """All nonempty sets of data, best K^ T^ first; each is worked out when it is asked for."""
    problem = selection_problem(instance)
    if isinstance(problem.needed, TabledEpochs):
        yield from _of_table(problem)
        return
    first = select_datasets(problem)
    blacklist = {frozenset(first.datasets)}
    yield DataChoice(frozenset(first.datasets), first.value, first.optimal)
    sets = (1 << problem.size) - 1
    for count in (min(_FIRST << power, sets) for power in itertools.count()):
        for item in ranked_selections(problem, count):
            chosen = frozenset(item.datasets)
            if chosen not in blacklist:
                blacklist.add(chosen)
                yield DataChoice(chosen, item.value, item.optimal)
        if count >= sets:
            return


def _of_table(problem: SelectionProblem) -> Iterator[DataChoice]:
    index = np.arange(1, 1 << problem.size)
    members = (index[:, None] >> np.arange(problem.size)) & 1 == 1
    values = problem.values(members)
    for row in np.argsort(values, kind="stable").tolist():
        names = frozenset(name for name, used in zip(problem.names, members[row], strict=True) if used)
        yield DataChoice(names, float(values[row]), True)

"""Stage 1 as printed: data in the order of eq. (7), the next best choice after each blacklisted one.

The chosen set D^ is the data of every cluster that trains. "The current dataset choice is blacklisted and
the datasets selection is repeated, still considering the most complex model" (Sec. IV-B) is read as:
minimise K^ T^ again over the nonempty sets that are not blacklisted.

The paper also says: "we begin with no selected datasets and add them as needed". No plan trains without
data, and nothing says which dataset to add or when; its own summary is that (7) is minimised "to
optimality". So the loop begins with the minimiser of (7), which may hold all datasets; what is added after
that is the next set in the order of (7), which may be a smaller one. That is a reading, and the record of
the method says so.

It is minimised by the paper's reference, a convex program that is right where K^ T^ is submodular
(`depl.heuristics.baselines.paper_extension`).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from depl.heuristics.baselines.paper_extension import ranked_by_extension
from depl.heuristics.data.problem import selection_problem
from depl.heuristics.set_functions.verdicts import Verdict
from depl.models.problem.instance import Instance

_DOUBT = {
    Verdict.REFUTED: "heuristic: K^ T^ is not submodular",
    Verdict.UNKNOWN: "heuristic: K^ T^ is not proved submodular",
    Verdict.PROVED: "not proved least: the programs stopped with a gap",
}


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


def data_choices(instance: Instance, proceed: Callable[[], bool] = lambda: True) -> Iterator[DataChoice]:
    """All nonempty sets of data, best K^ T^ first; each is worked out when it is asked for.

    Parameters
    ----------
    instance : Instance
    proceed : callable
        Asked before every linear program; False ends it with the best set met.

    Raises
    ------
    NotCoveredError
        If there are more datasets than `depl.heuristics.baselines.paper_extension` ranks.
    """
    problem = selection_problem(instance)
    for item, verdict in ranked_by_extension(problem, proceed):
        names = frozenset(problem.names[place] for place in item.subset)
        doubt = "" if item.optimal else _DOUBT[verdict]
        yield DataChoice(names, problem.value(item.subset), item.optimal, doubt)

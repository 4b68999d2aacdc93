r"""Stage 1 of the paper: which data to train with, by the Lovász extension through cvxpy (Sec. IV-A).

    minimise  K^(D) T^(D)  over the nonempty sets D of datasets                                     (7)

K^ are the epochs that D needs and T^ is the time of one, of the most complex model on the most capable
cluster (`depl.heuristics.data.problem`). The paper minimises (7) "to optimality" by reference [18]: extend f
from the corners of the cube to all of it, and minimise there. With the datasets in the order in which x
falls, and f(0) the value without data,

    f^L(x) = f(0) + s . x,      s_i = f(the datasets up to i) - f(those before i),

the *greedy base* s; f^L agrees with f on sets, and is convex if and only if f is submodular. It has no
formula, so it is described by its cuts: solve

    minimise  t   subject to   t >= s . x for the bases s found so far,   0 <= x <= 1,

take the base at a point near its answer, add it, and repeat (`depl.heuristics.submodular.lovasz`:
`steepest_base` is s, `extension_program` the program). E4, E5, ... are entries of docs/errata.rst.

Where we read the paper. "The current dataset choice is blacklisted and the datasets selection is repeated"
(Sec. IV-B): minimise (7) again over the sets that are not blacklisted. "We begin with no selected datasets
and add them as needed": no plan trains without data, and nothing says which dataset to add or when, so the
loop begins with the minimiser of (7), and what comes next is the next set in its order, which may be smaller.

Where we depart. K^ is infinite without data where Q0 = 0, so the extension is taken on faces of the cube,
x = 1 on datasets that are in and x = 0 on those that are out: one face for each first dataset, and after a
choice its face is split as Lawler does. And f is submodular in narrow conditions only (E4): where a face is
not *proved* submodular, the answer is the best set that was met, a heuristic, and it is called so.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from depl.heuristics.data.problem import SelectionProblem, selection_problem
from depl.heuristics.data.set_function import selection_function
from depl.heuristics.submodular.function import Verdict, exhaustive
from depl.heuristics.submodular.lovasz import cutting_planes
from depl.models.foundation.errors import NotCoveredError
from depl.models.foundation.search import ranked_sets
from depl.models.problem.instance import Instance

if TYPE_CHECKING:
    import cvxpy

LARGEST_DATASETS = 64
"""Most datasets: the first choice takes one program per dataset, and every choice after it up to as many
again. With 64 the first takes about three seconds, as cvxpy compiles each linear program anew."""

_LARGEST_TRIED = 12
"""Most free datasets of a face whose triples are all tried where no condition proves it submodular; 12 take
some ten milliseconds, and no table lists more."""

_TOLERANCE = 1e-9
"""Relative gap at which a set counts as least: the precision to which costs and times are compared."""

_DOUBT = {  # the first that holds of any face is told
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
        D^, never empty: the data of every cluster that trains.
    value : float
        K^ T^: training time of the most complex model on the most capable cluster, fully allocated [time].
    proved : bool
        Whether no set that was not chosen before has a smaller value, by more than 1e-9 of it.
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
        Asked after every program; False ends the face with the best set met.

    Raises
    ------
    NotCoveredError
        For more than `LARGEST_DATASETS` datasets.
    """
    problem = selection_problem(instance)
    if problem.size > LARGEST_DATASETS:
        raise NotCoveredError(
            f"the Lovász extension through cvxpy ranks the sets of at most {LARGEST_DATASETS} datasets, and "
            f"there are {problem.size}; use depl"
        )
    verdicts: set[Verdict] = set()
    empty = frozenset[int]()

    def best_of(inside: frozenset[int], outside: frozenset[int]) -> tuple[float, frozenset[int], Minimum]:
        found = minimise(problem, inside, outside, proceed)
        verdicts.add(found.verdict)
        return found.value, found.subset, found

    # no plan trains without data: one face for each first dataset. After the best set of a face Lawler's part
    # t agrees with it on the first t - 1 free datasets and differs on the t-th; the best part comes next
    faces = [(empty | {first}, empty | set(range(first))) for first in range(problem.size)]
    for subset, best, waiting in ranked_sets(problem.size, faces, best_of):
        proved = best.optimal and all(other.optimal for other in waiting)
        names = frozenset(problem.names[place] for place in subset)
        doubts = [_DOUBT[item] for item in _DOUBT if item in verdicts]
        yield DataChoice(names, problem.value(subset), proved, "" if proved else doubts[0])


class Minimum(NamedTuple):
    """What the programs of a face end with.

    Attributes
    ----------
    subset : frozenset of int
        The best set met, those that are in for certain among it.
    value : float
        f of it.
    lower : float
        No set of the face has a smaller value, if ``verdict`` is PROVED.
    verdict : Verdict
        Whether f is submodular on the face.
    program : cvxpy.Problem or None
        As it was solved last, with variables ``x`` and ``t``, in units of ``unit``; None for a single set.
    unit : float
        Its objective times this is what the least of f^L is above f without the free datasets [as f].
    """

    subset: frozenset[int]
    value: float
    lower: float
    verdict: Verdict
    program: "cvxpy.Problem | None" = None
    unit: float = 1.0

    @property
    def optimal(self) -> bool:
        """Whether it is proved to be the least of the face."""
        return self.verdict is Verdict.PROVED and self.value - self.lower <= _TOLERANCE * abs(self.value)


def minimise(
    problem: SelectionProblem,
    inside: frozenset[int] = frozenset(),
    outside: frozenset[int] = frozenset(),
    proceed: Callable[[], bool] = lambda: True,
) -> Minimum:
    """The least set that contains ``inside`` and misses ``outside``, by the Lovász extension.

    f is submodular there by the conditions of E4, or if all triples of floats say so; then what they may be
    off, all the same, is part of the bound.

    Parameters
    ----------
    problem : SelectionProblem
    inside, outside : frozenset of int
        Datasets to use in any case, and never.
    proceed : callable
        Asked after every program.

    Raises
    ------
    InvalidInputError
        If a dataset is to be in and out or does not exist, or none is in where K^ is infinite without data.
    """
    function = selection_function(problem, inside, outside)
    if not function.size:
        value = problem.value(inside)
        return Minimum(inside, value, value, Verdict.PROVED)
    status = function.known
    if not status.proved and function.size <= _LARGEST_TRIED:
        status = exhaustive(function)
    found = cutting_planes(function, proceed)
    free = sorted(set(range(problem.size)) - inside - outside)
    subset = inside | {free[place] for place in found.subset}
    verdict, lower = status.verdict, -math.inf
    if verdict is not Verdict.REFUTED and status.short < math.inf:
        verdict = Verdict.PROVED  # up to what is part of the bound
        lower = float(function.start + found.certificate.bound(function, status.short).lower)
    return Minimum(subset, problem.value(subset), lower, verdict, found.program, found.unit)

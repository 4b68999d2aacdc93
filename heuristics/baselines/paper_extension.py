"""Stage 1 as its reference [18] does it: the Lovász extension of K^ T^, minimised as a `cvxpy.Problem`.

Over the cube the extension is convex if K^ T^ is submodular, and its minimum is that of (7). K^ is infinite
without data where Q0 = 0, so the extension is taken on faces of the cube where it is finite: every nonempty
set has a first dataset, and the part of that dataset is the face x_first = 1, x = 0 before it. After a set
is blacklisted its part is split as Lawler does (`depl.heuristics.set_functions.k_best`), and every part is
again a program of this kind.

K^ T^ is submodular in narrow conditions only (E4). Where a part is not *proved* submodular, the cutting
planes may cut the best set off: what they end with is the best set that they met, a heuristic, and called
so.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from depl.heuristics.data.conditions import SelectionFunction, TabledSelection
from depl.heuristics.data.epochs_needed import TabledEpochs
from depl.heuristics.data.problem import SelectionProblem
from depl.heuristics.set_functions.answers import Minimum
from depl.heuristics.set_functions.functions import SetFunction
from depl.heuristics.set_functions.k_best import RankedSet, ranked_by_parts
from depl.heuristics.set_functions.status import exhaustive
from depl.heuristics.set_functions.verdicts import Submodularity, Verdict
from depl.models.foundation.errors import NotCoveredError

if TYPE_CHECKING:
    from depl.heuristics.set_functions.convex import ConvexAnswer

LARGEST_DATASETS = 64
"""Most datasets: the first set takes one program per dataset, and every set after it up to as many again.
With 64 the first takes about three seconds, as cvxpy compiles each linear program anew."""

_LARGEST_TRIED = 10
"""Most free datasets of a part whose triples are all tried where no condition proves it submodular; 10 take
milliseconds."""


def ranked_by_extension(
    problem: SelectionProblem, proceed: Callable[[], bool]
) -> Iterator[tuple[RankedSet, Verdict]]:
    """All nonempty sets in the order in which the programs find them, and what is known of K^ T^ so far.

    Parameters
    ----------
    problem : SelectionProblem
        K^ T^.
    proceed : callable
        Asked before every linear program; False ends the search of a part with the best set met.

    Raises
    ------
    NotCoveredError
        For more than `LARGEST_DATASETS` datasets, or if cvxpy is not installed.
    """
    require_few(problem)
    verdicts: list[Verdict] = []

    def minimise(inside: frozenset[int], outside: frozenset[int]) -> Minimum:
        found = part_answer(problem, inside, outside, proceed).minimum
        verdicts.append(found.status.verdict)
        return found

    for item in ranked_by_parts(problem.size, problem.value, minimise, nonempty=True):
        yield item, _together(verdicts)


def part_answer(
    problem: SelectionProblem,
    inside: frozenset[int],
    outside: frozenset[int],
    proceed: Callable[[], bool] = lambda: True,
) -> "ConvexAnswer":
    """The program of one part, solved: sets that use ``inside`` and leave ``outside`` out.

    Parameters
    ----------
    problem : SelectionProblem
        K^ T^.
    inside, outside : frozenset of int
        Disjoint, ``inside`` with at least one dataset where K^ is infinite without data, and one left free.
    proceed : callable
        Asked before every linear program.
    """
    from depl.heuristics.set_functions.convex import convex_cutting_planes  # cvxpy takes a second to import

    function = part_function(problem, inside, outside)
    return convex_cutting_planes(function, proceed=proceed, status=_status(function), check=False)


def part_function(problem: SelectionProblem, inside: frozenset[int], outside: frozenset[int]) -> SetFunction:
    """K^ T^ over the datasets that a part leaves open."""
    if isinstance(problem.needed, TabledEpochs):
        return TabledSelection(problem, inside, outside)
    return SelectionFunction(problem.restricted(inside, outside))


def _status(function: SetFunction) -> Submodularity:
    """What the conditions say; where they say nothing and the part is small, what all triples say."""
    known = function.submodularity()
    if known.verdict is Verdict.UNKNOWN and function.size <= _LARGEST_TRIED:
        return exhaustive(function)
    return known


def _together(verdicts: Iterable[Verdict]) -> Verdict:
    """Of parts, for the whole: one that is refuted refutes it, and all have to be proved."""
    found = set(verdicts)
    if Verdict.REFUTED in found:
        return Verdict.REFUTED
    return Verdict.PROVED if found <= {Verdict.PROVED} else Verdict.UNKNOWN


def require_few(problem: SelectionProblem) -> None:
    """Refuse more datasets than the programs can rank.

    Raises
    ------
    NotCoveredError
        For more than `LARGEST_DATASETS`.
    """
    if problem.size > LARGEST_DATASETS:
        raise NotCoveredError(
            f"the Lovász extension through cvxpy ranks the sets of at most {LARGEST_DATASETS} datasets, and "
            f"there are {problem.size}; use depl"
        )

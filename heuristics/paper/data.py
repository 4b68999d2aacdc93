r"""Stage 1 of the paper: which data to train with, by the Lovász extension through cvxpy (Sec. IV-A).

    minimise  K^(D) T^(D)  over the nonempty sets D of datasets                                     (7)

K^ are the epochs that D needs and T^ is the time of one, of the most complex model on the most capable
cluster (`depl.heuristics.data.problem`). The paper minimises (7) "to optimality" by reference [18]: extend f
from the corners of the cube to all of it, and minimise there. With the datasets in the order in which x
falls,

    f^L(x) = f(0) + s . x,      s_i = f(the datasets up to i) - f(those before i),

the *greedy base* s; f^L agrees with f on sets, and is convex if and only if f is submodular. It has no
formula, so it is described by its cuts t >= s . x: solve the program over the cuts found so far, take the
base at a point near its answer, add it, and repeat.

Where we read the paper. "The current dataset choice is blacklisted and the datasets selection is repeated"
(Sec. IV-B): minimise (7) again over the sets that are not blacklisted. "We begin with no selected datasets
and add them as needed": no plan trains without data, and nothing says which dataset to add or when, so the
loop begins with the minimiser of (7), and what comes next is the next set in its order, which may be smaller.

Where we depart. K^ is infinite without data where Q0 = 0, so the extension is taken on faces of the cube,
x = 1 on datasets that are in and x = 0 on those that are out: one face for each first dataset, and after a
choice its face is split as Lawler does. And f is submodular in narrow conditions only (E4): where a face is
not *proved* submodular, the answer is the best set that was met, a heuristic, and it is called so.
"""

import functools
import heapq
import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from depl.heuristics.data.conditions import submodular_by_condition
from depl.heuristics.data.epochs_needed import NeededEpochs
from depl.heuristics.data.problem import SelectionProblem, selection_problem
from depl.heuristics.set_functions.verdicts import Verdict
from depl.models.foundation.errors import InvalidInputError, NotCoveredError
from depl.models.problem.instance import Instance
from depl.models.problem.laws import FloatArray

if TYPE_CHECKING:
    import cvxpy

LARGEST_DATASETS = 64
"""Most datasets: the first choice takes one program per dataset, and every choice after it up to as many
again. With 64 the first takes about three seconds, as cvxpy compiles each linear program anew."""

_LARGEST_TRIED = 12
"""Most free datasets of a face whose pairs are all tried where no condition proves it submodular; 12 take
some ten milliseconds, and no table lists more."""

_TOWARDS_NEWEST = 0.3
"""Share of the way from the best point to the answer of the program at which the next base is taken (in-out
separation, Ben-Ameur and Neto 2007). Set by hand: 1 is Kelley's method, whose points jump; nearer to 0 each
base cuts off less. The optimum is the same."""

_MOST_PROGRAMS = 400
"""Programs of one face. Set by hand: faces of 64 datasets take some dozens, and the best set met is the
answer in any case."""

_TOLERANCE = 1e-9
"""Relative gap at which a set counts as least: the precision to which costs and times are compared."""

_ROUNDING = 1e-15
"""Of a value, relative and per summand: sums of volumes and durations, a logarithm or power, a product. Nine
roundings of doubles, of which each summand needs one and the rest a handful."""

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
    for best, proved in _ranked(problem, proceed, verdicts):
        names = frozenset(problem.names[place] for place in best.subset)
        verdict = next(
            (item for item in (Verdict.REFUTED, Verdict.UNKNOWN) if item in verdicts), Verdict.PROVED
        )
        yield DataChoice(names, problem.value(best.subset), proved, "" if proved else _DOUBT[verdict])


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
        Its objective times this is the least of f^L [as f].
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


@dataclass(frozen=True, eq=False)
class Face:
    """f on the sets that contain ``inside`` and miss ``outside``.

    Raises
    ------
    InvalidInputError
        If a dataset is to be in and out or does not exist, or none is in where K^ is infinite without data.
    """

    problem: SelectionProblem
    inside: frozenset[int]
    outside: frozenset[int]

    def __post_init__(self) -> None:
        if self.inside & self.outside or not self.inside | self.outside <= set(range(self.problem.size)):
            raise InvalidInputError("datasets to use and to leave out must exist and be different")
        if not self.inside and not np.isfinite(
            self.problem.values(np.zeros((1, self.problem.size), dtype=bool))[0]
        ):
            raise InvalidInputError("K^ is infinite without data; use one dataset in any case")

    @functools.cached_property
    def free(self) -> NDArray[np.int64]:
        """The datasets left open, in increasing order, shape (n,)."""
        return np.array(sorted(set(range(self.problem.size)) - self.inside - self.outside), dtype=np.int64)

    def values(self, members: NDArray[np.bool_]) -> FloatArray:
        """f of m sets of free datasets given by their indicators, shape (m, n)."""
        whole = np.zeros((len(members), self.problem.size), dtype=bool)
        whole[:, sorted(self.inside)] = True
        whole[:, self.free] = members
        return self.problem.values(whole)

    def chosen(self, places: NDArray[np.int64]) -> frozenset[int]:
        """The set of all datasets that these free ones, by their places, stand for."""
        return self.inside | frozenset(self.free[places].tolist())

    def error(self, values: FloatArray) -> float:
        """What floats of values as large as these may be off, at most.

        What the rounding of Q and of K^ itself may do beyond one rounding error each, the law says.
        """
        problem, largest = self.problem, float(np.abs(values).max(initial=0.0))
        if isinstance(problem.needed, NeededEpochs):
            low, added = float(problem.volumes[sorted(self.inside)].sum()), problem.volumes[self.free].sum()
            relative, absolute = problem.needed.rounding(np.array([low, low + float(added)]))
            largest += relative * largest
            largest += absolute * (problem.fixed_duration + float(problem.durations.sum()))
        return _ROUNDING * (self.problem.size + 10) * largest

    @functools.cached_property
    def submodular(self) -> tuple[Verdict, float]:
        """The verdict, and what f(A + i) + f(A + j) may fall short of f(A + i + j) + f(A) all the same.

        By the conditions of E4, or by all sets A and pairs i, j of floats: then what they may be off remains.
        """
        n, problem = len(self.free), self.problem
        if n < 2:
            return Verdict.PROVED, 0.0
        if isinstance(problem.needed, NeededEpochs) and (
            submodular_by_condition(problem.restricted(self.inside, self.outside)).proved
        ):
            return Verdict.PROVED, 0.0
        if n > _LARGEST_TRIED:
            return Verdict.UNKNOWN, 0.0
        numbers = np.arange(1 << n)
        table = self.values((numbers[:, None] >> np.arange(n)) & 1 == 1)
        noise, most = 4 * self.error(table), -np.inf
        for i, j in itertools.combinations((1 << np.arange(n)).tolist(), 2):
            base = numbers[numbers & (i | j) == 0]
            excess = table[base] + table[base | i | j] - table[base | i] - table[base | j]
            most = max(most, float(excess.max()))
        return (Verdict.REFUTED, 0.0) if most > noise else (Verdict.PROVED, max(0.0, most + noise))


class Cut(NamedTuple):
    """The greedy base of a point: a subgradient of the extension there, and the best set on the way.

    Attributes
    ----------
    base : ndarray
        s, shape (n,).
    values : ndarray
        f of the first 0, 1, ... datasets in the order in which x falls, shape (n + 1,).
    order : ndarray of int
        That order, shape (n,).
    """

    base: FloatArray
    values: FloatArray
    order: NDArray[np.int64]


def cut_at(face: Face, x: FloatArray) -> Cut:
    """The cut of the extension at a point x of the cube, shape (n,)."""
    n = len(face.free)
    order = np.argsort(-x, kind="stable")
    members = np.zeros((n + 1, n), dtype=bool)
    members[:, order] = np.tri(n + 1, n, -1, dtype=bool)
    values, base = face.values(members), np.empty(n)
    base[order] = np.diff(values)
    return Cut(base, values, order)


def minimise(face: Face, proceed: Callable[[], bool] = lambda: True) -> Minimum:
    """The least set of a face, by the Lovász extension.

    The multipliers w of the cuts add up to 1, so b = sum of w s is a mean of greedy bases, and if f is
    submodular f(S) >= f(0) + b(S) >= f(0) + sum of min(b, 0) for every set S (Edmonds). If it is submodular
    only up to d for each pair, a base promises at most d n**2 / 4 too much: n - |S| datasets at most stand
    before each of S that are not of S. And a sum of differences of values is off by 2 (n + 1) times what one
    is.

    Parameters
    ----------
    face : Face
    proceed : callable
        Asked after every program.
    """
    if not len(face.free):
        value = face.problem.value(face.inside)
        return Minimum(face.inside, value, value, Verdict.PROVED)
    verdict, short = face.submodular
    inner = np.full(len(face.free), 0.5)
    cuts, lower = [cut_at(face, inner)], -np.inf
    inner_value = float(cuts[0].base @ inner)
    unit = float(np.abs(cuts[0].base).max()) or 1.0  # solvers measure feasibility absolutely
    for _ in range(_MOST_PROGRAMS):
        program = extension_program(cuts, unit)
        weights, outer = _solved(program)
        lower = max(lower, _least(face, cuts, weights, short))
        least = min(float(cut.values.min()) for cut in cuts)
        if not proceed() or least - lower <= 0.1 * _TOLERANCE * abs(least):
            break
        level = max(float(cut.base @ outer) for cut in cuts)
        for point in (inner + _TOWARDS_NEWEST * (outer - inner), outer):
            cuts.append(cut_at(face, point))
            value = float(cuts[-1].base @ point)
            if value < inner_value:
                inner, inner_value = point, value
            if float(cuts[-1].base @ outer) > level + 1e-9 * max(unit, abs(level)):
                break  # the newest cut excludes the answer of the program
        else:
            break  # the program describes the extension where it is least: only rounding is left
    best = min(cuts, key=lambda cut: float(cut.values.min()))
    place = int(np.argmin(best.values))
    return Minimum(face.chosen(best.order[:place]), float(best.values[place]), lower, verdict, program, unit)


def extension_program(cuts: list[Cut], unit: float) -> "cvxpy.Problem":
    """min f(0) + t subject to t >= s . x for every cut, 0 <= x <= 1; all in units of ``unit``."""
    import cvxpy  # takes a second

    bases = np.array([cut.base for cut in cuts]) / unit
    x = cvxpy.Variable(bases.shape[1], name="x", bounds=[0, 1])
    t = cvxpy.Variable(name="t")
    return cvxpy.Problem(cvxpy.Minimize(float(cuts[0].values[0]) / unit + t), [t >= bases @ x])


def _solved(program: "cvxpy.Problem") -> tuple[FloatArray, FloatArray]:
    """The multipliers of the cuts and the point x of a program."""
    program.solve(solver="HIGHS")  # type: ignore[no-untyped-call]
    weights = np.maximum(program.constraints[0].dual_value, 0.0)
    return weights / weights.sum(), np.asarray(program.var_dict["x"].value, dtype=float)


def _least(face: Face, cuts: list[Cut], weights: FloatArray, short: float) -> float:
    """The lower bound of `minimise`, less all that it may be off."""
    n = len(face.free)
    base = weights @ np.array([cut.base for cut in cuts])
    value = math.fsum([float(cuts[0].values[0]), *np.minimum(base, 0.0).tolist()])
    error = max(face.error(cut.values) for cut in cuts)
    return value - 2 * (n + 1) * error - short * n * n / 4


def _ranked(
    problem: SelectionProblem, proceed: Callable[[], bool], verdicts: set[Verdict]
) -> Iterator[tuple[Minimum, bool]]:
    """All nonempty sets, best first, and whether that is proved of each (Lawler 1972).

    After the best set of a face, the rest of the face is split by the first free dataset in which a set
    differs from it: part t agrees with it on the first t - 1 free datasets and differs on the t-th. Parts
    wait in a queue, ordered by their best values.
    """
    waiting: list[tuple[float, int, Minimum, Face]] = []
    count = itertools.count()

    def wait(inside: frozenset[int], outside: frozenset[int]) -> None:
        face = Face(problem, inside, outside)
        found = minimise(face, proceed)
        verdicts.add(found.verdict)
        heapq.heappush(waiting, (found.value, next(count), found, face))

    for first in range(problem.size):
        wait(frozenset({first}), frozenset(range(first)))
    while waiting:
        _, _, best, face = heapq.heappop(waiting)
        yield best, best.optimal and all(other.optimal for _, _, other, _ in waiting)
        inside, outside = face.inside, face.outside
        for place in face.free.tolist():
            if place in best.subset:
                wait(inside, outside | {place})
                inside = inside | {place}
            else:
                wait(inside | {place}, outside)
                outside = outside | {place}

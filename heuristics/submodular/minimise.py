"""Which method is for which set function, and all methods under their names.

- PROVED submodular: the minimum-norm point.
- Only told to be submodular: the same, and the answer names the condition. (``brute-force`` by name proves.)
- Neither, but at most 20 elements: all subsets.
- Otherwise the minimum-norm point as a heuristic: its set, no bound, and never the word optimal.
"""

import itertools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType

import numpy as np

from depl.heuristics.submodular.answers import Minimum, Proof, concluded
from depl.heuristics.submodular.function import (
    LARGEST_TABLE,
    SetFunction,
    Submodularity,
    Verdict,
    all_gains,
    subset_of_index,
)
from depl.heuristics.submodular.lovasz import TOLERANCE, GreedyBase, Planes, cutting_planes
from depl.heuristics.submodular.minimum_norm import minimum_norm_point
from depl.heuristics.submodular.submodularity import check_base
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.names import advice
from depl.models.foundation.search import ranked_sets


def minimise(function: SetFunction, method: str = "auto") -> Minimum:
    """Minimise a set function and say what was proved.

    Parameters
    ----------
    function : SetFunction
        f.
    method : str
        ``auto`` for the choice described above, or a name in `METHODS`.

    Raises
    ------
    InvalidInputError
        If there is no such method.
    NotCoveredError
        If a method asked for by name does not cover the function.
    """
    if method not in METHODS:
        raise InvalidInputError(f"there is no method {method!r}; {advice(method, METHODS)}", "method")
    return METHODS[method](function) if function.size else brute_force(function)


def automatic(function: SetFunction) -> Minimum:
    """The choice of the module's first lines."""
    if function.known.proved or function.known.told:
        found = minimum_norm_point(function)
        if found.settled or found.status.verdict is not Verdict.REFUTED:
            return found
        # a caller's claim that turned out to be wrong leaves an oracle of which nothing is known
    if function.size <= LARGEST_TABLE:
        return brute_force(function)
    return minimum_norm_point(function)


def brute_force(function: SetFunction) -> Minimum:
    """The least value over all subsets: the oracle of all other methods, and the honest one for any f.

    Of equal sets the first in the order of `depl.heuristics.submodular.function.all_gains` is returned. Where
    noise leaves sets open, the answer is optimal if the doubt is within
    `depl.heuristics.submodular.lovasz.TOLERANCE` of the range of f.

    Raises
    ------
    NotCoveredError
        For more than 20 elements.
    """
    gains = all_gains(function)
    place, noise = int(np.argmin(gains)), 2 * function.noise(gains)
    least = float(gains[place])
    doubt = noise if (gains <= least + noise).sum() > 1 else 0.0
    optimal = doubt <= TOLERANCE * Fraction(float(gains.max() - least))
    subset = subset_of_index(place)
    return Minimum(
        subset,
        function.value(subset),
        function.value(subset) - doubt,
        Proof.ENUMERATION if optimal else Proof.NONE,
        function.known,
        iterations=len(gains),
        remark="" if optimal else f"values are known to within {doubt:.3g}, which leaves sets open",
    )


def lovasz(function: SetFunction, *, seconds: float | None = None, programs: int = 400) -> Minimum:
    """`lovasz_planes` without its program."""
    return lovasz_planes(function, seconds=seconds, programs=programs)[0]


def lovasz_planes(
    function: SetFunction, *, seconds: float | None = None, programs: int = 400
) -> tuple[Minimum, Planes]:
    """Minimise by cutting planes on the Lovász extension, each program solved through cvxpy.

    Parameters
    ----------
    function : SetFunction
        f. If its submodularity is not PROVED the answer is never called optimal.
    seconds : float, optional
        Wall time after which to stop.
    programs : int
        Most programs.

    Returns
    -------
    tuple
        The minimum, and the cuts with the program: look inside, change it, give it to another solver.
    """
    stop = None if seconds is None else time.perf_counter() + seconds

    def proceed() -> bool:
        return stop is None or time.perf_counter() < stop

    def checked(cuts: Sequence[GreedyBase]) -> Submodularity | None:
        """The free check of the newest cut on the prefixes of all others, and the other way round."""
        newest = cuts[-1]
        for one, two in itertools.chain.from_iterable(((newest, old), (old, newest)) for old in cuts[:-1]):
            found = check_base(function, one.order, one.gains, two.order, two.gains)
            if found is not None:
                return found
        return None

    check = {} if function.known.proved else {"check": checked}
    found = cutting_planes(function, proceed, programs=programs, **check)
    status = found.refutation or function.known
    return concluded(function, found.subset, found.certificate, len(found.cuts), status), found


@dataclass(frozen=True)
class RankedSet:
    """One of the best sets, in order, with f of it.

    No set that has not been listed before has a value below ``lower_bound``. Its rank is proved, ``optimal``,
    if the part that it was the best of and all that wait have proved minima.
    """

    subset: frozenset[int]
    value: float
    lower_bound: float
    optimal: bool


def ranked(
    function: SetFunction, minimise: Callable[[SetFunction], Minimum] = automatic
) -> Iterator[RankedSet]:
    """All sets, best first, each made when it is asked for (Lawler).

    Every part of what is left is again a minimisation of a submodular function (contraction and deletion), so
    k best sets take at most k n minimisations.

    Parameters
    ----------
    function : SetFunction
        f.
    minimise : callable
        Minimises a part.
    """

    def best_of(inside: frozenset[int], outside: frozenset[int]) -> tuple[float, frozenset[int], Minimum]:
        part = function.restricted(inside, outside)
        free = sorted(set(range(function.size)) - inside - outside)
        found = minimise(part) if free else brute_force(part)  # a single set is its own best
        return found.value, inside | {free[place] for place in found.subset}, found

    for subset, first, waiting in ranked_sets(function.size, [(frozenset(), frozenset())], best_of):
        lower = min(part.lower_bound for part in (first, *waiting))
        optimal = all(part.optimal for part in (first, *waiting))
        yield RankedSet(subset, first.value, lower, optimal)


METHODS: Mapping[str, Callable[[SetFunction], Minimum]] = MappingProxyType(
    {
        "auto": automatic,
        "brute-force": brute_force,
        "minimum-norm-point": minimum_norm_point,
        "lovasz": lovasz,
    }
)
"""Every method by name; those that do not cover a function refuse with a sentence."""

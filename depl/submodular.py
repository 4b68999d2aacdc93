"""Minimising submodular functions with a proof.

>>> from depl import submodular
>>> edges = [(0, 1), (1, 0), (1, 2), (2, 1)]
>>> network = submodular.cut(3, edges, capacities=[3, 3, 4, 4], modular=[-5, 1, -2])
>>> found = submodular.minimise(network)
>>> sorted(found.subset), found.value, found.lower_bound, found.words
([0, 1, 2], -6.0, -6.0, 'optimal')
>>> submodular.lovasz_extension(network, [1.0, 0.5, 0.0])
-1.0

An answer is *optimal* if submodularity is proved, by construction or because all subsets were tried, and a
base of the function closes the gap in rational numbers; of a function that is only claimed to be submodular
it is "optimal if what you told holds".

>>> submodular.submodularity(network).reason
'a sum of cuts of nonnegative arcs and of nonnegative weights of groups'
>>> own = submodular.claimed(4, lambda chosen: len(chosen) * (3 - len(chosen)), "concave in the size")
>>> submodular.minimise(own).words
'optimal if what you told holds: claimed: concave in the size'
"""

from collections.abc import Callable
from fractions import Fraction
from typing import NoReturn

import numpy as np
from numpy.typing import ArrayLike

from depl.heuristics.submodular.answers import Minimum
from depl.heuristics.submodular.families import (
    capped,
    concave_of_weight,
    coverage,
    cut,
    facility_location,
    logarithm,
    parabola,
    quadratic,
    square_root,
)
from depl.heuristics.submodular.function import (
    LARGEST_EXHAUSTIVE,
    SetFunction,
    Submodularity,
    Verdict,
    exhaustive,
    oracle,
)
from depl.heuristics.submodular.lovasz import lovasz_extension as extension
from depl.heuristics.submodular.minimise import minimise as minimise_function
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.removed import removed

__all__ = [
    "Minimum",
    "Submodularity",
    "capped",
    "claimed",
    "concave_of_weight",
    "coverage",
    "cut",
    "facility_location",
    "logarithm",
    "lovasz_extension",
    "minimise",
    "parabola",
    "quadratic",
    "square_root",
    "submodularity",
]

Values = Callable[[frozenset[int]], int | float | Fraction]


def minimise(function: SetFunction | Values, *, size: int | None = None, method: str = "auto") -> Minimum:
    """Minimise a set function over all subsets, the empty one included, and say what is proved.

    Parameters
    ----------
    function : SetFunction or callable
        One of `cut`, `coverage`, `quadratic`, `concave_of_weight`, `facility_location` and `claimed`; or
        anything that takes a frozenset of 0, ..., size - 1 and returns a finite number: of such a function
        nothing is known, so that it is minimised by trying all subsets of at most 20 elements, and beyond
        that without a claim.
    size : int, optional
        n, the number of elements of a callable.
    method : str
        ``auto``, or the name of a method (`depl.heuristics.submodular.minimise.METHODS`): ``brute-force``
        proves whatever the function is.

    Returns
    -------
    Minimum
        The best set found, its value, a lower bound (minus infinity where none is proved), the proof, and
        `Minimum.words`, which say what may be concluded.

    Raises
    ------
    InvalidInputError
        If a callable comes without a size, there is no such method, or a value is not finite.
    NotCoveredError
        If a method asked for by name does not cover the function.
    """
    return minimise_function(_set_function(function, size), method)


def claimed(size: int, evaluate: Values, why: str) -> SetFunction:
    """A function that you know to be submodular, and nobody here has proved to be.

    Parameters
    ----------
    size : int
        n, at least 0.
    evaluate : callable
        Takes a frozenset of 0, ..., size - 1 and returns a finite number.
    why : str
        Stands in every answer that rests on it.

    Raises
    ------
    InvalidInputError
        If the size is negative.
    """
    if size < 0:
        raise InvalidInputError(f"must not be negative, not {size}", "size")
    return oracle(size, evaluate, Submodularity(Verdict.TOLD, f"claimed: {why}"))


def submodularity(function: SetFunction | Values, *, size: int | None = None) -> Submodularity:
    """Whether a function is submodular: by construction, or because all triples of at most 18 elements fit.

    Parameters
    ----------
    function, size
        As in `minimise`.

    Returns
    -------
    Submodularity
        Its ``verdict`` is PROVED, REFUTED (by the triple in ``violation``), TOLD or UNKNOWN.

    Raises
    ------
    InvalidInputError
        If a callable comes without a size, or a value is not finite.
    """
    given = _set_function(function, size)
    return given.known if given.known.proved or given.size > LARGEST_EXHAUSTIVE else exhaustive(given)


def lovasz_extension(function: SetFunction | Values, x: ArrayLike, *, size: int | None = None) -> float:
    """The Lovász extension at a point, convex iff the function is submodular.

    Parameters
    ----------
    function, size
        As in `minimise`.
    x : array_like
        Any real numbers, shape (n,).

    Returns
    -------
    float
        f(0) plus the base of the order in which x falls times x [as f].

    Raises
    ------
    InvalidInputError
        If a callable comes without a size, or the point has another length or numbers that are not finite.
    """
    given, point = _set_function(function, size), np.array(x, dtype=float)
    if point.shape != (given.size,) or not np.isfinite(point).all():
        raise InvalidInputError(f"must be {given.size} finite numbers", "x")
    return extension(given, point)


def _set_function(function: SetFunction | Values, size: int | None) -> SetFunction:
    if isinstance(function, SetFunction):
        return function
    if not callable(function):
        raise InvalidInputError("must be a set function, or take a frozenset and return a number", "function")
    if size is None or size < 0:
        raise InvalidInputError("say how many elements a function of your own has", "size")
    return oracle(size, function)


def __getattr__(name: str) -> NoReturn:
    """Refuse a name that is gone with what to use in its place."""
    gone = removed(f"depl.submodular.{name}")
    if gone is not None:
        raise ImportError(gone)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """What may be minimised, and how."""
    return sorted(__all__)

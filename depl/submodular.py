"""Minimising submodular functions with a proof, and a calculus that proves submodularity by composition.

>>> from depl import submodular
>>> network = submodular.cut(3, [(0, 1), (1, 2)], [3, 4], directed=False)
>>> gain = submodular.modular([-5, 1, -2])
>>> found = submodular.minimise(network + gain)
>>> sorted(found.subset), found.value, found.lower_bound, found.words
([0, 1, 2], -6.0, -6.0, 'optimal')

An answer is *optimal* if submodularity is proved, by composition or because all triples were tried, and a
base of the function closes the gap in rational numbers; of a function that is only claimed to be submodular
it is "optimal if what you told holds".

>>> network.submodularity().reason
'the undirected cut of arcs of nonnegative capacity'
>>> own = submodular.claimed(4, lambda chosen: len(chosen) * (3 - len(chosen)), "concave in the size")
>>> submodular.minimise(own).words
'optimal if what you told holds: claimed: concave in the size'
"""

from collections.abc import Callable
from fractions import Fraction

from depl.heuristics.set_functions.answers import Minimum
from depl.heuristics.set_functions.calculus import (
    claimed,
    complement,
    concave,
    contracted,
    coverage,
    cut,
    entropy,
    facility_location,
    graphic_rank,
    log_det,
    partition_rank,
    restricted,
    tried,
    truncated,
    uniform_rank,
)
from depl.heuristics.set_functions.expressions import Expression, Monotone, modular, total
from depl.heuristics.set_functions.families import capped, logarithm, parabola, square_root
from depl.heuristics.set_functions.functions import Oracle, SetFunction
from depl.heuristics.set_functions.graphs import GraphFunction
from depl.heuristics.set_functions.minimise import minimise as minimise_function
from depl.models.foundation.errors import InvalidInputError

__all__ = [
    "Expression",
    "Minimum",
    "Monotone",
    "capped",
    "claimed",
    "complement",
    "concave",
    "contracted",
    "coverage",
    "cut",
    "entropy",
    "facility_location",
    "graphic_rank",
    "log_det",
    "logarithm",
    "minimise",
    "modular",
    "parabola",
    "partition_rank",
    "restricted",
    "square_root",
    "total",
    "tried",
    "truncated",
    "uniform_rank",
]


def minimise(
    function: SetFunction | Callable[[frozenset[int]], int | float | Fraction],
    *,
    size: int | None = None,
    method: str = "auto",
) -> Minimum:
    """Minimise a set function over all subsets, the empty one included, and say what is proved.

    Parameters
    ----------
    function : SetFunction or callable
        An expression of the calculus; or anything that takes a frozenset of 0, ..., size - 1 and returns a
        finite number: of such a function nothing is known, so that it is minimised by trying all subsets of
        at most 20 elements, and beyond that without a claim. What you know of it you say by `claimed`.
    size : int, optional
        n, the number of elements of a callable.
    method : str
        ``auto``, or the name of a method (`depl.heuristics.set_functions.minimise.METHODS`): ``brute-force``
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
    if isinstance(function, Expression) and isinstance(function.function, GraphFunction):
        # the method that is made for sums of arcs and groups knows them by their type
        return minimise_function(function.function, method)
    if isinstance(function, SetFunction):
        return minimise_function(function, method)
    if not callable(function):
        raise InvalidInputError("must be a set function, or take a frozenset and return a number", "function")
    if size is None or size < 0:
        raise InvalidInputError("say how many elements a function that is no expression has", "size")
    return minimise_function(Oracle(size, function), method)


def __dir__() -> list[str]:
    """What may be composed, and `minimise`."""
    return sorted(__all__)

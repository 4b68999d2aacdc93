"""A calculus that proves submodularity by composition: leaves whose proof is known, and what keeps it.

An expression (`depl.heuristics.set_functions.expressions.Expression`) is a set function together with what
its construction proves: whether it is submodular, whether it nowhere falls or nowhere rises, and why, in
words. Leaves are modular functions, cuts, coverage, facility location, concave functions of a weight, ranks,
entropies and log det; sums with nonnegative coefficients, restrictions, contractions and complements keep
submodularity, and so does cutting off a *monotone* function.
Nothing else is made: a step that proves nothing is refused. What only a caller knows enters by `claimed`, and
then all that is built of it is TOLD, not PROVED.
"""

import math
from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from depl.heuristics.set_functions import entropies, families, graphs, ranks
from depl.heuristics.set_functions.combinations import Complement, Judged, Truncated
from depl.heuristics.set_functions.expressions import Expression, Monotone, Number, exact_number, total
from depl.heuristics.set_functions.families import Shape
from depl.heuristics.set_functions.functions import Oracle, Restricted, SetFunction, as_order, subset_of_index
from depl.heuristics.set_functions.status import LARGEST_EXHAUSTIVE, exhaustive
from depl.heuristics.set_functions.verdicts import proved
from depl.models.foundation.errors import InvalidInputError, NotCoveredError

# --- leaves -------------------------------------------------------------------------------------------


def cut(
    size: int, arcs: Sequence[tuple[int, int]], capacities: ArrayLike, *, directed: bool = True
) -> Expression:
    """Capacity of the arcs that leave S; of the edges between S and the rest if not directed.

    Parameters
    ----------
    size : int
        n >= 1.
    arcs : sequence of pairs
        Tail and head, different.
    capacities : array_like
        Nonnegative, one per arc or one for all.
    directed : bool
        Whether an arc counts only from its tail to its head.

    Raises
    ------
    InvalidInputError
        If an arc does not fit, or a capacity is negative or not finite.
    """
    given = np.array(capacities, dtype=float)
    if (given < 0).any():
        raise InvalidInputError("must not be negative, or the cut is not submodular", "capacities")
    ends = np.array(arcs, dtype=np.int64).reshape(-1, 2)
    if not directed:
        given = np.broadcast_to(given, (len(ends),))
        ends, given = np.concatenate([ends, ends[:, ::-1]]), np.concatenate([given, given])
    kind = "directed" if directed else "undirected"
    return Expression(
        graphs.cut(size, ends, given), Monotone.UNKNOWN, [f"the {kind} cut of arcs of nonnegative capacity"]
    )


def coverage(size: int, groups: Sequence[Sequence[int]], weights: ArrayLike) -> Expression:
    """Weight of the groups that S meets; see `depl.heuristics.set_functions.graphs.coverage`."""
    found = graphs.coverage(size, groups, weights)
    return Expression(found, Monotone.RISES, ["the weight of what is covered, nonnegative"])


def facility_location(benefits: ArrayLike) -> Expression:
    """Sum over customers of the greatest benefit in S; shape (n, customers), nonnegative."""
    found = families.facility_location(benefits)
    return Expression(found, Monotone.RISES, ["a sum of maxima of nonnegative numbers"])


def concave(weights: ArrayLike, shape: Shape) -> Expression:
    """g(w(S)): a concave function of the weight of S, with w >= 0.

    Parameters
    ----------
    weights : array_like
        Shape (n,), or (k, n) for the sum of the same g of k weights.
    shape : Shape
        One of `square_root`, `logarithm`, `parabola` and `capped`
        (`depl.heuristics.set_functions.families`), whose concavity is known.

    Raises
    ------
    InvalidInputError
        If a weight is negative or not finite.
    """
    given = np.array(weights, dtype=float)
    if given.ndim > 1:
        return total([concave(row, shape) for row in given])
    if not isinstance(shape, Shape):
        raise InvalidInputError(
            "must be a shape that is known to be concave (square_root, logarithm, parabola, capped); "
            "say what only you know by claimed",
            "shape",
        )
    found = families.concave_of_weight(given, shape)
    way = Monotone.RISES if shape.rises else Monotone.UNKNOWN
    return Expression(found, way, [f"the concave function {shape.name} of a nonnegative weight"])


def uniform_rank(size: int, rank: int) -> Expression:
    """min(|S|, rank)."""
    return partition_rank([0] * size, [rank])


def partition_rank(blocks: Sequence[int], most: Sequence[int]) -> Expression:
    """How many elements of S can be kept with at most ``most[b]`` of block b.

    Parameters
    ----------
    blocks : sequence of int
        The block of each element, an index of ``most``.
    most : sequence of int
        Nonnegative.

    Raises
    ------
    InvalidInputError
        If there is no element, a block does not exist, or a number is negative.
    """
    of, limits = [int(block) for block in blocks], [int(number) for number in most]
    if not of or min(of) < 0 or max(of) >= len(limits):
        raise InvalidInputError(
            f"must be some indices of the {len(limits)} blocks, one per element", "blocks"
        )
    if min(limits) < 0:
        raise InvalidInputError("must not be negative", "most")
    kind = "a partition matroid" if len(limits) > 1 else "a uniform matroid"
    return _rank(len(of), kind, ranks.partition(of, limits))


def graphic_rank(edges: Sequence[tuple[int, int]]) -> Expression:
    """Most edges of S without a cycle; the elements are the edges, given by their two ends.

    Raises
    ------
    InvalidInputError
        If there is no edge.
    """
    ends = [(int(one), int(other)) for one, other in edges]
    if not ends:
        raise InvalidInputError("needs at least one edge", "edges")
    return _rank(len(ends), "the forests of a graph", ranks.forests(ends))


def entropy(law: ArrayLike) -> Expression:
    """H of the discrete variables in S [nats]; see `depl.heuristics.set_functions.entropies.entropy`."""
    found = entropies.entropy(law)
    return Expression(found, Monotone.RISES, ["the entropy of discrete variables with a joint law"])


def log_det(matrix: ArrayLike) -> Expression:
    """Ln det A[S]; see `depl.heuristics.set_functions.entropies.log_det`."""
    found = entropies.log_det(matrix)
    rises = entropies.exceeds_one(found)
    why = ", all eigenvalues of which exceed 1" if rises else ""
    return Expression(
        found,
        Monotone.RISES if rises else Monotone.UNKNOWN,
        [f"log det of the principal submatrices of a positive definite matrix{why}"],
    )


def claimed(
    size: int,
    evaluate: Callable[[frozenset[int]], Number],
    why: str,
    *,
    error: float = 0.0,
    monotone: Monotone = Monotone.UNKNOWN,
) -> Expression:
    """A function that its caller says is submodular; every answer about it names that as its condition.

    Parameters
    ----------
    size : int
        n >= 0.
    evaluate : callable
        Takes a frozenset of 0, ..., n - 1 and returns a finite number.
    why : str
        What the caller knows, in words.
    error : float
        Bound of the error of ``evaluate``.
    monotone : Monotone
        Said by the caller as well.
    """
    told = Oracle(size, evaluate, known=proved(why), error=error)
    return Expression(told, monotone, [f"claimed: {why}"])


def tried(function: SetFunction) -> Expression:
    """A function of at most 18 elements, written out as a table, all triples of which are tried.

    The table is what is minimised later: the function is not asked again.

    Raises
    ------
    InvalidInputError
        If a triple violates submodularity, which the message names, or rounding leaves one open.
    NotCoveredError
        If there are more elements.
    """
    if function.size > LARGEST_EXHAUSTIVE:
        raise NotCoveredError(
            f"all triples are tried for at most {LARGEST_EXHAUSTIVE} elements, not {function.size}"
        )
    ends = {
        subset: function.exact_ends(as_order(subset))
        for subset in map(subset_of_index, range(1 << function.size))
    }
    error = max(float(chain.error) for chain in ends.values())
    table = {subset: chain.last for subset, chain in ends.items()}
    kept = Oracle(function.size, table.__getitem__, error=math.nextafter(error, math.inf) if error else 0.0)
    found = exhaustive(kept)
    if not found.proved:
        raise InvalidInputError(f"submodularity is {found.verdict.value}: {found.reason}", "function")
    return Expression(Judged(kept, found), Monotone.UNKNOWN, ["a table all triples of which were tried"])


# --- what keeps submodularity -------------------------------------------------------------------------


def restricted(function: Expression, elements: Iterable[int]) -> Expression:
    """f on the subsets of ``elements``, renumbered in increasing order; the others stay out."""
    kept = _elements(function, elements)
    outside = frozenset(range(function.size)) - kept
    return _part(function, frozenset(), outside, "a restriction to fewer elements")


def contracted(function: Expression, elements: Iterable[int]) -> Expression:
    """f(S + elements) of the sets S of the others, renumbered in increasing order."""
    return _part(function, _elements(function, elements), frozenset(), "a contraction: some elements are in")


def complement(function: Expression) -> Expression:
    """f(V - S)."""
    return Expression(
        Complement(function.function),
        function.monotone.opposite,
        ["the complement, where unions and intersections change places", *function.reasons],
    )


def truncated(function: Expression, limit: Number) -> Expression:
    """min(f(S), limit).

    Parameters
    ----------
    function : Expression
        f, which is proved (or claimed) to be monotone; of another one the minimum need not be submodular.
    limit : number
        Finite, exactly as given.

    Raises
    ------
    InvalidInputError
        If f is not known to be monotone, or the limit is not finite.
    """
    if function.monotone is Monotone.UNKNOWN:
        raise InvalidInputError(
            "is not known to be monotone, and the minimum with a constant is submodular only then", "function"
        )
    found = Truncated(function.function, exact_number(limit, "limit"))
    return Expression(
        found, function.monotone, [f"a monotone function cut off at {limit}", *function.reasons]
    )


def _rank(size: int, kind: str, begin: Callable[[], ranks.Adds]) -> Expression:
    return Expression(ranks.MatroidRank(size, kind, begin), Monotone.RISES, [f"the rank of {kind}"])


def _part(function: Expression, inside: frozenset[int], outside: frozenset[int], why: str) -> Expression:
    found = Restricted(function.function, inside, outside)
    return Expression(found, function.monotone, [why, *function.reasons])


def _elements(function: Expression, elements: Iterable[int]) -> frozenset[int]:
    found = frozenset(int(element) for element in elements)
    if not found <= frozenset(range(function.size)):
        raise InvalidInputError(f"must be elements of 0 ... {function.size - 1}", "elements")
    return found

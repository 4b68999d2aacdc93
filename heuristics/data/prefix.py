"""The sorted-prefix rule: an optimum read off the order of tau_d / q_d, where 1/K^ is convex.

Theorem. Let there be no transfer costs, u = 1/K^ convex, positive and nondecreasing on the volumes that sets
can have. Then some minimiser of T^/u over all sets is a prefix of the datasets sorted by tau_d / q_d.

Proof. Relax D to x in [0, 1]^n. For every c > 0 the set {x : t0 + tau.x >= c u(q.x)} is convex, so the
ratio is quasi-concave and attains its minimum at a vertex of the image {(q.x, tau.x)}, a polygon. The ratio
rises in tau.x and does not rise in q.x, so a vertex on the lower right chain does; the vertices of that
chain are the partial sums in the order of tau_d / q_d.

Over nonempty sets a prefix is not enough: where the empty set is best, the prefix of one dataset may be worse
than another single dataset. But single datasets and prefixes are:

- Take a set of volume s, at least that of the first prefix. It lasts at least as long as the frontier of the
  polygon at s, which lies between two nonempty prefixes, and a quasi-concave ratio is there at least the
  lesser of theirs.
- A nonempty set of less volume contains some d. With d used in any case the theorem holds for the others; a
  nonempty prefix of the others holds the first dataset of all, so the case above; the empty one is {d}.
"""

import numpy as np

from depl.heuristics.data.epochs_needed import NeededEpochs
from depl.heuristics.data.problem import SelectionProblem, training_time
from depl.heuristics.set_functions.functions import FloatArray, IntArray, as_set
from depl.models.foundation.errors import NotCoveredError


def rule_holds(problem: SelectionProblem, nonempty: bool = True) -> bool:
    """Whether the theorem applies: K^ by volume, no prices, and 1/K^ convex where sets can be."""
    if not isinstance(problem.needed, NeededEpochs) or problem.priced or problem.constant:
        return False
    least = float(problem.volumes.min()) if nonempty and problem.size else 0.0
    return problem.needed.reciprocal_is_convex(least)


def density_order(problem: SelectionProblem) -> IntArray:
    """The datasets by rising tau_d / q_d; of equals the larger first."""
    return np.lexsort((-problem.volumes, problem.durations / problem.volumes)).astype(np.int64)


def best_prefix(problem: SelectionProblem, nonempty: bool = True) -> frozenset[int]:
    """The best prefix, or for nonempty sets the best nonempty prefix or single dataset.

    It is a minimiser where `rule_holds`, and a feasible set elsewhere.

    Parameters
    ----------
    problem : SelectionProblem
        With volumes; transfers are counted in the values, not in the order.
    nonempty : bool
        Whether a dataset has to be used.

    Raises
    ------
    NotCoveredError
        For K^ from a table, or if a dataset has to be used and there is none.
    """
    if not isinstance(problem.needed, NeededEpochs):
        raise NotCoveredError("K^ from a table has no volumes to sort by")
    if nonempty and not problem.size:
        raise NotCoveredError("there is no dataset to use")
    order = density_order(problem)
    parts = problem.volumes, problem.durations, problem.transfers
    prefixes = _values(problem, problem.needed, *(_prefix_sums(part[order]) for part in parts))
    start = 1 if nonempty else 0
    best = int(np.argmin(prefixes[start:])) + start
    if nonempty:
        singles = _values(problem, problem.needed, *parts)
        single = int(np.argmin(singles))
        if singles[single] < prefixes[best]:
            return frozenset({single})
    return as_set(order[:best])


def _values(
    problem: SelectionProblem,
    needed: NeededEpochs,
    volume: FloatArray,
    duration: FloatArray,
    transfer: FloatArray,
) -> FloatArray:
    time = training_time(needed.at(volume), problem.fixed_duration + duration)
    return np.asarray(time + transfer + problem.constant, dtype=float)


def _prefix_sums(numbers: FloatArray) -> FloatArray:
    return np.concatenate([[0.0], np.cumsum(numbers)])

r"""A polynomial scheme that keeps the loss exactly and relaxes time and cost by a factor 1 + eps.

No polynomial algorithm keeps both budgets (E10), but one may be kept. Labels carry the exact (weight, time,
loss) of a path prefix; at every (epoch, model) the plane of (weight, time) is cut into buckets of widths
alpha = eps LB / K and beta = eps T_max / K, and each bucket keeps the label of least loss.

Claim. For every prefix P of k epochs some label Q is kept at the same (epoch, model) with
w(Q) <= w(P) + k alpha, t(Q) <= t(P) + k beta, l(Q) <= l(P).
Proof by induction: extend the label kept for the prefix one epoch shorter by the same step; the label kept
in the bucket of the result has no greater loss, and weight and time differ by less than a width.

So if LB <= OPT, a cheapest path within both budgets leaves a label with loss <= l_max *exactly*, time <=
(1 + eps) T_max, and weight <= OPT + eps LB <= (1 + eps) OPT. (A label that meets l_max ends: should it stand
for a longer prefix, it is itself an answer that costs no more.) Only sums are rounded: the values
are exact, only the choice among labels is coarse.

LB comes from testing: with widths for B and labels above (1 + eps) B dropped, the scheme finds a path of
weight <= (1 + eps) B, or OPT > B. A search over B = least positive weight times powers of two, halving the
range of the exponent, ends with B < OPT and a known path of weight <= 2 (1 + eps) B. All runs together keep
O(M K (K / eps)**2 log log(UB / LB)) labels.

With the resources optimised, too: where nothing clips a plan costs S**2 / (T_max - V), S = sum sqrt(kappa c),
V = sum s / b. The same scheme on (S, V) gives S <= (1 + eps) S*, V <= V* + eps T_max, so with (1 + eps) T_max
of time the cost is S**2 / ((1 + eps) T_max - V) <= (1 + eps)**2 OPT.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from depl.heuristics.paths.additive_problem import AdditivePath, AdditiveProblem
from depl.heuristics.paths.completions import least_completions
from depl.models.foundation.errors import InvalidInputError, NotCoveredError
from depl.models.foundation.tolerances import ATOM_TOLERANCE, TIME_TOLERANCE
from depl.models.problem.laws import FloatArray

MOST_BUCKETS = 1 << 40
"""Most buckets of one (epoch, model) that are told apart; few of them hold a label."""


@dataclass(frozen=True)
class RelaxedPath:
    """A path that keeps the loss exactly.

    Attributes
    ----------
    path : AdditivePath
        Time at most (1 + eps) T_max.
    lower_bound : float
        What the value of every path within both budgets exceeds or equals.
    value : float
        Its weight; with resources optimised its cost within (1 + eps) T_max.
    """

    path: AdditivePath
    lower_bound: float
    value: float


def least_weight_relaxed(problem: AdditiveProblem, eps: float) -> RelaxedPath | None:
    """A path with loss <= l_max, time <= (1 + eps) T_max and weight <= (1 + eps) OPT.

    OPT is the least weight within both budgets. None proves that no path keeps both.

    Parameters
    ----------
    eps : float
        In (0, 1].

    Raises
    ------
    InvalidInputError
        If ``eps`` does not lie in (0, 1].
    NotCoveredError
        If ``eps`` is so small that buckets cannot be numbered.
    """
    share = _checked(eps)
    found = _bracket(problem, share)
    if found is None:
        return None
    lower, known = found
    if known.weight == 0:
        return RelaxedPath(known, 0.0, 0.0)
    cap = known.weight + share * lower
    ends = _bucketed(problem, share * lower, share, cap)
    best = min([known, *ends], key=lambda path: (path.weight, path.time))
    return RelaxedPath(best, max(lower, best.weight / (1 + share)), best.weight)


def least_cost_relaxed(problem: AdditiveProblem, eps: float) -> RelaxedPath | None:
    """A path with loss <= l_max whose cost within (1 + eps) T_max is at most (1 + eps)**2 OPT.

    Parameters
    ----------
    problem : AdditiveProblem
        With weights sqrt(kappa c) and times s / b (`Weight.ROOT`, `Clock.COMMUNICATION`); its path costs
        S**2 / (T - V) if nothing clips, and OPT is the least of that for T = T_max within l_max.
    eps : float
        In (0, 1].

    Raises
    ------
    InvalidInputError
        If ``eps`` does not lie in (0, 1], or T_max is infinite.
    NotCoveredError
        As `least_weight_relaxed`.
    """
    share = _checked(eps)
    if math.isinf(problem.maximum_time):
        raise InvalidInputError("the cost of resources needs a T_max", "problem")
    found = _bracket(problem, share)
    if found is None:
        return None
    lower, known = found
    longest = (1 + share) * problem.maximum_time
    if known.weight == 0:
        return RelaxedPath(known, 0.0, 0.0)

    def value(path: AdditivePath) -> float:
        return path.weight**2 / (longest - path.time) if path.time < longest else math.inf

    # A more expensive S than this costs more than what is known, even with all the time to itself.
    cap = min(math.sqrt(value(known) * longest), float(problem.weights.max(axis=1).sum())) + share * lower
    ends = _bucketed(problem, share * lower, share, cap * (1 + 1e-9))
    best = min([known, *ends], key=value)
    return RelaxedPath(best, value(best) / (1 + share) ** 2, value(best))


def _bracket(problem: AdditiveProblem, share: float) -> tuple[float, AdditivePath] | None:
    """B < OPT and a path of weight <= 2 (1 + eps) B that keeps the loss; None if none keeps both budgets."""
    if problem.initial_loss <= problem.maximum_loss + ATOM_TOLERANCE:
        return 0.0, AdditivePath((), 0.0, 0.0, problem.initial_loss)
    free = replace(problem, allowed=problem.allowed & (problem.weights == 0)[:, None, :])
    at_no_cost = _bucketed(free, math.inf, share, 0.0)
    if at_no_cost:
        return 0.0, at_no_cost[0]
    positive = problem.weights[problem.weights > 0]
    if not positive.size:
        return None
    least, most = float(positive.min()), float(problem.weights.max(axis=1).sum())

    def test(exponent: int) -> AdditivePath | None:
        budget = least * 2.0**exponent
        ends = _bucketed(problem, share * budget, share, (1 + share) * budget)
        return min(ends, key=lambda path: path.weight, default=None)

    low, high = -1, max(math.ceil(math.log2(most / least)), 0)
    known = test(high)
    if known is None:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        found = test(middle)
        if found is None:
            low = middle
        else:
            known, high = found, middle
    return least * 2.0**low, known


@dataclass
class _Layer:
    """Labels of one (epoch, model), and where each comes from."""

    values: FloatArray
    before: NDArray[np.int64]
    parent: NDArray[np.int64]


def _bucketed(problem: AdditiveProblem, width: float, share: float, cap: float) -> list[AdditivePath]:
    """Paths that keep the loss, of weight <= ``cap`` and time <= (1 + eps) T_max.

    ``width`` is K times the width of a bucket of weight, infinite for one bucket.
    """
    epochs, count = problem.epochs, problem.start
    if not epochs:
        return []
    widths = np.array([width / epochs, share * problem.maximum_time / epochs])
    _require_countable(problem, widths, cap, share)
    limits = np.array([cap * (1 + 1e-12), problem.maximum_time * (1 + share) * (1 + TIME_TOLERANCE)])
    lowest = _least_completions(problem)
    target = problem.maximum_loss + ATOM_TOLERANCE
    nothing = np.zeros((0, 3))
    open_ = [nothing] * count + [np.array([[0.0, 0.0, problem.initial_loss]])]
    layers: list[list[_Layer]] = []
    ends = []
    for k in range(epochs):
        layer = [_arrivals(problem, k, m, open_) for m in range(count)]
        open_ = []
        for m, labels in enumerate(layer):
            within = (labels.values[:, :2] <= limits).all(axis=1)
            rows = np.flatnonzero(within & (labels.values[:, 2] + lowest[k, m] <= target))
            rows = rows[_least_of_buckets(labels.values[rows], widths)]
            layer[m] = _Layer(labels.values[rows], labels.before[rows], labels.parent[rows])
            done = layer[m].values[:, 2] <= target
            ends += [(k, m, int(row)) for row in np.flatnonzero(done)]
            open_.append(np.where(done[:, None], np.inf, layer[m].values))
        layers.append(layer)
        open_.append(nothing)
    return [_read_back(problem, layers, *end) for end in ends]


def _arrivals(problem: AdditiveProblem, k: int, m: int, open_: list[FloatArray]) -> _Layer:
    """All labels that arrive at (k + 1, m)."""
    parts, before, parent = [np.zeros((0, 3))], [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for p, labels in enumerate(open_):
        if problem.allowed[k, p, m]:
            going = np.flatnonzero(np.isfinite(labels[:, 0]))
            step = np.array([problem.weights[k, m], problem.times[k, m], problem.losses[k, p, m]])
            parts.append(labels[going] + step)
            before.append(np.full(len(going), p))
            parent.append(going)
    return _Layer(np.concatenate(parts), np.concatenate(before), np.concatenate(parent))


def _least_of_buckets(values: FloatArray, widths: FloatArray) -> NDArray[np.int64]:
    """In every bucket of (weight, time) the row of least loss; ties go to the lower weight."""
    if not len(values):
        return np.zeros(0, dtype=np.int64)
    cells = np.floor(values[:, :2] / widths).astype(np.int64)
    keys = cells[:, 0] * (int(cells[:, 1].max()) + 1) + cells[:, 1]
    order = np.lexsort((values[:, 0], values[:, 2], keys))
    first = np.concatenate([[True], np.diff(keys[order]) != 0])
    return np.asarray(order[first])


def _least_completions(problem: AdditiveProblem) -> FloatArray:
    """Least change of the loss by what follows each (epoch, model), at most 0; shape (K, M)."""
    best = least_completions(problem.losses, problem.allowed)
    # The bound is of sums in another order, so it needs a little room.
    room = 1e-12 * float(np.abs(problem.losses).sum(axis=0).max(initial=0.0))
    return np.asarray(best - room)


def _read_back(
    problem: AdditiveProblem, layers: list[list[_Layer]], k: int, m: int, row: int
) -> AdditivePath:
    path = []
    while k >= 0:
        path.append(m)
        labels = layers[k][m]
        m, row = int(labels.before[row]), int(labels.parent[row])
        k -= 1
    models = tuple(path[::-1])
    return AdditivePath(models, *problem.totals(models))


def _require_countable(problem: AdditiveProblem, widths: FloatArray, cap: float, share: float) -> None:
    time = problem.maximum_time * (1 + share) if math.isfinite(problem.maximum_time) else 0.0
    if (cap / widths[0] + 1) * (time / widths[1] + 1) > MOST_BUCKETS:
        raise NotCoveredError(f"eps / K = {share / problem.epochs:.3g} makes too many buckets; take a larger")


def _checked(eps: float) -> float:
    if not 0 < eps <= 1:
        raise InvalidInputError(f"must lie between 0 and 1, not {eps}", "eps")
    return eps

r"""The bound of the relaxation with transfers, by small programs at fixed prices of time.

At a price lam the relaxation is facility location with whole clusters made divisible: shares f_gn of class
g cost N_g psi_gn(lam), openings w_n >= f_gn cost F_n. Its duals v_g are charges in the sense of
`depl.heuristics.placement.opening.charged_bound`, the best there are at lam. The value D(lam) is concave,
with the time of the shares less T_max as supergradient: two prices around the best one give, by their
tangents, the next. Programs hold few clusters: any other one that the charges would overfill is added, until
none is left.
"""

import math
from collections.abc import Iterable

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from depl.heuristics.placement.dual import best_price, nonempty, prices
from depl.heuristics.placement.opening import OpeningBound, ascent, charged_bound
from depl.heuristics.placement.problem import PlacementProblem
from depl.models.problem.laws import FloatArray

_PRICES, _ADDED, _LARGEST = 20, 12, 6000
"""Prices of time tried, clusters added at once, and shares of one program. Set by hand: the tangents close in
on the best price, and every price gives a bound; a program of more shares takes longer than dual ascent,
which then stands in."""
_OVERFULL, _NARROW, _GAIN, _STEP = 1e-9, 1 + 1e-9, 1e-7, 1.2
"""Excess of charges, in shares of their sum, that counts as none: ten times the 1e-10 to which programs are
solved. Ratio of prices, and relative gain of the bound, at which the search for the best price ends, and the
first step to bracket it, set by hand: each price gives a bound, so that ending earlier makes it weaker."""
_OPTIONS = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


def transfer_certificates(
    problem: PlacementProblem, multiplier: float, clusters: Iterable[int], enough: float = math.inf
) -> list[OpeningBound]:
    """Lower bounds of every placement's cost that count transfers.

    The dual without transfers, `program_certificates`, and dual ascent where the programs would be too large.

    Parameters
    ----------
    multiplier, clusters, enough
        As for `program_certificates`.
    """
    plain = best_price(problem)
    found = [OpeningBound(plain.value, problem.transfers)]
    if plain.feasible and problem.epochs and plain.value < enough:
        programs = program_certificates(problem, multiplier, clusters, enough)
        found += programs if programs else [ascent(problem, multiplier)]
    return found


def lower_bound(problem: PlacementProblem, certificates: Iterable[OpeningBound]) -> float:
    """The best bound of some certificates: a placement of any epoch opens a cluster [cost]."""
    opens = problem.epochs > 0
    return max(item.value + (float(item.slack.min()) if opens else 0.0) for item in certificates)


def program_certificates(
    problem: PlacementProblem, multiplier: float, clusters: Iterable[int], enough: float = math.inf
) -> list[OpeningBound]:
    """Lower bounds that count transfers, the best one close to the relaxation.

    Parameters
    ----------
    multiplier : float
        A first price of time, such as that of a good placement [cost / time].
    clusters : iterable of int
        Clusters to begin with, such as those of a good placement; every class has to be able to train there.
    enough : float
        Stop once the bound is as large: the cost of a placement [cost].

    Returns
    -------
    list of OpeningBound
        One for each price that was tried; none if even the first program would have too many shares.
    """
    problem, places = nonempty(problem), sorted(set(clusters))
    found: list[OpeningBound] = []
    best, lower, upper = -math.inf, (0.0, 0.0, -math.inf), (math.inf, 0.0, -math.inf)
    limit = problem.maximum_time
    for _ in range(_PRICES):
        charges, time, places = _charges(problem, multiplier, places)
        if charges is None:
            break
        found.append(charged_bound(problem, multiplier, charges))
        value = found[-1].value
        gain, best = value - best, max(best, value)
        if limit is None or math.isinf(limit) or multiplier == 0 or best >= enough:
            break
        if time > limit:
            lower = (multiplier, time - limit, value)
        else:
            upper = (multiplier, time - limit, value)
        bracketed = lower[0] > 0 and upper[0] < math.inf
        if bracketed and (upper[0] <= lower[0] * _NARROW or 0 <= gain < _GAIN * best):
            break
        multiplier = _next_price(lower, upper)
    return found


def _next_price(lower: tuple[float, float, float], upper: tuple[float, float, float]) -> float:
    """Where the tangents at two prices meet, or beyond the one that is known."""
    if upper[0] == math.inf:
        return lower[0] * _STEP
    if lower[0] == 0:
        return upper[0] / _STEP
    slope = lower[1] - upper[1]
    meet = (upper[2] - lower[2] + lower[1] * lower[0] - upper[1] * upper[0]) / slope
    margin = 0.05 * (upper[0] - lower[0])
    return min(max(meet, lower[0] + margin), upper[0] - margin)


def _charges(
    problem: PlacementProblem, multiplier: float, places: list[int]
) -> tuple[FloatArray | None, float, list[int]]:
    """The best charges at a price, the time of the shares, and the clusters that the program ended with."""
    psi, times = prices(problem, multiplier)
    weighted = np.asarray(problem.counts[:, None] * psi, dtype=np.float64)
    while True:
        if len(places) * len(problem.counts) > _LARGEST or np.isinf(weighted[:, places]).all(axis=1).any():
            return None, 0.0, places
        values, shares = _solve(weighted[:, places], problem.transfers[places])
        over = np.maximum(values[:, None] - weighted, 0.0).sum(axis=0) - problem.transfers
        over[places] = 0.0
        added = np.argsort(-over, kind="stable")[:_ADDED]
        added = added[over[added] > _OVERFULL * float(np.abs(values).sum())]
        if not len(added):
            break
        places = sorted({*places, *added.tolist()})
    used = shares > 0
    spent = (problem.counts[:, None] * shares)[used] * times[:, places][used]
    return values, math.fsum(spent.tolist()), places


def _solve(weighted: FloatArray, transfers: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Duals v_g and shares f_gn of the program on some clusters."""
    groups, places = weighted.shape
    row, column = np.nonzero(np.isfinite(weighted))
    size = len(row)
    count = np.arange(size)
    one = np.ones(size)
    placed = sparse.csr_array((one, (row, count)), shape=(groups, size + places))
    linked = sparse.csr_array(
        (np.concatenate([one, -one]), (np.tile(count, 2), np.concatenate([count, size + column]))),
        shape=(size, size + places),
    )
    costs = np.concatenate([weighted[row, column], transfers])
    scale = max(float(np.abs(costs).mean()), 1e-300)
    answer = linprog(
        costs / scale,
        A_ub=linked,
        b_ub=np.zeros(size),
        A_eq=placed,
        b_eq=np.ones(groups),
        bounds=(0, None),
        method="highs-ds",
        options=_OPTIONS,
    )
    if answer.status != 0:
        raise RuntimeError(f"HiGHS ended with: {answer.message}")
    shares = np.zeros((groups, places))
    shares[row, column] = answer.x[:size]
    return np.asarray(answer.eqlin.marginals) * scale, shares

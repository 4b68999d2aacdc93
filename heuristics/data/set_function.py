"""K^ T^ of stage 1 as a set function, and when it is submodular: E4 as functions of a problem.

f is submodular if (-K''/K')(Q) T <= rho_i + rho_j for all i != j wherever sets can lead, rho_d = tau_d / q_d
(docs, *Dataset selection*). With one density this is concavity of K(Q) T(Q), which E4 decides for each law.
With several, T is at most t0 + psi(Q), psi the greatest duration of a volume, and both sides are compared on
intervals, -K''/K' (which falls) at the left end and psi at the right end. Transfers are modular.
"""

import math
from fractions import Fraction

import numpy as np

from depl.heuristics.data.epochs_needed import NeededEpochs
from depl.heuristics.data.problem import SelectionProblem, training_time
from depl.heuristics.submodular.function import (
    EPSILON,
    UNKNOWN,
    BoolArray,
    ExactSums,
    FloatArray,
    SetFunction,
    Submodularity,
    largest,
    proved,
)
from depl.models.foundation.errors import InvalidInputError

_INTERVALS = 4096
"""Intervals of the volume in each of which the condition is checked at its worst. Set by hand: it is
sufficient with any number; more prove it for problems that nearly break it, in time in proportion."""


_ROUNDINGS = 8
"""Of a gain, each half a distance of floats: of Q and ln, of K or what is saved, of a duration, of products,
transfers and sums."""


def selection_function(
    problem: SelectionProblem, inside: frozenset[int] = frozenset(), outside: frozenset[int] = frozenset()
) -> SetFunction:
    """f on the sets that contain ``inside`` and miss ``outside``, as a function of the other datasets.

    With K0 and T0 = t0 + tau(inside) those of ``inside`` alone,

        f(S) - f(0) = K(S) tau(S) - (K0 - K(S)) T0 + beta(S),

    both products no larger than f somewhere, so that gains are off by little, however f(0) and f(S) cancel.
    """
    if inside & outside or not inside | outside <= set(range(problem.size)):
        raise InvalidInputError("datasets to use and to leave out must exist and be different")
    start = problem.value(inside)
    if not math.isfinite(start):
        raise InvalidInputError("K^ is infinite without data; use one dataset in any case")
    free = sorted(set(range(problem.size)) - inside - outside)
    if isinstance(problem.needed, NeededEpochs):
        return _of_volumes(problem.restricted(inside, outside), start)

    def gains(members: BoolArray) -> FloatArray:
        whole = np.zeros((len(members), problem.size), dtype=bool)
        whole[:, sorted(inside)] = True
        whole[:, free] = members
        return problem.values(whole) - start

    # the sums of so few datasets are off by less than one rounding for each
    count = _ROUNDINGS + problem.size
    return SetFunction(
        len(free), gains, Fraction(start), noise=lambda found: count * EPSILON * (largest(found) + 2 * start)
    )


def _of_volumes(problem: SelectionProblem, start: float) -> SetFunction:
    needed = problem.needed
    if not isinstance(needed, NeededEpochs):
        raise InvalidInputError("K^ from a table has no volumes")
    volumes, durations, transfers = map(ExactSums, (problem.volumes, problem.durations, problem.transfers))
    relative, absolute = needed.rounding(float(problem.volumes.sum()))
    lost = absolute * float(problem.durations.sum())

    def gains(members: BoolArray) -> FloatArray:
        volume, duration = volumes.over(members), durations.over(members)
        saved = needed.saved(volume) * problem.fixed_duration
        return training_time(needed.at(volume), duration) - saved + transfers.over(members)

    return SetFunction(
        problem.size,
        gains,
        Fraction(start),
        submodular_by_condition(problem),
        lambda found: _ROUNDINGS * EPSILON * (relative * (largest(found) + 2 * start) + lost),
    )


def single_density(problem: SelectionProblem) -> float | None:
    """rho if tau_d = rho q_d exactly for all datasets (as rational numbers), else None [time / data]."""
    if not problem.size:
        return None
    pairs = zip(problem.durations.tolist(), problem.volumes.tolist(), strict=True)
    densities = (Fraction(duration) / Fraction(volume) for duration, volume in pairs)
    first = next(densities)
    return float(first) if all(density == first for density in densities) else None


def product_is_concave(problem: SelectionProblem, least: float = 0.0) -> bool:
    """Whether K(Q) T(Q) is concave on the volumes from ``least`` on; False if the densities differ.

    Parameters
    ----------
    problem : SelectionProblem
        With volumes; transfers are not looked at.
    least : float
        Least added volume: 0 with the empty set, the smallest dataset without [data].
    """
    rate = single_density(problem)
    if not isinstance(problem.needed, NeededEpochs) or rate is None:
        return False
    whole = math.fsum(problem.volumes.tolist())
    start = problem.needed.with_present(least)
    return start.product_is_concave(problem.fixed_duration + rate * least, rate, max(whole - least, 0.0))


def submodular_by_condition(problem: SelectionProblem) -> Submodularity:
    """PROVED where the conditions above hold on all sets, the empty one included; otherwise UNKNOWN.

    They are sufficient: trying all triples (`depl.heuristics.submodular.function.exhaustive`) may still
    prove it, and one triple may refute it.
    """
    if not isinstance(problem.needed, NeededEpochs):
        return UNKNOWN
    if problem.needed.constant or problem.size < 2:
        return proved("K^ does not depend on the data" if problem.needed.constant else "at most one dataset")
    if not math.isfinite(float(problem.needed.at(0.0))):
        return UNKNOWN
    if product_is_concave(problem):
        return proved("K^ T^ is concave in the volume, by the condition of E4")
    if _bounded_by_densities(problem, problem.needed):
        return proved("the curvature of K^ times T^ never exceeds the two least densities")
    return UNKNOWN


def _bounded_by_densities(problem: SelectionProblem, needed: NeededEpochs) -> bool:
    densities = problem.durations / problem.volumes
    order = np.argsort(-densities, kind="stable")
    volume = np.concatenate([[0.0], np.cumsum(problem.volumes[order])])
    duration = np.concatenate([[0.0], np.cumsum(problem.durations[order])])
    edges = np.linspace(0.0, volume[-1], _INTERVALS + 1)
    longest = problem.fixed_duration + np.interp(edges[1:], volume, duration)
    least = float(np.sort(densities)[:2].sum())
    return bool((needed.curvature(edges[:-1]) * longest * (1 + 1e-12) <= least).all())

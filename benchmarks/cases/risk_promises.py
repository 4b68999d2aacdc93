"""Random plans, near the budget and far from it: the contour must never promise too much."""

import functools
import math
import operator
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from depl.benchmarks.oracles.density_oracle import DensityOracle, Judged
from depl.benchmarks.oracles.spectral import spectral_violation
from depl.benchmarks.runner.registry import Case, Goal
from depl.benchmarks.suites.random_gains import random_counts, random_inverse_gamma, random_switch
from depl.models.foundation.errors import NotCoveredError
from depl.models.problem.epochs import FinalLoss, Term
from depl.models.problem.laws import FloatArray, InverseGamma, Normal
from depl.models.risk.batch import LossClasses, Verdict, quick_verdicts
from depl.models.risk.contour import choose_contour, label_table, violation

TABLE_ONE = (
    InverseGamma(mean=1.02, variance=0.031),
    InverseGamma(mean=1.0, variance=0.01),
    InverseGamma(mean=0.98, variance=0.007),
)
"""Table I of the paper: fast-unsteady, intermediate, slow-steady."""

_INITIAL_LOSS = 20.0
_EPOCHS = 100
_SHAPES = (2.1, 2.5, 3.0, 5.0, 10.0, 20.0, 34.9, 35.6, 102.0, 139.2, 300.0, 1000.0)
_LENGTHS = (1, 2, 5, 20, 100, 1000)
_BUDGETS = (Fraction(1, 2), *(Fraction(1, 10**n) for n in range(1, 9)))
_DIGITS, _BITS = 20.0, 170


@dataclass(frozen=True)
class _Tally:
    plans: int
    near: int
    feasible: int
    false_feasible: int
    false_infeasible: int
    undecided: int
    oracle_undecided: int
    oracle_contradictions: int
    spectral_checked: int
    spectral_disagreements: int


def _false_feasible(rng: np.random.Generator, smoke: bool) -> dict[str, object]:
    """Verdicts on random plans, near the budget and far from it, by one contour for the whole batch."""
    batches, plans = (1, 40) if smoke else (100, 1000)
    generators, spectral = rng.spawn(batches), [3 if smoke else 10] * batches
    if smoke:
        tallies = list(map(_tally, generators, [plans] * batches, spectral))
    else:  # minutes for each of the two cores
        with ProcessPoolExecutor(2) as pool:
            tallies = list(pool.map(_tally, generators, [plans] * batches, spectral))
    total = {name: sum(getattr(tally, name) for tally in tallies) for name in _Tally.__dataclass_fields__}
    return {
        "random_plans": total["plans"],
        "share_within_factor_two": total["near"] / total["plans"],
        "share_feasible": total["feasible"] / total["plans"],
        "false_feasible": total["false_feasible"],
        "false_infeasible": total["false_infeasible"],
        "share_undecided_by_one_contour": total["undecided"] / total["plans"],
        "judge_undecided": total["oracle_undecided"],
        "judge_contradictions": total["oracle_contradictions"],
        "spectral_checked": total["spectral_checked"],
        "spectral_disagreements": total["spectral_disagreements"],
    }


def _tally(rng: np.random.Generator, plans: int, spectral: int) -> _Tally:
    terms, counts = _random_plans(rng, plans)
    budget = Fraction(1, int(rng.choice([10, 20, 100, 1000, 10_000])))
    p = float(budget)
    first = tuple((term, int(n)) for term, n in zip(terms, counts[0], strict=True) if n)
    contour = choose_contour(first, p)
    if contour is None:
        raise NotCoveredError("no contour for a random plan")
    # Plans that differ much from the first one are judged better with less tilt.
    oracles = [DensityOracle(terms, counts, contour.abscissa * share) for share in (1.0, 0.3, 0.08)]

    def judge(gains: FloatArray) -> Judged:
        return functools.reduce(operator.and_, (oracle.judge(gains) for oracle in oracles))

    gains = _thresholds(rng, judge, terms, counts, p)
    judged = judge(gains)
    lower, upper = violation(contour, label_table(terms, contour).combine(counts), gains, 0.0)
    classes = LossClasses(tuple(terms), counts.astype(np.int16), gains)
    verdicts = quick_verdicts(classes, 0.0, budget)
    feasible, infeasible = (
        (upper <= p) | (verdicts == Verdict.MET),
        (lower > p) | (verdicts == Verdict.VIOLATED),
    )
    middle = (judged.lower + judged.upper) / 2
    checked, disagreements = _by_spectral(rng, terms, counts, gains, (lower, upper), spectral)
    return _Tally(
        plans=plans,
        near=int(((middle >= p / 2) & (middle <= 2 * p)).sum()),
        feasible=int(feasible.sum()),
        false_feasible=int((feasible & (judged.lower > p)).sum() + (upper < judged.lower).sum()),
        false_infeasible=int((infeasible & (judged.upper < p)).sum() + (lower > judged.upper).sum()),
        undecided=int((~feasible & ~infeasible).sum()),
        oracle_undecided=int(((judged.lower <= p) & (judged.upper > p)).sum()),
        oracle_contradictions=int((judged.lower > judged.upper).sum()),
        spectral_checked=checked,
        spectral_disagreements=disagreements,
    )


def _random_plans(rng: np.random.Generator, plans: int) -> tuple[list[Term], FloatArray]:
    """Rows of three random laws with decay and of two switches; plans of K/4 to K epochs."""
    epochs = int(math.exp(rng.uniform(0, math.log(101))))
    laws = [random_inverse_gamma(rng) for _ in range(3)]
    terms = [Term(-1 / math.sqrt(k + 1.0), law) for k in range(1, epochs + 1) for law in laws]
    terms += [Term(1.0, Normal(mean=0.05, variance=0.001)), Term(1.0, random_switch(rng))]
    counts = np.hstack([random_counts(rng, plans, epochs), np.zeros((plans, 2))])
    lengths = rng.integers(max(1, epochs // 4), epochs + 1, plans)
    counts[:, :-2] *= np.repeat(np.arange(1, epochs + 1), 3) <= lengths[:, None]
    counts[:, -2:] = rng.integers(0, 3, (plans, 2)) * (rng.random((plans, 1)) < 0.5)
    return terms, counts


def _thresholds(
    rng: np.random.Generator,
    judge: Callable[[FloatArray], Judged],
    terms: Sequence[Term],
    counts: NDArray[np.floating],
    p: float,
) -> FloatArray:
    """Gains needed: half of them such that P is within a factor 2 of p, the others anywhere, far included."""
    moments = [term.law.moments() for term in terms]
    weights = np.array([-term.coefficient for term in terms])
    means = counts @ (weights * np.array([m.mean for m in moments]))
    spreads = np.sqrt(counts @ (weights**2 * np.array([m.variance for m in moments])))
    wanted = p * 2 ** rng.uniform(-0.95, 0.95, len(means))
    low, high = means - 12 * spreads, means + spreads
    for _ in range(18):  # bisection for the near ones
        middle = (low + high) / 2
        judged = judge(middle)
        below = (judged.lower + judged.upper) / 2 < wanted
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    anywhere = means + spreads * rng.uniform(-8, 8, len(means))
    far = means * rng.uniform(-2, 4, len(means)) * 10 ** rng.uniform(0, 3, len(means))
    kind = rng.random(len(means))
    return np.asarray(np.where(kind < 0.5, (low + high) / 2, np.where(kind < 0.8, anywhere, far)))


def _by_spectral(
    rng: np.random.Generator,
    terms: Sequence[Term],
    counts: FloatArray,
    gains: FloatArray,
    bounds: tuple[FloatArray, FloatArray],
    wanted: int,
) -> tuple[int, int]:
    """How many plans were also put to `spectral_violation`, and how often it left the certified interval."""
    checked = disagreements = 0
    for index in rng.choice(len(gains), wanted, replace=False):
        plan = tuple((term, int(n)) for term, n in zip(terms, counts[index], strict=True) if n)
        try:
            value = spectral_violation(FinalLoss(float(gains[index]), plan), 0.0, points=8192)
        except NotCoveredError:
            continue
        checked += 1
        disagreements += not bounds[0][index] - 1e-12 <= value <= bounds[1][index] + 1e-12
    return checked, disagreements


CASE = Case(
    name="risk-promises",
    summary="Verdicts of one contour on random plans, judged by an independent density oracle.",
    goals=(
        Goal("random_plans", "random plans put to the batch and to the independent judge", ">=", 1e5),
        Goal("share_within_factor_two", "share of these with P within a factor 2 of the budget", ">=", 0.3),
        Goal("false_feasible", "certified feasible, or a bound below the truth, against the judge", "==", 0),
        Goal(
            "false_infeasible", "certified infeasible, or a bound above the truth, against the judge", "==", 0
        ),
    ),
    run=_false_feasible,
    seed=20260215,
)

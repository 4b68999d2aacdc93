"""Chance-constrained knapsacks of 100 to 5000 items, drawn anew, by exact search under the law.

Means are uniform on R / 10, ..., R, values uniform on the same (uncorrelated) or within R / 10 of the mean
(weakly correlated), standard deviations of 5 to 30 % of the mean, half of all mean weight is the capacity,
omega one of four levels; R = 100 and 1000. Beside them coarse ones of 100 items, with values up to 30 and
variances that are multiples of 25, are compared with a dynamic program over value and variance, which shares
no code with the search; for the others its table is too large.
"""

import time
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from depl.benchmarks.analysis.limits import allowed
from depl.benchmarks.measure.registry import Goal, Study
from depl.benchmarks.measure.solving import warm_up
from depl.instances.reductions.chance_knapsack import reduce, value_of_cost
from depl.instances.reductions.chance_program import best_by_value_and_variance
from depl.instances.reductions.knapsack import ChanceKnapsack
from depl.models.foundation.errors import NotCoveredError
from depl.models.solving.result import Termination
from depl.models.solving.solve import solve

_SECONDS = {100: 60.0, 200: 60.0, 500: 60.0, 1000: 60.0, 5000: 10.0}
"""Limit by number of items: issue 22."""
_LEVELS = (0.9, 0.95, 0.99, 0.999)
_LARGEST = (100, 1000)
_KINDS = ("uncorrelated", "weakly-correlated")
_DRAWS = 2
_CHECKED, _COARSE = 100, 12
"""Items and number of coarse knapsacks."""
_ROUNDING = 1e-8
"""Relative: costs and bounds are told to 1e-9 of the whole value, which is several times the best one."""


class _Question(NamedTuple):
    """A knapsack and the limit [s]."""

    name: str
    knapsack: ChanceKnapsack
    seconds: float


def drawn_knapsack(rng: np.random.Generator, kind: str, items: int, largest: int) -> ChanceKnapsack:
    """A random knapsack; see the module's docstring."""
    means = rng.integers(largest // 10, largest + 1, items)
    values = rng.integers(largest // 10, largest + 1, items)
    if kind == "weakly-correlated":
        values = np.maximum(1, means + rng.integers(-(largest // 10), largest // 10 + 1, items))
    shares = rng.integers(5, 31, items)  # hundredths
    variances = [
        Fraction(round((mean * share / 100) ** 2 * 10), 10)
        for mean, share in zip(means.tolist(), shares.tolist(), strict=True)
    ]
    level = float(rng.choice(_LEVELS))
    return ChanceKnapsack.of(values.tolist(), means.tolist(), variances, int(means.sum()) // 2, level)


def coarse_knapsack(rng: np.random.Generator) -> ChanceKnapsack:
    """A random knapsack of a hundred items that a dynamic program solves, too."""
    values, means = rng.integers(1, 31, _CHECKED).tolist(), rng.integers(10, 101, _CHECKED).tolist()
    variances = [25 * int(step) for step in rng.integers(0, 11, _CHECKED)]
    return ChanceKnapsack.of(values, means, variances, sum(means) // 2, float(rng.choice(_LEVELS)))


def _run(rng: np.random.Generator, smoke: bool) -> Mapping[str, object]:
    if not smoke:  # nobody reads the times of a smoke run
        warm_up("exact")
    rows = [_row(question) for question in _questions(rng, smoke)]
    by_size = {items: [row for row in rows if row["items"] == items] for items in _SECONDS}
    return {
        "wrong": sum(row["wrong"] for row in rows),
        "checked": sum(row["optimum"] is not None for row in rows),
        "knapsacks": {str(items): len(found) for items, found in by_size.items()},
        "not_proved": {str(n): sum(not row["proved"] for row in found) for n, found in by_size.items()},
        "longest_seconds": {
            str(items): max((row["seconds"] for row in found), default=None)
            for items, found in by_size.items()
        },
        "not_proved_up_to_500": sum(not row["proved"] for row in rows if row["items"] <= 500),
        "late": sum(row["seconds"] > allowed(row["limit"]) for row in rows),
        "largest_gap": max(row["gap"] for row in rows),
        "rows": rows,
    }


def _questions(rng: np.random.Generator, smoke: bool) -> Iterator[_Question]:
    for number in range(1 if smoke else _COARSE):
        yield _Question(f"coarse-{_CHECKED}-{number}", coarse_knapsack(rng), _SECONDS[_CHECKED])
    if smoke:
        return
    for items, seconds in _SECONDS.items():
        for kind in _KINDS:
            for largest in _LARGEST:
                for number in range(_DRAWS):
                    knapsack = drawn_knapsack(rng, kind, items, largest)
                    yield _Question(f"{kind}-{items}-{largest}-{number}", knapsack, seconds)


def _row(question: _Question) -> dict[str, Any]:
    name, knapsack, seconds = question
    total = float(sum(knapsack.values))
    clock = time.process_time()
    result = solve(reduce(knapsack), "exact", time_limit=seconds)
    clock = time.process_time() - clock
    value = None if result.cost is None else float(value_of_cost(knapsack, result.cost))
    upper, optimum = total - result.lower_bound, _optimum(knapsack)
    return {
        "name": name,
        "items": len(knapsack),
        "omega": knapsack.level,
        "limit": seconds,
        "proved": result.termination is Termination.OPTIMAL,
        "value": value,
        "upper_bound": upper,
        "gap": np.inf if value is None else (upper - value) / value,
        "optimum": optimum,
        "wrong": optimum is not None and not (value or 0.0) <= optimum <= upper * (1 + _ROUNDING),
        "seconds": clock,
    }


def _optimum(knapsack: ChanceKnapsack) -> float | None:
    """By dynamic programming; None if its table is too large."""
    try:
        return float(best_by_value_and_variance(knapsack).value)
    except NotCoveredError:
        return None


STUDY = Study(
    name="chance-knapsacks",
    summary="Chance-constrained knapsacks of 100 to 5000 items by exact search, against a dynamic program.",
    goals=(
        Goal("checked", "optima that a dynamic program finds, too", ">=", _COARSE),
        Goal("wrong", "knapsacks with a value or a bound that a dynamic program refutes", "==", 0),
        Goal("not_proved_up_to_500", "of 100, 200 and 500 items not proved within 60 s", "==", 0),
        Goal("late", "solves that took more CPU time than their limit, 5 % of it and 2 s", "==", 0),
        Goal(
            "largest_gap", "upper bound over value, less 1, of all, 5000 items in 10 s included", "<=", 0.01
        ),
    ),
    run=_run,
    seed=None,
)

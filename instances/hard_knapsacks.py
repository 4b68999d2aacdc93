r"""Families of knapsacks by the published recipe, from easy to hard.

D. Pisinger, Where are the hard knapsack problems?, Computers & Operations Research 32 (2005) 2271-2284,
Sections 3 to 5. Weights are uniform on 1, ..., R unless said otherwise; all numbers are whole.

- ``uncorrelated``: values uniform on 1, ..., R.
- ``weakly-correlated``: values uniform on w - R/10, ..., w + R/10, at least 1.
- ``strongly-correlated``: v = w + R/10.
- ``inverse-strongly-correlated``: values uniform on 1, ..., R and w = v + R/10.
- ``almost-strongly-correlated``: values uniform on w + R/10 - R/500, ..., w + R/10 + R/500.
- ``subset-sum``: v = w.
- ``similar-weights``: weights uniform on 100 000, ..., 100 100, values on 1, ..., 1000.
- ``uncorrelated-spanner``, ``weakly-correlated-spanner``, ``strongly-correlated-spanner``: span(2, 10), two
  items of the family, halved in size to at most 2 R / 10 and rounded up, each item a random multiple, 1 to
  10, of one of them.
- ``multiple-strongly-correlated``: mstr(3R/10, 2R/10, 6): v = w + 3R/10 where 6 divides w, else w + 2R/10.
- ``profit-ceiling``: pceil(3): v = 3 ceil(w / 3).
- ``circle``: circle(2/3): v = (2/3) sqrt(4 R^2 - (w - 2R)^2), rounded down.

In a series of H instances the h-th has the capacity h / (H + 1) sum of w, rounded down.
"""

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from depl.instances.reductions.chance import ChanceKnapsack
from depl.instances.reductions.knapsack import Knapsack
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.names import advice

Column = NDArray[np.int64]
Columns = tuple[Column, Column]
"""Values and weights."""
Family = Callable[[int, int, np.random.Generator], Columns]
"""Of n items with numbers up to R."""

_SPAN, _MULTIPLES = 2, 10


def hard_knapsack(
    family: str,
    items: int,
    rng: np.random.Generator,
    largest: int = 1000,
    part: int = 1,
    parts: int = 1,
) -> Knapsack:
    """A random knapsack of a family.

    Parameters
    ----------
    family : str
        One of `FAMILIES`.
    items : int
        n, at least 1.
    rng : numpy.random.Generator
    largest : int
        R, at least 10.
    part, parts : int
        h and H: the capacity is h / (H + 1) of the weight of all items, and at least 1.
    """
    if family not in FAMILIES:
        raise InvalidInputError(f"no family {family!r}; {advice(family, FAMILIES)}", "family")
    if items < 1 or largest < 10 or not 1 <= part <= parts:
        raise InvalidInputError(
            f"needs at least one item, R >= 10 and 1 <= h <= H, not n = {items}, R = {largest}, h = {part}, "
            f"H = {parts}"
        )
    values, weights = FAMILIES[family](items, largest, rng)
    capacity = max(1, part * int(weights.sum()) // (parts + 1))
    return Knapsack.of(values.tolist(), weights.tolist(), capacity)


def with_normal_weights(knapsack: Knapsack, level: float, rng: np.random.Generator) -> ChanceKnapsack:
    """Its weights as means, deviations of 5 to 30 % of each, and half of all mean weight as the capacity."""
    means = list(map(int, knapsack.weights))
    shares = rng.integers(5, 31, len(means)).tolist()  # hundredths
    variances = [
        Fraction(round((mean * share / 100) ** 2 * 10), 10) for mean, share in zip(means, shares, strict=True)
    ]
    return ChanceKnapsack.of(knapsack.values, means, variances, sum(means) // 2, level)


def _uniform(rng: np.random.Generator, low: int, high: int, count: int) -> Column:
    return rng.integers(low, high + 1, count)


def _uncorrelated(count: int, largest: int, rng: np.random.Generator) -> Columns:
    return _uniform(rng, 1, largest, count), _uniform(rng, 1, largest, count)


def _inverse_strongly_correlated(count: int, largest: int, rng: np.random.Generator) -> Columns:
    values = _uniform(rng, 1, largest, count)
    return values, values + largest // 10


def _similar_weights(count: int, largest: int, rng: np.random.Generator) -> Columns:
    return _uniform(rng, 1, 1000, count), _uniform(rng, 100_000, 100_100, count)


def _near(weights: Column, shift: int, spread: int, rng: np.random.Generator) -> Column:
    return np.asarray(np.maximum(1, weights + shift + _uniform(rng, -spread, spread, len(weights))))


def _circle(weights: Column, largest: int) -> Column:
    """Whole-number roots: (2/3) sqrt(s) rounded down is the root of 4 s / 9 rounded down."""
    values = [math.isqrt(4 * (4 * largest**2 - (int(w) - 2 * largest) ** 2) // 9) for w in weights]
    return np.array(values, dtype=np.int64)


_BY_WEIGHT: dict[str, Callable[[Column, int, np.random.Generator], Column]] = {
    "weakly-correlated": lambda w, r, rng: _near(w, 0, r // 10, rng),
    "strongly-correlated": lambda w, r, rng: w + r // 10,
    "almost-strongly-correlated": lambda w, r, rng: _near(w, r // 10, r // 500, rng),
    "subset-sum": lambda w, r, rng: w.copy(),
    "multiple-strongly-correlated": lambda w, r, rng: w + np.where(w % 6 == 0, 3 * r // 10, 2 * r // 10),
    "profit-ceiling": lambda w, r, rng: 3 * -(-w // 3),
    "circle": lambda w, r, rng: _circle(w, r),
}
"""Values for weights that are uniform on 1, ..., R."""


def _of_weights(family: str) -> Family:
    def drawn(count: int, largest: int, rng: np.random.Generator) -> Columns:
        weights = _uniform(rng, 1, largest, count)
        return _BY_WEIGHT[family](weights, largest, rng), weights

    return drawn


def _spanner(family: Family) -> Family:
    def drawn(count: int, largest: int, rng: np.random.Generator) -> Columns:
        values, weights = (-(-2 * column // _MULTIPLES) for column in family(_SPAN, largest, rng))
        chosen, times = rng.integers(0, _SPAN, count), _uniform(rng, 1, _MULTIPLES, count)
        return values[chosen] * times, weights[chosen] * times

    return drawn


FAMILIES: dict[str, Family] = {
    "uncorrelated": _uncorrelated,
    "weakly-correlated": _of_weights("weakly-correlated"),
    "strongly-correlated": _of_weights("strongly-correlated"),
    "inverse-strongly-correlated": _inverse_strongly_correlated,
    "almost-strongly-correlated": _of_weights("almost-strongly-correlated"),
    "subset-sum": _of_weights("subset-sum"),
    "similar-weights": _similar_weights,
    "uncorrelated-spanner": _spanner(_uncorrelated),
    "weakly-correlated-spanner": _spanner(_of_weights("weakly-correlated")),
    "strongly-correlated-spanner": _spanner(_of_weights("strongly-correlated")),
    "multiple-strongly-correlated": _of_weights("multiple-strongly-correlated"),
    "profit-ceiling": _of_weights("profit-ceiling"),
    "circle": _of_weights("circle"),
}

"""P(sum of independent increments > gap), bracketed: the distribution behind eq. (3), found independently.

By kind of law, the sharpest way that applies:

- atoms only: exact sums in rational arithmetic, split in two halves that meet at the threshold; of too many
  for that, sums that are rounded as rarely as possible (`depl.models.verifier.atoms`);
- one law with a density, and few atoms: scipy's own distribution function;
- smooth densities (and anything else that can be tilted): `tail_of_tiltable`;
- untruncated Student-t: their joint exceedance, averaged over the rest;
- everything else, and laws of which only the distribution function is known: a grid on
  which every increment is rounded up, for an upper bound, or down, for a lower.
"""

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from depl.models.verifier.atoms import MOST_COPIES, tail_of_atoms
from depl.models.verifier.convolution import tail_of_tiltable, tail_with_polynomial
from depl.models.verifier.jumps import Exceedance, polynomial_exceedance
from depl.models.verifier.laws import (
    Bracket,
    FloatArray,
    Increment,
    distribution,
    ends,
    exceedance,
    integer_atoms,
    is_discrete,
    is_plain,
    is_polynomial,
    is_smooth,
    is_truncated,
    merged,
    normals_together,
    peak_width,
    point_nodes,
)
from depl.models.verifier.tolerances import EXACT_ATOM_TOLERANCE, RELATIVE_ROUNDING

_MOST_PRODUCTS = 3_000_000
"""Products of atoms that exact sums may take: set by hand. Beyond, sums are rounded, and the
probability is a bracket."""

_MOST_CONDITIONED = 20_000
"""Values of a discrete part, each of which costs an evaluation of the continuous one: set by hand. With more
of them the grid answers, with a wider bracket."""

_TRANSFORM_ROUNDING = 1e-13
"""What transforms and sums over up to 2**22 cells may put a probability off, on which soundness rests. It is
set by hand: 2**22 roundings of independent signs come to about 1e-13 of the probability; the worst case,
2**22 units of 2**-53 or 5e-10 of it, is not covered."""

_SUBTRACTION = 2.0**-51  # relative error allowed to a sum of two numbers, each rounded
_WINDOW_TAIL = 1e-13
"""Probability above the window of one increment. It is added to the upper bound and not in the lower one, so
any value is sound; a smaller one lengthens the grid."""

_SMALLEST_GRID, _LARGEST_GRID, _LAST_GRID = 2**18, 2**20, 2**22
_GRID_WORK = 2**24
"""Cells times increments for which there is time at first: set by hand. It is held between the smallest and
the largest grid, and more are taken where the bracket contains the budget."""

_KEPT = 256
"""Probabilities that are remembered: set by hand. A plan that was solved for is often verified again with all
that it claims; how many are kept changes seconds and some MB, not values."""


def known_tail_probability(
    increments: Sequence[Increment], gap: Fraction, budget: Fraction | None = None
) -> Bracket:
    """`tail_probability`, remembered for increments alike once equal ones are counted together."""
    return remembered(merged(increments), gap, budget)


@functools.lru_cache(maxsize=_KEPT)
def remembered(increments: tuple[Increment, ...], gap: Fraction, budget: Fraction | None) -> Bracket:
    """What `tail_probability` finds, computed at the first question."""
    return tail_probability(increments, gap, budget)


def tail_probability(
    increments: Sequence[Increment], gap: Fraction, budget: Fraction | None = None
) -> Bracket:
    """Bracket P(sum of increments > gap).

    Parameters
    ----------
    increments : sequence of Increment
        Independent random increments of the loss; constants belong into ``gap``.
    gap : Fraction
        l_max minus all that is certain of the final loss [loss].
    budget : Fraction, optional
        A probability; more effort is spent where the bracket contains it.

    Returns
    -------
    Bracket
        Both ends the same fraction if all laws are discrete and few enough; an atom within 1e-9 above
        ``gap`` counts as not exceeding it.
    """
    parts, mean = normals_together(merged(increments))
    gap -= mean
    discrete = [item for item in parts if is_discrete(item.law)]
    continuous = [item for item in parts if not is_discrete(item.law)]
    if not continuous:
        exact = _exact_tail(discrete, gap + EXACT_ATOM_TOLERANCE)
        return exact or _inexact_tail(discrete, float(gap + EXACT_ATOM_TOLERANCE), budget)
    limit = float(gap)
    atoms = _enumerated(discrete)
    if atoms is not None and len(continuous) == 1 and continuous[0].count == 1:
        high, low = (float(atoms.weights @ exceedance(continuous[0], end)) for end in atoms.left(limit))
        return Bracket(low * (1.0 - RELATIVE_ROUNDING), min(1.0, high * (1.0 + RELATIVE_ROUNDING)))
    jumping = [item for item in continuous if is_polynomial(item.law)]
    others = [item for item in parts if not is_polynomial(item.law)]
    if jumping:
        return _tail_with_jumps(others, jumping, limit, budget)
    if any(map(is_plain, continuous)):
        return _grid_tail(parts, None, limit, budget)
    if any(is_smooth(item.law) for item in continuous):
        found = tail_of_tiltable(parts, limit)
        if found is not None:
            return found
    if atoms is not None and all(is_truncated(item.law) for item in continuous):
        return _tail_of_truncated(continuous, atoms, limit)
    return _grid_tail(parts, None, limit, budget)


class _Atoms(NamedTuple):
    """Values ``keys / unit`` in increasing order with integer weights that sum to ``total``.

    Both arrays hold 64-bit integers where these suffice, Python's otherwise.
    """

    keys: NDArray[Any]
    weights: NDArray[Any]
    total: int


def _exact_tail(increments: Sequence[Increment], gap: Fraction) -> Bracket | None:
    scale = _scale(increments)
    hopeless = not scale.exact and _log_sums(increments) > 2.0 * math.log(_MOST_PRODUCTS)
    halves = None if hopeless else _two_halves(increments, scale)
    if halves is None:
        return None
    first, second = halves
    cumulative = np.concatenate([[0], np.cumsum(second.weights)])
    farthest = 1 + 2 * int(max(abs(key) for half in halves for key in (half.keys[0], half.keys[-1])))
    limits = max(-farthest, min(farthest, math.floor(gap * scale.unit))) - first.keys
    met = cumulative[np.searchsorted(second.keys, limits, side="right")]
    exceeding = int(first.weights.astype(object) @ (second.total - met).astype(object))
    probability = Fraction(exceeding, first.total * second.total)
    return Bracket(probability, probability)


def _inexact_tail(increments: Sequence[Increment], gap: float, budget: Fraction | None) -> Bracket:
    """Atoms that are too many for exact sums: more of them at a time if fewer leave ``budget`` open."""
    if sum(item.count for item in increments) > MOST_COPIES:
        return _grid_tail(increments, None, gap, budget)
    found = tail_of_atoms(increments, gap, _SMALLEST_GRID // 4)
    if budget is not None and found.lower <= budget < found.upper:
        return tail_of_atoms(increments, gap, _SMALLEST_GRID)
    return found


def _log_sums(increments: Sequence[Increment]) -> float:
    """Logarithm of the number of sums, if only copies of one increment ever give the same."""
    sizes = [(item.count, len(integer_atoms(item.law))) for item in increments]
    return math.fsum(math.log(math.comb(size + count - 1, count)) for count, size in sizes)


def _two_halves(increments: Sequence[Increment], scale: "_Scale") -> tuple[_Atoms, _Atoms] | None:
    """Distribute the increments over two sums of similar numbers of atoms; None if that takes too long."""
    halves = [scale.certain(), scale.certain()]
    budget = _MOST_PRODUCTS
    for item in increments:
        atoms = scale.possible(item)
        for _ in range(item.count):
            smaller = min((0, 1), key=lambda index: len(halves[index].keys))
            budget -= len(halves[smaller].keys) * len(atoms.keys)
            if budget < 0:
                return None
            halves[smaller] = _convolved(halves[smaller], atoms)
    return halves[0], halves[1]


class _Points(NamedTuple):
    """Values of a sum with their weights; no value is off by more than ``error``."""

    values: FloatArray
    weights: FloatArray
    error: float

    def left(self, gap: float) -> tuple[FloatArray, FloatArray]:
        """Least and greatest of what remains of ``gap`` beside every value, whatever was rounded."""
        slack = self.error + _SUBTRACTION * (abs(gap) + np.abs(self.values))
        return gap - self.values - slack, gap - self.values + slack


def _enumerated(increments: Sequence[Increment]) -> _Points | None:
    """The sum of discrete increments, unless there are too many values."""
    scale = _scale(increments)
    atoms = scale.certain()
    for item in increments:
        more = scale.possible(item)
        for _ in range(item.count):
            if len(atoms.keys) * len(more.keys) > 10 * _MOST_CONDITIONED:
                return None
            atoms = _convolved(atoms, more)
            if len(atoms.keys) > _MOST_CONDITIONED:
                return None
    values = [int(key) / scale.unit for key in atoms.keys]
    weights = [int(weight) / atoms.total for weight in atoms.weights]
    number = sum(item.count for item in increments)
    return _Points(np.array(values), np.array(weights), 0.0 if scale.exact else number / scale.unit)


@dataclass(frozen=True)
class _Scale:
    """What integers stand for: values are multiples of 1 / unit, exactly or rounded to them."""

    unit: int
    integers: Any
    exact: bool

    def certain(self) -> _Atoms:
        """The sum of nothing."""
        return _Atoms(np.array([0], self.integers), np.array([1], self.integers), 1)

    def possible(self, item: Increment) -> _Atoms:
        """The atoms of one copy of an increment."""
        pairs = integer_atoms(item.law)
        keys = np.array([round(item.coefficient * value * self.unit) for value, _ in pairs], self.integers)
        weights = np.array([weight for _, weight in pairs], self.integers)
        return _collected(keys, weights, int(sum(weights.astype(object))))


def _scale(increments: Sequence[Increment]) -> _Scale:
    """Choose the unit: exact if the values are short decimals, if not, 1e-13 of the largest sum or finer.

    It is never above 1e-13, far below the tolerance of an atom, so that it can decide ties. Where neither
    sums nor weights fit into 64 bits, Python's integers are used, and the unit is exact.
    """
    size, total, exact = Fraction(0), 1, 1
    for item in increments:
        pairs = integer_atoms(item.law)
        size += item.count * max(abs(item.coefficient * value) for value, _ in pairs)
        total *= sum(weight for _, weight in pairs) ** item.count
        exact = math.lcm(exact, *((item.coefficient * value).denominator for value, _ in pairs))
    rounded = 10 ** (13 + _zeros(size))
    for unit in (exact, rounded):
        if size * unit < 2**61 and total < 2**62:
            return _Scale(unit, np.int64, unit == exact)
    unit = rounded if size * rounded < 2**61 else exact
    return _Scale(unit, object, unit == exact)


def _zeros(size: Fraction) -> int:
    """How many zeros follow the decimal point of a number; none if it is at least 1, or 0."""
    if size <= 0 or size >= 1:
        return 0
    return max(0, math.floor(-math.log10(size)))


def _convolved(first: _Atoms, second: _Atoms) -> _Atoms:
    keys = np.add.outer(first.keys, second.keys).ravel()
    weights = np.multiply.outer(first.weights, second.weights).ravel()
    return _collected(keys, weights, first.total * second.total)


def _collected(keys: NDArray[Any], weights: NDArray[Any], total: int) -> _Atoms:
    """Equal keys put together."""
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    first = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    return _Atoms(ordered[first], np.add.reduceat(weights[order], first), total)


def _tail_with_jumps(
    others: Sequence[Increment], jumping: Sequence[Increment], gap: float, budget: Fraction | None
) -> Bracket:
    jumps, width = polynomial_exceedance(tuple(jumping))
    if any(map(is_plain, others)):
        return _grid_tail(others, jumps, gap, budget)
    if any(is_smooth(item.law) for item in others):
        found = tail_with_polynomial(others, jumps, width, gap)
        if found is not None:
            return found
    points = _few_points(others, width)
    if points is None:
        return _grid_tail(others, jumps, gap, budget)
    near, far = points.left(gap)
    lower, upper = float(points.weights @ jumps(far)[0]), float(points.weights @ jumps(near)[1])
    return Bracket(lower * (1 - RELATIVE_ROUNDING), min(1.0, upper * (1 + RELATIVE_ROUNDING)))


def _few_points(increments: Sequence[Increment], width: float) -> _Points | None:
    """Points and weights for functions that change on the length ``width``."""
    if any(is_smooth(item.law) for item in increments):
        return None
    points = _enumerated([item for item in increments if is_discrete(item.law)])
    for item in increments:
        for _ in range(0 if is_discrete(item.law) else item.count):
            nodes, weights = point_nodes(item.law, width / abs(item.factor))
            if points is None or len(points.values) * len(nodes) > 100 * _MOST_CONDITIONED:
                return None
            values = np.add.outer(points.values, item.factor * nodes).ravel()
            rounding = _SUBTRACTION * float(np.abs(values).max() + np.abs(points.values).max())
            weights = np.multiply.outer(points.weights, weights).ravel()
            points = _Points(values, weights, points.error + rounding)
    return points


def _tail_of_truncated(increments: Sequence[Increment], atoms: _Points, gap: float) -> Bracket:
    """Truncated laws besides atoms: the grid's centred estimate, trusted as far as halving its step tells."""
    near, far = atoms.left(gap)
    fine = _Grid(increments, -math.inf, _LARGEST_GRID)
    coarse = _Grid(increments, -math.inf, _LARGEST_GRID // 2)
    lower, upper = float(atoms.weights @ fine.lower(far)), float(atoms.weights @ fine.upper(near))
    if coarse.step > 0.1 * min(abs(item.factor) * peak_width(item.law) for item in increments):
        return Bracket(lower, upper)  # the peaks are not resolved, so halving the step tells nothing
    low, value, high = (float(atoms.weights @ fine.centred(end)) for end in (far, gap - atoms.values, near))
    halved = float(atoms.weights @ coarse.centred(gap - atoms.values))
    error = 2.0 * abs(value - halved) + _TRANSFORM_ROUNDING
    return Bracket(max(lower, low - error), min(upper, high + error))


def _grid_tail(
    increments: Sequence[Increment], jumps: Exceedance | None, gap: float, budget: Fraction | None
) -> Bracket:
    """Refine the grid while it cannot tell on which side of ``budget`` the probability lies."""
    cells = 2 ** math.floor(math.log2(_GRID_WORK / max(1, len(increments))))
    cells = min(_LARGEST_GRID, max(_SMALLEST_GRID, cells))
    while True:
        found = _grid_bracket(increments, jumps, gap, cells)
        decided = budget is None or found.lower > budget or found.upper <= budget
        if decided or cells >= _LAST_GRID:
            return found
        cells *= 4


def _grid_bracket(
    increments: Sequence[Increment], jumps: Exceedance | None, gap: float, cells: int
) -> Bracket:
    if jumps is not None:
        return _Grid(increments, -math.inf, cells).averaged(jumps, gap)
    highs = [_quantile(item, _WINDOW_TAIL, upper=True) for item in increments]
    if gap >= math.fsum(item.count * high for item, high in zip(increments, highs, strict=True)):
        return Bracket(0.0, _WINDOW_TAIL * sum(item.count for item in increments))
    grid, limits = _Grid(increments, gap, cells), np.array([gap])
    return Bracket(float(grid.lower(limits)[0]), float(grid.upper(limits)[0]))


class _Grid:
    """A sum of increments, each rounded up (and down) to a multiple of a common step.

    Where an increment with a density has no lower end, what lies so low that the sum cannot exceed
    ``gap`` is put at the lowest cell. ``upper`` and ``lower`` are bounds, up to rounding.
    """

    def __init__(self, increments: Sequence[Increment], gap: float, cells: int) -> None:
        windows = _windows(increments, gap)
        number = sum(item.count for item in increments)
        span = math.fsum(
            item.count * (high - low) for item, (low, high) in zip(increments, windows, strict=True)
        )
        self.step = max(span, 1e-300) / (cells - 3 * number - 8)
        self._start = math.fsum(item.count * low for item, (low, _) in zip(increments, windows, strict=True))
        self._number = number
        up, down, within = np.ones(cells // 2 + 1, complex), np.ones(cells // 2 + 1, complex), 1.0
        ramp = np.arange(cells // 2 + 1) * (-2j * math.pi / cells)
        second = np.exp(ramp)
        for item, (low, high) in zip(increments, windows, strict=True):
            masses, below, above = _cell_masses(item, low, high, self.step)
            transform = np.fft.rfft(masses, cells)
            up *= (transform + below * second) ** item.count
            last = above * np.exp(ramp * (len(masses) - 1)) if above else 0.0
            down *= (transform + last) ** item.count
            within *= (1.0 - above) ** item.count
        self._above = 1.0 - within
        self._up = np.asarray(np.fft.irfft(up, cells), dtype=float)
        self._down = np.asarray(np.fft.irfft(down, cells), dtype=float)
        self._tail_up, self._tail_down = _tails(self._up), _tails(self._down)

    def upper(self, limits: FloatArray) -> FloatArray:
        """Upper bound of P(sum > limit), elementwise."""
        first = np.floor((limits - self._start) / self.step - 1e-6) + 1
        found = self._tail_up[np.clip(first, 0, len(self._up)).astype(int)]
        return np.asarray(np.clip(found + self._above + _TRANSFORM_ROUNDING, 0.0, 1.0), dtype=float)

    def lower(self, limits: FloatArray) -> FloatArray:
        """Lower bound of P(sum > limit), elementwise."""
        first = np.floor((limits - self._start) / self.step + 1e-6) + 1 + self._number
        found = self._tail_down[np.clip(first, 0, len(self._down)).astype(int)]
        return np.asarray(np.clip(found - _TRANSFORM_ROUNDING, 0.0, 1.0), dtype=float)

    def centred(self, limits: FloatArray) -> FloatArray:
        """P(sum > limit) with the mean rounding removed: no bound, but of second order in the step."""
        cells = (limits - self._start) / self.step + self._number / 2.0 + 0.5
        found = np.interp(cells, np.arange(len(self._tail_up)), self._tail_up)
        return np.asarray(np.clip(found, 0.0, 1.0), dtype=float)

    def averaged(self, jumps: Exceedance, gap: float) -> Bracket:
        """Bracket P(sum + jumps > gap)."""
        cells = np.arange(len(self._up), dtype=float)
        up = self._start + self.step * (cells + 1e-6)
        down = self._start + self.step * (cells - self._number - 1e-6)
        upper = float(self._up @ jumps(gap - up)[1]) + self._above + _TRANSFORM_ROUNDING
        lower = float(self._down @ jumps(gap - down)[0]) - _TRANSFORM_ROUNDING
        return Bracket(max(0.0, lower), min(1.0, upper))


def _windows(increments: Sequence[Increment], gap: float) -> list[tuple[float, float]]:
    """The interval that the grid covers for one copy of each increment."""
    highs = [_quantile(item, _WINDOW_TAIL, upper=True) for item in increments]
    highest = math.fsum(item.count * high for item, high in zip(increments, highs, strict=True))
    windows = []
    for item, high in zip(increments, highs, strict=True):
        cut = gap - (highest - high)
        low = _quantile(item, 1e-7 if cut == -math.inf else _WINDOW_TAIL, upper=False)
        windows.append((min(max(low, cut - 1e-3 * abs(high - cut)), high), high))
    return windows


def _quantile(item: Increment, tail: float, upper: bool) -> float:
    """An end of ``coefficient * X``, or where the tail beyond has the given probability."""
    end = ends(item)[1 if upper else 0]
    if math.isfinite(end):
        return end
    base = distribution(item.law)
    return item.factor * float(base.isf(tail) if upper == (item.factor > 0) else base.ppf(tail))


def _cell_masses(item: Increment, low: float, high: float, step: float) -> tuple[FloatArray, float, float]:
    """Mass of the cells ((k - 1) step, k step] above ``low``, k = 0, 1, ..., and below and above them."""
    cells = max(1, math.ceil((high - low) / step - 1e-9))
    if is_discrete(item.law):
        values, weights = point_nodes(item.law, math.inf)
        numbers = (item.factor * values - low) / step - 1e-7
        inside = numbers > -1e-6
        chosen = np.clip(np.ceil(numbers[inside]), 1, cells).astype(int)
        masses = np.asarray(np.bincount(chosen, weights[inside], cells + 1), dtype=float)
        return masses, float(weights[~inside].sum()), 0.0
    tails = exceedance(item, low + step * np.arange(cells + 1.0))
    masses = np.concatenate([[0.0], tails[:-1] - tails[1:]])
    return masses, float(1.0 - tails[0]), float(tails[-1])


def _tails(masses: FloatArray) -> FloatArray:
    """Sums of ``masses`` from each index on, one entry longer."""
    return np.append(np.cumsum(masses[::-1])[::-1], 0.0)

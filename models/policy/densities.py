"""Probabilities of cells under a law with a density, and under the sum of two of them, as lower bounds.

Of one law they are differences of the tail that is known better. Of a sum A + B, one of which has one mode, A
is put on sub-cells, and of B in the cell less either end of a sub-cell the lesser probability counts
(`docs/policies`). What is left out is at most the width of a sub-cell times twice the greatest density of B;
it counts as missing, like tails that are not looked for.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from depl.models.foundation.errors import NotCoveredError
from depl.models.policy.ledger import EDGE
from depl.models.problem.epochs import Term
from depl.models.problem.laws import FloatArray
from depl.models.problem.laws.law import UNIT_ROUNDOFF

Atoms = tuple[FloatArray, FloatArray]
"""Values and probabilities of what is added to a law with a density."""

_TAIL = 1e-13
"""Probability that is not looked for at either end of a law without atoms. It counts as missing, so any value
is sound."""

_TAIL_OF_SUMS = 1e-9
"""The same where two laws are added: far below what sub-cells leave out, and heavy tails are much shorter."""

_SUB_CELLS = 2**20
"""Sub-cells of both laws of a sum together: set by hand, about a second. What is left out of 1 falls in
inverse proportion; it was 1e-5 to 2e-4, most with heavy tails."""

_MOST_PER_CELL = 2_048
"""Most sub-cells of a cell: set by hand; narrow laws need no more."""


@dataclass(frozen=True)
class Range:
    """The cells ``first``, ..., ``last`` of a width, for numbers that are rounded in one direction.

    Cell j is (j - 1, j] steps rounded up, [j, j + 1) rounded down, both ends moved by `EDGE`.
    """

    step: float
    first: int
    last: int
    up: bool

    def ends(self) -> FloatArray:
        """Ends of all cells, in their order; shape (cells + 1,)."""
        whole = np.arange(self.first, self.last + 2) - (1 if self.up else 0)
        return np.asarray((whole + (EDGE if self.up else -EDGE)) * self.step, dtype=np.float64)


def reach(terms: tuple[Term, ...]) -> tuple[float, float]:
    """Where nearly all of a sum of one or two terms lies."""
    tail = _TAIL if len(terms) == 1 else _TAIL_OF_SUMS
    found = [_between_tails(term, tail) for term in terms]
    return math.fsum(low for low, _ in found), math.fsum(high for _, high in found)


def masses_of_one(atoms: Atoms, term: Term, cells: Range, *, lumped: bool) -> FloatArray:
    """Lower bounds of the probabilities of cells under a law, mixed over atoms; shape (cells,).

    Where they are ``lumped``, the first cell is everything up to its upper end.
    """
    edges = cells.ends()
    masses: FloatArray = np.zeros(edges.size - 1)
    for value, weight in zip(*(part.tolist() for part in atoms), strict=True):
        masses += weight * _windows(term, edges - value)
        if lumped:
            masses[0] += weight * float(_at_most(term, edges[:1] - value)[0])
    return np.maximum(masses * (1 - (len(atoms[1]) + 4) * UNIT_ROUNDOFF), 0.0)


def masses_of_two(atoms: Atoms, terms: tuple[Term, Term], cells: Range, *, lumped: bool) -> FloatArray:
    """The same under the sum of two laws, of which one has a single mode."""
    split, moved = _in_order(terms)
    window = 4 * max(abs(cells.first), abs(cells.last), 1) * cells.step  # no farther than the grid matters
    (low, high), (least, most) = (
        np.clip(_between_tails(term, _TAIL_OF_SUMS), -window, window).tolist() for term in (split, moved)
    )
    offsets = float(atoms[0].min()), float(atoms[0].max())
    span = (high - low + most - least + offsets[1] - offsets[0]) / cells.step
    parts = int(min(max(_SUB_CELLS // (span + 4), 1), _MOST_PER_CELL))
    begin = math.floor(low / cells.step)
    end = max(math.ceil(high / cells.step), begin + 1)
    points = np.arange(begin * parts, end * parts + 1) * (cells.step / parts)
    parted = _windows(split, points)
    first = math.floor((least + offsets[0]) / cells.step) - 1
    last = math.ceil((most + offsets[1]) / cells.step) + 2
    beside = _least_windows(atoms, moved, Range(cells.step, first, last, cells.up), parts)
    found = _convolved(parted.reshape(-1, parts), beside.reshape(-1, parts)[:, ::-1])
    masses = _placed(found, begin + first, cells)
    if lumped:
        up_to = cells.ends()[0] - points  # ... minus the upper end of each sub-cell
        below = np.concatenate([_at_most(split, points[:1]), parted])
        for value, weight in zip(*(part.tolist() for part in atoms), strict=True):
            dot = float(below @ _at_most(moved, up_to - value))
            masses[0] += weight * dot * (1 - (below.size + 2) * UNIT_ROUNDOFF)
    return np.maximum(masses * (1 - (len(atoms[1]) + 8) * UNIT_ROUNDOFF), 0.0)


def _in_order(terms: tuple[Term, Term]) -> tuple[Term, Term]:
    """The law that is put on sub-cells, and the one of a single mode, the wider one if both have."""
    with_mode = [term for term in terms if term.law.unimodal]
    if not with_mode:
        names = " and ".join(sorted({term.law.wording or term.law.tag() for term in terms}))
        raise NotCoveredError(
            f"an epoch whose noise is a sum of two laws with densities ({names}), neither of which is known "
            "to have a single mode; say so in the class of a law that has (unimodal = True)"
        )
    moved = max(with_mode, key=lambda term: np.ptp(_between_tails(term, 0.25)))
    return terms[1 if terms[0] is moved else 0], moved


def _least_windows(atoms: Atoms, term: Term, cells: Range, parts: int) -> FloatArray:
    """Lower bounds of P(B + atom in cell - a), whatever a in a sub-cell.

    Entry i belongs to the cell whose distance from the sub-cell is parts * first - (parts - 1) + i; its
    shape is (cells * parts,).
    """
    width = cells.step / parts
    # a sub-cell has two ends: windows at one distance more than asked for, and the lesser of neighbours
    low = cells.first * parts - parts
    ends = np.arange(low - (parts if cells.up else 0), cells.last * parts + (1 if cells.up else parts + 1))
    edges = (ends + (EDGE if cells.up else -EDGE) * parts) * width
    found: FloatArray = np.zeros(edges.size - parts)
    for value, weight in zip(*(part.tolist() for part in atoms), strict=True):
        found += weight * _windows(term, edges - value, parts)
    return np.minimum(found[1:], found[:-1])


def _convolved(one: FloatArray, other: FloatArray) -> FloatArray:
    """Sums over columns of the convolutions of equal columns, less a bound of the rounding; shape (cells,).

    With eta as in `depl.models.policy.grid.correlation_error`, columns a and b, and spectra added up one by
    one: transforms and products of all columns err by (2 eta + (columns + 3) u) |a| |b| over all of them
    together (Cauchy and Schwarz), the last transform by eta times the 2-norm of the result, at most the sum
    of |a|_2 |b|_1 over columns.
    """
    size = len(one) + len(other) - 1
    length = fft.next_fast_len(size, real=True)
    total: NDArray[np.complex128] = np.zeros(length // 2 + 1, dtype=np.complex128)
    for mine, its in zip(one.T, other.T, strict=True):
        total += fft.rfft(mine, length) * fft.rfft(its, length)
    eta = 8 * (math.log2(length) + 1) * UNIT_ROUNDOFF
    norms = math.sqrt(float(np.square(one).sum()) * float(np.square(other).sum()))
    last = float(np.sqrt(np.square(one).sum(axis=0)) @ other.sum(axis=0))
    error = 1.01 * ((2 * eta + (one.shape[1] + 3) * UNIT_ROUNDOFF) * norms + eta * last)
    return np.asarray(np.maximum(fft.irfft(total, length)[:size] - error, 0.0))


def _placed(found: FloatArray, first: int, cells: Range) -> FloatArray:
    """Entries of the cells that are asked for; the first of ``found`` is that of cell ``first``."""
    masses = np.zeros(cells.last - cells.first + 1)
    low, high = max(first, cells.first), min(first + len(found) - 1, cells.last)
    if low <= high:
        masses[low - cells.first : high - cells.first + 1] = found[low - first : high - first + 1]
    return masses


def _between_tails(term: Term, tail: float) -> tuple[float, float]:
    ends = sorted(term.coefficient * float(term.law.quantile(tail, upper=upper)) for upper in (False, True))
    return ends[0], ends[1]


def _windows(term: Term, points: FloatArray, lag: int = 1) -> FloatArray:
    """Lower bounds of P(points[i] < coefficient * X <= points[i + lag]); shape (n - lag,)."""
    law, arguments = term.law, points / term.coefficient
    if term.coefficient < 0:
        arguments = arguments[::-1]
    below, above = law.cdf(arguments), law.survival(arguments)
    # whichever tail is smaller is known better
    lower_tail = below[lag:] - below[:-lag] - law.tail_error * (below[lag:] + below[:-lag])
    upper_tail = above[:-lag] - above[lag:] - law.tail_error * (above[lag:] + above[:-lag])
    found = np.where(below[lag:] < 0.5, lower_tail, upper_tail) - 2 * law.survival_slack(arguments)
    found = np.maximum(found, 0.0)
    return found if term.coefficient > 0 else found[::-1]


def _at_most(term: Term, points: FloatArray) -> FloatArray:
    """Lower bounds of P(coefficient * X <= point), elementwise."""
    arguments = points / term.coefficient
    tail = term.law.cdf(arguments) if term.coefficient > 0 else term.law.survival(arguments)
    return np.asarray(np.maximum(tail * (1 - term.law.tail_error) - term.law.survival_slack(arguments), 0.0))

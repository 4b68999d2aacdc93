r"""Losses on a grid, and expectations over the noise of an epoch, rounded in a stated direction.

A run carries an index g with y(g) = origin + g step, such that its loss is at most y(g) but for `DRIFT` steps
per epoch. After an epoch g' = up(shift + retention y(g) - origin) + up(e), up(x) = ceil(x / step - EDGE)
(`docs/policies`; rounded down instead it is never above the run). With masses m(j) = P(up(e) = j) the
expectation of a function v of the next index is the sum over j of m(j) v(z + j), a correlation, computed by a
discrete Fourier transform. `Cells` holds lower bounds of the masses, and what they leave of 1. Of a sum of
two laws with densities, one is put on sub-cells, and of the other, of one mode, the lesser probability counts
of the cell less either end of a sub-cell: this leaves out at most a sub-cell times twice its peak.
"""

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from depl.models.foundation.errors import NotCoveredError
from depl.models.foundation.tolerances import ATOM_TOLERANCE
from depl.models.policy.ledger import EDGE
from depl.models.policy.process import Process
from depl.models.problem.epochs import Term
from depl.models.problem.laws import FloatArray, Normal
from depl.models.problem.laws.law import UNIT_ROUNDOFF

Integers = NDArray[np.int64]

Atoms = tuple[FloatArray, FloatArray]
"""Values and probabilities of what is added to a law with a density."""

DRIFT = 2 * EDGE
"""By how much of a step a loss may exceed that of its index more after each epoch: two roundings."""

_LEAST_RELATIVE_STEP = 1e-7
"""Least step relative to the greatest loss: see `EDGE`."""

_MOST_SUMS = 200_000
"""Most sums of atoms of two laws that are written out: set by hand, a few megabytes."""

_REACH = 2
"""How many grids a noise may lead down before its size no longer counts: then a run is below the grid,
wherever it was, unless it was expected more than so far above the grid."""

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
class Grid:
    """The losses origin + step * (0, ..., cells - 1), on the scale of the law.

    ``target`` is the greatest index whose runs have met the target, whatever they drifted (by ``drift`` steps
    at the end); ``least_missed`` the least one that a run may have, rounded down, which has not met it.
    ``on_lattice``: all changes of the loss are whole numbers of steps.
    """

    origin: float
    step: float
    cells: int
    target: int
    least_missed: int
    drift: float = 0.0
    on_lattice: bool = False

    @classmethod
    def of(cls, process: Process, cells: int) -> "Grid":
        """A grid of at most so many losses for a process.

        One of its points is the target with its tolerance, less all drift. Where all changes of the loss lie
        on a lattice its steps are such, and one point is the target itself, if the tolerance is more than the
        drift.
        """
        starts = [float(x) for start in process.starts for x in start.losses]
        low = min(process.lowest, process.limit)
        high = max(process.highest, process.limit, *starts)
        size = max(abs(low), abs(high), high - low)
        step = max((high - low) / (cells - 3), size * _LEAST_RELATIVE_STEP)
        drift = DRIFT * (process.epochs + 1)
        unit, offset, on_lattice = lattice_unit(process), ATOM_TOLERANCE - drift * step, False
        if unit is not None:
            parts = math.ceil(float(unit) * drift / ATOM_TOLERANCE)
            if float(unit) / parts >= step:
                step, offset, on_lattice = float(unit / parts), 0.0, True
                cells = math.ceil((high - low) / step) + 3
        target = math.ceil((process.limit - low) / step)
        origin = process.limit + offset - target * step
        missed = math.floor((process.limit + ATOM_TOLERANCE - origin) / step + drift) + 1
        return cls(origin, step, cells, target, missed, drift, on_lattice)

    @functools.cached_property
    def values(self) -> FloatArray:
        """All losses, shape (cells,)."""
        return np.asarray(self.origin + np.arange(self.cells) * self.step, dtype=np.float64)

    def indices(self, losses: FloatArray, *, up: bool) -> Integers:
        """Indices of losses, rounded up or down; they may lie outside the grid."""
        return rounded_indices(losses - self.origin, self.step, up=up)

    def below(self, losses: FloatArray) -> Integers:
        """Indices from which no run that is rounded down is above one from such a loss; see `lower`.

        On a lattice they need not be below the loss. A run that begins with l is at l + n steps, up to the
        drift, and has not met the target only if (l - limit - tolerance) / step + n exceeds no less than the
        drift. That is to say that the index of the ceiling of this less the drift, moved by n, is above that
        of the target: the misses of all losses with one ceiling are the same.
        """
        if not self.on_lattice:
            return self.indices(losses, up=False)
        return self.indices(losses - ATOM_TOLERANCE - self.drift * self.step, up=True)

    def images(self, shift: float, retention: float, *, up: bool) -> Integers:
        """Indices of shift + retention * loss, for all losses of the grid; shape (cells,)."""
        return self.indices(shift + retention * self.values, up=up)


def rounded_indices(values: FloatArray, step: float, *, up: bool) -> Integers:
    """ceil(values / step), or floor, where what exceeds an edge by at most `EDGE` counts as on it."""
    scaled = values / step
    whole = np.ceil(scaled - EDGE) if up else np.floor(scaled + EDGE)
    return whole.astype(np.int64)


@dataclass(frozen=True, eq=False)
class Cells:
    """The noise of an epoch, rounded in one direction to multiples of a step.

    ``masses`` are lower bounds of the probabilities of the indices from ``first`` on, and ``missing`` is at
    least what they leave of 1, which may lie anywhere. ``lumped``: the first is that of all indices up to it.
    """

    first: int
    masses: FloatArray
    missing: float
    lumped: bool = False

    @property
    def last(self) -> int:
        """Index of the last mass."""
        return self.first + len(self.masses) - 1

    def within(self, low: int, high: int) -> "Cells":
        """Only some indices: lower ones are lumped with the first, masses of higher ones count as missing."""
        if low <= self.first and self.last <= high:
            return self
        if self.first > high:
            return Cells(0, np.zeros(1), 1.0)
        kept = self.masses[max(low - self.first, 0) : high - self.first + 1]
        if low <= self.first:
            return Cells(self.first, kept, _rest(kept), self.lumped)
        below = math.fsum(self.masses[: low - self.first].tolist()) * (1 - 4 * UNIT_ROUNDOFF)
        kept = np.append(below + (kept[0] if kept.size else 0.0), kept[1:])
        return Cells(low, kept, _rest(kept), lumped=True)


def noise_cells(noise: Sequence[Term], grid: Grid, *, up: bool) -> Cells:
    """The law of up(e), or of down(e), for the sum e of independent terms."""
    (values, weights), smooth = _split(noise)
    if smooth:
        return _smooth_cells((values, weights), smooth, grid, up=up)
    indices = rounded_indices(values, grid.step, up=up)
    first = int(indices.min())
    masses = np.bincount(indices - first, weights).astype(np.float64) * (1 - len(weights) * UNIT_ROUNDOFF)
    found = Cells(first, masses, _rest(masses))
    if masses.size == 1:  # for certain, without rounding
        found = Cells(first, np.ones(1), 0.0)
    return found.within(-_REACH * grid.cells, grid.cells)


def _split(noise: Sequence[Term]) -> tuple[Atoms, tuple[Term, ...]]:
    """All sums of the terms with atoms, and the terms without, of which normal ones are one."""
    values, weights = np.zeros(1), np.ones(1)
    smooth: list[Term] = []
    for term in noise:
        if not term.law.has_atoms:
            smooth.append(term)
            continue
        own, shares = term.law.atoms()
        if values.size * own.size > _MOST_SUMS:
            raise NotCoveredError(
                f"an epoch whose noise is a sum of laws with {values.size} and {own.size} values has more "
                f"than {_MOST_SUMS} values; policies need fewer"
            )
        values = (values[:, None] + term.coefficient * own[None, :]).ravel()
        weights = (weights[:, None] * shares[None, :]).ravel()
    normal = [term for term in smooth if term.law.is_normal]
    if len(normal) < 2:
        return (values, weights), tuple(smooth)
    means = [term.coefficient * term.law.moments().mean for term in normal]
    variances = [term.coefficient**2 * term.law.moments().variance for term in normal]
    together = Term(1.0, Normal(mean=math.fsum(means), variance=math.fsum(variances)))
    return (values, weights), (together, *(term for term in smooth if not term.law.is_normal))


def _smooth_cells(atoms: Atoms, smooth: tuple[Term, ...], grid: Grid, *, up: bool) -> Cells:
    """One law with a density, or the sum of two, alone or mixed over atoms."""
    low, high = reach(smooth)
    first = int(rounded_indices(np.array([low + atoms[0].min()]), grid.step, up=up)[0])
    last = int(rounded_indices(np.array([high + atoms[0].max()]), grid.step, up=up)[0])
    lumped = first < -_REACH * grid.cells
    first, last = max(first, -_REACH * grid.cells), max(min(last, grid.cells), -_REACH * grid.cells)
    if first > last:
        return Cells(0, np.zeros(1), 1.0)
    cells = Range(grid.step, first, last, up)
    if len(smooth) == 1:
        masses = masses_of_one(atoms, smooth[0], cells, lumped=lumped)
    else:
        masses = masses_of_two(atoms, (smooth[0], smooth[1]), cells, lumped=lumped)
    return Cells(first, masses, _rest(masses), lumped)


def _rest(masses: FloatArray) -> float:
    """At least 1 less the sum of the masses."""
    total = math.fsum(masses.tolist())
    return max(0.0, 1.0 - total * (1 - 4 * UNIT_ROUNDOFF))


class Expectations:
    """Expectations over the noise of functions of the next index, on one grid and in one direction.

    Masses and their transforms are kept, as many nodes share them.
    """

    def __init__(self, grid: Grid, *, up: bool) -> None:
        self.grid, self.up = grid, up
        cells = functools.cache(lambda noise: noise_cells(noise, grid, up=up))
        self.cells = cells
        self._spectrum = functools.cache(lambda noise, length: np.conj(fft.rfft(cells(noise).masses, length)))

    def bounds(
        self,
        values: FloatArray,
        beyond: Sequence[tuple[float, float]],
        images: Integers,
        noise: tuple[Term, ...],
    ) -> FloatArray:
        """Bounds of E v(image + noise), upper ones if the direction is up, else lower ones; shape (r, cells).

        Functions v >= 0 have r rows of ``values`` on the grid and are constant below and ``beyond`` it; the
        ``images`` of its points ascend.
        """
        cells = self.cells(noise)
        far = images > (-cells.first if cells.lumped else images[-1])  # from there the lump might stay on
        images = np.where(far, -cells.first, images)
        start, stop = int(images[0]), int(images[-1])
        extended = _extended(values, beyond, start + cells.first, stop + cells.last)
        if len(cells.masses) == 1 and cells.missing == 0 and not cells.lumped:  # it is certain where they go
            return np.asarray(extended[:, images - start] * cells.masses[0])
        length = fft.next_fast_len(extended.shape[1], real=True)
        spectrum = self._spectrum(noise, length)
        found = fft.irfft(fft.rfft(extended, length) * spectrum, length)[:, : stop - start + 1]
        error = correlation_error(extended, cells.masses, length)
        if self.up:
            greatest = np.maximum(values.max(axis=1), [max(side) for side in beyond])
            found = found + (cells.missing * greatest + error)[:, None]
            found *= 1 + 4 * UNIT_ROUNDOFF
            return np.asarray(np.where(far, greatest[:, None], found[:, images - start]))
        found = np.maximum(found - error[:, None], 0.0) * (1 - 4 * UNIT_ROUNDOFF)
        return np.asarray(found[:, images - start])

    def convolved(self, masses: FloatArray, noise: tuple[Term, ...]) -> FloatArray:
        """Masses of a sum with the noise, without a bound of the rounding; shape (n + m - 1,)."""
        cells = self.cells(noise)
        length = fft.next_fast_len(len(masses) + len(cells.masses) - 1, real=True)
        spectrum = fft.rfft(masses, length) * np.conj(self._spectrum(noise, length))
        found = fft.irfft(spectrum, length)[: len(masses) + len(cells.masses) - 1]
        return np.asarray(np.maximum(found, 0.0))


def _extended(values: FloatArray, beyond: Sequence[tuple[float, float]], first: int, last: int) -> FloatArray:
    """Functions at the indices first, ..., last, most of which are on the grid."""
    cells = values.shape[1]
    found = np.empty((len(values), last - first + 1))
    low, high = min(max(-first, 0), found.shape[1]), max(min(cells - first, found.shape[1]), 0)
    for row, (value, (below, above)) in enumerate(zip(values, beyond, strict=True)):
        found[row, :low], found[row, high:] = below, above
        if low < high:
            found[row, low:high] = value[first + low : first + high]
    return found


def correlation_error(values: FloatArray, masses: FloatArray, length: int) -> FloatArray:
    """Bound of the error of every entry of correlations of rows of ``values`` with ``masses``.

    With relative error eta <= 8 u log2(n) of a transform in the 2-norm (Higham, Accuracy and Stability of
    Numerical Algorithms, Thm 24.2), u that of one operation: the inverse transform of a spectrum s is nowhere
    greater than |s|_1 / n. The errors of the two transforms give eta |a|_2 |b|_2 each (Cauchy and Schwarz),
    products 3 u |a|_2 |b|_2, and the last transform eta times the 2-norm of the result, at most |a|_2 |b|_1.
    """
    eta = 8 * (math.log2(length) + 1) * UNIT_ROUNDOFF
    norms = np.sqrt(np.square(values).sum(axis=1))
    return np.asarray(1.01 * (3 * eta + 3 * UNIT_ROUNDOFF) * norms * float(masses.sum()))


def met(losses: FloatArray, limit: float) -> NDArray[np.bool_]:
    """Whether losses on the scale of the law meet the target."""
    return np.asarray(losses <= limit + ATOM_TOLERANCE)


_LARGEST_DENOMINATOR = 10**6
"""Of a number that counts as a multiple of something: set by hand. Changes are written with few decimals, or
are multiples of the least of them."""

_ALIKE = 1e-13
"""Relative difference from such a fraction that counts as rounding: a few roundings of products of decimals.
Steps are at least 1e-7 of the losses, so this is at most `EDGE` of a step."""


def lattice_unit(process: Process) -> Fraction | None:
    """The greatest number that all changes of the loss are multiples of; None without one.

    Only of laws with retention 1 and finitely many values, which are often multiples of one number, such as
    0.1, so that some losses meet the target exactly. A grid that does not hold these changes rounds every one
    of them up, and so never certifies what depends on them, however fine it is. On one that holds them a run
    keeps the distance to its index that its first loss has, which may lie anywhere between two points.
    """
    moves = set[float]()
    for kernel in {item.kernel for node in process.nodes for item in node.trainings}:
        if kernel.retention != 1 or not all(term.law.has_atoms for term in kernel.noise):
            return None
        moves.add(abs(kernel.shift))
        for term in kernel.noise:
            moves.update(np.abs(term.coefficient * term.law.atoms()[0]).tolist())
    moves.discard(0.0)
    if not moves:
        return None
    size = max(abs(process.limit), abs(process.lowest), abs(process.highest))
    return _divisor(moves, Fraction(1), size) or _divisor(moves, Fraction(min(moves)), size)


def _divisor(numbers: set[float], base: Fraction, size: float) -> Fraction | None:
    """The greatest common divisor of numbers that are simple fractions of a base; None if one is not."""
    fractions = [(Fraction(x) / base).limit_denominator(_LARGEST_DENOMINATOR) for x in numbers]
    pairs = zip(fractions, numbers, strict=True)
    if any(abs(float(base * share) - number) > _ALIKE * size for share, number in pairs):
        return None
    below = math.lcm(*(share.denominator for share in fractions))
    return base * Fraction(math.gcd(*(int(share * below) for share in fractions)), below)


# --- laws with densities ------------------------------------------------------------------------------------


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

    With eta as in `correlation_error`, columns a and b, and spectra added up one by
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

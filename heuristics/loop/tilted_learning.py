r"""What epochs learn under an exponential tilt: tables by law, one `Tilt` for every class of plans.

At a rate s every plan has a divergence H(s) = KL(Q_s | P), a sum over its increments, which rises with s. Let
s_1 < ... < s_J be rates in the ratio r, and h > 0. A plan with H(s_1) < h <= H(s_J) has a first j with
H(s_j) >= h. Because H(r u) <= r**2 H(u) for every run (dH/du = u kappa_2(u), and kappa_2 falls),
H(s_j) < rho h with rho = r**2, or more where a switch asks for it. So all plans are divided into

- class j: h <= H(s_j) <= rho h, looked at with the rate s_j, near their own saddle point;
- the plans with H(s_J) < h, of little variance, looked at with the rate s_J;
- none with H(s_1) >= h, if s_1 is small enough for the largest H.

Each class is divided into ranges of H and F, and every range has a plane below what its plans need.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy import special

from depl.heuristics.loop.learning import Learning
from depl.heuristics.loop.requirement import Requirement, VarianceRange, fall_of
from depl.models.epochs import NoiseLaw, Term
from depl.models.laws import FloatArray, Normal
from depl.models.problem import Instance
from depl.models.risk.tilted_bound import Spread, plane, tilted_margins
from depl.models.risk.tilted_laws import STEP, TiltedSwitch, TiltedTable, covers, unit_of

_RATIOS = tuple(math.exp(step) for step in (0.24, 0.2, 0.16, 0.12, 0.08, 0.04))
"""From one rate to the next: the first under which H does not grow too much."""

_GROWTH = 1.65
_BELOW = 0.85
_LEAST_SPREAD = 4e-3
_MOST_TABLES = 400
_LEAST_SCORE = 0.7
_MOST_LIKELY = 0.6
_PIECES, _PARTS = 2, 12
_FOURTHS = (
    (0.0, 0.02, 0.05, 0.1),
    (0.1, 0.2, 0.3, 0.4),
    (0.4, 0.6, 0.9, 1.2),
    (1.2, 1.6),
    (1.6, 2.0),
    (2.0, 2.5),
    (2.5, 3.0),
    (3.0, 4.0),
    (4.0, 5.0),
    (5.0, 6.5),
    (6.5, 8.0),
    (8.0, 10.0),
    (10.0, 13.0),
    (13.0, 17.0),
    (17.0, math.inf),
)
_UNKNOWN = 1e6
_SMALL = 1 / 64
_LEVELS = (0.0, 0.4, 0.8, 1.0, 1.2, 1.4, 1.6, 1.8, 1.9, 1.96, 2.0)
_STEADIEST, _STEADY_PIECES = 0.015, 4


@dataclass(frozen=True, eq=False)
class Tilt:
    """A class of plans, and all increments under its tilt.

    Attributes
    ----------
    rate : float
        s [1 / loss].
    requirement : Requirement
        What the plans of the class gain at least under the tilt; H takes the place of the variance.
    places : ndarray
        Columns of the tables at h = 1, shape (K, M).
    switch_losses, switch_divergences, switch_fourths : ndarray
        Shape (M + 1, M) [loss], [1], [1].
    """

    rate: float
    requirement: Requirement
    places: FloatArray
    switch_losses: FloatArray
    switch_divergences: FloatArray
    switch_fourths: FloatArray


@dataclass(eq=False)
class TiltedLearning:
    """Tables of all laws of an instance.

    Parameters
    ----------
    instance : Instance
    learning : Learning
    least_factor : float
        Least positive h that occurs.

    Attributes
    ----------
    rates : list of float
        Rising.
    rows : int array (K, M)
        Table of every epoch and model; the last one, of zeros, for epochs without randomness.
    lost, low, high, fourth_low, fourth_high : ndarray
        D, H and F at the nodes of all tables, one row each (`depl.models.risk.tilted_laws.TiltedTable`).
    """

    instance: Instance
    learning: Learning
    least_factor: float
    rates: list[float] = field(init=False)
    rows: NDArray[np.int64] = field(init=False)
    lost: FloatArray = field(init=False)
    low: FloatArray = field(init=False)
    high: FloatArray = field(init=False)
    fourth_low: FloatArray = field(init=False)
    fourth_high: FloatArray = field(init=False)

    @staticmethod
    def covers(instance: Instance, learning: Learning) -> bool:
        """Whether every run follows a law of `depl.models.risk.tilted_laws`, and some are random."""
        terms = {term for row in learning.runs for step in row for term in step.terms}
        known = all(covers(t.law) and (t.coefficient < 0 or isinstance(t.law, Normal)) for t in terms)
        certain = float(instance.target.violation_budget) < _MOST_LIKELY
        return (
            certain
            and known
            and 0 < len({term.law for term in terms}) <= _MOST_TABLES
            and fall_of(instance) > 0
        )

    def __post_init__(self) -> None:
        """Find the rates that matter and tabulate the laws for them."""
        budget = float(self.instance.target.violation_budget)
        score = max(float(-special.ndtri(budget)), _LEAST_SCORE)
        room = math.log(_MOST_LIKELY / budget)  # p e**H stays below that
        self._goal = min(_BELOW * score**2 / 2, 0.7 * room)
        self._most_growth = min(_GROWTH, room / self._goal)
        changes = [step for row in self.learning.switches for step in row if step is not None]
        self._changes = list(dict.fromkeys(itertools.chain.from_iterable(step.terms for step in changes)))
        self._tilted: dict[tuple[Term, float], TiltedSwitch] = {}
        self._known: dict[object, FloatArray] = {}
        laws = self._read_runs()
        greatest = math.sqrt(2 * self._goal) / (_LEAST_SPREAD * fall_of(self.instance))
        first = self._surely_least(laws)
        self._tabulate(laws, first, greatest)
        self.rates = self._rates(first, greatest)

    def tilts(self) -> list[Tilt]:
        """All classes, those of much variance first."""
        found = []
        for before, rate in itertools.pairwise(self.rates):
            growth = self._growth(before, rate)
            found.append(self._tilt(rate, np.geomspace(1.0, growth, _PIECES * _PARTS + 1) * self._goal))
        steady = np.geomspace(_STEADIEST, 1.0, _STEADY_PIECES * _PARTS) * self._goal
        return [*found, self._tilt(self.rates[-1], np.array([0.0, *steady[:-1], self._goal]))]

    def penalties(
        self, lost_price: float, divergence_price: float, fourth_price: float
    ) -> tuple[FloatArray, FloatArray]:
        """What D, H and F cost at all nodes, from below: what rises in h, and what falls."""
        rising = lost_price * self.lost
        rising += max(divergence_price, 0.0) * self.low + max(fourth_price, 0.0) * self.fourth_low
        rising[:, 0] = np.minimum(rising[:, 0], 0.0)
        falling = min(divergence_price, 0.0) * self.high + min(fourth_price, 0.0) * self.fourth_high
        return rising, falling

    def read(self, table: FloatArray, rows: NDArray[np.int64], places: FloatArray) -> FloatArray:
        """Values of a table at some columns, as the kernel reads them."""
        places = np.maximum(places, 0.0)
        columns = np.minimum(places.astype(np.int64), table.shape[1] - 2)
        share = places - columns
        return np.asarray(table[rows, columns] * (1 - share) + table[rows, columns + 1] * share)

    def _tilt(self, rate: float, ends: FloatArray) -> Tilt:
        switches = {term: self._switch(term, rate) for term in self._changes}
        spread, steep = self._spread(rate, list(switches.values()), float(ends[-1]))
        largest = self._largest(rate, self.fourth_high, "fourth")
        ranges = []
        for first in range(0, len(ends) - 1, _PARTS):
            piece = ends[first : first + _PARTS + 1]
            for fourths in _FOURTHS:
                if fourths[0] <= min(largest, steep * piece[-1] * (1 + 1e-9)):
                    margins = self._margins(piece, np.array(fourths), spread)
                    ranges.append(_range(piece, np.array(fourths), margins, rate))
        return Tilt(
            rate,
            Requirement(fall_of(self.instance), tuple(ranges)),
            (self._logarithms + math.log(rate) - self._starts[self.rows]) / STEP,
            *self._switch_tables(switches),
        )

    def _spread(self, rate: float, switches: Sequence[TiltedSwitch], most: float) -> tuple[Spread, float]:
        """What increments say of W, T and Y, rounded so that few different ones occur; and F / H, at most."""
        shift = math.log(rate)
        spans = [(first + shift, last + shift) for first, last in self._spans]
        runs = [table.ratios(*span, most) for table, span in zip(self._tables, spans, strict=True)]
        known = [item for item in switches if math.isfinite(item.fourth) and item.divergence > 0]
        ratios = [2.0, *(item.variance / item.divergence for item in known)]
        thirds = [0.0, *(item.third / item.divergence for item in known)]
        low = min(*(ratio for ratio, _, _ in runs), *ratios)
        spread = Spread(
            max(level for level in _LEVELS if level <= low),
            math.ceil(20 * max(ratios) - 1e-9) / 20,
            math.floor(5 * min(thirds)) / 5,
            math.ceil(5 * max(thirds)) / 5,
            math.ceil(50 * max(rest for _, rest, _ in runs)) / 50,
            math.ceil(50 * (2 - min(ratios))) / 50,
            _rounded_up(len(self.rows) * max([0.0, *(item.fourth for item in known)])),
            math.floor(2 * min([12.0, *(item.widest for item in known)])) / 2,
        )
        steep = [item.fourth / item.divergence for item in switches if item.divergence > 0]
        return spread, max([*(most for _, _, most in runs), *steep])

    def _read_runs(self) -> list[NoiseLaw]:
        """Table and scale of every epoch and model."""
        shape = self.learning.gains.shape
        self.rows, self._logarithms = np.full(shape, -1, dtype=np.int64), np.full(shape, -math.inf)
        position: dict[NoiseLaw, int] = {}
        for k, m in np.ndindex(*shape):
            for term in self.learning.runs[k][m].terms:
                self.rows[k, m] = position.setdefault(term.law, len(position))
                self._logarithms[k, m] = math.log(abs(term.coefficient) * unit_of(term.law))
        self.rows[self.rows < 0] = len(position)
        self._spans = []
        for index in range(len(position)):
            own = self._logarithms[self.rows == index]
            self._spans.append((float(own.min()) + math.log(self.least_factor), float(own.max())))
        return list(position)

    def _surely_least(self, laws: Sequence[NoiseLaw]) -> float:
        """A rate at which all increments have less than H = h: H(u) <= u, for normal laws u**2 / 2."""
        scales = np.exp(self._logarithms)
        normal = np.array([*(isinstance(law, Normal) for law in laws), False])[self.rows]
        straight = float(np.where(normal, 0.0, scales).max(axis=1).sum())
        squares = float(np.where(normal, scales**2, 0.0).max(axis=1).sum())
        rate = 2 * self._goal / max(straight, math.sqrt(self._goal * squares))
        while True:
            switches = max((self._switch(term, rate).divergence for term in self._changes), default=0.0)
            if straight * rate + squares * rate**2 / 2 + len(scales) * switches <= self._goal:
                return rate
            rate /= 1.3

    def _tabulate(self, laws: Sequence[NoiseLaw], least: float, greatest: float) -> None:
        """One table for each law, over all rates and factors that may occur."""
        ends = math.log(least) - 0.3, math.log(max(greatest, least)) + 0.1
        self._tables = [
            TiltedTable.of(law, low + ends[0], high + ends[1])
            for law, (low, high) in zip(laws, self._spans, strict=True)
        ]
        count = max(len(table.low) for table in self._tables)
        self._starts = np.array([*(table.start for table in self._tables), 0.0])
        stacked = np.zeros((5, len(laws) + 1, count))
        for index, table in enumerate(self._tables):
            kinds = table.lost_low, table.low, table.high, table.fourth_low, table.fourth_high
            for target, values in zip(stacked, kinds, strict=True):
                target[index] = np.pad(values, (0, count - len(values)), mode="edge")
        self.lost, self.low, self.high, self.fourth_low, self.fourth_high = stacked

    def _rates(self, first: float, greatest: float) -> list[float]:
        """From the greatest down to one at which no plan has H = h."""
        rates = [max(greatest, first)]
        while self._largest(rates[-1], self.high, "divergence") > self._goal:
            steps = (
                ratio for ratio in _RATIOS if self._growth(rates[-1] / ratio, rates[-1]) <= self._most_growth
            )
            rates.append(rates[-1] / next(steps, _RATIOS[-1]))
        return rates[::-1]

    def _largest(self, rate: float, table: FloatArray, name: str) -> float:
        """At least H, or F, of every plan at a rate."""
        places = (self._logarithms + math.log(rate) - self._starts[self.rows]) / STEP
        runs = self.read(table, self.rows, places).max(axis=1).sum()
        switches = [getattr(self._switch(term, rate), name) for term in self._changes]
        return float(runs) + len(self.rows) * max(switches, default=0.0)

    def _growth(self, before: float, rate: float) -> float:
        """At least H of a plan at a rate over H at the one before."""
        pairs = [(self._switch(term, before), self._switch(term, rate)) for term in self._changes]
        ratios = [b.divergence / a.divergence for a, b in pairs if b.divergence > 0]
        return max([(rate / before) ** 2, *ratios])

    def _switch(self, term: Term, rate: float) -> TiltedSwitch:
        if (term, rate) not in self._tilted:
            self._tilted[term, rate] = TiltedSwitch.of(term, rate)
        return self._tilted[term, rate]

    def _margins(self, ends: FloatArray, fourths: FloatArray, spread: Spread) -> FloatArray:
        """Those of other classes where nothing differs."""
        key = ends.tobytes(), fourths.tobytes(), spread
        if key not in self._known:
            budget = float(self.instance.target.violation_budget)
            self._known[key] = tilted_margins(budget, ends, fourths, spread)
        return self._known[key]

    def _switch_tables(
        self, switches: Mapping[Term, TiltedSwitch]
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Mean losses under the tilt and divergences of all switches, shape (M + 1, M)."""
        losses = self.learning.switch_losses.copy()
        divergences, fourths = np.zeros_like(losses), np.zeros_like(losses)
        for p, row in enumerate(self.learning.switches):
            for m, step in enumerate(row):
                if step is not None and step.terms:
                    tilted = [switches[term] for term in step.terms]
                    losses[p, m] = step.shift + math.fsum(item.loss for item in tilted)
                    divergences[p, m] = math.fsum(item.divergence for item in tilted)
                    fourths[p, m] = min(math.fsum(item.fourth for item in tilted), _UNKNOWN)
        return losses, divergences, fourths


def _rounded_up(value: float) -> float:
    """To a few powers, so that few different ones occur."""
    return 2.0 ** math.ceil(math.log2(value)) if value > _SMALL else 0.0 if value == 0 else _SMALL


def _range(ends: FloatArray, fourths: FloatArray, margins: FloatArray, rate: float) -> VarianceRange:
    corner, slope, other = plane(ends, fourths, margins)
    low, high = float(ends[0]), float(ends[-1])
    return VarianceRange(
        low,
        high,
        corner / rate,
        (corner + slope * (high - low)) / rate,
        float(fourths[0]),
        float(fourths[-1]),
        other / rate,
    )

r"""What epochs learn under an exponential tilt: tables by law, one `Tilt` for every class of plans.

At a rate s every plan has a divergence H(s) = KL(Q_s | P), a sum over its increments. Let s_1 < ... < s_J be
rates and h > 0, and s_1 so small that no plan has H(s_1) >= h. As H(r u) <= r**2 H(u) for runs, every plan is
in exactly one class: class j with h <= H(s_j) <= rho h, rho being r**2 or the greatest ratio of a switch, or
that with H(s_J) < h. Classes are divided into ranges of H, of the excess B = H - W / 2 and of the roughness
of switches; each has a plane below what its plans need (docs, *The loop*; models/risk/lower_bound).
"""

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy import special

from depl.heuristics.bounds.learning import Learning
from depl.heuristics.bounds.requirement import Requirement, VarianceRange, fall_of
from depl.models.foundation.deadline import OutOfTimeError
from depl.models.problem.epochs import Term
from depl.models.problem.instance import Instance
from depl.models.problem.laws import FloatArray, Law
from depl.models.risk.lower_bound.bound import plane, tilted_margins
from depl.models.risk.lower_bound.laws import STEP, Reach, TiltedTable, covers, unclear
from depl.models.risk.lower_bound.spread import Spread
from depl.models.risk.lower_bound.switches import TiltedSwitch, covers_switch

_BELOW = 0.85
"""h in units of score**2 / 2, the divergence of a normal loss at the saddle point of its quantile. Set by
hand: below 1 the classes begin a little before that point; every h gives a bound, weaker or better."""
_MOST_TABLES = 400
"""Laws of one instance: each has a table of D, H and B, and time and memory are in proportion. Set by hand:
with more laws the tilted bound is not tried, and the bound is that of two moments."""
_LEAST_SCORE = 0.7
"""Least score that h is made of. Set by hand: at levels near one half the score itself goes to 0, and with it
h and the greatest rate."""
_MOST_LIKELY, _LARGEST_BUDGET = 0.6, 0.5
"""p e**H stays below the first, and p is at most the second: levels below one half are left to other bounds.
The first has to lie between the second, where no room is left for H, and 1, where nothing is known of the
margin; 0.6 is set by hand."""
_WIDEST_SWITCH = 1e5
"""Width of a switch's law in units of the fall from which on the tilted bound is not tried. Set by hand: such
a switch outweighs all runs, and the bound is that of two moments."""
_STEADIEST = 0.015
"""Least positive end of the cells of H in the class of least variance, in units of h; one cell lies below.
Set by hand: there a deviation is an eighth of that at the end of the class, as H is nearly s**2 V / 2."""
_CELLS = 4
"""Cells of B in each half of a divided range. Set by hand: finer cells give planes nearer to what plans need;
each costs one margin."""


@dataclass(frozen=True)
class Fineness:
    """How finely plans are divided; all that follows holds for any division.

    Attributes
    ----------
    growth, least_spread : float
        By how much H may grow from a rate to the next, and a standard deviation, as a share of the needed
        fall, below which plans are not told apart.
    steps : tuple of float
        ln of the ratio of a rate to the one before: the first under which H does not grow too much.
    pieces, steady_pieces : int
        Ranges of H in a class, and in that of the least variance.
    parts : int
        Cells of H in a range.
    excesses : tuple
        Ends of the cells of B in every range of B, over h.
    roughs : tuple of float
        Where ranges of the roughness of switches end.
    """

    growth: float
    least_spread: float
    steps: tuple[float, ...]
    pieces: int
    steady_pieces: int
    parts: int
    excesses: tuple[tuple[float, ...], ...]
    roughs: tuple[float, ...]


FINE = Fineness(
    1.65,
    4e-3,
    (0.24, 0.2, 0.16, 0.12, 0.08, 0.04),
    1,
    2,
    16,
    (
        (0.0, 0.02, 0.05, 0.08, 0.12),
        (0.12, 0.16, 0.2, 0.25, 0.3),
        (0.3, 0.36, 0.43, 0.5, 0.6),
        (0.6, 0.75, 0.9, 1.2),
        (1.2, math.inf),
    ),
    (0.03, 0.1, 0.3, 1.0, 3.0, 10.0),
)
"""For many epochs. Set by hand: every division gives a bound; a finer one gives a better bound in more time,
one dual for each class and one run of the cutting planes for each range that may decide."""
COARSE = Fineness(
    1.65,
    1.5e-2,
    (0.24, 0.16, 0.08, 0.04),
    2,
    4,
    3,
    tuple(itertools.pairwise((0.0, 0.05, 0.12, 0.2, 0.3, 0.42, 0.6, 0.9, 1.2, math.inf))),
    (0.05, 0.5, 5.0),
)
"""For few epochs: there the remainder loses more than the width of a cell."""

FEW_EPOCHS = 30
"""Up to so many epochs the division is coarse."""


@dataclass(frozen=True, eq=False)
class Tilt:
    """A class of plans, and all increments under its tilt.

    Attributes
    ----------
    rate : float
        s [1 / loss].
    requirement : depl.heuristics.bounds.requirement.Requirement
        What the plans of the class gain at least under the tilt; H takes the place of the variance.
    places : ndarray
        Columns of the tables at h = 1, shape (K, M).
    changes : ndarray
        Mean losses under the tilt, H, B and roughness of switches, shape (4, M + 1, M) [loss], [1], [1], [1].
    """

    rate: float
    requirement: Requirement
    places: FloatArray
    changes: FloatArray

    @property
    def says_something(self) -> bool:
        """Whether something is known of all ranges: wild switches may let H grow until p e**H reaches 1."""
        return all(math.isfinite(piece.margin_low) for piece in self.requirement.ranges)


@dataclass(eq=False)
class TiltedLearning:
    """Tables of all laws of an instance.

    Parameters
    ----------
    instance : Instance
    learning : Learning
    least_factor, greatest_factor : float
        Least positive and greatest h that occur.
    fineness : Fineness
    stop : callable
        Asked before every piece of work: once it says yes, `OutOfTimeError` ends what was begun.
    tilted : dict
        Switches under tilts that are known: the most of the work, which a later attempt need not repeat.

    Attributes
    ----------
    goal : float
        h, the least H of a class.
    rates : list of float
        Rising.
    rows : int array (K, M)
        Table of every epoch and model; the last one, of zeros, for epochs without randomness.
    lost, low, high, excess_low, excess_high : ndarray
        D, H and B at the nodes of all tables, one row each (`depl.models.risk.lower_bound.laws.TiltedTable`).
    """

    instance: Instance
    learning: Learning
    least_factor: float
    greatest_factor: float
    fineness: Fineness
    stop: Callable[[], bool] = lambda: False
    tilted: dict[tuple[Term, float, bool], TiltedSwitch] = field(default_factory=dict)
    goal: float = field(init=False)
    rates: list[float] = field(init=False)
    rows: NDArray[np.int64] = field(init=False)
    lost: FloatArray = field(init=False)
    low: FloatArray = field(init=False)
    high: FloatArray = field(init=False)
    excess_low: FloatArray = field(init=False)
    excess_high: FloatArray = field(init=False)

    @staticmethod
    def covers(instance: Instance, learning: Learning) -> bool:
        """Whether every run follows a law of `depl.models.risk.lower_bound.laws`, and some are random.

        Levels below one half and switches of another size than all runs are left to other bounds.
        """
        terms = {term for row in learning.runs for step in row for term in step.terms}
        known = all(covers(t.law) and (t.coefficient < 0 or t.law.is_normal) for t in terms)
        fall = fall_of(instance)
        if not known or not 0 < len({term.law for term in terms}) <= _MOST_TABLES or fall <= 0:
            return False
        changes = [step for row in learning.switches for step in row if step is not None]
        jumps = [term.law for step in changes for term in step.terms]
        scales = [law.tailed.scale for law in jumps if law.tailed is not None]
        tame = all(map(covers_switch, jumps)) and max(scales, default=0.0) < _WIDEST_SWITCH * fall
        return tame and float(instance.target.violation_budget) <= _LARGEST_BUDGET

    def __post_init__(self) -> None:
        """Find the rates that matter and tabulate the laws for them."""
        budget = float(self.instance.target.violation_budget)
        score = max(float(-special.ndtri(budget)), _LEAST_SCORE)
        room = math.log(_MOST_LIKELY / budget)  # p e**H stays below that
        self.goal = min(_BELOW * score**2 / 2, 0.7 * room)
        self._most_growth = min(self.fineness.growth, room / self.goal)
        changes = [step for row in self.learning.switches for step in row if step is not None]
        self._changes = list(dict.fromkeys(itertools.chain.from_iterable(step.terms for step in changes)))
        self._known: dict[object, FloatArray] = {}
        self._spreads: dict[tuple[float, float, float], Spread] = {}
        self._of_runs: dict[tuple[float, float], Spread] = {}
        self._switches_at: dict[float, list[TiltedSwitch]] = {}
        laws = self._read_runs()
        greatest = math.sqrt(2 * self.goal) / (self.fineness.least_spread * fall_of(self.instance))
        first = self._surely_least(laws)
        self._tabulate(laws, first, greatest)
        self.rates = self._rates(first, greatest)

    def classes(self) -> list[tuple[float, FloatArray]]:
        """Rates of all classes and ends of their cells of H, those of much variance first."""
        found, fineness = [], self.fineness
        for before, rate in itertools.pairwise(self.rates):
            cells = fineness.pieces * fineness.parts
            growth = self._growth(before, rate) * (1 + 1e-9)
            found.append((rate, np.geomspace(1.0, growth, cells + 1) * self.goal))
        steady = np.geomspace(_STEADIEST, 1.0, fineness.steady_pieces * fineness.parts) * self.goal
        return [*found, (self.rates[-1], np.array([0.0, *steady[:-1], self.goal]))]

    def tilts(self) -> list[Tilt]:
        """All classes."""
        return [self.tilt(*item) for item in self.classes()]

    def tilt(self, rate: float, ends: FloatArray) -> Tilt:
        """A class of plans with H in cells with some ends, under the tilt by a rate."""
        ranges, parts = [], self.fineness.parts
        for first in range(0, len(ends) - 1, parts):
            piece = ends[first : first + parts + 1]
            for roughs in self._roughs(rate):
                for excesses in self._excesses(rate, float(piece[-1]), roughs[1]):
                    ranges.append(self._range(rate, piece, excesses, roughs))
        return Tilt(
            rate,
            Requirement(fall_of(self.instance), tuple(ranges)),
            (self._logarithms + math.log(rate) - self._starts[self.rows]) / STEP,
            self._switch_tables(rate),
        )

    def divided(self, rate: float, piece: VarianceRange) -> list[VarianceRange]:
        """The quarters of a range of a class, in finer cells of H and B; those that plans may be in."""
        parts, least = self.fineness.parts, piece.excess_low
        middle = math.sqrt(piece.low * piece.high) if piece.low > 0 else piece.high / 2
        excesses = [np.array([least, math.inf])]
        if piece.excess_high < math.inf:
            cells = np.linspace(least, piece.excess_high, 2 * _CELLS + 1)
            excesses = [cells[: _CELLS + 1], cells[_CELLS:]]
        ranges = []
        for (low, high), cells in itertools.product(((piece.low, middle), (middle, piece.high)), excesses):
            if self._spread(rate, high, piece.rough_high).may_reach(high, cells[0]):
                ends = np.geomspace(low, high, parts + 1) if low > 0 else np.linspace(low, high, parts + 1)
                ends[0], ends[-1] = low, high
                ranges.append(self._range(rate, ends, cells, (piece.rough_low, piece.rough_high)))
        return ranges

    def penalties(
        self, lost_price: float, divergence_price: float, excess_price: float
    ) -> tuple[FloatArray, FloatArray]:
        """What D, H and B cost at all nodes, from below: what rises in h, and what falls."""
        rising = lost_price * self.lost
        rising += max(divergence_price, 0.0) * self.low + max(excess_price, 0.0) * self.excess_low
        rising[:, 0] = np.minimum(rising[:, 0], 0.0)
        falling = min(divergence_price, 0.0) * self.high + min(excess_price, 0.0) * self.excess_high
        return rising, falling

    def read(self, table: FloatArray, rows: NDArray[np.int64], places: FloatArray) -> FloatArray:
        """Values of a table at some columns, as the kernel reads them."""
        places = np.maximum(places, 0.0)
        columns = np.minimum(places.astype(np.int64), table.shape[1] - 2)
        share = places - columns
        return np.asarray(table[rows, columns] * (1 - share) + table[rows, columns + 1] * share)

    def _roughs(self, rate: float) -> list[tuple[float, float]]:
        """Ranges of the roughness of all switches of a plan; those that plans may be in.

        A switch counts as no more than the last end, which plans with rougher ones reach in any case.
        """
        each, ends = [item.roughness for item in self._switches(rate)], self.fineness.roughs
        tame = len(self.rows) * max((rough for rough in each if rough <= ends[-1]), default=0.0)
        most = min(tame, ends[-1])
        ranges = list(itertools.pairwise([0.0, *(end for end in ends if end < most), most]))
        if tame > ends[-1] or max(each, default=0.0) > ends[-1]:
            ranges.append((ends[-1], math.inf))
        return ranges

    def _excesses(self, rate: float, most: float, roughness: float) -> list[FloatArray]:
        """Ends of cells of B, range by range, for H up to a value; those that plans may be in."""
        spread, found = self._spread(rate, most, roughness), []
        for excesses in self.fineness.excesses:
            cells = self.goal * np.array(excesses)
            if spread.may_reach(most, cells[0]):
                negative = [spread.excess_low * most] if cells[0] == 0 > spread.excess_low else []
                found.append(np.array([*negative, *cells]))
        return found

    def _range(
        self, rate: float, ends: FloatArray, excesses: FloatArray, roughs: tuple[float, float]
    ) -> VarianceRange:
        self._require_time()
        margins = self._margins(ends, excesses, self._spread(rate, float(ends[-1]), roughs[1]))
        corner, slope, other = plane(ends, excesses, margins)
        low, high = float(ends[0]), float(ends[-1])
        return VarianceRange(
            low,
            high,
            corner / rate,
            (corner + slope * (high - low)) / rate,
            float(excesses[0]),
            float(excesses[-1]),
            other / rate,
            *roughs,
        )

    def _spread(self, rate: float, most: float, roughness: float) -> Spread:
        """What is known of plans with H and the roughness of switches up to some values."""
        if (rate, most, roughness) not in self._spreads:
            if (rate, most) not in self._of_runs:
                shift, pairs = math.log(rate), zip(self._tables, self._spans, strict=True)
                reaches = [table.reach(first + shift, last + shift, most) for table, (first, last) in pairs]
                self._of_runs[rate, most] = Spread.of_runs(Reach.joined(reaches), clear=self._clear(rate))
            self._spreads[rate, most, roughness] = self._of_runs[rate, most].with_switches(
                self._switches(rate), len(self.rows), roughness
            )
        return self._spreads[rate, most, roughness]

    def _clear(self, rate: float) -> bool:
        """Whether rounding of what increments say of T and F is small enough for `Spread`."""
        scales = np.exp(self._logarithms).max(axis=1).sum()
        return unclear(len(self.rows) + rate * float(scales) * self.greatest_factor) <= 1e-9

    def _read_runs(self) -> list[Law]:
        """Table and scale of every epoch and model."""
        shape = self.learning.gains.shape
        self.rows, self._logarithms = np.full(shape, -1, dtype=np.int64), np.full(shape, -math.inf)
        position: dict[Law, int] = {}
        for k, m in np.ndindex(*shape):
            for term in self.learning.runs[k][m].terms:
                self.rows[k, m] = position.setdefault(term.law, len(position))
                self._logarithms[k, m] = math.log(abs(term.coefficient) * term.law.tilt_unit())
        self.rows[self.rows < 0] = len(position)
        self._spans, ends = [], (math.log(self.least_factor), math.log(self.greatest_factor))
        for index in range(len(position)):
            own = self._logarithms[self.rows == index]
            self._spans.append((float(own.min()) + ends[0], float(own.max()) + ends[1]))
        return list(position)

    def _surely_least(self, laws: Sequence[Law]) -> float:
        """A rate at which all increments have less than H = h: H(u) <= u, for normal laws u**2 / 2."""
        scales = np.exp(self._logarithms) * self.greatest_factor
        normal = np.array([*(law.is_normal for law in laws), False])[self.rows]
        straight = float(np.where(normal, 0.0, scales).max(axis=1).sum())
        squares = float(np.where(normal, scales**2, 0.0).max(axis=1).sum())
        rate = 2 * self.goal / max(straight, math.sqrt(self.goal * squares))
        while True:
            runs = straight * rate + squares * rate**2 / 2
            if runs + len(scales) * self._most_divergent(rate) <= self.goal:
                return rate
            rate /= 1.3

    def _tabulate(self, laws: Sequence[Law], least: float, greatest: float) -> None:
        """One table for each law, over all rates and factors that may occur."""
        ends = math.log(least) - 2 * self.fineness.steps[0], math.log(max(greatest, least)) + 0.1
        self._tables = [
            TiltedTable.of(law, low + ends[0], high + ends[1])
            for law, (low, high) in zip(laws, self._spans, strict=True)
        ]
        count = max(len(table.low) for table in self._tables)
        self._starts = np.array([*(table.start for table in self._tables), 0.0])
        stacked = np.zeros((5, len(laws) + 1, count))
        for index, table in enumerate(self._tables):
            kinds = table.lost_low, table.low, table.high, table.excess_low, table.excess_high
            for target, values in zip(stacked, kinds, strict=True):
                target[index] = np.pad(values, (0, count - len(values)), mode="edge")
        self.lost, self.low, self.high, self.excess_low, self.excess_high = stacked

    def _rates(self, first: float, greatest: float) -> list[float]:
        """From the greatest down to one at which no plan has H = h."""
        rates = [max(greatest, first)]
        while self._largest(rates[-1]) >= self.goal:
            for step in self.fineness.steps:
                before = rates[-1] * math.exp(-step)
                if self._growth(before, rates[-1]) <= self._most_growth:
                    break
            rates.append(before)
        return rates[::-1]

    def _largest(self, rate: float) -> float:
        """At least H of every plan at a rate."""
        places = (self._logarithms + math.log(rate * self.greatest_factor) - self._starts[self.rows]) / STEP
        runs = self.read(self.high, self.rows, places).max(axis=1).sum()
        return float(runs) + len(self.rows) * self._most_divergent(rate)

    def _most_divergent(self, rate: float) -> float:
        """The greatest H of a switch."""
        return max((self._switch(term, rate, False).divergence for term in self._changes), default=0.0)

    def _growth(self, before: float, rate: float) -> float:
        """At least H of a plan at a rate over H at the one before."""
        ratios = (
            self._switch(term, rate, False).divergence / self._switch(term, before, False).divergence
            for term in self._changes
        )
        return max([(rate / before) ** 2, *ratios])

    def _switch(self, term: Term, rate: float, with_fourth: bool = True) -> TiltedSwitch:
        if (term, rate, True) in self.tilted:
            return self.tilted[term, rate, True]
        key = term, rate, with_fourth
        if key not in self.tilted:
            self._require_time()
            self.tilted[key] = TiltedSwitch.of(*key)
        return self.tilted[key]

    def _require_time(self) -> None:
        if self.stop():
            raise OutOfTimeError

    def _switches(self, rate: float) -> list[TiltedSwitch]:
        if rate not in self._switches_at:
            self._switches_at[rate] = [self._switch(term, rate) for term in self._changes]
        return self._switches_at[rate]

    def _margins(self, ends: FloatArray, excesses: FloatArray, spread: Spread) -> FloatArray:
        """Those of other classes where nothing differs."""
        key = ends.tobytes(), excesses.tobytes(), spread
        if key not in self._known:
            budget = float(self.instance.target.violation_budget)
            self._known[key] = tilted_margins(budget, ends, excesses, spread)
        return self._known[key]

    def _switch_tables(self, rate: float) -> FloatArray:
        """Mean losses under the tilt, H, B and roughness of all switches, shape (4, M + 1, M)."""
        found = np.zeros((4, *self.learning.switch_losses.shape))
        found[0] = self.learning.switch_losses
        tilted = dict(zip(self._changes, self._switches(rate), strict=True))
        known: dict[tuple[Term, ...], FloatArray] = {}
        for (p, m), step in np.ndenumerate(np.array(self.learning.switches, dtype=object)):
            if step is None or not step.terms:
                continue
            if step.terms not in known:
                items = [tilted[term] for term in step.terms]
                rows = [(item.loss, item.divergence, item.excess, item.roughness) for item in items]
                known[step.terms] = np.array([math.fsum(column) for column in zip(*rows, strict=True)])
            found[:, p, m] = known[step.terms]
            found[0, p, m] += step.shift
        found[3] = np.minimum(found[3], self.fineness.roughs[-1])
        return found

"""The least bound over all classes of plans, and the dual of one class (docs, *The loop*).

Every plan is in one of the classes (`depl.heuristics.bounds.tilted_learning`), so the least of their bounds
holds for all plans. In the dual of a tilt the gain is the mean gain under it, c E X h - D / s for an epoch,
the divergence H takes the place of the variance, and the excess B has a price, too. D, H and B come from
tables in ln h, rounded so that the bound stays one, and rise with h. Where h is only known to lie in an
interval, what is paid for them counts along a line below h, what is earned along one above (`Chords`).
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from depl.heuristics.bounds.dual import Cut, Dual, Part, Prices
from depl.heuristics.bounds.learning import in_time
from depl.heuristics.bounds.requirement import Requirement, VarianceRange
from depl.heuristics.bounds.tilted_learning import Tilt, TiltedLearning
from depl.heuristics.data.sites import Places, Priced
from depl.models.foundation.compiling import kernel
from depl.models.problem.laws import FloatArray
from depl.models.risk.lower_bound.laws import STEP

_CLOSE = 1.001
"""Ranges get prices of their own until their bound is so many times the least of those that have them. Set by
hand: at 1 the least bound on these places is the same; above, ranges just beyond it are raised, too."""
_DIVISIONS, DEEPEST = 40, 6
"""Ranges that are divided, and how often one may be. Set by hand: each division makes four ranges, halves of
the one in H and in B, so six leave 1/64 of each; more make the least bound better and take more time."""


@dataclass(eq=False)
class Opened:
    """A range of a class: the best bound so far and the prices that prove it.

    ``raised`` says whether it had its own prices, ``depth`` how often it was divided. ``proved`` is what is
    proved of it on a frontier, ``proved_at`` where its prices were last evaluated, ``settled`` whether prices
    of its own were looked for there (`depl.heuristics.bounds.lower_bound`).
    """

    tilt: int
    piece: VarianceRange
    value: float
    prices: Prices
    raised: bool = False
    depth: int = 0
    proved: float = -math.inf
    proved_at: tuple[int, Prices] | None = None
    settled: bool = False


@dataclass(eq=False)
class Classes:
    """All classes on some places.

    Parameters
    ----------
    tables : TiltedLearning
    places : Places
    part : Part
    maximum_time : float or None
    highest_cost : float
        No plan costs more [cost].
    tilts : list of Tilt
    """

    tables: TiltedLearning
    places: Places
    part: Part
    maximum_time: float | None
    highest_cost: float
    tilts: list[Tilt]
    _psi: dict[float, Priced] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """One dual for every class; what psi is at a price of time is shared."""
        given = self.places, self.maximum_time, self.highest_cost, self._psi
        self.duals = [TiltedDual(self.tables, tilt, *given) for tilt in self.tilts]

    def priced(self, start: Prices, stop: Callable[[], bool] = lambda: False) -> list[Opened]:
        """All ranges with prices that prove the least bound over them, or nearly as much, or so far."""
        indices = in_time(range(len(self.duals)), lambda: not stop())
        found = [item for index in indices for item in self._opened(index, start)]
        self._settle(found, stop)
        for _ in range(_DIVISIONS):
            item = min(found, key=lambda item: item.value)
            if stop() or item.depth == DEEPEST or not 0 < item.value < math.inf:
                break
            found.remove(item)
            found += self.quarters(item)
            self._settle(found, stop)
        return found

    def asked(self, tilt: int, items: Iterable[Opened]) -> Requirement:
        """What plans in some ranges of a class need."""
        return Requirement(self.duals[tilt].tilt.requirement.fall, tuple(item.piece for item in items))

    def at_prices(self, item: Opened) -> tuple[float, Cut | None]:
        """What the prices of a range prove of it on these places, and the cheapest sequence at them."""
        asked = self.asked(item.tilt, [item])
        (value,), cut = self.duals[item.tilt].valued(self.part, asked, item.prices)
        return value, cut

    def settle(self, item: Opened, enough: float = math.inf) -> None:
        """Prices of its own for a range on these places, if they prove more; may stop at a value."""
        item.settled = True
        self.better(item, enough)

    def better(self, item: Opened, enough: float) -> None:
        """The best prices for a range, if they prove more; up to a value that is enough."""
        found = self.duals[item.tilt].bound(self.part, self.asked(item.tilt, [item]), item.prices, enough)
        if found.value > item.value:
            item.value, item.prices = found.value, found.prices

    def on(self, places: Places, part: Part) -> "Classes":
        """The same classes on other places of the instance."""
        return Classes(self.tables, places, part, self.maximum_time, self.highest_cost, self.tilts)

    def _settle(self, found: Sequence[Opened], stop: Callable[[], bool]) -> None:
        """Raise ranges until the least bound over all of them is that of one that was raised, or nearly."""
        least = min((item.value for item in found if item.raised), default=math.inf)
        left = [item for item in found if not item.raised]
        while left:
            item = min(left, key=lambda item: (least == math.inf and item.piece.excess_low > 0, item.value))
            left.remove(item)
            if item.value >= least * _CLOSE or stop():
                break
            self._raise(item, least)
            item.raised = True
            if item.value < least:
                least = item.value
                for index in range(len(self.duals)):
                    self.adopt(index, item, left)
            else:
                self.adopt(item.tilt, item, left)

    def quarters(self, item: Opened) -> list[Opened]:
        """The quarters of a range that plans may be in, with what its prices are worth for them."""
        dual = self.duals[item.tilt]
        pieces = tuple(self.tables.divided(dual.tilt.rate, item.piece))
        requirement = Requirement(dual.tilt.requirement.fall, pieces)
        return [
            Opened(item.tilt, piece, value, item.prices, depth=item.depth + 1)
            for piece, value in zip(pieces, dual.values(self.part, requirement, item.prices), strict=True)
        ]

    def _raise(self, item: Opened, least: float) -> None:
        """Better prices for one range: with the time as it is, if that is enough, or with all of them.

        What is left of a range needs next to the same price of time, and that of psi takes long.
        """
        ways = (True,) if item.depth else (True, False) if least < math.inf else (False,)
        for same in ways:
            self.duals[item.tilt].same_time = same
            self.better(item, least * _CLOSE)
            if item.value >= least * _CLOSE:
                break

    def adopt(self, index: int, found: Opened, left: Sequence[Opened]) -> None:
        """What the prices of one range are worth for those of a class that are left."""
        mine = [item for item in left if item.tilt == index]
        if not mine:
            return
        dual, prices = self.duals[index], found.prices
        if index != found.tilt:
            weight = self.duals[found.tilt].variance_price(prices)
            prices = dual.prices_from(prices.time, prices.gain, weight)
        for item, value in zip(mine, dual.values(self.part, self.asked(index, mine), prices), strict=True):
            if value > item.value:
                item.value, item.prices = value, prices

    def _opened(self, index: int, start: Prices) -> list[Opened]:
        dual = self.duals[index]
        return self.opened(index, dual.prices_from(start.time, start.gain, start.gain * dual.tilt.rate / 2))

    def opened(self, index: int, prices: Prices) -> list[Opened]:
        """All ranges of a class at some prices."""
        dual = self.duals[index]
        values = dual.values(self.part, dual.tilt.requirement, prices)
        pairs = zip(dual.tilt.requirement.ranges, values, strict=True)
        return [Opened(index, piece, value, prices) for piece, value in pairs]


_NARROW = 4
"""Columns that an interval may span for its chord to be used."""


class TiltedDual(Dual):
    """The dual of one instance on some places under one tilt."""

    def __init__(
        self,
        tables: TiltedLearning,
        tilt: Tilt,
        places: Places,
        maximum_time: float | None,
        highest_cost: float,
        priced: dict[float, Priced],
    ) -> None:
        losses, divergences, *others = tilt.changes
        learning = replace(tables.learning, switch_losses=losses, switch_variances=divergences)
        super().__init__(learning, places, maximum_time, highest_cost)
        self.tables, self.tilt, self._priced = tables, tilt, priced
        self._switches[2:] = others
        self._low, self._high = (_columns(h) for h in (places.low, places.high))
        self._apart = bool(np.any(places.high > places.low))
        self._rises = Chords.of(places.below, places.low, self._apart)
        self._falls = Chords.of(places.factors, places.high, self._apart)

    def prices_from(self, time: float, gain: float, variance: float) -> Prices:
        """Prices that weigh a variance as given: D is nearly s V and H nearly s**2 V / 2."""
        rate = self.tilt.rate
        return Prices(time, gain, 2 * (variance - gain * rate) / rate**2)

    def variance_price(self, prices: Prices) -> float:
        """The other way round [cost / loss**2]."""
        rate = self.tilt.rate
        return prices.gain * rate + prices.variance * rate**2 / 2

    def _reduced(self, priced: Priced, part: Part, prices: Prices) -> NDArray[np.int64]:
        weights, chosen = self._work
        lost_price = prices.gain / self.tilt.rate
        rising, falling = self.tables.penalties(lost_price, prices.variance, prices.excess)
        rising = rising if self._apart else rising + falling
        tilted_costs(
            priced.psi,
            priced.rows_of(len(weights)),
            part.charges,
            self.learning.gains,
            (self.places.factors, self.places.low),
            prices.gain,
            self.tilt.places,
            self.tables.rows,
            _with_floors(rising, from_left=False),
            self._rises.columns,
            _with_floors(falling, from_left=True),
            self._falls.columns,
            self._apart,
            weights,
            chosen,
        )
        return chosen

    def _learned(
        self, prices: Prices, models: NDArray[np.int64], sites: NDArray[np.int64]
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        tables, k = self.tables, np.arange(len(models))
        gain = self.learning.gains[k, models]
        factor = np.where(gain > 0, self.places.factors[sites], self.places.low[sites])
        rows, start = tables.rows[k, models], self.tilt.places[k, models]

        def read(rises: bool, low: FloatArray, high: FloatArray) -> FloatArray:
            """Rounded as it counts at these prices."""
            table, columns = (low, self._low) if rises else (high, self._high)
            return tables.read(table, rows, start + columns[sites])

        lost = read(True, tables.lost, tables.lost) / self.tilt.rate
        divergences = read(prices.variance >= 0, tables.low, tables.high)
        excesses = read(prices.excess >= 0, tables.excess_low, tables.excess_high)
        return factor * gain - lost, divergences, excesses


@dataclass(frozen=True, eq=False)
class Chords:
    """Where tables are read for sites of which h is only known to lie in an interval, two for each.

    Along a line of h over the interval a penalty is at least its chord in ln h less what it sags below that:
    with second differences of at most C over s columns, C s / 4 for each of the s + 1 nodes that may lie
    inside. In h itself a chord in ln h sags by at most Delta (ln h_1 - ln h_0) / 8 more, where Delta is how
    much it rises or falls, as ln h lies above its own chord by (ln h_1 - ln h_0)**2 / 8 at most. So a line
    through the table's values at both ends, less that, is below the penalty, and the reduced cost with it is
    concave on the interval: its ends count. Wide intervals are read at one end.

    Attributes
    ----------
    columns : tuple of ndarray
        Column of every site, of the left end of its interval, and s (s + 1) / 4 or 0; shape (O,).
    """

    columns: tuple[FloatArray, FloatArray, FloatArray]

    @classmethod
    def of(cls, line: FloatArray, end: FloatArray, apart: bool) -> "Chords":
        """Lines of h, and the end that counts where an interval is wide."""
        own, fallback = _columns(line), _columns(end)
        if not apart:
            return cls((fallback, fallback, np.zeros(len(end))))
        first, last = np.repeat(own[::2], 2), np.repeat(own[1::2], 2)
        with np.errstate(invalid="ignore"):
            span = last - first
        narrow = (span > 0) & (span <= _NARROW)
        weight = np.where(narrow, span * (np.floor(span) + 1) / 4, 0.0)
        return cls((np.where(narrow, own, fallback), np.where(narrow, first, fallback), weight))


def _with_floors(table: FloatArray, *, from_left: bool) -> tuple[FloatArray, FloatArray, FloatArray]:
    """A table, what `Chords` take off for a weight of 1, and the least that is read from or up to a column.

    To a second difference of C a change by d per column adds d `STEP` / 2: over s columns the change is up to
    s d, ln h changes by s `STEP`, and s d s `STEP` / 8 is less than the weight of d `STEP` / 2.
    """
    slopes = np.diff(table, axis=1)
    bends = np.zeros(table.shape)
    bends[:, 0], bends[:, 1:-1] = slopes[:, 0], np.diff(slopes, axis=1)
    bends = np.maximum(bends, 0.0)
    bends[:, :-1] += STEP / 2 * np.abs(slopes)
    size = _NARROW + 2
    ahead = scipy.ndimage.maximum_filter1d(bends, size, axis=1, origin=-(size // 2), mode="constant")
    around = scipy.ndimage.maximum_filter1d(ahead, size + 1, axis=1, origin=size // 2, mode="nearest")
    least = table - _NARROW * (_NARROW + 1) / 4 * around
    if from_left:
        return table, ahead, np.minimum.accumulate(least, axis=1)
    return table, ahead, np.ascontiguousarray(np.minimum.accumulate(least[:, ::-1], axis=1)[:, ::-1])


def _columns(factors: FloatArray) -> FloatArray:
    """How many columns of the tables h moves to the right; h = 0 lies before the first."""
    logarithms = np.log(np.where(factors > 0, factors, 1.0))
    return np.where(factors > 0, logarithms / STEP, -np.inf)


Floats = NDArray[np.floating[Any]]
Integers = NDArray[np.int64]

_BLOCK = 8
"""Sites that are passed over at once: eight doubles are a cache line of 64 bytes. No least value depends on
it; larger blocks have weaker bounds, smaller ones cost more of them."""


@kernel(interpreted=True)
def _read(table: Floats, row: int, at: float) -> float:
    """Linear between the columns; before the first, the first."""
    if not at > 0:
        return float(table[row, 0])
    column = min(int(at), table.shape[1] - 2)
    left = table[row, column]
    return float(left + (at - column) * (table[row, column + 1] - left))


@kernel(interpreted=True)
def _floor(table: Floats, row: int, at: float, further: int) -> float:
    column = int(at) + further if at > 0 else 0
    return float(table[row, min(column, table.shape[1] - 1)])


@kernel(interpreted=True)
def tilted_costs(
    psi: Floats,
    psi_rows: Integers,
    charges: Floats,
    gains: Floats,
    factors: tuple[Floats, Floats],
    gain_price: float,
    places: Floats,
    rows: Integers,
    rising: tuple[Floats, Floats, Floats],
    rises: tuple[Floats, Floats, Floats],
    falling: tuple[Floats, Floats, Floats],
    falls: tuple[Floats, Floats, Floats],
    apart: bool,
    weights: Floats,
    chosen: Integers,
) -> None:
    """Least psi + charge - gain_price gain + penalty of every epoch and model over the sites.

    ``factors`` are those of gains and of losses. Penalties are read from row ``rows[k, m]`` of tables, at
    column ``places[k, m] + columns[o]``, less what a chord may be above the table (`Chords`): what rises in h
    and, if they lie ``apart``, what falls. ``rising`` and ``falling`` are a table, what its chords are off,
    and the least that is read from a column on, or up to a column; ``rises`` and ``falls`` the columns of the
    sites, of the left ends of their intervals, and weights. ``psi`` has shape (B, M, O), a row for every
    epoch, ``charges`` are infinite where a site may not be used. Blocks of neighbouring sites, which are
    alike, are passed over where the least of all that counts is too much; the best site of the epoch before
    comes first.
    """
    above, low = factors
    cheapest = _least_of_blocks(psi, charges)
    most, least = _ends_of_blocks(above)[1], _ends_of_blocks(low)[0]
    ends = _ends_of_blocks(rises[0])[0], _ends_of_blocks(falls[0])[1]
    for m in range(gains.shape[1]):
        first = 0
        for k in range(gains.shape[0]):
            b, gain = psi_rows[k], gain_price * gains[k, m]
            best, place = _cheapest_site(
                (psi[b, m], charges, above if gain > 0 else low),
                (cheapest[b, m], most if gain > 0 else least),
                gain,
                (rows[k, m], first),
                places[k, m],
                ends,
                (rising, rises),
                (falling, falls),
                apart,
            )
            weights[k, m], chosen[k, m] = best, place
            first = max(place, 0) // _BLOCK


@kernel(interpreted=True)
def _cheapest_site(
    sites: tuple[Floats, Floats, Floats],
    blocks: tuple[Floats, Floats],
    gain: float,
    starts: tuple[int, int],
    start: float,
    ends: tuple[Floats, Floats],
    up: tuple[tuple[Floats, Floats, Floats], tuple[Floats, Floats, Floats]],
    down: tuple[tuple[Floats, Floats, Floats], tuple[Floats, Floats, Floats]],
    apart: bool,
) -> tuple[float, int]:
    """Least value of a site for one epoch and model, and the site, -1 if there is none."""
    psi, charges, factors = sites  # arrays of a tuple are slow to reach in the innermost loop
    (rise, rise_sag, rise_floors), (rise_at, rise_left, rise_weight) = up
    (fall, fall_sag, fall_floors), (fall_at, fall_left, fall_weight) = down
    (row, first), (left, right), best, place = starts, ends, math.inf, -1
    for step in range(left.size + 1):
        block = first if step == 0 else step - 1
        floor = blocks[0][block] - blocks[1][block] * gain
        if step > 0 and block == first:
            continue
        floor += _floor(rise_floors, row, start + left[block], 0)
        floor += _floor(fall_floors, row, start + right[block], 1) if apart else 0.0
        if not floor < best:
            continue
        for o in range(block * _BLOCK, min((block + 1) * _BLOCK, charges.size)):
            value = psi[o] + charges[o] - factors[o] * gain
            value += _below(rise, row, start + rise_at[o], rise_sag, start + rise_left[o], rise_weight[o])
            if apart:
                value += _below(fall, row, start + fall_at[o], fall_sag, start + fall_left[o], fall_weight[o])
            if value < best:
                best, place = value, o
    return best, place


@kernel(interpreted=True)
def _below(table: Floats, row: int, at: float, sag: Floats, left: float, weight: float) -> float:
    """What is read at a column, less what the chord of its interval may be off."""
    value = _read(table, row, at)
    return value - weight * _floor(sag, row, left, 0) if weight > 0 else value


@kernel(interpreted=True)
def _least_of_blocks(psi: Floats, charges: Floats) -> Floats:
    """Least psi + charge in every block, shape (B, M, blocks)."""
    rows, models, sites = psi.shape
    found = np.full((rows, models, (sites + _BLOCK - 1) // _BLOCK), math.inf)
    for b in range(rows):
        for m in range(models):
            for o in range(sites):
                found[b, m, o // _BLOCK] = min(found[b, m, o // _BLOCK], psi[b, m, o] + charges[o])
    return found


@kernel(interpreted=True)
def _ends_of_blocks(values: Floats) -> tuple[Floats, Floats]:
    """Least and greatest value in every block."""
    count = (values.size + _BLOCK - 1) // _BLOCK
    least, most = np.full(count, math.inf), np.full(count, -math.inf)
    for o in range(values.size):
        least[o // _BLOCK] = min(least[o // _BLOCK], values[o])
        most[o // _BLOCK] = max(most[o // _BLOCK], values[o])
    return least, most

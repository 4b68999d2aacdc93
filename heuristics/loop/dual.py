r"""Prices of time, gain and variance, and the lower bounds that they prove (weak duality).

For prices lam of time, gamma >= 0 of gain and nu of variance, every plan on some sites whose variance V lies
in a range [V_0, V_1] with the margin r(V) (`depl.heuristics.loop.requirement`) costs at least

    F(paid) + min over sequences of sum [psi(lam) + charge - gamma gain + nu variance]
            + min over both ends of [gamma (g + r(V_e)) - nu V_e] - lam T_max,

because its time is at most T_max, its mean gain at least g + r(V), and gamma r(V) - nu V is linear in V. A
site's charge is a share of its transfers, F / K_max: a cluster trains at most K_max epochs. The minimum over
sequences is a dynamic program over (epoch, model), the maximum over prices is found by Kelley's cutting
planes. Each sequence that is cheapest at some prices gives a cut; cuts are kept and used again wherever their
sites are allowed.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import highspy
import numpy as np
from numpy.typing import NDArray

from depl.heuristics.loop.kernels import cheapest_sequence, reduced_costs
from depl.heuristics.loop.learning import Learning
from depl.heuristics.loop.requirement import Requirement, VarianceRange
from depl.heuristics.loop.sites import Places, Priced
from depl.models.allocation import TIME_TOLERANCE
from depl.models.laws import FloatArray

_LARGEST_PRICE = 1e4
_MOST_CUTS = 60
_KEPT_CUTS = 24
_ROUNDING = 1e-11
_INWARDS = 0.3
_FAR = 1.3
_GOLDEN = (math.sqrt(5) - 1) / 2
_GOLDEN_STEPS = 12
_BISECTIONS = 14


class Prices(NamedTuple):
    """lam [cost / time], gamma [cost / loss], nu [cost / loss**2]."""

    time: float
    gain: float
    variance: float


@dataclass(frozen=True, eq=False)
class Part:
    """Plans on some sites.

    Attributes
    ----------
    charges : ndarray
        Charge of an epoch on each site, infinite where it may not be used, shape (O,) [cost].
    paid : float
        Transfers that all these plans pay [cost].
    """

    charges: FloatArray
    paid: float = 0.0


@dataclass(frozen=True, eq=False)
class Cut:
    """One sequence: models and sites of its epochs, and its sums at the price it was found at.

    ``cost`` counts kappa x alone, ``uses`` how many epochs train on each site, shape (O,).
    """

    models: NDArray[np.int64]
    sites: NDArray[np.int64]
    cost: float
    time: float
    gain: float
    variance: float
    uses: NDArray[np.int64]


@dataclass(frozen=True)
class Bound:
    """A lower bound, the prices that prove it, and the sequence that is cheapest at them.

    ``value`` is infinite if it is beyond what any plan can cost; ``ranges`` are those whose bound is below
    the cutoff and not far above the least.
    """

    value: float
    prices: Prices
    cut: Cut | None
    ranges: tuple[VarianceRange, ...] = ()


@dataclass(eq=False)
class Dual:
    """The dual of one instance on some places.

    Parameters
    ----------
    learning : Learning
    places : Places
    maximum_time : float or None
        T_max [time].
    dearest : float
        No plan costs more [cost].
    """

    learning: Learning
    places: Places
    maximum_time: float | None
    dearest: float
    cuts: list[Cut] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Read units of cost, time, gain and variance, and the prices to begin with."""
        epochs, models = self.learning.gains.shape
        self._work = np.empty((epochs, models)), np.empty((epochs, models), dtype=np.int64)
        self._paths = np.empty((epochs, models)), np.empty((epochs, models), dtype=np.int64)
        finite = np.where(np.isfinite(self.learning.variances), self.learning.variances, 0.0)
        self._variances = finite
        changes = self.learning.switch_variances
        self._switch_variances = np.where(np.isfinite(changes), changes, 0.0)
        self._priced: dict[float, Priced] = {}

    def bound(self, part: Part, requirement: Requirement, start: Prices, cutoff: float = math.inf) -> Bound:
        """The least over all ranges; may stop at any value from ``cutoff`` on.

        Parameters
        ----------
        start : Prices
            Where to begin; any are valid.
        """
        best, open_ranges = Bound(math.inf, start, None), []
        for piece in requirement.ranges:
            limit = min(cutoff, _FAR * best.value) if best.value > 0 else cutoff
            found = self._in_range(part, requirement.fall, piece, start, limit)
            if found.value < limit:
                open_ranges.append(piece)
            if found.value < best.value or best.cut is None:
                best = found
        return replace(best, ranges=tuple(open_ranges))

    def value(self, part: Part, requirement: Requirement, prices: Prices) -> float:
        """The bound that given prices prove, the least over all ranges."""
        least, cut = self.cheapest(part, prices)
        if cut is None:
            return math.inf
        rests = [
            _Program(self, part, requirement.fall, piece, [], prices).rest(prices)
            for piece in requirement.ranges
        ]
        value = least + part.paid + min(rests)
        return math.inf if value > self.dearest * (1 + 1e-6) else value

    def without_cost(self) -> "Dual":
        """The same sequences where nothing costs anything: for what can be reached at all."""
        return Dual(self.learning, _Fixed(self.places, _free), None, math.inf)

    def with_times(self) -> "Dual":
        """The same sequences with their least times in place of costs."""
        return Dual(self.learning, _Fixed(self.places, _fastest), None, math.inf)

    def priced(self, multiplier: float) -> Priced:
        """The places at a price of time; the last few are remembered."""
        if multiplier not in self._priced:
            if len(self._priced) > 8:
                self._priced.clear()
            self._priced[multiplier] = self.places.at(multiplier)
        return self._priced[multiplier]

    def cheapest(self, part: Part, prices: Prices) -> tuple[float, Cut | None]:
        """Least reduced cost of a sequence, rounded down, and the sequence."""
        priced, weights = self.priced(prices.time), self._work[0]
        chosen = self._reduced(priced, part, prices)
        switches = np.where(
            self.learning.allowed,
            prices.gain * self.learning.switch_losses + prices.variance * self._switch_variances,
            math.inf,
        )
        values, before = self._paths
        least, length, last = cheapest_sequence(weights, switches, values, before)
        if last < 0:
            return math.inf, None
        models = np.empty(length, dtype=np.int64)
        for k in range(length - 1, -1, -1):
            models[k], last = last, before[k, last]
        cut = self._cut(priced, prices, models, chosen[np.arange(length), models])
        size = abs(least) + prices.time * cut.time + prices.gain * abs(cut.gain)
        return least - _ROUNDING * size, cut

    def _reduced(self, priced: Priced, part: Part, prices: Prices) -> NDArray[np.int64]:
        """Fill in the least reduced cost of every epoch and model; the site of each."""
        weights, chosen = self._work
        used = np.flatnonzero(np.isfinite(part.charges))
        few = 2 * len(used) < len(part.charges)
        pick = used if few else slice(None)
        reduced_costs(
            np.ascontiguousarray(priced.psi[..., pick]),
            part.charges[pick],
            self.learning.gains,
            self._variances,
            self.places.factors[pick],
            self.places.low[pick],
            self.places.high[pick],
            prices.gain,
            prices.variance,
            weights,
            chosen,
        )
        return used[chosen] if few and len(used) else chosen

    def _cut(
        self, priced: Priced, prices: Prices, models: NDArray[np.int64], sites: NDArray[np.int64]
    ) -> Cut:
        k = np.arange(len(models))
        row = np.minimum(k, len(priced.psi) - 1)
        time = priced.time[row, models, sites]
        spent = priced.psi[row, models, sites] - np.where(np.isinf(time), 0.0, prices.time * time)
        before = np.concatenate([[len(self.learning.switches) - 1], models[:-1]])
        gains, variances = self._learned(prices, models, sites)
        return Cut(
            models,
            sites,
            float(spent.sum()),
            float(time.sum()),
            float(gains.sum() - self.learning.switch_losses[before, models].sum()),
            float(variances.sum() + self._switch_variances[before, models].sum()),
            np.bincount(sites, minlength=len(self.places.low)),
        )

    def _learned(
        self, prices: Prices, models: NDArray[np.int64], sites: NDArray[np.int64]
    ) -> tuple[FloatArray, FloatArray]:
        """Gain and variance of every epoch of a sequence, without switches."""
        k = np.arange(len(models))
        gain = self.learning.gains[k, models]
        factor = np.where(gain > 0, self.places.factors[sites], self.places.low[sites])
        spread = (self.places.low if prices.variance > 0 else self.places.high)[sites]
        return factor * gain, spread**2 * self._variances[k, models]

    def _in_range(self, part: Part, fall: float, piece: VarianceRange, start: Prices, cutoff: float) -> Bound:
        """Kelley's cutting planes, asked a little towards the best prices so far."""
        program = _Program(self, part, fall, piece, self._usable(part), start)
        best = Bound(-math.inf, start, None)
        prices = start
        for _ in range(_MOST_CUTS):
            least, cut = self.cheapest(part, prices)
            if cut is None:
                return Bound(math.inf, prices, None)
            value = least + part.paid + program.rest(prices)
            if value > best.value:
                best = Bound(value, prices, cut)
            if best.value > self.dearest * (1 + 1e-6):
                return Bound(math.inf, prices, cut)
            if best.value >= cutoff:
                return best
            program.add(cut)
            self._keep(cut)
            ceiling, newest = program.solve()
            if newest is None or ceiling - best.value <= 1e-5 * max(abs(best.value), 1e-12):
                return best
            prices = _between(newest, best.prices)
        return best

    def _usable(self, part: Part) -> list[Cut]:
        banned = np.isinf(part.charges)
        return [cut for cut in self.cuts if not cut.uses[banned].any()]

    def _keep(self, cut: Cut) -> None:
        if math.isfinite(cut.time):
            self.cuts.append(cut)
            del self.cuts[:-_KEPT_CUTS]


def start_prices(dual: Dual, part: Part, requirement: Requirement) -> Prices:
    """Prices to begin with: the best of a coarse search, gains priced so that they just suffice.

    The dual is concave, so golden sections on the logarithm of lam, with a bisection on that of gamma inside,
    come close to its maximum for one typical margin.
    """
    middle = requirement.ranges[len(requirement.ranges) // 2]
    needed = max(requirement.fall + middle.margin_high, 1e-12)

    def at(multiplier: float) -> tuple[float, Prices]:
        low, high = _gain_price_range(dual, part, multiplier)
        best = -math.inf, Prices(multiplier, high, 0.0)
        for _ in range(_BISECTIONS):
            price = math.sqrt(low * high)
            least, cut = dual.cheapest(part, Prices(multiplier, price, 0.0))
            if cut is None:
                break
            paid = 0.0 if dual.maximum_time is None else multiplier * dual.maximum_time
            best = max(best, (least + price * needed - paid, Prices(multiplier, price, 0.0)))
            low, high = (price, high) if cut.gain < needed else (low, price)
        return best

    if dual.maximum_time is None:
        return at(0.0)[1]
    left, right = (math.log(end) for end in _time_price_range(dual))
    found = []
    inner = [right - _GOLDEN * (right - left), left + _GOLDEN * (right - left)]
    values = [at(math.exp(point)) for point in inner]
    for _ in range(_GOLDEN_STEPS):
        found += values
        if values[0][0] >= values[1][0]:
            right, inner[1], values[1] = inner[1], inner[0], values[0]
            inner[0] = right - _GOLDEN * (right - left)
            values[0] = at(math.exp(inner[0]))
        else:
            left, inner[0], values[0] = inner[0], inner[1], values[1]
            inner[1] = left + _GOLDEN * (right - left)
            values[1] = at(math.exp(inner[1]))
    return max(found + values)[1]


def _time_price_range(dual: Dual) -> tuple[float, float]:
    """Prices of time between next to nothing and full capacity everywhere."""
    low, high = 1e-12, 1e12
    fastest = dual.places.at(high).time
    quick = np.where(np.isfinite(fastest), fastest, 0.0)
    for _ in range(60):
        middle = math.sqrt(low * high)
        time = dual.places.at(middle).time
        same = np.allclose(np.where(np.isfinite(time), time, 0.0), quick, rtol=1e-9)
        low, high = (low, middle) if same else (middle, high)
        if high < 2 * low:
            break
    return high * 1e-8, high


def _gain_price_range(dual: Dual, part: Part, multiplier: float) -> tuple[float, float]:
    """Prices of gain at which nothing, and everything, is worth its cost."""
    psi = dual.priced(multiplier).psi + part.charges
    known = psi[np.isfinite(psi) & (psi > 0)]
    cost = float(np.median(known)) if known.size else 1.0
    gains = dual.learning.gains[dual.learning.gains > 0]
    gain = float(np.median(gains)) if gains.size else 1.0
    return 1e-4 * cost / gain, 1e4 * cost / gain


@dataclass(frozen=True, eq=False)
class _Fixed:
    """Places whose psi does not depend on a price."""

    places: Places
    psi_of: Callable[[Places], FloatArray]

    @property
    def factors(self) -> FloatArray:
        return self.places.factors

    @property
    def low(self) -> FloatArray:
        return self.places.low

    @property
    def high(self) -> FloatArray:
        return self.places.high

    @property
    def fastest(self) -> FloatArray:
        return self.places.fastest

    def at(self, multiplier: float) -> Priced:
        psi = self.psi_of(self.places)
        return Priced(psi, np.zeros(psi.shape))


def _free(places: Places) -> FloatArray:
    return np.where(np.isinf(places.at(0.0).psi), math.inf, 0.0)


def _fastest(places: Places) -> FloatArray:
    return places.fastest


class _Program:
    """max z subject to z <= the value of every cut at the prices and at both ends of the range."""

    def __init__(
        self,
        dual: Dual,
        part: Part,
        fall: float,
        piece: VarianceRange,
        cuts: Sequence[Cut],
        start: Prices,
    ) -> None:
        self._part, self._fall = part, fall
        self._least_unit = start.gain * abs(fall) / 10
        limit = dual.maximum_time  # a plan may exceed it by the tolerance
        self._limit = None if limit is None else limit * (1 + TIME_TOLERANCE)
        self._ends = sorted({(piece.low, piece.margin_low), (piece.high, piece.margin_high)})
        self._units: tuple[float, float, float, float] | None = None
        self._solver = highspy.Highs()  # type: ignore[no-untyped-call]
        self._solver.setOptionValue("output_flag", False)
        self._waiting = list(cuts)
        self._variance = max(piece.high, 1e-300)

    def rest(self, prices: Prices) -> float:
        """What the prices add to the reduced cost, rounded down."""
        parts = [
            prices.gain * (self._fall + margin) - prices.variance * variance
            for variance, margin in self._ends
        ]
        paid = prices.time * self._limit if self._limit is not None else 0.0
        return min(parts) - paid - _ROUNDING * (max(map(abs, parts)) + paid)

    def add(self, cut: Cut) -> None:
        """Two rows of a cut, one for each end."""
        if self._units is None:
            self._begin(cut)
        self._rows([cut])

    def solve(self) -> tuple[float, Prices | None]:
        """The ceiling of the bound and where it is attained."""
        self._solver.run()
        if self._solver.getModelStatus() != highspy.HighsModelStatus.kOptimal or self._units is None:
            return math.inf, None
        ceiling, *values = self._solver.getSolution().col_value
        cost, *units = self._units
        time, gain, variance = (value * cost / unit for value, unit in zip(values, units, strict=True))
        return ceiling * cost + self._part.paid, Prices(max(time, 0.0), max(gain, 0.0), variance)

    def _begin(self, cut: Cut) -> None:
        """Units from the first sequence, so that all numbers are of a size."""
        used = cut.uses > 0
        cost = max(cut.cost + float(cut.uses[used] @ self._part.charges[used]), self._least_unit, 1e-12)
        time = self._limit if self._limit is not None else 1.0
        self._units = cost, time, max(abs(self._fall), 1e-12), self._variance
        free = highspy.kHighsInf
        timed = _LARGEST_PRICE if self._limit is not None else 0.0
        spread = _LARGEST_PRICE if self._ends[-1][0] > 0 else 0.0
        lower = np.array([-free, 1e-9 if timed else 0.0, 0.0, -spread])
        self._solver.addVars(4, lower, np.array([free, timed, _LARGEST_PRICE, spread]))
        self._solver.changeColCost(0, -1.0)
        self._rows(self._waiting)

    def _rows(self, cuts: Sequence[Cut]) -> None:
        """Two rows for every cut, one for each end of the range."""
        if self._units is None or not cuts:
            return
        cost, time, gain, variance = self._units
        charges = np.where(np.isinf(self._part.charges), 0.0, self._part.charges)  # of sites in use
        sums = np.array(
            [(cut.cost + float(cut.uses @ charges), cut.time, cut.gain, cut.variance) for cut in cuts]
        )
        late = 0.0 if self._limit is None else (sums[:, 1] - self._limit) / time
        rows = np.ones((len(cuts), len(self._ends), 4))
        for place, (end, margin) in enumerate(self._ends):
            rows[:, place, 1] = -late
            rows[:, place, 2] = -(self._fall + margin - sums[:, 2]) / gain
            rows[:, place, 3] = -(sums[:, 3] - end) / variance
        count = rows.shape[0] * rows.shape[1]
        self._solver.addRows(
            count,
            np.full(count, -highspy.kHighsInf),
            np.repeat(sums[:, 0] / cost, len(self._ends)),
            4 * count,
            np.arange(0, 4 * count, 4, dtype=np.int32),
            np.tile(np.arange(4, dtype=np.int32), count),
            rows.ravel(),
        )


def _between(newest: Prices, best: Prices) -> Prices:
    return Prices(*(new + _INWARDS * (old - new) for new, old in zip(newest, best, strict=True)))

r"""Prices of time, gain and variance, and the lower bounds that they prove (weak duality; docs, *The loop*).

For prices lam, gamma >= 0 and nu, every plan whose variance V lies in a range with the margin r(V)
(`depl.heuristics.bounds.requirement`) costs at least F(paid) + min over sequences of sum [psi(lam) + charge -
gamma gain + nu variance] + min over both ends of [gamma (g + r(V_e)) - nu V_e] - lam T_max. A site's charge
is a share of its transfers, F / K_max. The minimum over sequences is a dynamic program, the maximum over
prices is found by Kelley's cutting planes; cuts are kept and used again wherever their sites are allowed.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from depl.heuristics.bounds.learning import Learning
from depl.heuristics.bounds.requirement import Requirement, VarianceRange
from depl.heuristics.data.sites import Places, Priced
from depl.models.foundation.compiling import kernel
from depl.models.foundation.deadline import keep_time
from depl.models.foundation.search import golden_sections
from depl.models.foundation.tolerances import TIME_TOLERANCE
from depl.models.problem.laws import FloatArray
from depl.models.programs.cut_program import CutProgram

MOST_CUTS = 60
"""Sequences asked for in one run of the cutting planes. Set by hand: a run ends at `CLOSED`; one that does
not keeps its best bound, which is valid all the same, so fewer make some bounds weaker and runs shorter."""

CLOSED = 1e-5
"""Relative gap between the ceiling of the program and the best bound at which a run ends. Set by hand: a
bound is at most that much below the best; a smaller gap asks for more sequences in every run."""

_INWARDS = 0.3
"""Share of the way from the newest prices back to the best ones so far. Set by hand: 0 is Kelley's method,
whose prices jump; nearer to 1, each cut moves the prices less. The bound it converges to is the same."""

_LARGEST_PRICE = 1e4
"""Bounds of the prices in units of the first sequence's cost per T_max, fall and range, so that the program
has an optimum from its first cut on. Set by hand: every price proves a bound, so a bound that needs a greater
one is weaker, never wrong."""
_SIGNS = np.array([1.0, -1.0, 1.0, 1.0, 1.0])
"""Of time, gain, variance, excess and roughness in a row: a plan has at most T_max and at least the gain."""


class Prices(NamedTuple):
    """lam [cost / time], gamma [cost / loss], nu [cost / loss**2]; of B and roughness under a tilt [cost]."""

    time: float
    gain: float
    variance: float
    excess: float = 0.0
    roughness: float = 0.0


def between(newest: Prices, best: Prices) -> Prices:
    """Where to ask next: the prices of the program, a little towards the best ones so far."""
    return Prices(*(new + _INWARDS * (old - new) for new, old in zip(newest, best, strict=True)))


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
    excess: float = 0.0
    roughness: float = 0.0

    @property
    def sums(self) -> tuple[float, float, float, float, float]:
        """What the prices are paid for, in their order."""
        return self.time, self.gain, self.variance, self.excess, self.roughness


class CuttingPlanes:
    """max z subject to z <= the value of every cut at the prices and at both ends of the range."""

    def __init__(
        self,
        part: Part,
        fall: float,
        piece: VarianceRange,
        cuts: Sequence[Cut],
        start: Prices,
        limit: float | None,
        same_time: bool,
    ) -> None:
        self._part, self._fall, self._limit = part, fall, limit
        self._least_unit = start.gain * abs(fall) / 10
        self._fixed = start.time if same_time else None
        ends = np.array(piece.corners)
        self._asked = np.column_stack([np.full(len(ends), limit or 0.0), fall + ends[:, 3], ends[:, :3]])
        self._units: FloatArray | None = None
        self._program: CutProgram | None = None
        self._waiting = list(cuts)
        low = np.array([piece.low, piece.excess_low, piece.rough_low])
        high = np.array([piece.high, piece.excess_high, piece.rough_high])
        self._endless = np.isinf(high)  # nothing is paid for more of a sum without an end
        self._sizes = np.maximum(np.abs(low), np.where(self._endless, 0.0, np.abs(high)))

    def add(self, cut: Cut) -> None:
        """Rows of a cut, one for each corner."""
        if self._units is None:
            self._begin(cut)
        self._rows([cut])

    def solve(self) -> tuple[float, Prices | None]:
        """The ceiling of the bound and where it is attained; none where HiGHS refused a cut."""
        found = None if self._program is None else self._program.solve()
        if found is None or self._units is None:
            return math.inf, None
        cost = self._units[0]
        prices = found.point * cost / self._units[1:]
        prices[:2] = np.maximum(prices[:2], 0.0)
        prices[2:] = np.where(self._endless, np.minimum(prices[2:], 0.0), prices[2:])
        return float(found.ceiling * cost) + self._part.paid, Prices(*prices.tolist())

    def _begin(self, cut: Cut) -> None:
        """Units from the first sequence, so that all numbers are of a size."""
        used = cut.uses > 0
        cost = max(cut.cost + float(cut.uses[used] @ self._part.charges[used]), self._least_unit, 1e-12)
        time = self._limit if self._limit is not None else 1.0
        fall = max(abs(self._fall), 1e-12)
        self._units = np.array([cost, time, fall, *np.where(self._sizes > 0, self._sizes, 1.0)])
        timed = _LARGEST_PRICE if self._limit is not None else 0.0
        lower = np.array([1e-9 if timed else 0.0, 0.0, *[-_LARGEST_PRICE] * 3])
        upper = np.array([timed, _LARGEST_PRICE, *np.where(self._endless, 0.0, _LARGEST_PRICE)])
        if self._fixed is not None:
            lower[0] = upper[0] = self._fixed * time / cost
        self._program = CutProgram(lower, upper)
        self._rows(self._waiting)

    def _rows(self, cuts: Sequence[Cut]) -> None:
        """Rows for every cut, one per corner of the range; a time without end is expensive at any price."""
        cuts = [cut for cut in cuts if self._limit is None or math.isfinite(cut.time)]
        if self._units is None or self._program is None or not cuts:
            return
        charges = np.where(np.isinf(self._part.charges), 0.0, self._part.charges)  # of sites in use
        costs = np.array([cut.cost + float(cut.uses @ charges) for cut in cuts])
        sums = np.array([cut.sums for cut in cuts])
        if self._limit is None:
            sums[:, 0] = 0.0
        rows = (self._asked - sums[:, None]) * _SIGNS / self._units[1:]
        rights = np.repeat(costs / self._units[0], len(self._asked))
        self._program.add(rows.reshape(len(rights), -1), rights)


_KEPT_CUTS = 24
"""Cuts kept for the ranges and parts that follow, the newest. Set by hand: each adds its rows to every
program; with fewer, more iterations find them again."""
_ROUNDING = 1e-11
"""Share by which least values are rounded down: a sum of K reduced costs of some ten operations each is off
by (K + 10) 2**-53 of its magnitudes, which stays below 1e-11 up to K of about 90,000."""
_FAR = 1.3
"""Ranges are left once their bound is so many times the least so far: they are not looked at for plans. Set
by hand: the least bound is the same for any number above 1; a larger one keeps less likely spreads open."""
_GOLDEN_STEPS = 12
"""Steps on the logarithm of the price of time: its range of 1e8 shrinks to a factor of exp(0.06). Set by
hand: it is where cutting planes begin, so that fewer only give them more to do; a step more costs one
bisection."""
_BISECTIONS = 14
"""Steps on the logarithm of the price of gain: its range of 1e8 shrinks to a factor of 1.001. Set by hand: it
is where cutting planes begin, so that fewer only give them more to do; a step more costs one dynamic
program."""


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
    highest_cost : float
        No plan costs more [cost].
    closed : float
        Relative gap between the ceiling of the cutting planes and the best bound at which a run ends.

    Attributes
    ----------
    same_time : bool
        Leave the price of time as it is: psi then is known.
    """

    learning: Learning
    places: Places
    maximum_time: float | None
    highest_cost: float
    cuts: list[Cut] = field(default_factory=list)
    closed: float = CLOSED
    same_time: bool = field(default=False, init=False)
    _fixed: Priced | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        """Read units of cost, time, gain and variance, and the prices to begin with."""
        epochs, models = self.learning.gains.shape
        self._work = np.empty((epochs, models)), np.empty((epochs, models), dtype=np.int64)
        self._paths = np.empty((epochs, models)), np.empty((epochs, models), dtype=np.int64)
        self._variances = np.where(np.isfinite(self.learning.variances), self.learning.variances, 0.0)
        changes = self.learning.switch_variances
        # beyond the plans' own losses only where a plan may not end so, which no bound has to allow for
        losses = self.learning.switch_losses + self.learning.end_charges
        # loss, variance, excess and roughness
        self._switches = np.array([losses, np.where(np.isfinite(changes), changes, 0.0), *[0 * losses] * 2])
        self._priced: dict[float, Priced] = {}

    def bound(self, part: Part, requirement: Requirement, start: Prices, cutoff: float = math.inf) -> Bound:
        """The least over all ranges; may stop at any value from ``cutoff`` on.

        Parameters
        ----------
        start : tuple
            Prices to begin with; any are valid.
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

    def values(self, part: Part, requirement: Requirement, prices: Prices) -> list[float]:
        """The bound that given prices prove for every range; infinite beyond what any plan can cost."""
        return self.valued(part, requirement, prices)[0]

    def valued(self, part: Part, requirement: Requirement, prices: Prices) -> tuple[list[float], Cut | None]:
        """The same, and the sequence that is cheapest at these prices."""
        least, cut = self.cheapest(part, prices)
        if cut is None:
            return [math.inf] * len(requirement.ranges), None
        rests = (_rest(requirement.fall, piece, self.limit, prices) for piece in requirement.ranges)
        values = (least + part.paid + rest for rest in rests)
        return [math.inf if value > self.highest_cost * (1 + 1e-6) else value for value in values], cut

    @property
    def limit(self) -> float | None:
        """T_max with the tolerance by which a plan may exceed it [time]."""
        return None if self.maximum_time is None else self.maximum_time * (1 + TIME_TOLERANCE)

    def without_cost(self) -> "Dual":
        """The same sequences where nothing costs anything: for what can be reached at all."""
        return self._with_psi(np.where(np.isinf(self.places.at(0.0).psi), math.inf, 0.0))

    def with_times(self) -> "Dual":
        """The same sequences with their least times in place of costs."""
        return self._with_psi(self.places.fastest)

    def _with_psi(self, psi: FloatArray) -> "Dual":
        """The same sequences where psi does not depend on a price."""
        found = Dual(self.learning, self.places, None, math.inf)
        found._fixed = Priced(psi, np.zeros(psi.shape))
        return found

    def priced(self, multiplier: float) -> Priced:
        """The places at a price of time; the last few are remembered."""
        if self._fixed is not None:
            return self._fixed
        if multiplier not in self._priced:
            if len(self._priced) > 8:
                self._priced.clear()
            self._priced[multiplier] = self.places.at(multiplier)
        return self._priced[multiplier]

    def cheapest(self, part: Part, prices: Prices) -> tuple[float, Cut | None]:
        """Least reduced cost of a sequence, rounded down, and the sequence."""
        priced, weights = self.priced(prices.time), self._work[0]
        chosen = self._reduced(priced, part, prices)
        switches = sum(price * table for price, table in zip(prices[1:], self._switches, strict=True))
        switches = np.where(self.learning.allowed, switches, math.inf)
        least, models = cheapest_path(weights, switches, self._paths)
        if not len(models):
            return math.inf, None
        cut = self._cut(priced, prices, models, chosen[np.arange(len(models)), models])
        size = abs(least) + math.fsum(price * abs(part) for price, part in zip(prices, cut.sums, strict=True))
        size += len(models) * prices.gain * self.learning.end_charge
        return least - _ROUNDING * size, cut

    def _reduced(self, priced: Priced, part: Part, prices: Prices) -> NDArray[np.int64]:
        """Fill in the least reduced cost of every epoch and model; the site of each."""
        weights, chosen = self._work
        used = np.flatnonzero(np.isfinite(part.charges))
        few = 2 * len(used) < len(part.charges)
        pick = used if few else slice(None)
        reduced_costs(
            np.ascontiguousarray(priced.psi[..., pick]),
            priced.rows_of(len(weights)),
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
        row = priced.rows_of(len(models))
        time = priced.time[row, models, sites]
        spent = priced.psi[row, models, sites] - np.where(np.isinf(time), 0.0, prices.time * time)
        before = np.concatenate([[len(self.learning.switches) - 1], models[:-1]])
        gain, variance, excess = (float(part.sum()) for part in self._learned(prices, models, sites))
        lost, varied, exceeded, rough = (float(table[before, models].sum()) for table in self._switches)
        return Cut(
            models,
            sites,
            float(spent.sum()),
            float(time.sum()),
            gain - lost,
            variance + varied,
            np.bincount(sites, minlength=len(self.places.low)),
            excess + exceeded,
            rough,
        )

    def _learned(
        self, prices: Prices, models: NDArray[np.int64], sites: NDArray[np.int64]
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Gain, variance and B of every epoch of a sequence, without switches."""
        k = np.arange(len(models))
        gain = self.learning.gains[k, models]
        factor = np.where(gain > 0, self.places.factors[sites], self.places.low[sites])
        spread = (self.places.low if prices.variance > 0 else self.places.high)[sites]
        return factor * gain, spread**2 * self._variances[k, models], np.zeros(len(k))

    def _in_range(self, part: Part, fall: float, piece: VarianceRange, start: Prices, cutoff: float) -> Bound:
        """Kelley's cutting planes, asked a little towards the best prices so far."""
        cuts = self._usable(part)
        program = CuttingPlanes(part, fall, piece, cuts, start, self.limit, self.same_time)
        best = Bound(-math.inf, start, None)
        prices = start
        for _ in range(MOST_CUTS):
            keep_time()
            least, cut = self.cheapest(part, prices)
            if cut is None:
                return Bound(math.inf, prices, None)
            value = least + part.paid + _rest(fall, piece, self.limit, prices)
            if value > best.value:
                best = Bound(value, prices, cut)
            if best.value > self.highest_cost * (1 + 1e-6):
                return Bound(math.inf, prices, cut)
            if best.value >= cutoff:
                return best
            program.add(cut)
            self._keep(cut)
            ceiling, newest = program.solve()
            if newest is None or ceiling - best.value <= self.closed * max(abs(best.value), 1e-12):
                return best
            prices = between(newest, best.prices)
            if self.same_time:
                prices = prices._replace(time=start.time)
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
            keep_time()
            least, cut = dual.cheapest(part, Prices(multiplier, price, 0.0))
            if cut is None:
                break
            paid = 0.0 if dual.maximum_time is None else multiplier * dual.maximum_time
            best = max(best, (least + price * needed - paid, Prices(multiplier, price, 0.0)))
            low, high = (price, high) if cut.gain < needed else (low, price)
        return best

    if dual.maximum_time is None:
        return at(0.0)[1]
    low, high = (math.log(end) for end in _time_price_range(dual))
    asked = golden_sections(lambda x: at(math.exp(x)), low, high, _GOLDEN_STEPS, value=itemgetter(0))
    return max(found for _, found in asked)[1]


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
        if high < (1 + 1e-6) * low:  # the same in all units
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


def _rest(fall: float, piece: VarianceRange, limit: float | None, prices: Prices) -> float:
    """What prices add to the reduced cost of plans in a range, rounded down."""
    ends = (prices.excess, piece.excess_high), (prices.roughness, piece.rough_high)
    if any(price > 0 and end == math.inf for price, end in ends):  # it has no end
        return -math.inf
    terms = [
        (prices.gain * (fall + margin), *(-price * end for price, end in zip(prices[2:], sums, strict=True)))
        for *sums, margin in piece.corners
    ]
    paid = prices.time * limit if limit is not None else 0.0
    size = max(sum(map(abs, row)) for row in terms)  # and not that of the sums, whose terms may cancel
    return min(map(sum, terms)) - paid - _ROUNDING * (size + paid)


Floats = NDArray[np.floating[Any]]
Integers = NDArray[np.int64]


@kernel()
def reduced_costs(
    psi: Floats,
    rows: Integers,
    charges: Floats,
    gains: Floats,
    variances: Floats,
    factors: Floats,
    low: Floats,
    high: Floats,
    gain_price: float,
    variance_price: float,
    weights: Floats,
    chosen: Integers,
) -> None:
    """Least psi + charge - gain_price gain + variance_price variance of every epoch and model over the sites.

    A site leaves ``factors`` of a gain, ``low`` of a loss, and between ``low`` and ``high`` of a deviation;
    the better end counts. ``psi`` has shape (B, M, O), a row for every epoch, ``charges`` are
    infinite where a site may not be used.
    """
    epochs, models = gains.shape
    for k in range(epochs):
        row = rows[k]
        for m in range(models):
            best, place = math.inf, -1
            gain, variance = gains[k, m], variances[k, m]
            for o in range(charges.size):
                factor = factors[o] if gain > 0 else low[o]
                spread = low[o] if variance_price > 0 else high[o]
                value = psi[row, m, o] + charges[o] - gain_price * factor * gain
                if variance_price != 0:
                    value += variance_price * spread * spread * variance
                if value < best:
                    best, place = value, o
            weights[k, m] = best
            chosen[k, m] = place


def cheapest_path(weights: Floats, switches: Floats, room: tuple[Floats, Integers]) -> tuple[float, Integers]:
    """Least weight of a sequence of at least one epoch, and its models; none where none is allowed.

    Parameters
    ----------
    weights : float array (K, M)
        Infinite where an epoch may not train a model.
    switches : float array (M + 1, M)
        Row M for the start; infinite where not allowed.
    room : float array (K, M) and int array (K, M)
        Working space.
    """
    values, before = room
    least, length, last = _cheapest_sequence(weights, switches, values, before)
    if last < 0:
        return math.inf, np.empty(0, dtype=np.int64)
    models = np.empty(length, dtype=np.int64)
    for k in range(length - 1, -1, -1):
        models[k], last = last, before[k, last]
    return least, models


@kernel(interpreted=True)
def _cheapest_sequence(
    weights: Floats, switches: Floats, values: Floats, before: Integers
) -> tuple[float, int, int]:
    """Least weight of a sequence of at least one epoch, its length and its last model.

    ``switches`` has shape (M + 1, M), row M for the start, infinite where not allowed; ``values[k, m]`` and
    ``before[k, m]`` receive the least weight of k + 1 epochs that end with m and the model before.
    """
    epochs, models = weights.shape
    best, length, last = math.inf, 0, -1
    for k in range(epochs):
        for m in range(models):
            least, previous = math.inf, -1
            if k == 0:
                least, previous = switches[models, m], models
            else:
                for p in range(models):
                    value = values[k - 1, p] + switches[p, m]
                    if value < least:
                        least, previous = value, p
            values[k, m] = least + weights[k, m]
            before[k, m] = previous
            if values[k, m] < best:
                best, length, last = values[k, m], k + 1, m
    return best, length, last

"""What an epoch costs at a price of time: psi, its resources and its time, in closed form (Sec. III).

Derived on the page "The problem, exactly" (``closed-form``), with late and idle epochs; the *pace* is
sqrt(lam). Rounding: roots are taken before products and quotients, as c kappa and c / kappa leave the range
of doubles far earlier. From the pace r / g on, g = sqrt(c / kappa), the x of arrays is r exactly.
`least_resources`, `drive` and `priced` say this for one epoch, as plain functions of numbers, which
`depl.heuristics.bounds.frontier` compiles; `EpochCosts` says it for arrays.
"""

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.tolerances import TIME_TOLERANCE
from depl.models.problem.epochs import Load
from depl.models.problem.laws import FloatArray


def drive(multiplier: float, price: float) -> float:
    """sqrt(lam / kappa): with sqrt(c) times this x is optimal if nothing clips it; infinite for kappa = 0."""
    return math.sqrt(multiplier) / math.sqrt(price) if price > 0 else math.inf


def priced(
    work: float,
    price: float,
    capacity: float,
    communication: float,
    least: float,
    multiplier: float,
    driven: float,
) -> tuple[float, float]:
    """psi(lam) of one epoch [cost] and the time at which it is attained [time].

    Parameters
    ----------
    work, price, capacity, communication : float
        As in `Load`.
    least : float
        x_min; infinite if the epoch is late, and so are then both results [resource].
    multiplier : float
        lam >= 0, finite [cost / time].
    driven : float
        `drive` of lam and the price, which many epochs share.
    """
    if least == math.inf:
        return math.inf, math.inf
    if work <= 0:
        return multiplier * communication, communication
    x = min(max(driven * math.sqrt(work), least), capacity)
    if x == 0:  # lam is 0, or x too small for a double
        return multiplier * communication, math.inf
    time = work / x + communication
    return price * x + multiplier * time, time


def least_resources(work: float, capacity: float, communication: float, round_deadline: float) -> float:
    """x_min of one epoch under a deadline, infinite for none; itself infinite if the epoch is late."""
    if communication + (work / capacity if work > 0 else 0.0) > round_deadline * (1 + TIME_TOLERANCE):
        return math.inf
    if work == 0:
        return 0.0
    left = round_deadline - communication
    return capacity if left * capacity <= work else work / left


def minimum_resources(load: Load, round_deadline: float | None) -> float:
    """x_min: the least resources with which one epoch keeps the round deadline [resource].

    Returns
    -------
    float
        0 without a deadline or without work; at most ``load.capacity``; infinite if the deadline cannot be
        kept. As for T_max, an epoch that misses the deadline with full resources by at most
        `TIME_TOLERANCE` (relative) counts as keeping it, with full resources. This includes every case
        in which c / (tau - s) exceeds r by 1e-12 or less, and does not depend on how tau - s was rounded.
    """
    deadline = math.inf if round_deadline is None else round_deadline
    return least_resources(load.work, load.capacity, load.communication, deadline)


def price(load: Load, multiplier: float, round_deadline: float | None) -> float:
    """psi(lam): the least of kappa x + lam (c / x + s) over the allowed x of one epoch [cost].

    Infinite if the epoch cannot keep the deadline. At lam = 0 without a deadline it is the infimum 0.

    Raises
    ------
    InvalidInputError
        If ``multiplier`` is negative or not finite.
    """
    require_multiplier(multiplier)
    work, capacity, sent = load.work, load.capacity, load.communication
    least = least_resources(work, capacity, sent, math.inf if round_deadline is None else round_deadline)
    return priced(work, load.price, capacity, sent, least, multiplier, drive(multiplier, load.price))[0]


def root(load: Load) -> float:
    """sqrt(c kappa): where nothing clips x, psi(lam) is 2 sqrt(lam) times this, and lam s."""
    return math.sqrt(load.work) * math.sqrt(load.price)


def require_multiplier(multiplier: float) -> None:
    """Refuse what is no price of time.

    Raises
    ------
    InvalidInputError
        If ``multiplier`` is negative or not finite.
    """
    if not 0 <= multiplier < math.inf:
        raise InvalidInputError(f"must be a finite nonnegative number, not {multiplier}", "multiplier")


@dataclass(frozen=True, eq=False)
class EpochCosts:
    """Many kinds of epochs; arrays that broadcast with one another, ``work`` in the shape of all.

    Attributes
    ----------
    work, price, capacity, communication : ndarray
        As in `Load`.
    least : ndarray
        x_min, infinite where an epoch is late; in the shape of all [resource].
    """

    work: FloatArray
    price: FloatArray
    capacity: FloatArray
    communication: FloatArray
    least: FloatArray

    @classmethod
    def of(cls, loads: Sequence[Load], round_deadline: float | None) -> Self:
        """Those of R loads, arrays of shape (R,)."""
        rows = [(x.work, x.price, x.capacity, x.communication) for x in loads]
        work, unit_price, capacity, sent = np.array(rows, dtype=float).reshape(len(rows), 4).T.copy()
        return cls.of_arrays(work, unit_price, capacity, sent, round_deadline)

    @classmethod
    def of_arrays(
        cls,
        work: FloatArray,
        price: FloatArray,
        capacity: FloatArray,
        communication: FloatArray,
        round_deadline: float | None,
    ) -> Self:
        """Those of arrays; the deadline may be None or infinite."""
        if round_deadline is None or round_deadline == math.inf:
            return cls(work, price, capacity, communication, np.zeros(work.shape))
        left = round_deadline - communication
        least = np.broadcast_to(capacity, work.shape).copy()
        np.divide(work, left, out=least, where=left * capacity > work)
        late = communication + work / capacity > round_deadline * (1 + TIME_TOLERANCE)
        least = np.where(late, math.inf, np.where(work > 0, least, 0.0))
        return cls(work, price, capacity, communication, least)

    def resources(self, pace: float | FloatArray) -> FloatArray:
        """The x that attains psi(lam) at the pace sqrt(lam) [resource].

        0 without work; full where an epoch is late. The pace is finite, a number or an array that broadcasts
        with the shape of all; for an infinite one, x is `most`.
        """
        # np.clip takes twice as long as its two halves on arrays of a few dozen.
        free = np.minimum(np.maximum(pace * self.per_pace, self.least), self.most)
        return np.where(pace >= self.end, self.most, free)

    def durations(self, resources: FloatArray) -> FloatArray:
        """The time c / x + s, infinite where work gets no resources [time]."""
        with np.errstate(divide="ignore"):
            return np.asarray(self.work / (resources + self._nothing_to_do) + self.communication)

    def totals(self, resources: FloatArray, multiplier: float | FloatArray) -> FloatArray:
        """kappa x + lam (c / x + s); where x = 0, of lam times infinity the limit 0 counts [cost]."""
        computing = np.divide(self.work, resources, out=np.zeros(resources.shape), where=resources > 0)
        return np.asarray(self.price * resources + multiplier * (computing + self.communication))

    def prices(self, multiplier: float | FloatArray) -> FloatArray:
        """psi at a finite lam >= 0, or at one for each along the last axes; infinite where late [cost]."""
        return self._or_late(self.totals(self.resources(np.sqrt(multiplier)), multiplier))

    def priced(self, multiplier: float | FloatArray) -> tuple[FloatArray, FloatArray]:
        """psi and its slope in lam, the time at the minimiser; both infinite where late [cost], [time]."""
        chosen = self.resources(np.sqrt(multiplier))
        psi, times = self.totals(chosen, multiplier), self.durations(chosen)
        return self._or_late(psi), self._or_late(times)

    @functools.cached_property
    def late(self) -> NDArray[np.bool_]:
        """Where even full resources miss the round deadline."""
        return np.isinf(self.least)

    @functools.cached_property
    def most(self) -> FloatArray:
        """The most that an epoch can use: r, or 0 without work [resource]."""
        return np.where(self._busy, self.capacity, 0.0)

    @functools.cached_property
    def shortest(self) -> FloatArray:
        """The time with full resources, late or not [time]."""
        return np.asarray(np.where(self._busy, self.work / self.capacity, 0.0) + self.communication)

    @functools.cached_property
    def fastest(self) -> FloatArray:
        """The time with full resources, infinite where late [time]."""
        return self._or_late(self.shortest)

    @functools.cached_property
    def per_pace(self) -> FloatArray:
        """g = sqrt(c / kappa), the free x at the pace 1; 0 where x does not depend on the pace."""
        work, unit_price = self._roots
        return np.divide(work, unit_price, out=np.zeros(work.shape), where=self.movable)

    @functools.cached_property
    def root(self) -> FloatArray:
        """sqrt(c kappa); where x moves freely, computing takes this by the pace."""
        work, unit_price = self._roots
        return np.asarray(work * unit_price)

    @functools.cached_property
    def start(self) -> FloatArray:
        """The pace at which x leaves x_min; 0 where x does not depend on the pace."""
        return np.where(self.movable, self.least, 0.0) * self._inverse

    @functools.cached_property
    def end(self) -> FloatArray:
        """The pace from which on x is full; 0 where x does not depend on the pace."""
        return self.most * self._inverse

    @functools.cached_property
    def movable(self) -> NDArray[np.bool_]:
        """Where x depends on the pace: priced work that is not late."""
        return np.asarray(self._busy & (self.price > 0) & ~self.late)

    @functools.cached_property
    def _inverse(self) -> FloatArray:
        work, unit_price = self._roots
        return np.divide(unit_price, work, out=np.zeros(work.shape), where=self.movable)

    @functools.cached_property
    def _roots(self) -> tuple[FloatArray, FloatArray]:
        return np.sqrt(self.work), np.sqrt(self.price)

    @functools.cached_property
    def _busy(self) -> NDArray[np.bool_]:
        return self.work > 0

    @functools.cached_property
    def _nothing_to_do(self) -> FloatArray:
        """1 without work and 0 with it: a divisor that keeps 0 / 0 away, where a mask would take longer."""
        return np.where(self._busy, 0.0, 1.0)

    @functools.cached_property
    def _anything_late(self) -> bool:
        return bool(self.late.any())

    def _or_late(self, values: FloatArray) -> FloatArray:
        """Some values, but infinite where an epoch is late."""
        return np.where(self.late, math.inf, values) if self._anything_late else values

"""Centred log-transforms of increments by interpolation: a label that is the quantile itself, to first order.

Near a plan whose quantile lies at the saddle point s, the quantile of a neighbour changes by what

    E Y + ln E exp(s (Y - E Y)) / s

changes in the sum over its increments Y: by Lugannani and Rice P(L > x) is exp(C(s) - s (x - E L)) at C'(s) =
x - E L, times something that hardly changes. One law serves a thousand epochs, each with its own
coefficient, so ln E exp(-u (X - E X)) / u**2 is tabulated by law. Nothing is certified here.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy import interpolate, special

from depl.models.problem.epochs import Term
from depl.models.problem.laws import FloatArray, Law
from depl.models.risk.transforms import centred_log_transform

_STEP = 0.1
"""Distance of the nodes of a table in ln u. Set by hand: halved, a table is twice as long and the error of
its cubic spline falls to about a sixteenth."""
_MARGIN = 2
"""Nodes beyond the ends of what is asked: a cubic spline is least exact in its last intervals, and needs four
nodes where a single value is asked for; so there are five."""
_RATES = np.geomspace(0.1, 4.0, 25)
"""Rates that are tabulated, in units of sqrt(2 ln(1 / p)) per standard deviation, at which Chernoff's bound
of a normal loss is least. Set by hand: other losses have their saddle point elsewhere, and beyond the ends
none is found."""
_FINE = 20
"""Points read from the spline for every rate of the table. Set by hand: in between, tails are interpolated
linearly in their logarithm; more points cost little, as no law is asked again."""


@dataclass(eq=False)
class Cumulants:
    """Tables by law, made where they are asked for.

    Parameters
    ----------
    core : callable
        A term that has exponential moments in place of one that may have none.
    """

    core: Callable[[Term], Term] = lambda term: term
    _tables: dict[tuple[Law, bool], "_Table"] = field(default_factory=dict, init=False)
    _cores: dict[tuple[Law, float], tuple[Law, float]] = field(default_factory=dict, init=False)

    def of(self, law: Law, arguments: FloatArray) -> FloatArray:
        """ln E exp(t (X - E X)) at real t of one sign, any shape; 0 at 0."""
        t = np.asarray(arguments, dtype=float)
        used = t != 0
        found = np.zeros(t.shape)
        if used.any():
            kept, scale = self._core(law, bool(t[used].flat[0] > 0))
            t = scale * t[used]
            found[used] = self._table(kept, bool(t.flat[0] > 0)).at(np.abs(t))
        return found

    def summed(self, terms: Sequence[tuple[Term, int]], rates: FloatArray) -> FloatArray:
        """ln E exp(s (Y - E Y)) of a sum of terms at some rates s > 0, shape (len(rates),)."""
        groups: dict[tuple[Law, bool], list[tuple[float, int]]] = {}
        for term, count in terms:
            groups.setdefault((term.law, term.coefficient > 0), []).append((term.coefficient, count))
        found = np.zeros(len(rates))
        for (law, _), rows in groups.items():
            coefficients, counts = np.array(rows).T
            found += self.of(law, rates[:, None] * coefficients) @ counts
        return found

    def _core(self, law: Law, positive: bool) -> tuple[Law, float]:
        """A law with exponential moments in place of one, and a factor of arguments of this sign."""
        # Tails are cut off on both sides, moments may be missing on one.
        sign = 1.0 if positive or law.tailed is not None else -1.0
        if (law, sign) not in self._cores:
            core = self.core(Term(sign, law))
            self._cores[law, sign] = core.law, sign * core.coefficient
        return self._cores[law, sign]

    def _table(self, law: Law, positive: bool) -> "_Table":
        if (law, positive) not in self._tables:
            self._tables[law, positive] = _Table(law, -1.0 if positive else 1.0)
        return self._tables[law, positive]


@dataclass(eq=False)
class _Table:
    """ln E exp(-u sign (X - E X)) / u**2 at ln u = i _STEP, between two i that grow with what is asked."""

    law: Law
    sign: float
    first: int = 0
    values: FloatArray = field(default_factory=lambda: np.empty(0))
    spline: interpolate.CubicSpline | None = None

    def at(self, u: FloatArray) -> FloatArray:
        x = np.log(u) / _STEP
        low, high = math.floor(x.min()) - _MARGIN, math.ceil(x.max()) + _MARGIN
        last = self.first + len(self.values) - 1
        if self.spline is None:
            self._extend(range(low, high + 1), range(0))
            self.first = low
        elif low < self.first or high > last:
            self._extend(range(low, self.first), range(last + 1, high + 1))
            self.first = min(low, self.first)
        nodes = self.first + np.arange(len(self.values))
        if self.spline is None or len(self.spline.x) != len(nodes):
            self.spline = interpolate.CubicSpline(nodes, self.values)
        return np.asarray(u * u * self.spline(x))

    def _extend(self, before: range, after: range) -> None:
        parts = [self._nodes(before), self.values, self._nodes(after)]
        self.values = np.concatenate(parts)

    def _nodes(self, places: range) -> FloatArray:
        u = np.exp(_STEP * np.array(places, dtype=float))
        if not len(u):
            return u
        arguments = (self.sign * u).astype(np.complex128)
        return np.asarray(centred_log_transform(self.law, arguments)[0].real / u**2)


@dataclass(frozen=True)
class Saddle:
    """A final loss by its saddle points: P(L - E L > x) against x, falling.

    Attributes
    ----------
    rates, deviations, tails : ndarray
        s, x(s) and the tail probability there, in order of s.
    """

    rates: FloatArray
    deviations: FloatArray
    tails: FloatArray

    @classmethod
    def of(
        cls, cumulants: Cumulants, terms: Sequence[tuple[Term, int]], deviation: float, budget: float
    ) -> "Saddle | None":
        """By Lugannani and Rice; None where ``budget`` is not among the tails, as above 1/2.

        Parameters
        ----------
        deviation : float
            A standard deviation of the sum [loss].
        """
        rates = math.sqrt(2 * math.log(1 / budget)) / deviation * _RATES
        nodes = np.concatenate([[0.0], rates])
        curve = interpolate.CubicSpline(nodes, np.concatenate([[0.0], cumulants.summed(terms, rates)]))
        s = np.geomspace(rates[0], rates[-1], _FINE * len(rates))
        c, slope, curvature = curve(s), curve(s, 1), curve(s, 2)
        usable = (curvature > 0) & (s * slope > c)
        s, c, slope, curvature = s[usable], c[usable], slope[usable], curvature[usable]
        w, u = np.sqrt(2 * (s * slope - c)), s * np.sqrt(curvature)
        tails = special.ndtr(-w) + np.exp(-(w**2) / 2) / math.sqrt(2 * math.pi) * (1 / u - 1 / w)
        falling = np.minimum.accumulate(np.where(tails > 0, tails, np.inf))
        if len(s) < 2 or not falling[-1] <= budget <= falling[0] < math.inf:
            return None
        return cls(s, slope, falling)

    def at(self, tail: float) -> tuple[float, float]:
        """x and s where the tail probability has a value, at the ends those there."""
        logarithms, wanted = -np.log(self.tails), -math.log(tail)
        x = float(np.interp(wanted, logarithms, self.deviations))
        return x, float(np.interp(wanted, logarithms, self.rates))

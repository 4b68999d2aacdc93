"""Additive labels that stand for the quantile near a plan that was seen; every plan is certified anyway.

Chernoff's bound of the quantile of L at a rate s is E L + (C(s) + ln(1 / p)) / s, C the centred
log-transform, which adds up over epochs. At its own best rate a seen plan (the *reference*) needs only a
share rho of that margin, and plans of another spread nearly the same share: `Judge.label`. And near a plan
whose quantile lies at the saddle point s, that of a neighbour changes by what E Y + ln E exp(s (Y - E Y)) / s
changes in the sum over its increments Y (Lugannani and Rice): `Cumulants`, `Saddle`.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import scipy
from scipy import special

from depl.heuristics.paths.additive_labels import (
    AdditiveLabel,
    entropic_label,
    expected_label,
    typical_deviation,
)
from depl.models.problem.epochs import FinalLoss, Term
from depl.models.problem.instance import Instance
from depl.models.problem.laws import FloatArray, Law, Normal
from depl.models.risk.certify import certified_quantile
from depl.models.risk.contour import like
from depl.models.risk.cores import core_term
from depl.models.risk.transforms import centred_log_transform, transformable
from depl.models.risk.verdicts import PreparedVerdicts, Verdict

_TAILS = 0.1
"""What is cut off a law without exponential moments, for the label alone, as a share of 1 - omega."""

_USUAL_SHARE = 0.7
"""rho before a plan was seen, and where no approximation of the margin holds: z_omega / sqrt(2 ln(1 / p)) of
a normal loss, which is 0.67 at omega = 0.95 and 0.77 at 0.99."""
_SHORT = 40
"""Terms up to which the quantile of a sum with atoms is certified and not approximated. Set by hand: the
steps of longer sums are smaller, so that a smooth approximation serves, and certifying them takes longer."""


_LATER = 0.1
"""Difference of the logarithms of two references' rate, share or margin above which their labels count as
different. Set by hand: halved, more rounds of ranking repeat what was seen; doubled, the slack of the label
has to make up for a larger error."""


@dataclass(frozen=True)
class Reference:
    """A final loss that was looked at: mean, deviation, with a stand-in where it is infinite, and quantile.

    ``rate`` is the best of Chernoff's bound [1 / loss], None without randomness; ``share``, rho, is negative
    where the quantile lies below the mean.
    """

    mean: float
    deviation: float
    quantile: float
    rate: float | None
    share: float

    @property
    def reach(self) -> float:
        """How far a smooth label of a plan like this one may be off where quantiles jump [loss]."""
        return abs(self.margin) + self.deviation

    @property
    def margin(self) -> float:
        """How far the quantile lies above the mean [loss]."""
        return self.quantile - self.mean

    def unlike(self, other: "Reference") -> bool:
        """Whether the label made from it is another one for plans of the same spread."""
        if self.rate is None or other.rate is None:
            return self.rate is not other.rate
        speeds = self.rate * self.deviation, other.rate * other.deviation
        pairs = (speeds, (self.share, other.share), (self.margin, other.margin))
        return any(differ(one, another, _LATER) for one, another in pairs)


class Judge:
    """Certifies final losses of one instance."""

    def __init__(self, instance: Instance) -> None:
        self.target = instance.target
        self.budget = instance.target.violation_budget
        self.cumulants = Cumulants(self.core)
        self._cores: dict[Term, Term] = {}
        self._verdicts = PreparedVerdicts(instance.target.maximum_loss, self.budget)

    def met(self, loss: FinalLoss) -> bool:
        """Whether the target is certified to be met."""
        return self._verdicts.verdict(loss) is Verdict.MET

    def tail(self, loss: FinalLoss) -> float:
        """P(l(K) > l_max) as far as it is known of a loss that was judged; nan where it is not."""
        known = self._verdicts.violation(loss)
        return math.nan if known is None else known[1]

    def reference(self, loss: FinalLoss) -> Reference:
        """What is known of a loss: a guide only, from the saddlepoint approximation and without far tails."""
        mean, deviation = loss.mean(), typical_deviation(loss)
        if deviation == 0:
            return Reference(mean, 0.0, mean, None, _USUAL_SHARE)
        terms = like([(self.core(term), count) for term, count in loss.terms])
        cores = FinalLoss(loss.constant, tuple(terms))
        budget = float(self.budget)
        rates = usual_rates(deviation, budget)
        logarithms = self.cumulants.summed(loss.terms, rates)
        rate = float(rates[np.argmin((logarithms - math.log(budget)) / rates)])
        chernoff = entropic_label(self.budget, rate)
        bound = chernoff.quantile(cores) - expected_label().quantile(cores)
        margin = self._exact_margin(cores, mean)
        if math.isnan(margin):
            saddle = Saddle.through(rates, logarithms, budget)
            margin = math.nan if saddle is None else saddle.at(budget)[0]
        if not -bound <= margin <= bound:
            margin = _USUAL_SHARE * bound
        return Reference(mean, deviation, mean + margin, rate, margin / bound)

    def refused(self, loss: FinalLoss) -> Reference:
        """What is known of a loss that was not certified, with its certified quantile where it was close."""
        found = self.reference(loss)
        if found.rate is None or found.margin <= 0 or found.quantile > self.target.maximum_loss:
            return found
        quantile = certified_quantile(loss, self.budget).upper
        if not math.isfinite(quantile):
            return found
        share = found.share * (quantile - found.mean) / found.margin
        return replace(found, quantile=quantile, share=share)

    def guess(self, deviation: float) -> Reference:
        """A reference of some spread, before anything was seen: the normal quantile."""
        margin = float(special.ndtri(self.target.quantile_level)) * deviation
        mean = self.target.maximum_loss - margin
        return Reference(mean, deviation, self.target.maximum_loss, None, _USUAL_SHARE)

    def label(self, reference: Reference, deviation: float) -> AdditiveLabel:
        """The label for plans of about this standard deviation [loss]."""
        if deviation == 0:
            return expected_label()
        if reference.rate is None or reference.deviation == 0:
            rate = math.sqrt(2 * math.log(1 / float(self.budget))) / deviation
        else:
            rate = reference.rate * reference.deviation / deviation
        mean, chernoff, share = expected_label(), entropic_label(self.budget, rate), reference.share

        def values(terms: Sequence[Term]) -> FloatArray:
            bounded = chernoff.values([self.core(term) for term in terms])
            plain = mean.values([self.core(term) for term in terms])
            return mean.values(terms) + share * (bounded - plain)

        name = f"calibrated, s = {rate:.4g}, rho = {share:.4g}"
        return replace(chernoff, name=name, values=values, surcharge=share * chernoff.surcharge, safe=False)

    def _exact_margin(self, cores: FinalLoss, mean: float) -> float:
        """The certified margin where no saddlepoint is: of short sums with atoms, at levels below 1/2."""
        atoms = any(term.law.has_atoms for term, _ in cores.terms) and len(cores.terms) <= _SHORT
        if not atoms and float(self.budget) < 0.5:
            return math.nan
        quantile = certified_quantile(cores, self.budget).upper
        return quantile - mean if math.isfinite(quantile) else math.nan

    def core(self, term: Term) -> Term:
        """The term, without the far tails of a law that has no exponential moments.

        One that offers none at all is guessed to be normal: labels guide, and every plan is certified anyway.
        """
        if transformable(term):
            return term
        if term not in self._cores:
            if term.law.tailed is not None:
                self._cores[term] = core_term(term, _TAILS * float(self.budget))
            else:
                guess = Normal(mean=term.law.moments().mean, variance=term.law.typical_square())
                self._cores[term] = Term(term.coefficient, guess)
        return self._cores[term]


def differ(one: float, other: float, by: float) -> bool:
    """Whether two positive numbers differ by more than a factor exp(by); others by more than that share."""
    if one > 0 and other > 0:
        return abs(math.log(one / other)) > by
    return abs(one - other) > by * max(abs(one), abs(other))


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
    spline: "scipy.interpolate.CubicSpline | None" = None

    def at(self, u: FloatArray) -> FloatArray:
        x = np.log(u) / _STEP
        low, high = math.floor(x.min()) - _MARGIN, math.ceil(x.max()) + _MARGIN
        first = self.first if len(self.values) else low
        end = first + len(self.values)
        if self.spline is None or low < first or high >= end:
            parts = self._nodes(range(low, first)), self.values, self._nodes(range(end, high + 1))
            self.values, self.first = np.concatenate(parts), min(low, first)
            nodes = self.first + np.arange(len(self.values))
            self.spline = scipy.interpolate.CubicSpline(nodes, self.values)
        return np.asarray(u * u * self.spline(x))

    def _nodes(self, places: range) -> FloatArray:
        u = np.exp(_STEP * np.array(places, dtype=float))
        arguments = (self.sign * u).astype(np.complex128)
        return np.asarray(centred_log_transform(self.law, arguments)[0].real / u**2) if len(u) else u


def usual_rates(deviation: float, budget: float) -> FloatArray:
    """Rates around the saddle point of a loss of some standard deviation [1 / loss]."""
    return np.asarray(math.sqrt(2 * math.log(1 / budget)) / deviation * _RATES)


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
        rates = usual_rates(deviation, budget)
        return cls.through(rates, cumulants.summed(terms, rates), budget)

    @classmethod
    def through(cls, rates: FloatArray, logarithms: FloatArray, budget: float) -> "Saddle | None":
        """The same, given C(s) at some rates."""
        nodes, values = np.concatenate([[0.0], rates]), np.concatenate([[0.0], logarithms])
        curve = scipy.interpolate.CubicSpline(nodes, values)
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

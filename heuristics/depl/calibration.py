r"""What is certified of final losses, and additive labels that agree with it near a plan that was seen.

Chernoff's bound of the quantile of L at a rate s is E L + (C(s) + ln(1 / p)) / s, C the centred
log-transform, which adds up over epochs. At its own best rate a seen plan (the *reference*) needs only a
share rho of that margin. Plans of another spread have another best rate but nearly the same share, so

    label = E L + rho (C(s) + ln(1 / p)) / s

stands for the quantile of plans whose best rate is near s, and is exact for the reference at its own rate.
How far it may be off is the caller's slack; every plan is certified anyway.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import interpolate, special

from depl.heuristics.paths.additive_labels import (
    AdditiveLabel,
    entropic_label,
    expected_label,
    typical_deviation,
)
from depl.models.problem.epochs import FinalLoss, Term
from depl.models.problem.instance import Instance
from depl.models.problem.laws import FloatArray, Normal
from depl.models.risk.certify import certified_quantile
from depl.models.risk.contour import like
from depl.models.risk.heavy import core_term
from depl.models.risk.transforms import transformable
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
_RATES = np.geomspace(0.1, 4.0, 21)
"""Rates that are looked at, in units of sqrt(2 ln(1 / p)) per standard deviation."""


@dataclass(frozen=True)
class Reference:
    """A final loss that was looked at.

    Attributes
    ----------
    mean, deviation : float
        Of it, with a stand-in where the variance is infinite [loss].
    quantile : float
        Its omega-quantile, nearly [loss].
    rate : float or None
        Best rate of Chernoff's bound [1 / loss]; None for a loss without randomness.
    share : float
        rho; negative where the quantile lies below the mean.
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
        cores = like([(self.core(term), count) for term, count in loss.terms])
        mean, deviation = loss.mean(), typical_deviation(loss)
        if deviation == 0:
            return Reference(mean, 0.0, mean, None, _USUAL_SHARE)
        rates = math.sqrt(2 * math.log(1 / float(self.budget))) / deviation * _RATES
        counts = np.array([count for _, count in cores], dtype=float)
        terms = [term for term, _ in cores]
        plain = expected_label().values(terms)
        logarithms = np.array(
            [rate * (counts @ (entropic_label(self.budget, rate).values(terms) - plain)) for rate in rates]
        )
        bounds = (logarithms - math.log(float(self.budget))) / rates
        best = int(np.argmin(bounds))
        margin = self._exact_margin(loss.constant, cores, mean)
        if math.isnan(margin):
            margin = _saddlepoint_margin(rates, logarithms, float(self.budget))
        if not -bounds[best] <= margin <= bounds[best]:
            margin = _USUAL_SHARE * float(bounds[best])
        return Reference(mean, deviation, mean + margin, float(rates[best]), margin / float(bounds[best]))

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

    def _exact_margin(self, constant: float, terms: Sequence[tuple[Term, int]], mean: float) -> float:
        """The certified margin where no saddlepoint is: of short sums with atoms, at levels below 1/2."""
        atoms = any(term.law.has_atoms for term, _ in terms) and len(terms) <= _SHORT
        if not atoms and float(self.budget) < 0.5:
            return math.nan
        quantile = certified_quantile(FinalLoss(constant, tuple(terms)), self.budget).upper
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


def _saddlepoint_margin(rates: FloatArray, logarithms: FloatArray, budget: float) -> float:
    """x with P(L - E L > x) nearly ``budget``, by Lugannani and Rice on a table of C(s)."""
    curve = interpolate.CubicSpline(np.concatenate([[0.0], rates]), np.concatenate([[0.0], logarithms]))
    slope, curvature = curve(rates, 1), curve(rates, 2)
    usable = (curvature > 0) & (rates * slope > logarithms)
    if usable.sum() < 2:
        return math.nan
    s, x = rates[usable], slope[usable]
    w = np.sqrt(2 * (s * x - logarithms[usable]))
    u = s * np.sqrt(curvature[usable])
    tail = special.ndtr(-w) + np.exp(-(w**2) / 2) / math.sqrt(2 * math.pi) * (1 / u - 1 / w)
    falling = np.minimum.accumulate(np.where(tail > 0, tail, np.inf))
    if not falling[-1] <= budget <= falling[0]:
        return math.nan
    return float(np.interp(-math.log(budget), -np.log(falling), x))

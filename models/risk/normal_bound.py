r"""What a plan must gain on average to meet its target: a bound from two moments (Sec. III, constraint (3)).

Let G be the total gain of a plan, a sum of independent increments Y_i with mean mu, variance V and
R = sum of E |Y_i - E Y_i|**3, and let P(G < g) <= p. Two inequalities bound mu from below:

- Cantelli: P(G < g) >= 1 - V / (V + (g - mu)**2) for mu < g, so mu >= g - sqrt(V p / (1 - p)).
- Berry and Esseen: |P(G < g) - Phi((g - mu) / sqrt V)| <= C R / V**1.5, with C = 0.56 for increments that
  need not be alike (Shevtsova 2010), so mu >= g + sqrt(V) Phi^-1(1 - p - C R / V**1.5).

If every increment has E |Y - E Y|**3 <= t Var Y, then R <= t V, and both say mu >= g + z(V) sqrt V with

    z(V) = max(-sqrt(p / (1 - p)), Phi^-1(1 - p - C t / sqrt V)),

which does not fall in V and tends to the normal quantile: what holds for many epochs holds with proof.
"""

import math
from fractions import Fraction

from scipy import special

from depl.models.problem.epochs import NoiseLaw
from depl.models.problem.laws import Empirical, InverseGamma, Lognormal, Normal, StudentT

ESSEEN = 0.56
"""C for sums of independent increments that are not alike (Shevtsova 2010, Doklady Mathematics 82)."""

_ROUNDING = 1e-9


def least_score(budget: Fraction | float, third_ratio: float, variance: float) -> float:
    """z(V): a plan of variance V that meets its target gains at least g + z(V) sqrt(V) on average.

    Parameters
    ----------
    budget : Fraction or float
        p = 1 - omega.
    third_ratio : float
        t: at least E |Y - E Y|**3 / Var Y of every increment; may be infinite [loss].
    variance : float
        V > 0, finite [loss**2].
    """
    share = float(budget)
    cantelli = -math.sqrt(share / (1 - share)) * (1 + _ROUNDING)
    error = ESSEEN * third_ratio / math.sqrt(variance) if variance > 0 else math.inf
    level = (1 - share - error) * (1 - _ROUNDING)
    if not level > 0:
        return cantelli
    normal = float(special.ndtri(level))
    return max(cantelli, normal - _ROUNDING * abs(normal))


def third_moment(law: NoiseLaw) -> float:
    """An upper bound of E |X - E X|**3; infinite where none is known to be finite [loss**3]."""
    mean, variance = (float(value) for value in law.moments())
    if not math.isfinite(variance):
        return math.inf
    cube = variance * math.sqrt(variance)
    if isinstance(law, Normal):
        return math.sqrt(8 / math.pi) * cube * (1 + _ROUNDING)
    if isinstance(law, Empirical):
        points, weights = law.atoms()
        return float(weights @ abs(points - mean) ** 3) * (1 + _ROUNDING)
    if isinstance(law, StudentT):
        return _student(law, mean, variance)
    if isinstance(law, InverseGamma):
        shape, scale = law.shape_scale()
        if 3 < shape <= 4.5:  # |X - m|**3 <= max(X, m)**3
            raw = scale**3 / ((shape - 1) * (shape - 2) * (shape - 3))
            return (raw + mean**3) * (1 + _ROUNDING)
        return cube * math.sqrt(_inverse_gamma_kurtosis(shape)) * (1 + _ROUNDING)
    if isinstance(law, Lognormal):
        spread = math.log1p(variance / mean**2)
        kurtosis = math.exp(4 * spread) + 2 * math.exp(3 * spread) + 3 * math.exp(2 * spread) - 3
        return cube * math.sqrt(kurtosis) * (1 + _ROUNDING)
    raise TypeError(f"no third moment of a {type(law).__name__}")  # pragma: no cover - all laws are above


def _inverse_gamma_kurtosis(shape: float) -> float:
    """E (X - E X)**4 / Var**2 where it is finite; E |.|**3 <= sqrt(E (.)**2 E (.)**4)."""
    if shape <= 4:
        return math.inf
    return 3 + 6 * (5 * shape - 11) / ((shape - 3) * (shape - 4))


def _student(law: StudentT, mean: float, variance: float) -> float:
    if law.lower is not None and law.upper is not None:
        return variance * max(law.upper - mean, mean - law.lower) * (1 + _ROUNDING)
    freedom = law.degrees_of_freedom
    if freedom <= 3:
        return math.inf
    logarithm = math.lgamma((freedom - 3) / 2) - math.lgamma(freedom / 2)
    moment = freedom**1.5 / math.sqrt(math.pi) * math.exp(logarithm)
    return float(law.scale**3 * moment * (1 + _ROUNDING))

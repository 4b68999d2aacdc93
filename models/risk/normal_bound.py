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

ESSEEN = 0.56
"""C for sums of independent increments that are not alike (Shevtsova 2010, Doklady Mathematics 82)."""

_ROUNDING = 1e-9
"""Relative amount by which every number is moved to the safe side: soundness rests on its being above the
rounding of a dozen operations in double precision, about 1e-14. It costs sharpness for budgets of 1e-9 or
less alone: the level then stays below 1 - 1e-9, the score below 6."""


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

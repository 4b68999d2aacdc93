"""Certified probabilities and quantiles of sums of independent random numbers.

>>> from depl import risk
>>> runs = [(risk.Lognormal(mean=2.0, variance=1.0), 1.0, 10), risk.Normal(mean=0.5, variance=0.04)]
>>> found = risk.probability(runs, 25.0)
>>> round(found.lower, 9), found.width < 1e-9
(0.914370695, True)
>>> late = risk.quantile(runs, 0.95)
>>> round(late.middle, 6), late.width < 1e-6
(26.104777, True)

An interval contains the true number under the laws as they are given; what that rests on is listed in the
documentation, *Risk*, section *What "certified" covers*. Sums of finitely many values are exact:

>>> die = risk.Empirical(values=(1, 2, 3, 4, 5, 6))
>>> risk.probability([(die, 1, 10)], 30).exact
Fraction(4131215, 20155392)
>>> risk.quantile([(die, 1, 10)], 0.99).exact
Fraction(47, 1)
"""

from depl.models.foundation.interval import Interval as Interval
from depl.models.problem.laws import Deterministic as Deterministic
from depl.models.problem.laws import Empirical as Empirical
from depl.models.problem.laws import InverseGamma as InverseGamma
from depl.models.problem.laws import Law as Law
from depl.models.problem.laws import Lognormal as Lognormal
from depl.models.problem.laws import Normal as Normal
from depl.models.problem.laws import StudentT as StudentT
from depl.models.problem.laws import register_law as register_law
from depl.models.risk.sums import Summand as Summand
from depl.models.risk.sums import probability as probability
from depl.models.risk.sums import quantile as quantile

__all__ = sorted(name for name in globals() if not name.startswith("__"))


def __dir__() -> list[str]:
    """Both questions, the laws to ask them of, and the kind of their answers."""
    return __all__

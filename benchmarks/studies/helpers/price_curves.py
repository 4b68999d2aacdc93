"""The Lagrangian bound as a function of its prices, in shares of the optimum under the law.

Prices lam of time, gamma of gain and nu of variance prove that no plan that keeps the promise costs less than
L(lam, gamma, nu), the least over ranges of the variance (`depl.heuristics.bounds.dual`, weak duality). In
every range L is the least, over sequences and ends of the range, of sums of psi(lam), which is concave, and
of terms that are linear in the prices. So L is concave, and so are both curves, up to the tolerance of the
cutting planes and where they are above 0; every point of them is a bound:

- *over the price of time*: max over gamma and nu of L at multiples of the best lam;
- *over the price of gain*: L at multiples of the best gamma of every range, the other prices held.

A bound that comes out negative proves nothing and is shown as 0.
"""

from dataclasses import replace

from depl.heuristics.bounds.dual import Dual, start_prices
from depl.heuristics.bounds.learning import Learning
from depl.heuristics.bounds.lower_bound import Proof
from depl.heuristics.bounds.requirement import Requirement
from depl.heuristics.data.sites import DataFactors
from depl.models.foundation.errors import NotCoveredError
from depl.models.problem.instance import Instance

TIME_FACTORS = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
"""Multiples of the best price of time: an eighth to eight times, as the other prices follow."""
GAIN_FACTORS = (0.5, 0.7, 0.85, 1.0, 1.15, 1.4, 2.0)
"""Multiples of the best price of gain: nearer, as nothing follows and the bound falls soon."""


def price_curve(instance: Instance, optimum: float) -> dict[str, object]:
    """Bounds over prices, in shares of the optimum.

    Parameters
    ----------
    optimum : float
        Proved under the law, above 0 [cost].

    Returns
    -------
    dict
        ``time_price`` [cost / time] and ``gain_price`` [cost / loss], the best found in the range that
        decides; ``best``, ``over_time_price`` and ``over_gain_price`` at `TIME_FACTORS` and `GAIN_FACTORS`:
        shares of ``optimum``.

    Raises
    ------
    NotCoveredError
        Without T_max, with more sites than are listed, or where no requirement on moments is known.
    """
    proof = Proof.of(instance, Learning.of(instance), DataFactors(instance))
    if instance.target.maximum_time is None or proof.outlook is not None or proof.requirement is None:
        raise NotCoveredError("price curves need T_max, listed sites and a requirement on two moments")
    curve = _Curve(proof, proof.requirement)
    return {
        "instance": instance.name,
        "optimum": optimum,
        "time_price": curve.best.prices.time,
        "gain_price": curve.best.prices.gain,
        "best": max(curve.best.value, 0.0) / optimum,
        "time_factors": list(TIME_FACTORS),
        "over_time_price": [curve.at_time_price(factor) / optimum for factor in TIME_FACTORS],
        "gain_factors": list(GAIN_FACTORS),
        "over_gain_price": [curve.at_gain_price(factor) / optimum for factor in GAIN_FACTORS],
    }


class _Curve:
    """The bounds of one instance, by multiples of its best prices."""

    def __init__(self, proof: Proof, requirement: Requirement) -> None:
        self.part, self.requirement, self.dual = proof.part, requirement, proof.dual
        start = start_prices(self.dual, self.part, requirement)
        singles = [replace(requirement, ranges=(piece,)) for piece in requirement.ranges]
        found = [(single, self.dual.bound(self.part, single, start)) for single in singles]
        self.ranges = [(single, bound) for single, bound in found if bound.value < self.dual.highest_cost]
        self.best = min((bound for _, bound in self.ranges), key=lambda bound: bound.value)

    def at_time_price(self, factor: float) -> float:
        """The best bound at that multiple of the best price of time [cost]."""
        prices = self.best.prices
        dual = Dual(self.dual.learning, self.dual.places, self.dual.maximum_time, self.dual.highest_cost)
        dual.same_time = True
        found = dual.bound(self.part, self.requirement, prices._replace(time=factor * prices.time))
        return max(found.value, 0.0)

    def at_gain_price(self, factor: float) -> float:
        """The bound at that multiple of the best price of gain of every range [cost]."""
        values = (
            self.dual.value(self.part, single, bound.prices._replace(gain=factor * bound.prices.gain))
            for single, bound in self.ranges
        )
        return max(min(values), 0.0)

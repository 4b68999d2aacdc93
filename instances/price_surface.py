"""What clusters cost where capability and bandwidth both have their price, and which one suits an epoch.

On a price surface the unit cost rises with the capacity r and the bandwidth b of a cluster,

    kappa(r, b) = kappa_0 (r / r_0)**rho (b / b_0)**sigma,    rho, sigma > 0,

so no cluster on it is at least as good as another one in every respect. At a price lam of time an epoch of
work c and size s (Sec. III: T = c / x + s / b, cost kappa x) is weighed by kappa x + lam (c / x + s / b).
Capacity beyond x only raises kappa, so the best cluster of the surface is used in full, x = r, and

    kappa(r, b) r + lam (c / r + s / b)

is a posynomial: convex in (log r, log b), with one minimiser. With P = kappa r, the cost of the epoch, its
two stationarity conditions are lam c / r = (1 + rho) P and lam s / b = sigma P. Hence the weight is E P,
E = 2 + rho + sigma, and with k = kappa_0 / (r_0**rho b_0**sigma)

    P**E = k lam**(1 + rho + sigma) (c / (1 + rho))**(1 + rho) (s / sigma)**sigma.

So r and b grow like lam**(1 / E): every price of time has a best cluster of its own, and so has every ratio
of work to size.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple


class Offer(NamedTuple):
    """The best cluster of a surface for one epoch: r [resource], b [size / time], and P [cost]."""

    capacity: float
    bandwidth: float
    cost: float


@dataclass(frozen=True)
class PriceSurface:
    """A price surface, given by one cluster on it and two exponents.

    Attributes
    ----------
    capacity, bandwidth, unit_cost : float
        r_0 [resource], b_0 [size / time] and kappa_0 [cost / resource].
    capacity_exponent, bandwidth_exponent : float
        rho and sigma, positive.
    """

    capacity: float
    bandwidth: float
    unit_cost: float
    capacity_exponent: float
    bandwidth_exponent: float

    @property
    def total_exponent(self) -> float:
        """E = 2 + rho + sigma: the weight of an epoch on its best cluster is E times its cost."""
        return 2 + self.capacity_exponent + self.bandwidth_exponent

    def unit_cost_of(self, capacity: float, bandwidth: float) -> float:
        """kappa(r, b) [cost / resource]."""
        larger, faster = math.log(capacity / self.capacity), math.log(bandwidth / self.bandwidth)
        return self.unit_cost * math.exp(self.capacity_exponent * larger + self.bandwidth_exponent * faster)

    def best(self, multiplier: float, work: float, size: float) -> Offer:
        """The minimiser of kappa(r, b) r + lam (c / r + s / b).

        Parameters
        ----------
        multiplier : float
            lam, the price of time, positive [cost / time].
        work, size : float
            c [resource x time] and s [size], positive.
        """
        rho, sigma = self.capacity_exponent, self.bandwidth_exponent
        logarithm = (
            math.log(self.unit_cost)
            - rho * math.log(self.capacity)
            - sigma * math.log(self.bandwidth)
            + (1 + rho + sigma) * math.log(multiplier)
            + (1 + rho) * math.log(work / (1 + rho))
            + sigma * math.log(size / sigma)
        )
        cost = math.exp(logarithm / self.total_exponent)
        return Offer(multiplier * work / ((1 + rho) * cost), multiplier * size / (sigma * cost), cost)

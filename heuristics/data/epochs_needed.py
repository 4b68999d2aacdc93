"""K^ of eq. (7) as a function of the volume: values, slope, and the shapes that proofs rest on.

With Q = Q0 + volume, for the data laws of `depl.models.problem.learning`:

    log          K = a - b ln Q        -K''/K' = 1 / Q                    1/K convex while K <= 2 b
    inverse_log  K = a / ln(1 + Q)     -K''/K' = (L + 2) / (L (1 + Q))    1/K concave          L = ln(1 + Q)
    power        K = a Q**-p           -K''/K' = (1 + p) / Q              1/K convex iff p >= 1

All are convex and fall, and -K''/K' falls too. Without a data law K = 1. This module, and no other of the
package, reads the data law of an instance.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from depl.models.problem.instance import Instance
from depl.models.problem.laws import FloatArray
from depl.models.problem.learning import InverseLogDataLaw, LogDataLaw, PowerDataLaw, TableDataLaw

VolumeLaw = LogDataLaw | InverseLogDataLaw | PowerDataLaw

_DIGITS = 60
"""Decimal digits of roots and logarithms: of no consequence beside the 16 of the floats that are compared."""


@dataclass(frozen=True)
class NeededEpochs:
    """K^ as a function of the volume added to Q0 and to data that are used in any case.

    Attributes
    ----------
    law : VolumeLaw or None
        A logarithmic, inverse logarithmic or power law; None for K = 1.
    present : float
        Volume that is used in any case, on top of the Q0 of the law.
    """

    law: VolumeLaw | None
    present: float = 0.0

    @property
    def base_volume(self) -> float:
        """Q where nothing is added: Q0 and what is present."""
        return self.present + (0.0 if self.law is None else self.law.base_volume)

    @property
    def constant(self) -> bool:
        """Whether K does not depend on the volume."""
        law = self.law
        return (
            law is None
            or (isinstance(law, LogDataLaw) and law.b == 0)
            or (isinstance(law, PowerDataLaw) and law.p == 0)
        )

    @property
    def logarithmic(self) -> bool:
        """Whether the law is a - b ln Q."""
        return isinstance(self.law, LogDataLaw)

    def at(self, volume: ArrayLike) -> FloatArray:
        """K at added volumes of any shape; infinite at Q = 0 unless K is constant [epochs]."""
        total = self._total(volume)
        if self.law is None:
            return np.ones_like(total)
        with np.errstate(divide="ignore"):
            if isinstance(self.law, LogDataLaw):
                # 0 ln 0 would be no number
                return self.law.a - (self.law.b * np.log(total) if self.law.b else np.zeros_like(total))
            if isinstance(self.law, InverseLogDataLaw):
                return self.law.a / np.log1p(total)
            return np.asarray(self.law.a * total**-self.law.p, dtype=float)

    def slope(self, volume: ArrayLike) -> FloatArray:
        """dK/dQ <= 0 at added volumes with Q > 0 [epochs / data]."""
        total = self._total(volume)
        if self.constant or self.law is None:
            return np.zeros_like(total)
        if isinstance(self.law, LogDataLaw):
            return -self.law.b / total
        if isinstance(self.law, InverseLogDataLaw):
            return -self.law.a / (np.log1p(total) ** 2 * (1 + total))
        return np.asarray(-self.law.a * self.law.p * total ** (-self.law.p - 1), dtype=float)

    def curvature(self, volume: ArrayLike) -> FloatArray:
        """-K''/K' >= 0, falling in the volume; 0 where K is constant, infinite at Q = 0 [1 / data]."""
        total = self._total(volume)
        if self.constant or self.law is None:
            return np.zeros_like(total)
        with np.errstate(divide="ignore"):
            if isinstance(self.law, InverseLogDataLaw):
                level = np.log1p(total)
                return (level + 2) / (level * (1 + total))
            power = self.law.p if isinstance(self.law, PowerDataLaw) else 0.0
            return np.asarray((1 + power) / total, dtype=float)

    def saved(self, volume: ArrayLike) -> FloatArray:
        """K without added volume less K at added volumes: no digit is lost where K hardly changes [epochs].

        Q has to be positive without added volume, unless K is constant.
        """
        added = np.asarray(volume, dtype=float)
        if self.constant or self.law is None:
            return np.zeros_like(added)
        if isinstance(self.law, InverseLogDataLaw):
            level, more = np.log1p(self.base_volume), np.log1p(added / (1 + self.base_volume))
            return np.asarray(self.law.a * more / (level * (level + more)), dtype=float)
        more = np.log1p(added / self.base_volume)
        if isinstance(self.law, LogDataLaw):
            return np.asarray(self.law.b * more, dtype=float)
        return np.asarray(self.at(0.0) * -np.expm1(-self.law.p * more), dtype=float)

    def rounding(self, greatest: float) -> tuple[float, float]:
        """How rounding grows in K at added volumes up to ``greatest``: relative to K, and absolute [epochs].

        Both are in units of one rounding. That of Q is p times as large in a Q**-p, and one of b in
        a - b ln Q; there the rounding of a and of b ln Q is left, too, where they cancel.
        """
        if isinstance(self.law, PowerDataLaw):
            return 1 + self.law.p, 0.0
        if isinstance(self.law, LogDataLaw) and not self.constant:
            logarithms = [abs(math.log(total)) for total in (self.base_volume, self.base_volume + greatest)]
            return 1.0, abs(self.law.a) + self.law.b * (1 + max(logarithms))
        return 1.0, 0.0

    def reciprocal_is_convex(self, least: float) -> bool:
        """Whether 1/K is convex at all volumes from ``least`` on: the condition of the prefix rule."""
        if self.constant or self.law is None:
            return True
        if isinstance(self.law, LogDataLaw):
            return bool(self.at(least) <= 2 * self.law.b)
        return isinstance(self.law, PowerDataLaw) and self.law.p >= 1

    def reciprocal_is_concave(self, greatest: float) -> bool:
        """Whether 1/K is concave at all volumes up to ``greatest``."""
        if self.constant or self.law is None:
            return True
        if isinstance(self.law, LogDataLaw):
            return bool(self.at(greatest) >= 2 * self.law.b)
        return isinstance(self.law, InverseLogDataLaw) or self.law.p <= 1

    def product_is_concave(self, fixed: float, rate: float, largest: float) -> bool:
        """Whether K (fixed + rate * volume) is concave on volumes from 0 to ``largest``: E4, both ends.

        With Q = base volume + volume and t0 = fixed - rate * base volume, the product is K(Q) (t0 + rate Q),
        the g of E4. Decided in rational numbers (logarithms to 55 digits).

        Parameters
        ----------
        fixed : float
            T^ without added volume [time].
        rate : float
            t1 >= 0 [time / data].
        largest : float
            End of the range [data].
        """
        if self.constant or self.law is None:
            return True
        low = Fraction(self.base_volume)
        t0, t1 = Fraction(fixed) - Fraction(rate) * low, Fraction(rate)
        if isinstance(self.law, InverseLogDataLaw):
            # ((Q + 2) L - 2 Q) / (L + 2) rises in Q, so that its least value is at the lower end
            level = _decimal_function(Decimal.ln, 1 + low)
            return t0 * (level + 2) <= t1 * ((low + 2) * level - 2 * low)
        power = Fraction(self.law.p) if isinstance(self.law, PowerDataLaw) else Fraction(0)
        return all((1 + power) * t0 <= (1 - power) * t1 * q for q in (low, low + Fraction(largest)))

    def with_present(self, volume: float) -> "NeededEpochs":
        """The same law where so much more volume is used in any case."""
        return NeededEpochs(self.law, self.present + volume)

    def _total(self, volume: ArrayLike) -> FloatArray:
        return self.base_volume + np.asarray(volume, dtype=float)


@dataclass(frozen=True)
class TabledEpochs:
    """K^ listed for every nonempty subset.

    Attributes
    ----------
    epochs : tuple of float
        Entry i: K of the subset whose indicator is the binary number i; the entry 0 is infinite.
    """

    epochs: tuple[float, ...]


def epochs_needed_by(instance: Instance) -> NeededEpochs | TabledEpochs:
    """K^ of an instance, over its datasets in their order; K = 1 if it has no data law."""
    law = instance.data_law
    if not isinstance(law, TableDataLaw):
        return NeededEpochs(law)
    names = [dataset.name for dataset in instance.datasets]
    subsets = [
        frozenset(name for bit, name in enumerate(names) if index >> bit & 1)
        for index in range(1, 1 << len(names))
    ]
    return TabledEpochs((math.inf, *(law.epochs_needed(subset) for subset in subsets)))


def _decimal_function(function: Callable[[Decimal], Decimal], argument: Fraction) -> Fraction:
    """A correctly rounded function of `decimal` at a rational argument, to `_DIGITS` - 5 digits."""
    with localcontext() as context:
        context.prec = _DIGITS + 10
        return Fraction(function(Decimal(argument.numerator) / Decimal(argument.denominator)))

"""What the divergence H and the excess B of a plan say of W, T and F (for `depl.models.risk.tilted_bound`).

H and B add up over increments, so of a plan W = 2 (H - B) is known as well as they are. T and F are not, but
if

    T <= a H + b B   for every increment that may occur,

this holds for every plan, too. For a few slopes b the least such a describe the convex cone in which H, B and
T of plans lie; in the same way from below, and for F.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from depl.models.risk.tilted_laws import Kind, Reach
from depl.models.risk.tilted_switches import TiltedSwitch

_THIRD_SLOPES = tuple(np.linspace(0.0, 6.0, 25).tolist())
_FOURTH_SLOPES = (0.0, *np.geomspace(0.5, 60.0, 24).tolist())
_NOTHING = (0.0,) * 25
_SLACK = 3e-7
_COARSELY = 200
_SMALL = 1 / 64


@dataclass(frozen=True)
class Spread:
    """Lines above and below T and F of plans, and how far their characteristic functions are known.

    *Known* switches are those with a finite F; of a plan with others ``any_variance`` alone holds.

    Attributes
    ----------
    third_high, third_low, fourth_high, fourth_low : tuple of float
        Intercepts a for the slopes; not negative above, not positive below.
    excess_low, excess_high : float
        Of B / H; ``excess_low`` is not positive.
    any_variance : float
        W / H, at most, of all increments.
    switch_fourth : float
        F of all known switches of a plan, at most.
    widest : float
        Greatest Y.
    """

    third_high: tuple[float, ...] = _NOTHING
    third_low: tuple[float, ...] = _NOTHING
    fourth_high: tuple[float, ...] = _NOTHING
    fourth_low: tuple[float, ...] = _NOTHING
    excess_low: float = 0.0
    excess_high: float = 0.0
    any_variance: float = 2.0
    switch_fourth: float = 0.0
    widest: float = math.inf

    @classmethod
    def of(
        cls, runs: Sequence[Reach], switches: Sequence[TiltedSwitch], epochs: int, *, clear: bool
    ) -> "Spread":
        """Of plans with these runs and switches, rounded so that few different ones occur.

        ``clear`` says whether rounding changes sums of what increments say of T and F by less than 1e-9.
        """
        nodes, known = Reach.joined(runs), [item for item in switches if math.isfinite(item.fourth)]
        ratio = nodes.greatest_ratio()
        own = [item.excess / item.divergence for item in known]
        widest = math.floor(2 * min([12.0, *(item.widest for item in known)])) / 2
        return cls(
            *_lines(nodes, known, "third", _THIRD_SLOPES),
            *_lines(nodes, known, "fourth", _FOURTH_SLOPES),
            excess_low=-_up(-min([0.0, *own])),
            excess_high=_up(max([ratio, *own])),
            any_variance=_up(max([2.0, *(item.variance / item.divergence for item in switches)])),
            switch_fourth=_to_a_power(epochs * max([0.0, *(item.fourth for item in known)])),
            widest=widest if clear else 0.0,
        )

    def may_reach(self, divergence: float, excess: float) -> bool:
        """Whether B may be as much as a value for H up to a value."""
        return excess <= self.excess_high * divergence + _SLACK * (1 + divergence)

    def variances(
        self, divergences: tuple[float, float], excesses: tuple[float, float]
    ) -> tuple[float, float]:
        """Between which W lies, for H and B in intervals; the first is the greater if no plan is there."""
        (low, high), (least, most) = divergences, excesses
        slack = _SLACK * (1 + high)
        if not self.may_reach(high, least) or most < self.excess_low * high - slack:
            return math.inf, -math.inf
        smallest = max(2 * (low - most), 2 * (1 - self.excess_high) * low)
        return smallest - slack, 2 * (high - least) + slack

    def thirds(self, divergence: float, excesses: tuple[float, float]) -> tuple[float, float]:
        """Between which T lies, for H up to a value and B in an interval."""
        return (
            _over(self.third_low, _THIRD_SLOPES, divergence, excesses[0], above=False),
            _over(self.third_high, _THIRD_SLOPES, divergence, excesses[1], above=True),
        )

    def fourths(self, divergence: float, excesses: tuple[float, float]) -> tuple[float, float]:
        """The same for F."""
        return (
            max(0.0, _over(self.fourth_low, _FOURTH_SLOPES, divergence, excesses[0], above=False)),
            max(0.0, _over(self.fourth_high, _FOURTH_SLOPES, divergence, excesses[1], above=True)),
        )


def _over(
    intercepts: Sequence[float], slopes: Sequence[float], divergence: float, excess: float, *, above: bool
) -> float:
    """What the best line says: from above it rises in H and B, from below it falls in H and rises in B."""
    values = [a * divergence + b * excess for a, b in zip(intercepts, slopes, strict=True)]
    slack = _SLACK * (1 + divergence)
    return min(values) + slack if above else max(values) - slack


def _lines(
    nodes: Reach, known: Sequence[TiltedSwitch], kind: Kind, slopes: Sequence[float]
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Intercepts above and below T or F."""
    above, below = list[float](), list[float]()
    for slope in slopes:
        own = [(getattr(item, kind) - slope * item.excess) / item.divergence for item in known]
        above.append(_up(max([nodes.line(kind, slope, above=True), *own])))
        below.append(-_up(-min([nodes.line(kind, slope, above=False), *own])))
    return tuple(above), tuple(below)


def _up(value: float) -> float:
    """To the next multiple of 1 / 200."""
    return math.ceil(_COARSELY * value - 1e-8) / _COARSELY + 0.0


def _to_a_power(value: float) -> float:
    return 2.0 ** math.ceil(math.log2(value)) if value > _SMALL else 0.0 if value == 0 else _SMALL

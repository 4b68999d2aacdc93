"""What sums over a plan say of its W, T and F (for `depl.models.risk.lower_bound.bound`).

If T <= a H + b B for every run that may occur, this holds for all runs of a plan, too. For a few slopes b the
least such a describe the convex cone in which H, B and T of runs lie; in the same way from below, and for F.
What switches add to them is no more than a share of their *roughness*, a sum as well.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from depl.models.risk.lower_bound.laws import Kind, Reach
from depl.models.risk.lower_bound.switches import TiltedSwitch

_THIRD_SLOPES = tuple(np.linspace(0.0, 6.0, 25).tolist())
_FOURTH_SLOPES = (0.0, *np.geomspace(0.5, 60.0, 24).tolist())
_NOTHING = (0.0,) * 25
"""An intercept of 0 for each of the 25 slopes of T, and of F."""

_SLACK = 3e-7
"""What sums over a plan may be off relative to 1 + H, on which soundness rests: intercepts are rounded to
1e-8 / 200 = 5e-11 below themselves, and sums over increments by less than 1e-9 where they are used at all
(`clear`). The rest of 3e-7 is set by hand; ten times as much would blunt T and F by 3e-6."""

_COARSELY = 200
"""Intercepts are rounded up to multiples of 1 / 200, so that few spreads differ and tables of margins are
shared: set by hand. Twice as many are sharper by 1 / 400 of H at most, and share less."""

_SMALL = 1 / 64
"""Least F of switches that is told from 0, so that few spreads differ: set by hand. It is rounded up to this,
so any value is sound; twice as much blunts the bound for plans with calm switches."""


@dataclass(frozen=True)
class Spread:
    """Lines above and below T and F of runs, what switches may add, and how far f is known."""

    # Intercepts a for the slopes; not negative above, not positive below.
    third_high: tuple[float, ...] = _NOTHING
    third_low: tuple[float, ...] = _NOTHING
    fourth_high: tuple[float, ...] = _NOTHING
    fourth_low: tuple[float, ...] = _NOTHING
    # B / H of plans; ``excess_low`` is not positive.
    excess_low: float = 0.0
    excess_high: float = 0.0
    roughness: float = 0.0  # of all switches of a plan, at most; if it is infinite, only B is known of them
    # Least and greatest B / H and T / H of switches, and 0.
    switch_excess: tuple[float, float] = (0.0, 0.0)
    switch_third: tuple[float, float] = (0.0, 0.0)
    switch_fourth: float = 0.0  # F of all switches of a plan, at most
    widest: float = math.inf  # greatest Y

    @classmethod
    def of_runs(cls, runs: Reach, *, clear: bool) -> Self:
        """Of plans with these runs and without switches, rounded to few values.

        ``clear`` says whether rounding changes sums of what increments say of T and F by less than 1e-9.
        """
        return cls(
            *_lines(runs, "third", _THIRD_SLOPES),
            *_lines(runs, "fourth", _FOURTH_SLOPES),
            excess_high=_up(runs.greatest_ratio()) if clear else 1.0,
            widest=math.inf if clear else 0.0,
        )

    def with_switches(
        self, switches: Sequence[TiltedSwitch], epochs: int, roughness: float = math.inf
    ) -> "Spread":
        """The same runs with switches of some roughness in all."""
        used = [item for item in switches if item.roughness <= roughness]
        own = _ends([item.excess / item.divergence for item in used])
        widest = math.floor(2 * min([12.0, *(item.widest for item in used)])) / 2
        return replace(
            self,
            excess_low=own[0],
            excess_high=max(self.excess_high, own[1]),
            roughness=roughness if used else 0.0,
            switch_excess=own,
            switch_third=_ends([item.third / item.divergence for item in used]),
            switch_fourth=min(roughness, _to_a_power(epochs * max([0.0, *(s.fourth for s in used)]))),
            widest=min(self.widest, widest),
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
        """Between which T lies, for H up to a value and B in an interval; unless f is not known at all."""
        least, most = self._of_runs(divergence, excesses)
        low, high = _within(self.switch_third, divergence, self.roughness / 4)
        return (
            low + _over(self.third_low, _THIRD_SLOPES, divergence, least, above=False),
            high + _over(self.third_high, _THIRD_SLOPES, divergence, most, above=True),
        )

    def fourths(self, divergence: float, excesses: tuple[float, float]) -> tuple[float, float]:
        """The same for F."""
        least, most = self._of_runs(divergence, excesses)
        runs = (
            _over(self.fourth_low, _FOURTH_SLOPES, divergence, least, above=False),
            _over(self.fourth_high, _FOURTH_SLOPES, divergence, most, above=True),
        )
        return max(0.0, runs[0]), max(0.0, runs[1]) + self.switch_fourth

    def _of_runs(self, divergence: float, excesses: tuple[float, float]) -> tuple[float, float]:
        """Between which B of the runs lies."""
        low, high = _within(self.switch_excess, divergence, self.roughness / 20)
        return excesses[0] - high, excesses[1] - low


def _ends(ratios: Sequence[float]) -> tuple[float, float]:
    return -_up(-min([0.0, *ratios])), _up(max([0.0, *ratios]))


def _within(ratios: tuple[float, float], divergence: float, most: float) -> tuple[float, float]:
    """Ratios times H, but no more than a value."""
    return max(ratios[0] * divergence, -most), min(ratios[1] * divergence, most)


def _over(
    intercepts: Sequence[float], slopes: Sequence[float], divergence: float, excess: float, *, above: bool
) -> float:
    """What the best line says: from above it rises in H and B, from below it falls in H and rises in B."""
    values = [a * divergence + b * excess for a, b in zip(intercepts, slopes, strict=True)]
    slack = _SLACK * (1 + divergence)
    return min(values) + slack if above else max(values) - slack


def _lines(runs: Reach, kind: Kind, slopes: Sequence[float]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Intercepts above and below T or F."""
    above = tuple(map(_up, runs.lines(kind, slopes, above=True)))
    return above, tuple(-_up(-value) for value in runs.lines(kind, slopes, above=False))


def _up(value: float) -> float:
    """To the next multiple of 1 / 200."""
    return math.ceil(_COARSELY * value - 1e-8) / _COARSELY


def _to_a_power(value: float) -> float:
    if value == math.inf:
        return value
    return 2.0 ** math.ceil(math.log2(value)) if value > _SMALL else 0.0 if value == 0 else _SMALL

"""Plans of normal increments: the quantile constraint is a few linear ones, any of which will do.

`ChordedProblem` is the problem of the search under scenarios, with chords of the root of the variance for
scenarios, of which all but one may miss; a leaf is judged by its certified violation. What is pruned misses
every chord. Long plans are searched on one chord after another. Where everything is certain, one chord is the
law. Derived on the page "Optima under the law" (``exact``), under "Normal increments: chords".
"""

import functools
import math
from dataclasses import dataclass

import numpy as np
from scipy import special

from depl.models.exact.counted import Counted
from depl.models.exact.law_problem import LawProblem
from depl.models.exact.sampled import CountedProblem
from depl.models.exact.search import Search
from depl.models.foundation.tolerances import sum_rounding
from depl.models.problem.laws import FloatArray

_CHORDS = 24
"""Chords of the square root: set by hand. A plan may fall short by z largest / (4 times 24) on the first
chord and by far less on later ones; more chords exclude more of them and cost time for each. Leaves are
certified, so any number is sound."""

_CAUTION = 1e-9
"""Relative amount by which z is lowered and the largest deviation raised, on which proofs rest: rounding is
some 1e-15 in the quantile function and in sums. z is taken from 1 - omega, as omega itself is a double that
is off by 6e-17, too much next to 1."""


@dataclass(frozen=True, eq=False)
class ChordedProblem(LawProblem, CountedProblem):
    """Problem (2)-(6) with normal or certain increments; see the module's docstring."""

    @functools.cached_property
    def ends(self) -> FloatArray:
        """Standard deviations between which the root is replaced by its chord, from 0 to the largest."""
        per_epoch = self.moments.variances.max(axis=(1, 2), initial=0.0)
        per_epoch = per_epoch + self.moments.switch_variances.max(axis=(1, 2), initial=0.0)
        largest = math.sqrt(float(per_epoch.sum())) * (1 + _CAUTION)
        return np.linspace(0.0, largest, _CHORDS + 1) if largest > 0 else np.array([0.0, 1.0])

    def between(self, first: float, last: float) -> "ChordedProblem":
        """With the chord between two standard deviations alone, or the tangent at one [loss]."""
        other, own = ChordedProblem(self.instance, self.seed), {"gains", "switch_losses", "_slopes"}
        vars(other).update({name: known for name, known in vars(self).items() if name not in own})
        vars(other)["ends"] = np.array([first, last])
        return other

    @property
    def size(self) -> int:
        """Number of chords; one if nothing is random."""
        return len(self.ends) - 1

    @property
    def allowed(self) -> int:
        """All chords but one may be missed."""
        return self.size - 1

    @functools.cached_property
    def needed(self) -> float:
        """Less by what sums over all epochs may be rounded [loss]."""
        target, moments = self.instance.target, self.moments
        size = abs(target.initial_loss) + abs(target.maximum_loss)
        for table in (moments.gains, moments.losses):
            size += float(np.abs(table).max(axis=(1, 2), initial=0.0).sum())
        return super().needed - sum_rounding(self.epochs) * size

    @functools.cached_property
    def gains(self) -> FloatArray:
        """Mean less slope times variance; the first epoch pays for the constant of the chord."""
        table = self.moments.gains[..., None] - self._slopes * self.moments.variances[..., None]
        table[:1] -= self._slopes * self.ends[:-1] * self.ends[1:]
        return np.ascontiguousarray(table)

    @functools.cached_property
    def switch_losses(self) -> FloatArray:
        """Mean plus slope times variance."""
        slopes = self._slopes * self.moments.switch_variances[..., None]
        return np.ascontiguousarray(self.moments.losses[..., None] + slopes)

    @functools.cached_property
    def safety(self) -> float:
        """z, rounded down."""
        z = -float(special.ndtri(float(self.instance.target.violation_budget)))
        return z - _CAUTION * abs(z)

    @functools.cached_property
    def _slopes(self) -> FloatArray:
        """z over the sum of the ends of the chord."""
        return np.asarray(self.safety / (self.ends[:-1] + self.ends[1:]))


@dataclass
class Chords(Counted):
    """All chords at once; leaves are judged by the law."""

    problem: ChordedProblem

    def why_infeasible(self, search: Search) -> str:
        """In terms of the law."""
        return self.problem.why_infeasible(search.listed)

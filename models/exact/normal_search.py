r"""Plans of normal increments: the quantile constraint is a few linear ones, any of which will do.

Let every increment be normal or certain, so that a plan's gain is normal with mean Y and variance V, and let
omega >= 1/2. With z = Phi^-1(omega) and y the gain that is asked for, the target is met iff Y - z sqrt(V) >=
y. The root is concave: between V_i = d_i^2 and V_{i+1} it lies above its chord,

    sqrt(V) >= (V + d_i d_{i+1}) / (d_i + d_{i+1}) .

So with V in that interval a plan that meets the target satisfies

    Y - z V / (d_i + d_{i+1}) >= y + z d_i d_{i+1} / (d_i + d_{i+1}) ,

which is linear: gains of epochs that add up. Whatever its V, one of S chords is satisfied. Conversely a plan
that satisfies one of them falls short by no more than z (d_{i+1} - d_i)^2 / (4 (d_i + d_{i+1})), or meets the
target. That is the problem of the search under scenarios, with chords for scenarios, of which all but one may
miss; only that a leaf is not judged by its count but by its certified violation.

`ChordedProblem` is that problem, and `ChordSearch` the search. What it prunes misses every chord.
"""

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from scipy import special

from depl.models.evaluation.evaluate import final_loss
from depl.models.exact.choices import Choices, Configuration
from depl.models.exact.sampled import CountedProblem
from depl.models.exact.scenario_search import ScenarioSearch
from depl.models.problem.epochs import LossStep, Term, changing_pairs, loss_step, switch_step
from depl.models.problem.instance import Instance
from depl.models.problem.laws import FloatArray
from depl.models.problem.pairs import require_tabulated
from depl.models.problem.plan import Plan
from depl.models.risk.batch import Verdict
from depl.models.risk.discrete import decimal
from depl.models.risk.prepared import PreparedVerdicts
from depl.models.solving.methods import Outcome
from depl.models.solving.result import Termination

_CHORDS = 24
"""Chords of the square root: set by hand. A plan may fall short by z largest / (4 times 24) on the first
chord and by far less on later ones; more chords exclude more of them and cost time for each. Leaves are
certified, so any number is sound."""

_CAUTION = 1e-9
"""Relative amount by which z is lowered and the largest deviation raised, on which proofs rest: rounding is
some 1e-15 in the quantile function and in sums. z is taken from 1 - omega, as omega itself is a double that
is off by 6e-17, too much next to 1."""


@dataclass(frozen=True, eq=False)
class ChordedProblem(CountedProblem):
    """Problem (2)-(6) with normal increments; see the module's docstring.

    Attributes
    ----------
    instance : Instance
    barred : bool array (M, M), optional
        Switches that are forbidden beside those of the instance.
    ties : list of tuple
        Those whose certified interval contains 1 - omega; appended to.
    """

    instance: Instance
    barred: NDArray[np.bool_] | None = None
    ties: list[tuple[Configuration, ...]] = field(default_factory=list)

    def barring(self, switches: NDArray[np.bool_]) -> "ChordedProblem":
        """The problem in which some more switches, shape (M, M), are forbidden."""
        return replace(self, barred=switches)

    @property
    def size(self) -> int:
        """Number of chords; one if nothing is random."""
        return len(self._ends) - 1

    @property
    def allowed(self) -> int:
        """All chords but one may be missed."""
        return self.size - 1

    @functools.cached_property
    def gains(self) -> FloatArray:
        """Mean less slope times variance; the first epoch pays for the constant of the chord."""
        means, variances = self._run_moments
        table = means[..., None] - self._slopes * variances[..., None]
        table[:1] -= self._safety * self._ends[:-1] * self._ends[1:] / self._sums
        return np.ascontiguousarray(table)

    @functools.cached_property
    def switch_losses(self) -> FloatArray:
        """Mean plus slope times variance."""
        means, variances = self._switch_moments
        return np.ascontiguousarray(means[..., None] + self._slopes * variances[..., None])

    def misses(self, choices: Sequence[Configuration]) -> int:
        """None of the chords if the plan is certified to meet the target, otherwise all."""
        plan = self.plan(tuple(choices)) if choices else Plan()
        verdict = self._verdicts.verdict(final_loss(self.instance, plan))
        if verdict is Verdict.UNDECIDED:
            self.ties.append(tuple(choices))
        return 0 if verdict is Verdict.MET else self.size

    @functools.cached_property
    def _safety(self) -> float:
        """z, rounded down."""
        z = -float(special.ndtri(float(self.instance.target.violation_budget)))
        return z - _CAUTION * abs(z)

    @functools.cached_property
    def _ends(self) -> FloatArray:
        """Standard deviations between which the root is replaced by its chord, from 0 to the largest."""
        per_epoch = self._run_moments[1].max(axis=(1, 2), initial=0.0)
        per_epoch = per_epoch + self._switch_moments[1].max(axis=(1, 2), initial=0.0)
        largest = math.sqrt(float(per_epoch.sum())) * (1 + _CAUTION)
        return np.linspace(0.0, largest, _CHORDS + 1) if largest > 0 else np.array([0.0, 1.0])

    @functools.cached_property
    def _sums(self) -> FloatArray:
        return np.asarray(self._ends[:-1] + self._ends[1:])

    @functools.cached_property
    def _slopes(self) -> FloatArray:
        return np.asarray(self._safety / self._sums)

    @functools.cached_property
    def _verdicts(self) -> PreparedVerdicts:
        target = self.instance.target
        return PreparedVerdicts(target.maximum_loss, 1 - decimal(target.quantile_level))

    @functools.cached_property
    def _run_moments(self) -> tuple[FloatArray, FloatArray]:
        """Mean gain and variance, each of shape (K_max, subsets, M)."""
        names = [model.name for model in self.instance.models]
        shape = (self.epochs, len(self.subsets), len(names))
        found = np.zeros((2, *shape))
        for k, d, m in np.ndindex(*shape):
            step = loss_step(self.instance, k + 1, 0, names[m], names[m], self.subsets[d])
            mean, variance = _moments(step)
            found[:, k, d, m] = -mean, variance
        return found[0], found[1]

    @functools.cached_property
    def _switch_moments(self) -> tuple[FloatArray, FloatArray]:
        """Mean loss and variance, each of shape (K_max, M, M)."""
        names = [model.name for model in self.instance.models]
        found = np.zeros((2, self.epochs, len(names), len(names)))
        for k, i, j in np.ndindex(*found.shape[1:]):
            change = switch_step(self.instance, k + 1, names[i], names[j])
            if change is not None:
                found[:, k, i, j] = _moments(change)
        return found[0], found[1]


@dataclass
class ChordSearch(ScenarioSearch):
    """The search under scenarios, on chords."""

    def _outcome(self, termination: Termination) -> Outcome:
        found = super()._outcome(termination)
        return replace(found, dual=None)  # its prices speak of chords, which the verifier does not know

    def _why_infeasible(self) -> str:
        """Nothing: `depl.models.exact.law_search` says it in terms of the law."""
        return ""


def all_normal(problem: Choices) -> bool:
    """Whether every increment is normal or certain, some of them normal, and omega is at least 1/2."""
    terms = random_terms(problem) if problem.instance.target.quantile_level >= 0.5 else []
    return bool(terms) and all(term.law.is_normal for term in terms)


def random_terms(problem: Choices) -> list[Term]:
    """The random parts of all epochs and switches that a plan may have; none where everything is certain."""
    instance = problem.instance
    require_tabulated(instance, "the search", problem.epochs)
    names = [model.name for model in instance.models]
    steps = [
        loss_step(instance, k, 0, name, name, problem.subsets[0])
        for k in range(1, problem.epochs + 1)
        for name in names
    ]
    pairs = [(names[before], names[after]) for before, after in changing_pairs(instance)]
    changes = [switch_step(instance, k, *pair) for k in range(1, problem.epochs + 1) for pair in pairs]
    return [term for step in (*steps, *changes) if step is not None for term in step.terms]


def _moments(step: LossStep) -> tuple[float, float]:
    mean = step.shift + math.fsum(term.coefficient * term.law.moments().mean for term in step.terms)
    return mean, math.fsum(term.coefficient**2 * term.law.moments().variance for term in step.terms)

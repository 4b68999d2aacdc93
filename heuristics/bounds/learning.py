"""What every epoch learns, as arrays: means, variances and terms with all data, and what data leave of them.

The improvement of an epoch on the data D is that on all data times h(D) (`depl.models.problem.epochs`), a
switch does not depend on the data. So a run needs one row per (epoch, model) whatever the data, and a switch
one entry per pair of models. Laws with memory (retention below 1) do not add up and are refused.
"""

import functools
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from depl.models.foundation.deadline import OutOfTimeError
from depl.models.foundation.errors import NotCoveredError
from depl.models.foundation.memory import require_tabulated
from depl.models.problem.epochs import FinalLoss, LossStep, Term, loss_step, switch_step
from depl.models.problem.instance import Instance
from depl.models.problem.laws import FloatArray


@dataclass(frozen=True, eq=False)
class Learning:
    """Runs by (epoch, model) with h = 1, switches by (previous model or start, model).

    Attributes
    ----------
    initial_loss : float
        l(0) [loss].
    runs : tuple of tuple of LossStep
        [k - 1][m].
    switches : tuple of tuple of (LossStep or None)
        [p][m]; row M is the start. None where a switch changes nothing or may not be made.
    gains, variances : ndarray
        Shape (K, M): mean fall of the loss and its variance, possibly infinite [loss], [loss**2].
    switch_losses, switch_variances : ndarray
        Shape (M + 1, M) [loss], [loss**2].
    allowed : ndarray of bool
        Shape (M + 1, M).
    third_ratio : float
        At least E |Y - E Y|**3 / Var Y of every increment Y with h <= 1 [loss].
    may_end : ndarray of bool
        Models that a plan may end with, shape (M,).
    """

    initial_loss: float
    runs: tuple[tuple[LossStep, ...], ...]
    switches: tuple[tuple[LossStep | None, ...], ...]
    gains: FloatArray
    variances: FloatArray
    switch_losses: FloatArray
    switch_variances: FloatArray
    allowed: NDArray[np.bool_]
    third_ratio: float
    may_end: NDArray[np.bool_]

    @classmethod
    def of(cls, instance: Instance, proceed: Callable[[], bool] = lambda: True) -> "Learning":
        """Read the laws of an instance.

        Parameters
        ----------
        proceed : callable
            Asked before every epoch and every row of switches.

        Raises
        ------
        NotCoveredError
            If losses decay by themselves, or there are too many pairs of models.
        OutOfTimeError
            If ``proceed`` says no.
        """
        require_tabulated(len(instance.models), "the law of switches")
        names = [model.name for model in instance.models]
        everything = frozenset(item.name for item in instance.datasets)
        runs = tuple(
            tuple(loss_step(instance, k, 0, name, name, everything) for name in names)
            for k in in_time(range(1, instance.target.maximum_epochs + 1), proceed)
        )
        if any(step.retention != 1 for row in runs for step in row):
            raise NotCoveredError("losses that decay by themselves do not add up")
        before = [*names, instance.target.initial_model]
        switches = tuple(
            tuple(None if p is None else switch_step(instance, p, m) for m in names)
            for p in in_time(before, proceed)
        )
        moments = _MomentsByTerm()
        shape = (len(runs), len(names))
        run_moments = np.array([[moments.of(step) for step in row] for row in runs]).reshape(*shape, 2)
        pairs = [
            [(0.0, 0.0) if step is None else moments.of(step) for step in row]
            for row in in_time(switches, proceed)
        ]
        switch_moments = np.array(pairs).reshape(len(before), len(names), 2)
        return cls(
            instance.target.initial_loss,
            runs,
            switches,
            -run_moments[..., 0],
            run_moments[..., 1],
            switch_moments[..., 0],
            switch_moments[..., 1],
            np.array([[instance.may_follow(p, m) for m in names] for p in in_time(before, proceed)]),
            moments.third_ratio,
            instance.rules.last_models(names),
        )

    @functools.cached_property
    def end_charge(self) -> float:
        """B of `AdditiveProblem.ending_with`, twice what means can fall; 0 if all may be last [loss]."""
        if self.may_end.all():
            return 0.0
        fall = np.abs(self.gains).max(axis=1, initial=0.0).sum()
        fall += len(self.gains) * np.abs(self.switch_losses).max(initial=0.0)
        return 2.0 * float(fall)

    @functools.cached_property
    def end_charges(self) -> FloatArray:
        """What a switch is charged or given back, as its models may be last or not; (M + 1, M) [loss]."""
        passing = self.end_charge * ~self.may_end
        return np.asarray(passing[None, :] - np.append(passing, 0.0)[:, None])

    @functools.cached_property
    def has_atoms(self) -> bool:
        """Whether some increment takes single values with positive probability."""
        steps = [*itertools.chain.from_iterable(self.runs), *itertools.chain.from_iterable(self.switches)]
        return any(term.law.has_atoms for term in distinct_terms(steps))

    def with_stand_ins(self) -> tuple[FloatArray, FloatArray]:
        """Variances of runs and switches, with the squared mean where there is none."""
        runs = np.where(np.isfinite(self.variances), self.variances, self.gains**2)
        changes = np.where(np.isfinite(self.switch_variances), self.switch_variances, self.switch_losses**2)
        return runs, changes

    def loss(self, models: Sequence[int], factors: Sequence[float]) -> FinalLoss:
        """The final loss of a sequence of models, each on data with a factor h."""
        constants, counts = [self.initial_loss], dict[Term, int]()
        before = len(self.switches) - 1
        for k, (model, factor) in enumerate(zip(models, factors, strict=True)):
            step, change = self.runs[k][model], self.switches[before][model]
            constants.append(factor * step.shift)
            terms = [scaled(term, factor) for term in step.terms]
            if change is not None:
                constants.append(change.shift)
                terms += change.terms
            for term in terms:
                counts[term] = counts.get(term, 0) + 1
            before = model
        return FinalLoss(math.fsum(constants), tuple(counts.items()))


def scaled(term: Term, factor: float) -> Term:
    """The term of an epoch on data with a factor h."""
    return term if factor == 1.0 else Term(factor * term.coefficient, term.law)


class _MomentsByTerm:
    """Moments of steps, each law asked once; keeps the greatest third ratio."""

    def __init__(self) -> None:
        self.third_ratio = 0.0
        self._known: dict[object, tuple[float, float, float]] = {}

    def of(self, step: LossStep) -> tuple[float, float]:
        mean, variance = step.shift, 0.0
        for term in step.terms:
            if term.law not in self._known:
                first, second = term.law.moments()
                third = term.law.third_moment()
                self._known[term.law] = (first, second, third / second if second > 0 else 0.0)
            first, second, ratio = self._known[term.law]
            mean += term.coefficient * first
            variance += term.coefficient**2 * second
            self.third_ratio = max(self.third_ratio, abs(term.coefficient) * ratio)
        return mean, variance


def distinct_terms(steps: Sequence[LossStep | None]) -> list[Term]:
    """All terms of some steps, each once."""
    found = itertools.chain.from_iterable(step.terms for step in steps if step is not None)
    return list(dict.fromkeys(found))


_Item = TypeVar("_Item")


def in_time(items: Iterable[_Item], proceed: Callable[[], bool]) -> Iterator[_Item]:
    """The items, as long as ``proceed`` says yes before each of them.

    Raises
    ------
    OutOfTimeError
        As soon as it says no.
    """
    for item in items:
        if not proceed():
            raise OutOfTimeError
        yield item

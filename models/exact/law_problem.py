"""The planning problem under its law: verdicts on plans, means and variances, and why there is no plan."""

import functools
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from depl.models.evaluation.evaluate import final_loss
from depl.models.exact.assignments import Assignment
from depl.models.exact.choices import Choices, Configuration
from depl.models.exact.reasons import SIMPLE_PLAN, fastest, obstacle, reached
from depl.models.exact.sampled import SampledProblem
from depl.models.foundation.deadline import keep_time
from depl.models.foundation.memory import require_tabulated
from depl.models.foundation.wording import counted, probability
from depl.models.problem.epochs import (
    FinalLoss,
    Term,
    gain_moments,
    loss_step,
    switch_moments,
    switch_steps,
)
from depl.models.problem.laws import FloatArray
from depl.models.problem.plan import Plan
from depl.models.risk.sampling import sample_final_loss
from depl.models.risk.verdicts import PreparedVerdicts, Verdict
from depl.models.scenarios.draws import draw_scenarios

_SAMPLE = 200
"""Scenarios on which first plans are sought: set by hand. More take time in proportion and need fewer
tightenings; the proof does not use them."""

_DRAWS = 20_000
"""Draws by which the excess of a quantile is estimated: set by hand. At omega = 0.99, 200 of them lie beyond,
so the tail is known to 7 %; it only guides how far a target is tightened."""

TIGHTENINGS = 8
"""Times that the target is tightened for a first plan at most: set by hand. With fewer, the search itself has
to find one more often; the proof does not use them."""


class Moments(NamedTuple):
    """Means and variances of all epochs and switches."""

    gains: FloatArray  # by epoch, set of datasets and model, (K_max, D, M)
    variances: FloatArray
    losses: FloatArray  # after a model or none, (K_max, M + 1, M)
    switch_variances: FloatArray


@dataclass(frozen=True, eq=False)
class LawProblem(Choices):
    """Problem (2)-(6) under the declared law, what is certified of its plans, and what guides a search."""

    seed: int  # of the sample and the draws that guide; no verdict depends on it

    @functools.cached_property
    def moments(self) -> Moments:
        """Read from the laws."""
        switches = np.pad(switch_moments(self.instance), ((0, 0), (0, 1), (0, 0)))
        switches = np.tile(switches[:, None], (1, self.epochs, 1, 1))
        return Moments(*gain_moments(self.instance, self.epochs, self.subsets), *switches)

    @functools.cached_property
    def budget(self) -> float:
        """1 - omega."""
        return float(self.instance.target.violation_budget)

    @functools.cached_property
    def fall(self) -> float:
        """The fall that is asked for, or the rise that is allowed: a scale of what is only tried [loss]."""
        target = self.instance.target
        return abs(target.initial_loss - target.maximum_loss) or abs(target.initial_loss) or 1.0

    def verdict(self, choices: Sequence[Configuration]) -> Verdict:
        """What is certified of a sequence; missed where no plan may end so."""
        return self.verdict_on(self.loss(choices)) if self.ends_well(choices) else Verdict.VIOLATED

    def verdict_on(self, loss: FinalLoss) -> Verdict:
        """The same of the law of a final loss."""
        return self._verdicts.verdict(loss)

    def loss(self, choices: Sequence[Configuration]) -> FinalLoss:
        """Law of the final loss of a sequence."""
        return final_loss(self.instance, self.plan(tuple(choices)) if choices else Plan())

    def deviation(self, loss: FinalLoss) -> float:
        """Standard deviation, or what stands for it as a scale [loss]."""
        variance = loss.variance()
        if not math.isfinite(variance):
            return 0.1 * self.fall
        return min(max(math.sqrt(variance), 1e-3 * self.fall), self.fall)

    def excess(self, loss: FinalLoss) -> float:
        """By how much to tighten a target whose sample the loss meets and whose law it does not [loss]."""
        drawn = sample_final_loss(loss, np.random.default_rng(self.seed), _DRAWS)
        excess = float(np.quantile(drawn, 1 - self.budget)) - self.instance.target.maximum_loss
        return max(1.02 * excess, 0.1 * self.deviation(loss))

    def sampled(self, lowered: float = 0.0) -> SampledProblem:
        """The problem on a sample, its target lowered by so much [loss]."""
        instance = self.instance
        sample = draw_scenarios(instance, _SAMPLE, self.seed)
        if lowered:
            instance = instance.replace(maximum_loss=instance.target.maximum_loss - lowered)
        return SampledProblem(instance, sample)

    def why_infeasible(self, assigned: Sequence[Assignment]) -> str:
        """What is in the way of every plan, in the user's words."""
        first = obstacle(self.instance)
        if first:
            return first
        target, sampled = self.instance.target, self.sampled()
        gain = max((reached(sampled, item) for item in assigned), default=-math.inf)
        seen = f": on {_SAMPLE} draws the best quantile of a {SIMPLE_PLAN} is about "
        return (
            f"models: target {target.maximum_loss:g} "
            f"at omega {probability(target.quantile_level)} unreachable within "
            f"{counted(target.maximum_epochs, 'epoch')} and the time limits by any plan"
            f"{seen + format(target.initial_loss - gain, '.4g') if gain > -math.inf else ''}"
            f"{self._time_needed(sampled, assigned)}"
        )

    def _time_needed(self, sampled: SampledProblem, assigned: Sequence[Assignment]) -> str:
        """The time of a quick plan that is certified to meet the target, if T_max is all that it misses."""
        lowered, limit = 0.0, self.maximum_time
        for _ in range(TIGHTENINGS if limit is not None else 0):
            found = fastest(sampled, assigned, sampled.needed + lowered)
            if found is None or limit is None:
                return ""
            # The plan is too slow for the instance; its loss is the same with time to spare.
            roomy = self.instance.replace(maximum_time=2 * max(found[0], limit))
            loss = final_loss(roomy, Choices(roomy).plan(found[1]))
            if self.verdict_on(loss) is Verdict.MET:
                return f"; a {SIMPLE_PLAN} and meets it takes {found[0]:.6g}, maximum_time is {limit:.6g}"
            lowered += self.excess(loss)
        return ""

    @functools.cached_property
    def _verdicts(self) -> PreparedVerdicts:
        return PreparedVerdicts(self.instance.target.maximum_loss, self.instance.target.violation_budget)


def random_terms(problem: Choices) -> list[Term]:
    """The random parts of all epochs and switches that a plan may have; none where everything is certain."""
    instance = problem.instance
    require_tabulated(len(instance.models), "the search", problem.epochs)
    terms = [term for step in switch_steps(instance).values() for term in step.terms]
    for k, model in itertools.product(range(1, problem.epochs + 1), instance.models):
        keep_time()
        terms += loss_step(instance, k, 0, model.name, model.name, problem.subsets[0]).terms
    return terms

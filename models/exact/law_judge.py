"""How the law judges a plan, whatever searches for it: verdicts, moments, and why there is no plan."""

import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from depl.models.evaluation.evaluate import final_loss
from depl.models.exact.choices import Choices, Configuration
from depl.models.exact.reasons import SIMPLE_PLAN, fastest, obstacle, reached
from depl.models.exact.sampled import SampledProblem
from depl.models.exact.search import Search
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
    losses: FloatArray  # (K_max, M, M)
    switch_variances: FloatArray

    @classmethod
    def of(cls, problem: Choices) -> "Moments":
        """Read them from the laws."""
        switches = np.tile(switch_moments(problem.instance)[:, None], (1, problem.epochs, 1, 1))
        return cls(*gain_moments(problem.instance, problem.epochs, problem.subsets), *switches)


class LawJudge:
    """What is certified of plans under the law of one instance."""

    def __init__(self, problem: Choices, seed: int) -> None:
        self.problem, self._seed = problem, seed
        self.target = problem.instance.target
        self.budget = float(self.target.violation_budget)
        # The fall that is asked for, or the rise that is allowed. It scales what is only tried: any would do.
        self.fall = abs(self.target.initial_loss - self.target.maximum_loss)
        self.fall = self.fall or abs(self.target.initial_loss) or 1.0
        self._verdicts = PreparedVerdicts(self.target.maximum_loss, self.target.violation_budget)

    def verdict(self, choices: Sequence[Configuration]) -> Verdict:
        """What is certified of a sequence; missed where no plan may end so."""
        return self.of_loss(self.loss(choices)) if self.problem.ends_well(choices) else Verdict.VIOLATED

    def of_loss(self, loss: FinalLoss) -> Verdict:
        """The same of the law of a final loss."""
        return self._verdicts.verdict(loss)

    def loss(self, choices: Sequence[Configuration]) -> FinalLoss:
        """Law of the final loss of a sequence."""
        plan = self.problem.plan(tuple(choices)) if choices else Plan()
        return final_loss(self.problem.instance, plan)

    def deviation(self, loss: FinalLoss) -> float:
        """Standard deviation, or what stands for it as a scale [loss]."""
        variance = loss.variance()
        if not math.isfinite(variance):
            return 0.1 * self.fall
        return min(max(math.sqrt(variance), 1e-3 * self.fall), self.fall)

    def excess(self, loss: FinalLoss) -> float:
        """By how much to tighten a target whose sample the loss meets and whose law it does not [loss]."""
        drawn = sample_final_loss(loss, np.random.default_rng(self._seed), _DRAWS)
        excess = float(np.quantile(drawn, 1 - self.budget)) - self.target.maximum_loss
        return max(1.02 * excess, 0.1 * self.deviation(loss))

    def sampled(self, lowered: float = 0.0) -> SampledProblem:
        """The problem on a sample, its target lowered by so much [loss]."""
        instance = self.problem.instance
        sample = draw_scenarios(instance, _SAMPLE, self._seed)
        if lowered:
            instance = instance.replace(maximum_loss=self.target.maximum_loss - lowered)
        return SampledProblem(instance, sample)

    def why_infeasible(self, search: Search) -> str:
        """What is in the way of every plan, in the user's words."""
        first = obstacle(self.problem.instance)
        if first:
            return first
        target, sampled = self.target, self.sampled()
        gain = max((reached(sampled, search.prices, item) for item in search.listed), default=-math.inf)
        seen = f": on {_SAMPLE} draws the best quantile of a {SIMPLE_PLAN} is about "
        return (
            f"models: target {target.maximum_loss:g} "
            f"at omega {probability(target.quantile_level)} unreachable within "
            f"{counted(target.maximum_epochs, 'epoch')} and the time limits by any plan"
            f"{seen + format(target.initial_loss - gain, '.4g') if gain > -math.inf else ''}"
            f"{self._time_needed(sampled, search)}"
        )

    def _time_needed(self, sampled: SampledProblem, search: Search) -> str:
        """The time of a quick plan that is certified to meet the target, if T_max is all that it misses."""
        lowered, limit = 0.0, self.target.maximum_time
        for _ in range(TIGHTENINGS if limit is not None else 0):
            found = fastest(sampled, search.prices, search.listed, sampled.needed + lowered)
            if found is None or limit is None:
                return ""
            # The plan is too slow for the instance; its loss is the same with time to spare.
            roomy = self.problem.instance.replace(maximum_time=2 * max(found[0], limit))
            loss = final_loss(roomy, Choices(roomy).plan(found[1]))
            if self.of_loss(loss) is Verdict.MET:
                return f"; a {SIMPLE_PLAN} and meets it takes {found[0]:.6g}, maximum_time is {limit:.6g}"
            lowered += self.excess(loss)
        return ""


def random_terms(problem: Choices) -> list[Term]:
    """The random parts of all epochs and switches that a plan may have; none where everything is certain."""
    instance = problem.instance
    require_tabulated(len(instance.models), "the search", problem.epochs)
    terms = [term for step in switch_steps(instance).values() for term in step.terms]
    for k, model in itertools.product(range(1, problem.epochs + 1), instance.models):
        keep_time()
        terms += loss_step(instance, k, 0, model.name, model.name, problem.subsets[0]).terms
    return terms

"""The time that is left once a method has ended, and what of its answer is left out where it is too little.

A plan is returned only with the certificate of its probability and the consent of the verifier, however long
these take. What a plan can do without is left out where it would break the time limit: the quantile of the
final loss; and, of a plan for scenarios, all that holds under the law, fresh draws, and drawing the scenarios
again for the verifier, which `depl check` can do at leisure.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from depl.models.evaluation.end_law import EndLaw
from depl.models.evaluation.evaluate import Evaluation, evaluate
from depl.models.foundation.deadline import LEEWAY, OutOfTimeError, deadline
from depl.models.foundation.interval import Interval
from depl.models.problem.instance import Instance
from depl.models.problem.plan import Plan
from depl.models.scenarios.draws import Scenarios
from depl.models.solving.methods import Limits

SHARE, SECONDS = 0.05, 2.0
"""What a solve may take beyond its limit: a share of it, and seconds."""

_CHECKING = 0.5
"""Seconds that are kept for what follows besides: small checks and writing down. Set by hand."""

_QUANTILE, _AGAIN = 0.0017, 2.0
"""Seconds that a quantile and the check of both its ends take per epoch, measured for 5000 epochs; and how
many times the certificate of the probability they take at least, where that alone tells what laws cost."""

_LISTING = 2.0
"""Seconds to list the plans of an instance at most (`depl.models.verifier.bounds.MOST_PLANS`)."""

_LAW, _DRAWING = 0.0033, 1.7e-6
"""Seconds of all that holds under the law per epoch, and of drawing a number of a scenario again: measured
for 5000 epochs and 100 scenarios."""


@dataclass
class Spare:
    """What is left of the time of one solve.

    Attributes
    ----------
    limits : Limits
        Of the solve.
    brief : bool
        Whether something was left out that the verifier may leave out, too.
    """

    limits: Limits
    brief: bool = field(default=False, init=False)

    def seconds(self) -> float:
        """Until the solve would break its limit; infinite without one [s]."""
        limit = self.limits.time_limit
        if limit is None:
            return math.inf
        whole = limit + self.limits.reserve
        return SHARE * whole + SECONDS - _CHECKING - self.limits.lateness()

    @property
    def can_list(self) -> bool:
        """Whether there is time to look at a claim about all plans, where they are few."""
        return self.seconds() >= _LISTING

    def evaluated(self, instance: Instance, plan: Plan, sample: Scenarios | None) -> Evaluation:
        """The evaluation of the plan that is returned, with all that there is time for."""
        if sample is None:
            return evaluate(instance, plan, quantile=self._quantile(instance, len(plan.epochs)))
        numbers = sample.improvements.size + sample.switch_losses.size
        needed = _LAW * len(plan.epochs) + _DRAWING * numbers
        if self.seconds() >= needed:
            try:
                with deadline(self._late):
                    return evaluate(instance, plan)
            except OutOfTimeError:
                pass
        self.brief = True
        return evaluate(instance, plan, probability=False)

    def _quantile(self, instance: Instance, epochs: int) -> Callable[[EndLaw], Interval | None]:
        """Certifies the quantile if there is time, judged by what the probability took until then."""
        started = time.perf_counter()

        def certified(law: EndLaw) -> Interval | None:
            if self.seconds() < max(_QUANTILE * epochs, _AGAIN * (time.perf_counter() - started)):
                return None
            try:
                with deadline(self._late):
                    return law.quantile(instance.target.violation_budget)
            except OutOfTimeError:
                return None

        return certified

    def _late(self) -> float:
        """Lateness of what can be left out: it is broken off once nothing is spare."""
        return LEEWAY - self.seconds()

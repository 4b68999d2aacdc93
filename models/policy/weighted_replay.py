r"""A policy on real runs that were each trained by one recorded schedule, weighted by how likely it agreed.

Of n runs each was trained by its own *design*: model and cluster of all its epochs, and their number, fixed
without regard to its losses. The policy is followed on the losses of a run for as long as its decisions are
those of the design. If it stops before they part, the run *agrees*: what it did is what it would have done
under the policy, and it counts 1 / q, where q is the share of the designs that begin like this one up to
where the policy stopped. A run that parts from its design counts 0.

*Unbiased.* Let Y be what the policy does on the losses of a run, and s the schedule that it follows there
until it stops, both functions of the run's own randomness alone. With designs as they are, run i contributes
1[D_i begins with s] Y / q(s), and as runs are alike, the mean over i of its expectation is

    E[ Y / q(s) * (share of i whose D_i begins with s) ]  =  E Y.

The weights must not be normalised, and each run needs the q of its own s: one common weight is biased. If the
policy may follow what no design began with, Y is missing there; it is refused where it is seen.

*Interval.* Given the designs, contributions are independent and lie in [0, M], with M from designs and policy
alone. So their mean is off by at most sqrt(2 V ln(2 / d) / n) + 7 M ln(2 / d) / (3 (n - 1)) to either side,
each but for probability d, with V their sample variance (Maurer and Pontil, Empirical Bernstein bounds and
sample variance penalization, 2009, Thm 11, which is for independent numbers that need not be alike; Thm 4 is
for those that are). It takes half of d for Bernstein's inequality, in which the mean of the variances stands,
at most E V, and half for their Thm 10, by which sqrt(E V) <= sqrt(V) + M sqrt(2 ln(2 / d) / (n - 1)); then
2 / (n - 1) + 1 / (3 n) <= 7 / (3 (n - 1)).
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

import numpy as np

from depl.models.foundation.errors import NotCoveredError
from depl.models.policy.controller import Controller
from depl.models.policy.decisions import Stop
from depl.models.policy.rules import Rules, read_rules
from depl.models.policy.simulation import CONFIDENCE
from depl.models.problem.policy import Policy
from depl.models.traces.table import Numbers, Schedule, Traces


@dataclass(frozen=True)
class AgreedRun:
    """A run whose design is what the policy would have done, until it stopped.

    Attributes
    ----------
    run : str
    epochs : int
        Until the policy stopped.
    share : float
        q, of the designs that begin like this.
    reached : bool
    cost : float
        At the prices of the policy [cost].
    """

    run: str
    epochs: int
    share: float
    reached: bool
    cost: float


@dataclass(frozen=True)
class WeightedReplay:
    """What recorded runs say of a policy that they were not trained by.

    Attributes
    ----------
    recorded : int
        n, all runs.
    runs : tuple of AgreedRun
    greatest_weight, greatest_cost : float
        M: of a run that reached the target, and of a cost times its weight [cost].
    claimed : float
        What the policy claims that P(reached) is at least.
    """

    recorded: int
    runs: tuple[AgreedRun, ...]
    greatest_weight: float
    greatest_cost: float
    claimed: float

    @property
    def delivered(self) -> float:
        """Unbiased estimate of P(reached), which may exceed 1."""
        return math.fsum(run.reached / run.share for run in self.runs) / self.recorded

    @property
    def delivered_interval(self) -> tuple[float, float]:
        """Of P(reached), `CONFIDENCE`."""
        values = [run.reached / run.share for run in self.runs]
        low, high = _interval(values, self.recorded, self.greatest_weight)
        return min(max(low, 0.0), 1.0), min(max(high, 0.0), 1.0)

    @property
    def cost(self) -> float:
        """Unbiased estimate of the expected cost [cost]."""
        return math.fsum(run.cost / run.share for run in self.runs) / self.recorded

    @property
    def cost_interval(self) -> tuple[float, float]:
        """Of the expected cost, `CONFIDENCE` [cost]."""
        values = [run.cost / run.share for run in self.runs]
        low, high = _interval(values, self.recorded, self.greatest_cost)
        return max(low, 0.0), high


def weighted_replay(policy: Policy, traces: Traces, metric: str = "loss") -> WeightedReplay:
    """Follow a policy on runs with schedules of their own, which were chosen without regard to their losses.

    Parameters
    ----------
    traces : Traces
    metric : str
        Of the traces, that the target is one of.

    Raises
    ------
    NotCoveredError
        If a decision leads to what no design began with, or a loss that it takes is missing: with run and
        epoch.
    """
    designs, rules = _Designs(traces.schedules), read_rules(policy)
    table = traces.matrix(metric)
    found = (
        _followed(rules, designs, name, schedule, losses)
        for name, schedule, losses in zip(traces.runs, traces.schedules, table, strict=True)
    )
    agreed = tuple(run for run in found if run is not None)
    weight, cost = _greatest(rules, designs)
    return WeightedReplay(len(traces.runs), agreed, weight, cost, policy.certificate.reached)


class _Designs:
    """How many schedules begin in which way."""

    def __init__(self, schedules: Sequence[Schedule]) -> None:
        self.schedules = tuple(dict.fromkeys(schedules))
        self._total = len(schedules)
        self._counts = Counter(schedule[:end] for schedule in schedules for end in range(len(schedule) + 1))

    def share(self, beginning: Schedule) -> float:
        """Of the designs that begin like this."""
        return self._counts[beginning] / self._total


def _followed(
    rules: Rules, designs: _Designs, name: str, schedule: Schedule, losses: Numbers
) -> AgreedRun | None:
    """A run along its design; None once the policy parts from it."""
    controller, epoch = Controller(rules), 0
    decision = controller.start(_loss(rules, losses, name, 0))
    while not isinstance(decision, Stop):
        asked = (*schedule[:epoch], (decision.model, decision.cluster))
        if designs.share(asked) == 0:
            _refuse(name, epoch, f"the policy goes on with {asked[-1][0]!r} on {asked[-1][1]!r}")
        if asked != schedule[: epoch + 1]:
            return None
        epoch += 1
        decision = controller.observe(_loss(rules, losses, name, epoch))
    share = designs.share(schedule[:epoch])
    return AgreedRun(name, epoch, share, decision.reason == "reached", controller.cost)


def _loss(rules: Rules, losses: Numbers, name: str, epoch: int) -> float:
    loss = float(losses[epoch])
    if math.isnan(loss):
        raise NotCoveredError(
            f"run {name!r}, epoch {epoch}: the loss was not evaluated there, and the policy decides on it"
        )
    if rules.scale == "log" and loss <= 0:
        raise NotCoveredError(f"run {name!r}, epoch {epoch}: a loss of {loss:g} has no logarithm")
    return loss


def _refuse(name: str, epoch: int, what: str) -> NoReturn:
    raise NotCoveredError(
        f"run {name!r}, epoch {epoch}: {what}, as no recorded schedule does after the same beginning; record "
        "such runs, or plan with switch_epochs and maximum_epochs as recorded"
    )


def _greatest(rules: Rules, designs: _Designs) -> tuple[float, float]:
    """The greatest weight of a run, and the greatest weighted cost, whatever the losses are."""
    weight, cost = 1.0, 0.0
    for schedule in designs.schedules:
        place, paid = rules.places[rules.start], 0.0
        for epoch, pair in enumerate(schedule, start=1):
            trainings = [item for item in place.trainings if (item.model, item.cluster) == pair]
            if not trainings:
                break
            paid += trainings[0].price
            place = rules.places[trainings[0].following]
            share = designs.share(schedule[:epoch])
            weight, cost = max(weight, 1 / share), max(cost, paid / share)
    return weight, cost


def _interval(values: Sequence[float], count: int, greatest: float) -> tuple[float, float]:
    """The empirical Bernstein interval of the mean of ``values`` and of zeros, ``count`` in all."""
    if count < 2:
        return -math.inf, math.inf
    numbers = np.zeros(count)
    numbers[: len(values)] = values
    logarithm = math.log(4 / (1 - CONFIDENCE))  # half of it on either side
    half = math.sqrt(2 * float(numbers.var(ddof=1)) * logarithm / count)
    half += 7 * greatest * logarithm / (3 * (count - 1))
    return float(numbers.mean()) - half, float(numbers.mean()) + half

r"""A lower bound under the law that is counted: what a run costs that is known before it begins.

Under the law of a counted policy (`depl.models.policy.counted`) a run is a donor of the first stage and one
of the second, drawn independently. On such a pair let

    v = min { price of a failure, cost of the cheapest first passage of all schedules within the caps }

with the losses that this pair has under each schedule. *Claim*: every policy whose stages last no longer, and
that is counted on the same donors, has C + rho F >= the mean of v. *Proof*: whatever it decides from, on one
pair it trains one schedule within the caps. If the run reaches the target it stops at a loss that meets it,
so it has paid for all epochs up to the first such loss of this schedule, v at least, as no epoch costs less
than nothing; if it fails, it has paid 0 at least and rho for the failure. So its cost and price of failures
on this pair are v at least, and the mean over pairs keeps the inequality. Runs unlike all seen fail by
declaration once they come to their stage: v is rho for one of the first stage, and for one of the second the
least of rho and of a first passage in the first stage. Randomised policies, and those that look at all past
losses, are covered. ∎

It is *no* bound of policies with longer or shorter stages: other runs lend to them, so they have another law.
Nor is it sharp: it knows which run will be lucky, and what that is worth no policy can have.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from depl.models.evaluation.traced_lending import Lent, lent
from depl.models.foundation.deadline import keep_time
from depl.models.policy.capped import Caps, capped
from depl.models.policy.counted import MOST_PATHS
from depl.models.policy.grid import met
from depl.models.policy.process import Node, Process, Site, Training
from depl.models.problem.affine_law import Position
from depl.models.problem.laws import FloatArray
from depl.models.problem.policy import Policy
from depl.models.problem.traced_law import TracedLaw

_ROUNDING = 1e-12
"""Relative lowering that covers the rounding of sums of some hundred thousand nonnegative values."""


@dataclass(frozen=True)
class Stages:
    """What a policy with at most one switch may train.

    Attributes
    ----------
    first : (str, str)
        Model and cluster.
    second : (str, str) or None
    caps : Caps
        Epochs of its longest first stage, and of its longest second one.
    """

    first: Site
    second: Site | None
    caps: Caps


def stages_of(policy: Policy) -> Stages | None:
    """The stages of a policy; None if it trains nothing, or has stages of more than two kinds."""
    ages: dict[int, tuple[tuple[Site, ...], int]] = {policy.start: ((), 0)}
    longest: dict[tuple[Site, ...], int] = {}
    for number, node in enumerate(policy.nodes):  # later epochs stand behind earlier ones
        sites, age = ages[number]
        for training in node.trainings:
            site = training.model, training.cluster
            after = (sites, age + 1) if sites and sites[-1] == site else ((*sites, site), 1)
            ages[training.following] = after
            longest[after[0]] = max(longest.get(after[0], 0), after[1])
    kinds = sorted(longest, key=len)
    if not kinds or len(kinds) > 2 or (len(kinds) == 2 and kinds[1][:1] != kinds[0]):
        return None
    if len(kinds) == 1:
        return Stages(kinds[0][0], None, Caps(longest[kinds[0]], 0))
    return Stages(kinds[0][0], kinds[1][1], Caps(longest[kinds[0]], longest[kinds[1]]))


def clairvoyant_bound(process: Process, traced: TracedLaw, policy: Policy, failure_cost: float) -> float:
    """The mean of v over all pairs of donors; 0 where the policy has stages of more than two kinds.

    Parameters
    ----------
    process : Process
        All that may be trained, of the proxy of the instance.
    policy : Policy
        Whose longest stages decide which runs lend.
    failure_cost : float
        rho [cost].
    """
    stages = stages_of(policy)
    if stages is None:
        return 0.0
    law, caps = traced.law, stages.caps
    first = lent(law, Position(stages.first, None, caps.first, 0))
    second = (
        None if stages.second is None else lent(law, Position(stages.second, stages.first, caps.later, 0))
    )
    if second is not None and len(first.donors) * len(second.donors) > MOST_PATHS:
        return 0.0
    known = _Known(capped(process, caps), stages, first, second, failure_cost, traced.diverged + 1)
    offsets = traced.deviations or (0.0,)
    return math.fsum(known.mean(offset) for offset in offsets) / len(offsets) * (1 - _ROUNDING)


@dataclass(frozen=True, eq=False)
class _Known:
    """Runs that are known before they begin.

    Attributes
    ----------
    unlike : int
        Runs unlike all seen, in each stage.
    """

    process: Process
    stages: Stages
    first: Lent
    second: Lent | None
    failure_cost: float
    unlike: int

    def mean(self, offset: float) -> float:
        """Of v, with one deviation of plans."""
        alone = np.full(len(self.first.donors), self.failure_cost)
        pairs = None if self.second is None else np.full((alone.size, len(self.second.donors)), np.inf)
        for node, losses, paid in self._first_stage():
            seen = losses + (offset if node.epoch else 0.0)
            reached = met(seen, self.process.limit) & node.may_stop
            alone = np.where(reached, np.minimum(alone, paid), alone)
            for training in node.trainings:
                if pairs is not None and (training.model, training.cluster) == self.stages.second:
                    self._second_stage(pairs, training, losses, paid, offset)
        unlike = Fraction(self.unlike, alone.size + self.unlike)
        values = alone
        if pairs is not None:
            shared = Fraction(self.unlike, pairs.shape[1] + self.unlike)
            best = np.minimum(pairs, alone[:, None]).mean(axis=1)
            values = float(1 - shared) * best + float(shared) * alone
        return float(unlike) * self.failure_cost + float(1 - unlike) * float(values.mean())

    def _first_stage(self) -> Iterator[tuple[Node, FloatArray, float]]:
        """Its nodes, with the losses of all donors and what was paid."""
        starts = (start.node for start in self.process.starts)
        number = next(
            start
            for start in starts
            if any(_site(item) == self.stages.first for item in self.process.nodes[start].trainings)
        )
        losses, paid, age = self.first.first_losses, 0.0, 0
        while True:
            node = self.process.nodes[number]
            yield node, losses, paid
            same = [item for item in node.trainings if _site(item) == self.stages.first]
            if not same:
                return
            losses = _after(losses, same[0], self.first.residuals[:, age])
            number, paid, age = same[0].following, paid + same[0].price, age + 1

    def _second_stage(
        self, pairs: FloatArray, training: Training | None, losses: FloatArray, paid: float, offset: float
    ) -> None:
        """Lower what pairs pay by first passages of a stage that begins with a training."""
        assert self.second is not None  # noqa: S101 - there are pairs
        left, age = np.repeat(losses[:, None], pairs.shape[1], axis=1), 0
        going = np.ones(pairs.shape, dtype=bool)
        while training is not None:
            keep_time()
            left = _after(left, training, self.second.residuals[None, :, age])
            paid, age = paid + training.price, age + 1
            node = self.process.nodes[training.following]
            reached = going & met(left + offset, self.process.limit) & node.may_stop
            np.minimum(pairs, paid, out=pairs, where=reached)
            going &= ~reached
            training = next((item for item in node.trainings if _site(item) == self.stages.second), None)


def _after(losses: FloatArray, training: Training, residuals: FloatArray) -> FloatArray:
    return np.asarray(training.kernel.shift + training.kernel.retention * losses + residuals)


def _site(training: Training) -> Site:
    return training.model, training.cluster

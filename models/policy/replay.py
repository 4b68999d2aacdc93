"""A policy followed on real runs: every decision that it takes was really trained, and its losses are known.

That takes counterfactuals: of every seed, a branch for each epoch after which it may switch
(`depl.models.traces.counterfactuals`). Each seed is followed from its l(0) along the policy's own decisions,
and counts as one run. Nothing is simulated, and no run is weighted; where a decision leads to a branch that
was not trained, or beyond its last epoch, the replay is refused with the seed and the epoch.
"""

import math
from collections import Counter
from dataclasses import dataclass
from statistics import stdev
from typing import NoReturn

import numpy as np

from depl.models.foundation.errors import NotCoveredError
from depl.models.policy.follow import End, Runs, begins_unseen, follow
from depl.models.policy.simulation import CONFIDENCE, mean_interval
from depl.models.problem.laws import FloatArray
from depl.models.problem.policy import Policy
from depl.models.risk.sampling import both_ends
from depl.models.traces.counterfactuals import Counterfactuals, branch_name, read_counterfactuals
from depl.models.traces.table import Traces


@dataclass(frozen=True)
class ReplayedRun:
    """One seed, followed until the policy stopped it.

    Attributes
    ----------
    seed : str
    epochs : int
    switched : int or None
        After how many epochs.
    cost : float
        At the prices of the policy [cost].
    loss : float
        When it stopped [loss].
    end : End
    """

    seed: str
    epochs: int
    switched: int | None
    cost: float
    loss: float
    end: End


@dataclass(frozen=True)
class Replay:
    """All seeds, in the order of the runs.

    Attributes
    ----------
    runs : tuple of ReplayedRun
    claimed : float
        What the policy claims that P(reached) is at least.
    """

    runs: tuple[ReplayedRun, ...]
    claimed: float

    @property
    def ends(self) -> Counter[str]:
        """How many runs ended how."""
        return Counter(run.end for run in self.runs)

    @property
    def delivered(self) -> float:
        """Share of the runs that reached the target."""
        return self.ends["reached"] / len(self.runs)

    @property
    def delivered_interval(self) -> tuple[float, float]:
        """Of the probability behind it: Clopper and Pearson."""
        return both_ends(self.ends["reached"], len(self.runs), 1 - CONFIDENCE)

    @property
    def cost(self) -> float:
        """Mean [cost]."""
        return math.fsum(run.cost for run in self.runs) / len(self.runs)

    @property
    def cost_interval(self) -> tuple[float, float]:
        """Of the expected cost: Student's [cost]."""
        costs = [run.cost for run in self.runs]
        return mean_interval(self.cost, stdev(costs) if len(costs) > 1 else 0.0, len(costs))

    @property
    def per_success(self) -> float:
        """Cost of all runs by those that reached the target; infinite without one [cost]."""
        reached = self.ends["reached"]
        return math.fsum(run.cost for run in self.runs) / reached if reached else math.inf


def replay(policy: Policy, traces: Traces | Counterfactuals, metric: str = "loss") -> Replay:
    """Follow a policy on every seed of counterfactual runs.

    Parameters
    ----------
    traces : Traces or Counterfactuals
        One run for every seed and switch epoch.
    metric : str
        Of the traces, that the target is one of.

    Raises
    ------
    InvalidInputError
        If the runs are no counterfactuals.
    NotCoveredError
        If a decision leads to what was not trained: with run and epoch.
    """
    table = traces if isinstance(traces, Counterfactuals) else read_counterfactuals(traces, metric)
    source = _Recorded(policy, table)
    found = dict[int, ReplayedRun]()
    for some in follow(policy, source):
        for seed, cost in zip(some.runs.own[0].tolist(), some.runs.costs.tolist(), strict=True):
            loss, switched = float(source.losses(seed)[some.epoch]), source.switched.get(seed)
            found[seed] = ReplayedRun(table.seeds[seed], some.epoch, switched, cost, loss, some.end)
    return Replay(tuple(found[seed] for seed in sorted(found)), policy.certificate.reached)


class _Recorded:
    """Every seed on its way, which is known by its place."""

    def __init__(self, policy: Policy, table: Counterfactuals) -> None:
        self.policy, self.table = policy, table
        self.switched: dict[int, int] = {}

    def begin(self) -> Runs:
        seeds = np.arange(len(self.table.seeds))
        return Runs(np.array([self._scaled(seed, 0) for seed in seeds.tolist()]), (seeds,))

    def train(self, node: int, training: int, runs: Runs) -> tuple[Runs, FloatArray]:
        told, epoch = self.policy.nodes[node].trainings[training], self.policy.nodes[node].epoch
        for seed in runs.own[0].tolist():
            self._train(seed, (told.model, told.cluster), epoch)
        return runs, np.array([self._scaled(seed, epoch + 1) for seed in runs.own[0].tolist()])

    def losses(self, seed: int) -> FloatArray:
        name = self.table.seeds[seed]
        if seed in self.switched:
            return self.table.losses(name, self.switched[seed])
        return self.table.first_stage(name)

    def _train(self, seed: int, asked: tuple[str, str], epoch: int) -> None:
        """Go on in the first stage, or switch to the second one, once."""
        first, second = self.table.stages
        if epoch == 0 and asked == second:
            self._refuse(seed, epoch, f"the policy begins with {asked[0]!r}, the runs with {first[0]!r}")
        if asked == (second if seed in self.switched else first):
            return
        if asked != second:
            model, cluster = asked
            self._refuse(seed, epoch, f"the policy goes on with {model!r} on {cluster!r}, which no run did")
        if epoch not in self.table.switch_epochs:
            self._refuse(seed, epoch, f"no branch of it switches after epoch {epoch}")
        self.switched[seed] = epoch

    def _scaled(self, seed: int, epoch: int) -> float:
        """A loss on the scale of the policy; NaN for an l(0) that was not evaluated and is not decided on."""
        losses = self.losses(seed)
        if epoch >= losses.size:
            self._refuse(seed, epoch, f"it was trained for {losses.size - 1} epochs only as the policy asks")
        loss = float(losses[epoch])
        if math.isnan(loss) and not (epoch == 0 and begins_unseen(self.policy)):
            self._refuse(seed, epoch, "the loss was not evaluated there")
        if self.policy.grid.scale == "loss" or math.isnan(loss):
            return loss
        if loss <= 0:
            self._refuse(seed, epoch, f"a loss of {loss:g} has no logarithm")
        return math.log(loss)

    def _refuse(self, seed: int, epoch: int, why: str) -> NoReturn:
        name = branch_name(self.table.seeds[seed], self.switched.get(seed, self.table.switch_epochs[-1]))
        raise NotCoveredError(
            f"run {name!r}, epoch {epoch}: {why}; a replay needs every branch that the policy "
            "may take: record them (depl train --stages), or plan with switch_epochs as recorded"
        )

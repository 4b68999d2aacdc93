"""A policy followed on real runs: every decision that it takes was really trained, and its losses are known.

That takes counterfactuals: of every seed, a branch for each epoch after which it may switch
(`depl.models.traces.counterfactuals`). Each seed is followed from its l(0) along the policy's own decisions,
and counts as one run. Nothing is simulated, and no run is weighted; where a decision leads to a branch that
was not trained, or beyond its last epoch, the replay is refused with the seed and the epoch.
"""

import math
from collections import Counter
from dataclasses import dataclass
from typing import Literal, NoReturn

from depl.models.foundation.errors import NotCoveredError
from depl.models.policy.controller import BEYOND, Controller, begins_unseen
from depl.models.policy.decisions import Stop
from depl.models.policy.rules import Rules, read_rules
from depl.models.policy.simulation import CONFIDENCE, mean_interval
from depl.models.problem.policy import Policy
from depl.models.risk.counts import both_ends
from depl.models.traces.counterfactuals import Branch, Counterfactuals, branch_name, read_counterfactuals
from depl.models.traces.table import Traces

End = Literal["reached", "abandoned", "exhausted", "beyond"]
"""At the target; by a row; after K_max epochs; above the grid."""


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
        mean, runs = self.cost, len(self.runs)
        squares = math.fsum((run.cost - mean) ** 2 for run in self.runs)
        return mean_interval(mean, math.sqrt(squares / max(1, runs - 1)), runs)

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
    rules = read_rules(policy)
    runs = tuple(_Follower(rules, table, seed).follow() for seed in table.seeds)
    return Replay(runs, policy.certificate.reached)


class _Follower:
    """One seed on its way."""

    def __init__(self, rules: Rules, table: Counterfactuals, seed: str) -> None:
        self.controller, self.table, self.seed = Controller(rules), table, seed
        self.rules, self.logarithmic = rules, rules.scale == "log"
        self.switched: int | None = None

    def follow(self) -> ReplayedRun:
        decision = self.controller.start(self._first_loss())
        while not isinstance(decision, Stop):
            self._train((decision.model, decision.cluster), decision.epoch)
            decision = self.controller.observe(self._loss(decision.epoch + 1))
        return ReplayedRun(
            self.seed, decision.epoch, self.switched, self.controller.cost, decision.loss, _end(decision)
        )

    def _first_loss(self) -> float | None:
        """l(0); None where it was not evaluated and the policy does not decide on it."""
        unseen = math.isnan(float(self.table.first_stage(self.seed)[0])) and begins_unseen(self.rules)
        return None if unseen else self._loss(0)

    def _train(self, asked: tuple[str, str], epoch: int) -> None:
        """Go on in the first stage, or switch to the second one, once."""
        first, second = self.table.stages
        now = first if self.switched is None else second
        if epoch == 0 and asked == second:
            self._refuse(epoch, f"the policy begins with {asked[0]!r}, the runs with {first[0]!r}")
        if asked == now:
            return
        if asked != second or self.switched is not None:
            self._refuse(epoch, f"the policy goes on with {asked[0]!r} on {asked[1]!r}, which no run did")
        if epoch not in self.table.switch_epochs:
            self._refuse(epoch, f"no branch of it switches after epoch {epoch}")
        self.switched = epoch

    def _loss(self, epoch: int) -> float:
        if self.switched is not None:
            losses = self.table.losses(self.seed, self.switched)
        else:
            losses = self.table.first_stage(self.seed)
        if epoch >= losses.size:
            self._refuse(epoch, f"it was trained for {losses.size - 1} epochs only as the policy asks")
        loss = float(losses[epoch])
        if math.isnan(loss):
            self._refuse(epoch, "the loss was not evaluated there")
        if self.logarithmic and loss <= 0:
            self._refuse(epoch, f"a loss of {loss:g} has no logarithm")
        return loss

    def _refuse(self, epoch: int, why: str) -> NoReturn:
        last: Branch = self.seed, self.table.switch_epochs[-1] if self.switched is None else self.switched
        raise NotCoveredError(
            f"run {branch_name(*last)!r}, epoch {epoch}: {why}; a replay needs every branch that the policy "
            "may take: record them (depl train --stages), or plan with switch_epochs as recorded"
        )


def _end(decision: Stop) -> End:
    if decision.reason == "deadline":
        return "exhausted"
    if decision.reason == "abandoned" and decision.note == BEYOND:
        return "beyond"
    return decision.reason

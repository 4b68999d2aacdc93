"""The rules that a run is led by, made of a policy or of a plan, and what they decide on a loss.

A plan needs no table: whatever the loss is above the target, its next epoch is trained. What it promises of
its final loss holds of *reached* here, too: a run that is not stopped early ends as planned, and one that is
stopped has reached the target. It costs what was planned at most.

Training programs import this for a policy: with msgspec, and without numpy.
"""

import math
from bisect import bisect_left
from collections.abc import Mapping
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.tolerances import ATOM_TOLERANCE
from depl.models.policy.decisions import Continue, Decision, Reason, Stop, Switch
from depl.models.policy.ledger import first_index, next_index
from depl.models.problem.plan import Plan
from depl.models.problem.policy import STOP, NextEpoch, Policy, PolicyNode, Row

if TYPE_CHECKING:  # it comes with numpy
    from depl.models.problem.instance import Instance

DIVERGED = "the loss is not finite: the run diverged"
BEYOND = "the loss is beyond the grid of the policy, which ends there"

_NO_TARGET = -1
"""In the place of the greatest cell in which the target is met: the loss itself says it, at every epoch."""


class Standing(NamedTuple):
    """Where a run stands after an epoch, and what was decided.

    ``at`` is what its strategy goes on from, ``ledger`` the index that a policy was looked up at, if any, and
    ``note`` what a line of the log holds besides.
    """

    decision: Decision
    cost: float
    at: Any = None
    ledger: int | None = None
    note: Mapping[str, Any] | None = None


class _At(NamedTuple):
    """A node by its number, the loss on the scale of the law if it was seen, and what is trained next."""

    number: int
    scaled: float | None
    training: NextEpoch | None


class Rules(NamedTuple):
    """All that decides on a run, as a policy has it; ``last`` is K_max."""

    name: str
    instance: str
    scale: Literal["loss", "log"]
    origin: float
    step: float
    cells: int
    target: int
    limit: float
    ledger: bool
    last: int
    start: int
    nodes: tuple[PolicyNode, ...]

    @property
    def fingerprint(self) -> str:
        """SHA-256 of all that decides; policies that differ in what is claimed of them alone share it.

        Logs hold it, so the text that is hashed stays as it is.
        """
        nodes = [
            f"Place(epoch={node.epoch}, model={node.model!r}, cluster={node.cluster!r}, "
            f"may_stop={node.may_stop}, trainings={node.trainings!r}, "
            f"upto={tuple(row.upto for row in node.rows)}, "
            f"actions={tuple(row.action for row in node.rows)})".replace("NextEpoch(", "Training(")
            for node in self.nodes
        ]
        told = ", ".join([*map(repr, self[1:-1]), f"({', '.join(nodes)}{',' * (len(nodes) == 1)})"])
        return sha256(f"({told})".encode()).hexdigest()

    @property
    def sites(self) -> set[tuple[str, str]]:
        """Models and clusters that may be trained."""
        return {(item.model, item.cluster) for node in self.nodes for item in node.trainings}

    @property
    def begins_unseen(self) -> bool:
        """Whether a run may begin without its l(0)."""
        return begins_unseen(self.nodes[self.start])

    def arrive(
        self,
        before: Standing | None,
        loss: float | None,
        elapsed_time: float | None = None,
        noted: object = None,
    ) -> Standing:
        """Where a run comes to with a loss, and what is decided there; without one only before epoch 1."""
        if elapsed_time is not None:
            raise InvalidInputError(
                "is for runs that are planned again; what else leads a run does not watch the time: leave "
                "it out",
                "elapsed_time",
            )
        training = None if before is None else before.at.training
        number = self.start if training is None else training.following
        node, cost = self.nodes[number], 0.0 if before is None else before.cost
        cost += 0.0 if training is None else training.price
        if loss is None and self.begins_unseen:
            return self._next(number, None, self.cells - 1, cost, math.nan)
        if loss is None:
            raise InvalidInputError(
                "a loss is a number, not None, and this policy decides on that before the first epoch: "
                "evaluate the model, and give it",
                "loss",
            )
        if not math.isfinite(loss):
            return Standing(Stop("abandoned", node.epoch, loss, DIVERGED), cost, _At(number, None, None))
        scaled = self._scaled(node, loss)
        index = self._index(None if before is None else before.ledger, before and before.at, scaled)
        if before is None and not node.may_stop and self.begins_unseen:
            index = min(index, self.cells - 1)  # nothing depends on l(0), wherever the losses of the law end
        return self._next(number, scaled, index, cost, loss)

    def why(self, standing: Standing) -> str:
        """The losses for which the same is decided; empty where the loss had no part in it."""
        number, scaled, _ = standing.at
        index, node = standing.ledger, self.nodes[number]
        if index is None or index >= self.cells or self._is_met(node, scaled) or self.cells == 1:
            return ""  # with one cell, as of a plan, the same is decided at any loss above the target
        row = _row(node, index)
        high = self._loss(node.rows[row].upto)
        held = f", which counts as at most {self._loss(index)}" if self.ledger else ""
        if row == 0:
            return f"{held}; so up to {high}"
        return f"{held}; so from {self._loss(node.rows[row - 1].upto + 1)} to {high}"

    def _next(self, number: int, scaled: float | None, index: int, cost: float, loss: float) -> Standing:
        """What is decided at a node."""
        node = self.nodes[number]
        met, beyond = self._is_met(node, scaled), index >= self.cells
        action = STOP if met or beyond else node.rows[_row(node, index)].action
        if action != STOP:
            training = node.trainings[action]
            site = training.model, training.cluster
            stays = node.model is None or (node.model, node.cluster) == site
            decision = (Continue if stays else Switch)(*site, node.epoch, loss)
            return Standing(decision, cost, _At(number, scaled, training), index)
        reason: Reason = "deadline" if node.epoch == self.last and not beyond else "abandoned"
        if met or (node.may_stop and index <= self.target):
            reason, beyond = "reached", False
        stop = Stop(reason, node.epoch, loss, BEYOND if beyond else "")
        return Standing(stop, cost, _At(number, scaled, None), index)

    def _is_met(self, node: PolicyNode, scaled: float | None) -> bool:
        return scaled is not None and node.may_stop and scaled <= self.limit + ATOM_TOLERANCE

    def _scaled(self, node: PolicyNode, loss: float) -> float:
        """A finite loss on the scale of the law; a loss without a logarithm is below all others."""
        if self.scale == "loss":
            return loss
        if loss > 0:
            return math.log(loss)
        if node.may_stop:
            return -math.inf
        raise InvalidInputError(
            f"is {loss:g}, of which there is no logarithm, and the policy is planned on logarithms of the "
            f"loss; {node.model or 'the model'} may not be the last, so that it does not count as met: "
            "check the evaluation",
            "loss",
        )

    def _index(self, ledger: int | None, at: _At | None, scaled: float) -> int:
        """The state of the policy: the ledger, or the loss rounded up."""
        if scaled == -math.inf:
            return 0
        if ledger is None or at is None or at.training is None or not self.ledger:
            return first_index(scaled, self.origin, self.step)
        old = 0.0 if at.scaled is None else at.scaled  # what was not seen is multiplied by 0
        law = at.training.shift, at.training.retention
        return next_index(ledger, old, scaled, *law, self.origin, self.step)

    def _loss(self, index: int) -> str:
        value = self.origin + index * self.step
        try:
            return f"{math.exp(value) if self.scale == 'log' else value:.6g}"
        except OverflowError:
            return "any"


def begins_unseen(node: PolicyNode) -> bool:
    """Whether runs may begin there without their l(0): they train, and the epoch retains nothing of it."""
    return node.rows[-1].action != STOP and all(item.retention == 0 for item in node.trainings)


def _row(node: PolicyNode, index: int) -> int:
    """The row that an index is looked up in."""
    return bisect_left(node.rows, index, key=lambda row: row.upto)


def policy_rules(policy: Policy) -> Rules:
    """The rules of a policy."""
    grid = policy.grid
    scale = grid.scale, grid.origin, grid.step, grid.cells, grid.target, grid.limit
    state = policy.state == "ledger", policy.maximum_epochs, policy.start
    return Rules(policy.name, policy.instance, *scale, *state, policy.nodes)


def plan_rules(plan: Plan, instance: "Instance") -> Rules:
    """The rules of a run that follows a plan and stops once its loss meets the target.

    It may stop after each epoch whose model may be the last. The only cell of the grid holds every loss.

    Raises
    ------
    InvalidInputError
        If the plan is none of the instance, or its last model may not be the last.
    """
    plan.check_names(instance)
    rules, prices, last = instance.rules, _prices(instance, plan), len(plan.epochs)
    trained = [(epoch.model, epoch.cluster, rules.may_end(epoch.model)) for epoch in plan.epochs]
    places = [(instance.target.initial_model, None, rules.may_stop), *trained]
    model, _, may_stop = places[-1]
    if not may_stop:
        ending = "without an epoch" if model is None else f"with {model!r}, which may not be the last model"
        raise InvalidInputError(f"ends {ending}; make another plan", "plan")
    steps = [
        (NextEpoch(model=to[0], cluster=to[1], price=price, shift=0.0, retention=0.0, following=number),)
        for number, (to, price) in enumerate(zip(trained, prices, strict=True), start=1)
    ]
    nodes = tuple(
        PolicyNode(
            epoch=number,
            model=model,
            cluster=cluster,
            may_stop=may_stop,
            trainings=step,
            rows=(Row(upto=0, action=0 if step else STOP),),
        )
        for number, ((model, cluster, may_stop), step) in enumerate(zip(places, [*steps, ()], strict=True))
    )
    one_cell = 0.0, math.inf, 1, _NO_TARGET, instance.target.maximum_loss, False
    name = f"plan of {last} epochs for {instance.name}"
    return Rules(name, instance.fingerprint, "loss", *one_cell, last, 0, nodes)


def _prices(instance: "Instance", plan: Plan) -> list[float]:
    """Of every epoch, at its resources as planned, with data that its cluster is brought [cost]."""
    from depl.models.evaluation.evaluate import epoch_loads

    brought = {
        row.cluster: math.fsum(instance.transfer_cost(name, row.cluster) for name in row.datasets)
        for row in plan.data
    }
    loads = zip(epoch_loads(instance, plan), plan.epochs, strict=True)
    return [load.price * epoch.resources + brought.pop(epoch.cluster, 0.0) for load, epoch in loads]

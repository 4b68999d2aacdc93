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
from depl.models.problem.policy import STOP, Policy, PolicyNode

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


class Training(NamedTuple):
    """What one more epoch trains, costs and does: l' = shift + retention * l + noise."""

    model: str
    cluster: str
    price: float
    shift: float
    retention: float
    following: int


class Place(NamedTuple):
    """Where a run may stand, but for its loss: rows as their last indices, and beside them the actions."""

    epoch: int
    model: str | None
    cluster: str | None
    may_stop: bool
    trainings: tuple[Training, ...]
    upto: tuple[int, ...]
    actions: tuple[int, ...]


class _At(NamedTuple):
    """A place by its number, the loss on the scale of the law if it was seen, and what is trained next."""

    number: int
    scaled: float | None
    training: Training | None


class Rules(NamedTuple):
    """All that decides on a run, as a policy has it; ``last`` is K_max, and places are its nodes."""

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
    places: tuple[Place, ...]

    @property
    def fingerprint(self) -> str:
        """SHA-256 of all that decides; policies that differ in what is claimed of them alone share it."""
        return sha256(repr(tuple(self[1:])).encode()).hexdigest()

    @property
    def sites(self) -> set[tuple[str, str]]:
        """Models and clusters that may be trained."""
        return {(item.model, item.cluster) for place in self.places for item in place.trainings}

    @property
    def begins_unseen(self) -> bool:
        """Whether a run may begin without its l(0): it trains then, and the epoch retains nothing of it."""
        place = self.places[self.start]
        return place.actions[-1] != STOP and all(item.retention == 0 for item in place.trainings)

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
        place, cost = self.places[number], 0.0 if before is None else before.cost
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
            return Standing(Stop("abandoned", place.epoch, loss, DIVERGED), cost, _At(number, None, None))
        scaled = self._scaled(place, loss)
        index = self._index(None if before is None else before.ledger, before and before.at, scaled)
        if before is None and not place.may_stop and self.begins_unseen:
            index = min(index, self.cells - 1)  # nothing depends on l(0), wherever the losses of the law end
        return self._next(number, scaled, index, cost, loss)

    def why(self, standing: Standing) -> str:
        """The losses for which the same is decided; empty where the loss had no part in it."""
        number, scaled, _ = standing.at
        index, place = standing.ledger, self.places[number]
        if index is None or index >= self.cells or self._is_met(place, scaled) or self.cells == 1:
            return ""  # with one cell, as of a plan, the same is decided at any loss above the target
        row = bisect_left(place.upto, index)
        high = self._loss(place.upto[row])
        held = f", which counts as at most {self._loss(index)}" if self.ledger else ""
        if row == 0:
            return f"{held}; so up to {high}"
        return f"{held}; so from {self._loss(place.upto[row - 1] + 1)} to {high}"

    def _next(self, number: int, scaled: float | None, index: int, cost: float, loss: float) -> Standing:
        """What is decided at a place."""
        place = self.places[number]
        if not self._is_met(place, scaled) and index < self.cells:
            action = place.actions[bisect_left(place.upto, index)]
            if action != STOP:
                training = place.trainings[action]
                site = training.model, training.cluster
                stays = place.model is None or (place.model, place.cluster) == site
                decision = (Continue if stays else Switch)(*site, place.epoch, loss)
                return Standing(decision, cost, _At(number, scaled, training), index)
        return Standing(self._stop(place, scaled, index, loss), cost, _At(number, scaled, None), index)

    def _stop(self, place: Place, scaled: float | None, index: int, loss: float) -> Stop:
        low = place.may_stop and index <= self.target
        reason: Reason = "deadline" if place.epoch == self.last else "abandoned"
        if low or self._is_met(place, scaled):
            reason = "reached"
        elif index >= self.cells:
            return Stop("abandoned", place.epoch, loss, BEYOND)
        return Stop(reason, place.epoch, loss)

    def _is_met(self, place: Place, scaled: float | None) -> bool:
        return scaled is not None and place.may_stop and scaled <= self.limit + ATOM_TOLERANCE

    def _scaled(self, place: Place, loss: float) -> float:
        """A finite loss on the scale of the law; a loss without a logarithm is below all others."""
        if self.scale == "loss":
            return loss
        if loss > 0:
            return math.log(loss)
        if place.may_stop:
            return -math.inf
        raise InvalidInputError(
            f"is {loss:g}, of which there is no logarithm, and the policy is planned on logarithms of the "
            f"loss; {place.model or 'the model'} may not be the last, so that it does not count as met: "
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


def policy_rules(policy: Policy) -> Rules:
    """The rules of a policy."""
    grid = policy.grid
    scale = grid.scale, grid.origin, grid.step, grid.cells, grid.target, grid.limit
    state = policy.state == "ledger", policy.maximum_epochs, policy.start
    return Rules(policy.name, policy.instance, *scale, *state, tuple(map(_place, policy.nodes)))


def _place(node: PolicyNode) -> Place:
    trainings = tuple(
        Training(item.model, item.cluster, item.price, item.shift, item.retention, item.following)
        for item in node.trainings
    )
    rows = tuple(row.upto for row in node.rows), tuple(row.action for row in node.rows)
    return Place(node.epoch, node.model, node.cluster, node.may_stop, trainings, *rows)


def plan_rules(plan: Plan, instance: "Instance") -> Rules:
    """The rules of a run that follows a plan and stops once its loss meets the target.

    It may stop after each epoch whose model may be the last. The only cell of the grid holds every loss.

    Raises
    ------
    InvalidInputError
        If the plan is none of the instance, or its last model may not be the last.
    """
    plan.check_names(instance)
    rules, prices = instance.rules, _prices(instance, plan)
    model, cluster, may_stop = instance.target.initial_model, None, rules.may_stop
    places = []
    for number, epoch in enumerate(plan.epochs):
        training = Training(epoch.model, epoch.cluster, prices[number], 0.0, 0.0, number + 1)
        places.append(Place(number, model, cluster, may_stop, (training,), (0,), (0,)))
        model, cluster, may_stop = epoch.model, epoch.cluster, rules.may_end(epoch.model)
    if not may_stop:
        ending = "without an epoch" if model is None else f"with {model!r}, which may not be the last model"
        raise InvalidInputError(f"ends {ending}; make another plan", "plan")
    last = len(plan.epochs)
    places.append(Place(last, model, cluster, may_stop, (), (0,), (STOP,)))
    one_cell = 0.0, math.inf, 1, _NO_TARGET, instance.target.maximum_loss, False
    name = f"plan of {last} epochs for {instance.name}"
    return Rules(name, instance.fingerprint, "loss", *one_cell, last, 0, tuple(places))


def _prices(instance: "Instance", plan: Plan) -> list[float]:
    """Of every epoch, at its resources as planned, with data that its cluster is brought [cost]."""
    from depl.models.evaluation.evaluate import epoch_loads

    brought = {
        row.cluster: math.fsum(instance.transfer_cost(name, row.cluster) for name in row.datasets)
        for row in plan.data
    }
    loads = zip(epoch_loads(instance, plan), plan.epochs, strict=True)
    return [load.price * epoch.resources + brought.pop(epoch.cluster, 0.0) for load, epoch in loads]

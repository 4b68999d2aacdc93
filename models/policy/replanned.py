"""A run that is planned again after every epoch, so that the promise of its first plan is kept.

Of the new rest it is asked what the old one would deliver given the loss just seen (`replan` with
``keep_promise``; `docs/policies` says why that keeps the promise over all runs). Any number of clusters and
datasets, free resources and a limit of the training time are covered, as every rest is an ordinary instance.
"""

import json
import math
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, NamedTuple, cast

import msgspec

from depl.models.foundation.errors import InvalidInputError
from depl.models.policy.decisions import Continue, Reason, Stop, Switch
from depl.models.policy.rules import DIVERGED, Standing
from depl.models.problem.instance import Instance
from depl.models.problem.plan import Plan
from depl.models.solving.replanning import (
    Choice,
    Replanning,
    State,
    is_met,
    on_plan,
    planned_state,
    remaining_instance,
    replan,
    sunk_cost,
)
from depl.models.solving.solve import solve


class Rest(NamedTuple):
    """The rest of the problem seen from the last epoch, and the plan that is followed for it."""

    instance: Instance
    plan: Plan
    found: Replanning | None = None


class Replanned:
    """What leads a run that is planned again; `depl.models.policy.controller.Controller` says how."""

    def __init__(self, instance: Instance, plan: Plan | None, asked: Mapping[str, Any]) -> None:
        if plan is not None:
            plan.check_names(instance)
        self.instance, self.plan, self.asked = instance, plan, asked
        self.name, self.last = f"replanning of {instance.name}", instance.target.maximum_epochs
        self.sites = {(model.name, at.name) for model in instance.models for at in instance.clusters}
        self.begins_unseen = True
        first = "" if plan is None else json.dumps(_written(plan))
        self.fingerprint = sha256(f"replanned {instance.fingerprint} {first}".encode()).hexdigest()

    def arrive(
        self,
        before: Standing | None,
        loss: float | None,
        elapsed_time: float | None = None,
        noted: Mapping[str, Any] | None = None,
    ) -> Standing:
        """Where a run comes to with a loss, and what is decided there; ``noted`` is its line of a log."""
        epoch, cost = (0, 0.0) if before is None else (before.decision.epoch + 1, before.cost)
        if loss is not None and not math.isfinite(loss):
            return Standing(Stop("abandoned", epoch, loss, DIVERGED), cost)
        rest = Rest(self.instance, self._first_plan(noted)) if before is None else before.at
        note: dict[str, Any] = {}
        if loss is None:
            note["plan"] = _written(rest.plan)
            return _next(before, rest, self.instance.target.initial_loss, cost, note)
        state = planned_state(rest.instance, rest.plan, min(epoch, 1), loss)
        if elapsed_time is not None:
            note["elapsed_time"] = elapsed_time
            state = msgspec.structs.replace(state, elapsed_time=elapsed_time)
        cost += sunk_cost(rest.instance, rest.plan, state)
        found = self._found(rest, state) if noted is None else _read(rest, state, noted)
        if not isinstance(found, Rest):
            return Standing(Stop(found, epoch, loss), cost, note=note)
        note |= {"level": found.instance.target.quantile_level, "plan": _written(found.plan)}
        return _next(before, found, loss, cost, note)

    def why(self, standing: Standing) -> str:
        """Which rest is followed."""
        found = None if standing.at is None else standing.at.found
        return "" if found is None else f", as the {found.choice.value} rest says"

    def _first_plan(self, noted: Mapping[str, Any] | None) -> Plan:
        if noted is not None:
            return _plan(noted) if "plan" in noted else Plan()  # of a run that stopped before epoch 1
        if self.plan is not None:
            return self.plan
        found = solve(self.instance, **self.asked)
        if found.plan is None:
            raise InvalidInputError(f"no plan was found whose promise could be kept: {found.reason}", "plan")
        return found.plan

    def _found(self, rest: Rest, state: State) -> Rest | Reason:
        """The rest to follow from a state on, or why to stop."""
        found = replan(rest.instance, rest.plan, state, keep_promise=True, **self.asked)
        if found.met:
            return "reached"
        if found.remaining is None or found.plan is None or found.choice is Choice.STOP:
            out = found.remaining is None or found.remaining.target.maximum_epochs == 0
            return "deadline" if out else "abandoned"
        return Rest(found.remaining, found.plan, found)


def _next(before: Standing | None, rest: Rest, loss: float, cost: float, note: Mapping[str, Any]) -> Standing:
    """What the plan in force trains now."""
    last = None if before is None else before.decision
    epoch = 0 if last is None else last.epoch + 1
    if not rest.plan.epochs:
        met = is_met(rest.instance, State(epoch=0, loss=loss))
        return Standing(Stop("reached" if met else "deadline", epoch, loss), cost, note=note)
    item = rest.plan.epochs[0]
    stays = last is None or isinstance(last, Stop) or (last.model, last.cluster) == (item.model, item.cluster)
    decision = (Continue if stays else Switch)(item.model, item.cluster, epoch, loss)
    return Standing(decision, cost, rest, note=note)


def _read(rest: Rest, state: State, noted: Mapping[str, Any]) -> Rest | Reason:
    """The same from the line of a log, so that nothing is solved twice."""
    reason, level = noted.get("reason"), noted.get("level")
    if level is None:
        ends: tuple[Reason, ...] = ("reached",) if is_met(rest.instance, state) else ("deadline", "abandoned")
        if reason not in ends:
            raise InvalidInputError(f"reason is {reason!r:.80} and would be {' or '.join(ends)}")
        return cast("Reason", reason)
    plan = _plan(noted)
    following = remaining_instance(rest.instance, on_plan(state, rest.plan)).replace(quantile_level=level)
    plan.check_names(following)
    return Rest(following, plan)


def _plan(noted: Mapping[str, Any]) -> Plan:
    """The plan that a line of a log holds."""
    return Plan.from_json(json.dumps(noted.get("plan")))


def _written(plan: Plan) -> dict[str, Any]:
    """A plan as a line of a log holds it: what is trained, without what is claimed of it."""
    written: dict[str, Any] = json.loads(Plan(data=plan.data, epochs=plan.epochs).to_json())
    return written

"""Plan again from an observed state; and the rule by which that keeps the promise made at the start.

What a re-plan promises holds *given the state*, and who plans again with the same omega at will does not
deliver omega over all runs. The rule that does changes plans only where the conditional probability of a miss
does not rise, decided by certified intervals: the *upper* end of the new one against the *lower* end of the
old one (`docs/replanning`, with the proof; what it takes of the law: `Replanning.holds_over_all_runs`).
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from fractions import Fraction
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from depl.models.evaluation.evaluate import (
    SITE_RULES,
    Evaluation,
    epoch_loads,
    epoch_times,
    evaluate,
    law_of_end,
    plan_cost,
)
from depl.models.evaluation.loss_law import loss_law
from depl.models.foundation.deadline import now
from depl.models.foundation.documents import Document, Name, require_known, require_unique
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.interval import Interval
from depl.models.foundation.showing import Shown
from depl.models.foundation.tolerances import EXACT_ATOM_TOLERANCE, PROOF_TOLERANCE, TIME_TOLERANCE
from depl.models.problem.instance import SMALLEST_VIOLATION_BUDGET, Instance, Provenance
from depl.models.problem.laws import NonNegative
from depl.models.problem.plan import ClusterData, Plan, require_data, require_trained
from depl.models.problem.traced_law import Stage, joined_stages, require_joined
from depl.models.scenarios.draws import Scenarios
from depl.models.solving.edge import with_cheapest_resources
from depl.models.solving.limits import OnPhase, Progress, require_limits
from depl.models.solving.methods import default_method, find
from depl.models.solving.result import Result, Solution, Termination
from depl.models.solving.solve import solve
from depl.models.traces.table import Schedule


class State(Document, frozen=True, kw_only=True):
    """Where a run stands after an epoch (or, at epoch 0, before the first).

    Raises
    ------
    InvalidInputError
        If the model is missing after an epoch or given before the first, if stages do not add up to the
        epochs or end with another model, or if a transfer is listed twice.
    """

    format: Literal["depl-state"] = "depl-state"
    version: Literal[1] = 1
    instance: Annotated[str, Meta(description="fingerprint of the instance that is trained")] | None = None
    epoch: Annotated[int, Meta(ge=0, le=1_000_000, description="epochs trained so far")]
    loss: Annotated[float, Meta(description="l(epoch), observed")]
    elapsed_time: Annotated[NonNegative, Meta(description="training time so far [time]")] = 0.0
    model: Annotated[Name, Meta(description="model of the last epoch; absent iff epoch is 0")] | None = None
    stages: (
        Annotated[
            tuple[Stage, ...],
            Meta(description="what was trained so far; a traced law needs them, a plan can stand for them"),
        ]
        | None
    ) = None
    transferred: Annotated[
        tuple[ClusterData, ...], Meta(description="data already brought to clusters, and paid")
    ] = ()

    def validate(self) -> None:
        """Check what spans more than one field."""
        if self.epoch == 0 and self.model is not None:
            raise InvalidInputError("no model was trained before epoch 1; remove it", ".model")
        if self.epoch > 0 and self.model is None:
            raise InvalidInputError(f"name the model that epoch {self.epoch} trained", ".model")
        if self.stages is not None:
            require_joined(self.stages)
            epochs = sum(stage.epochs for stage in self.stages)
            if epochs != self.epoch:
                raise InvalidInputError(f"have {epochs} epochs in all, but epoch is {self.epoch}", ".stages")
            if self.stages and self.stages[-1].model != self.model:
                last = f".stages[{len(self.stages) - 1}].model"
                raise InvalidInputError(f"is {self.stages[-1].model!r}, but model is {self.model!r}", last)
        require_unique([row.cluster for row in self.transferred], ".transferred")
        for index, row in enumerate(self.transferred):
            require_unique(row.datasets, f".transferred[{index}].datasets")

    @property
    def trained(self) -> Schedule | None:
        """Model and cluster of the epochs so far; None where that is not said."""
        if self.stages is None:
            return None if self.epoch else ()
        return tuple(stage.trained for stage in self.stages for _ in range(stage.epochs))

    @property
    def paid(self) -> frozenset[tuple[str, str]]:
        """The (dataset, cluster) pairs whose transfer was paid."""
        return frozenset((name, row.cluster) for row in self.transferred for name in row.datasets)


def check_state(instance: Instance, state: State, plan: Plan | None = None) -> None:
    """Refuse a state that a run of the instance, or of the plan, cannot be in.

    Elapsed time beyond T_max is possible, and makes the rest infeasible: `time_is_up`.

    Parameters
    ----------
    plan : Plan, optional
        The plan that the run followed.

    Raises
    ------
    InvalidInputError
        If the state is of another instance, names what that does not have, or has trained more epochs than
        allowed or planned; if its model is not the one planned; or if an epoch was trained on a cluster to
        which planned data with a price were not brought.
    """
    if state.instance is not None and state.instance != instance.fingerprint:
        raise InvalidInputError(
            f"the state was observed on another instance (fingerprint {state.instance[:12]}, this one has "
            f"{instance.fingerprint[:12]}); use that instance, or remove the field",
            "$.instance",
        )
    most = instance.target.maximum_epochs
    if state.epoch > most:
        raise InvalidInputError(f"is {state.epoch}, but at most K_max = {most} epochs are allowed", "$.epoch")
    _check_names(instance, state)
    if plan is not None:
        plan.check_names(instance)
        _check_progress(instance, state, plan)


def time_is_up(instance: Instance, state: State) -> str | None:
    """Why nothing that follows can keep T_max; None while something can."""
    limit = instance.target.maximum_time
    if limit is None or _time_left(limit, state.elapsed_time) > 0:
        return None
    return (
        f"resources: T_max = {limit:.6g} was passed, {state.elapsed_time:.6g} have elapsed, and nothing that "
        f"follows can take that back; the nearest T_max to plan on with is above {state.elapsed_time:.6g}"
    )


def remaining_instance(instance: Instance, state: State) -> Instance:
    """The rest of the problem, seen from a state.

    It obeys the same recursion (Sec. III), started from the loss that was seen: an ordinary instance, which
    all methods and the verifier take as it is, with certificates that hold given the state
    (`docs/replanning`). Where increments are independent, its law is the conditional law of the run. Under a
    traced law it records what was trained (`depl.models.problem.traced_law.ObservedRun`), and with residuals
    kept per run it is an assumption.

    Time that the tolerance of T_max still allows after T_max itself is used up is left, too.

    Raises
    ------
    InvalidInputError
        If the state is impossible, as `check_state`; if the law has memory and the state says no stages; or
        if the time is up (then no instance says that nothing is feasible, not even to stop).
    """
    check_state(instance, state)
    if (reason := time_is_up(instance, state)) is not None:
        raise InvalidInputError(reason, "$.elapsed_time")
    target, epoch, trained = instance.target, state.epoch, state.trained
    if instance.has_memory and trained is None:
        raise InvalidInputError(
            "under a traced law what follows depends on what was trained before: list the stages so far, "
            "each with model, cluster and epochs",
            "$.stages",
        )
    left = None if target.maximum_time is None else _time_left(target.maximum_time, state.elapsed_time)
    paid = state.paid
    transfers = (
        msgspec.structs.replace(row, cost=0.0) if (row.dataset, row.cluster) in paid else row
        for row in instance.transfers
    )
    return instance.replace(
        name=f"{instance.name} after epoch {epoch}",
        models=tuple(model.after(epoch) if epoch else model for model in instance.models),
        transfers=tuple(transfers),
        target=msgspec.structs.replace(
            target,
            initial_loss=state.loss,
            maximum_epochs=target.maximum_epochs - epoch,
            maximum_time=left,
            initial_model=target.initial_model if epoch == 0 else state.model,
        ),
        provenance=_provenance(instance, epoch),
        **loss_law(instance).given(trained or (), state.loss),
    )


def on_plan(state: State, plan: Plan) -> State:
    """The state with its stages, those of the plan where it does not say them."""
    stages = joined_stages(plan.schedule[: state.epoch])
    return msgspec.structs.replace(state, stages=stages if state.stages is None else state.stages)


def remaining_plan(plan: Plan, state: State) -> Plan:
    """The epochs of a plan that are still to come, with the data of the clusters that they use."""
    epochs = plan.epochs[state.epoch :]
    used = {epoch.cluster for epoch in epochs}
    return Plan(data=tuple(row for row in plan.data if row.cluster in used), epochs=epochs)


def sunk_cost(instance: Instance, plan: Plan, state: State) -> float:
    """What is paid: the transfers that were made, and the epochs trained, as planned [cost]."""
    transfers = [instance.transfer_cost(name, cluster) for name, cluster in sorted(state.paid)]
    done = msgspec.structs.replace(plan, epochs=plan.epochs[: state.epoch])
    places = zip(epoch_loads(instance, done), done.epochs, strict=True)
    return math.fsum([*transfers, *(place.price * item.resources for place, item in places)])


def planned_state(instance: Instance, plan: Plan, epoch: int, loss: float) -> State:
    """The state of a run that took exactly the time planned, and brought data when they were first used.

    Raises
    ------
    InvalidInputError
        If the plan does not speak of the instance or has fewer epochs.
    """
    plan.check_names(instance)
    if not 0 <= epoch <= len(plan.epochs):
        raise InvalidInputError(f"must lie between 0 and {len(plan.epochs)}, not be {epoch}", "epoch")
    done = msgspec.structs.replace(plan, epochs=plan.epochs[:epoch])
    used = {item.cluster for item in done.epochs}
    return State(
        instance=instance.fingerprint,
        epoch=epoch,
        loss=loss,
        elapsed_time=math.fsum(epoch_times(instance, done)),
        model=done.epochs[-1].model if epoch else None,
        stages=joined_stages(done.schedule) if instance.has_memory else None,
        transferred=tuple(row for row in plan.data if row.cluster in used),
    )


_LEAST_LEVEL = 1e-3
"""Least level that is asked for: set by hand. Where even less was promised, the rest keeps a little more than
that, so the promise holds for any value."""

_LEAST_SECONDS = 1e-3
"""Of a time limit that the look at the old rest has used up: set by hand, as a limit must be positive."""


class Choice(Enum):
    """Which rest to follow."""

    NEW = "new"
    """The new rest."""
    OLD = "old"
    """The old rest as it was planned: it is allowed, and nothing that is allowed is known to be cheaper."""
    RETIMED = "retimed"
    """The epochs of the old rest with other resources, the cheapest for the time that is left."""
    STOP = "stop"
    """Neither: the target is met; or the old rest is lost and no other known, so stopping loses nothing."""
    NONE = "none"
    """Nothing is known that is allowed."""


@dataclass(frozen=True)
class OldRest:
    """The epochs of the old plan that are still to come, seen from the state.

    Attributes
    ----------
    plan : Plan
        For the remaining instance.
    evaluation : Evaluation
        Its cost to go, time and conditional violation.
    broken : tuple of str
        The limits that it does not keep, the loss target apart; T_max may be one if training was slow.
    outside : str or None
        Why nothing is known of its loss, where a traced law has no support for it.
    keeps_omega : bool
        Whether it certainly meets the target with probability omega, given the state.
    retimed : Plan or None
        The same epochs with the cheapest resources for the time that is left, and so with the same law of the
        final loss; None if no resources keep the limits.
    """

    plan: Plan
    evaluation: Evaluation
    broken: tuple[str, ...]
    outside: str | None
    keeps_omega: bool
    retimed: Plan | None


@dataclass(frozen=True, repr=False)
class Replanning(Shown):
    """What became of a plan, and what may take its place.

    Attributes
    ----------
    state : State
    remaining : Instance or None
        The instance that was solved; None if the time is up.
    met : bool
        Whether the observed loss meets the target and the present model may be the last, so that stopping now
        costs nothing.
    old : OldRest
    result : Result
        The new rest, with its certificates conditional on the state.
    sunk_cost : float
        What was paid before, as planned [cost].
    level : float
        What was asked of the new rest: omega, or with ``keep_promise`` the conditional probability of the old
        rest, rounded up.
    choice : Choice
    plan : Plan or None
        The rest to follow, for ``remaining``; None if there is none.
    cost_to_go : float or None
        What that costs [cost].
    instance : Instance
        The whole problem, whose rest this is.
    keep_promise : bool
        Whether the new rest was asked for what the old one would deliver.
    holds_over_all_runs : bool
        Whether following the rule of ``keep_promise`` at every state keeps the promise made at the start over
        all runs, under the law: probabilities given a state have to be conditional ones.
    """

    state: State
    remaining: Instance | None
    met: bool
    old: OldRest
    result: Result
    sunk_cost: float
    level: float
    choice: Choice
    plan: Plan | None
    cost_to_go: float | None
    instance: Instance
    keep_promise: bool = False
    holds_over_all_runs: bool = True

    @property
    def total_cost(self) -> float | None:
        """Cost of the whole run, what is paid and what is to go [cost]."""
        return None if self.cost_to_go is None else self.sunk_cost + self.cost_to_go


def replan(
    instance: Instance,
    plan: Plan,
    state: State,
    method: str | None = None,
    *,
    keep_promise: bool = False,
    gap: float = 0.0,
    time_limit: float | None = None,
    seed: int = 0,
    scenarios: int | Scenarios | None = None,
    progress: Progress | None = None,
    on_phase: OnPhase | None = None,
    options: Mapping[str, object] | None = None,
) -> Replanning:
    """Plan the rest of a run again, seen from an observed state.

    Parameters
    ----------
    instance, plan : Instance, Plan
        The whole problem, and the plan that the run followed.
    state : State
        Where it stands.
    method : str, optional
        A registered method; all other parameters are those of `depl.models.solving.solve.solve`.
    keep_promise : bool
        Ask of the new rest what the old rest would deliver given the state, instead of omega: then the
        promise made at the start holds over all runs, however often it is planned again, if increments are
        independent or a traced law has independent residuals and no deviations.

    Raises
    ------
    InvalidInputError, VerificationError
        As `depl.models.solving.solve.solve`; or if the plan does not fit the instance, the state is
        impossible, or the law is a traced one with a confidence.
    """
    entered = now()
    gap, time_limit, seed = require_limits(gap, time_limit, seed)
    check_state(instance, state, plan)
    state = on_plan(state, plan)
    method = find(default_method(instance) if method is None else method).name
    old = _old_rest(instance, plan, state)
    level = instance.target.quantile_level
    if keep_promise and not _lost(old):  # where the old rest is lost the rule asks nothing
        level = promising_level(old.evaluation.violation)
    remaining, reason = None, time_is_up(instance, state)
    if reason is not None:
        ended = Termination.INFEASIBLE, None, math.inf, reason
        result = Result(*ended, solution=Solution.NONE, method=method, seed=seed, problem=instance)
    else:
        remaining = remaining_instance(instance, state).replace(quantile_level=level)
        left = None if time_limit is None else max(time_limit - (now() - entered), _LEAST_SECONDS)
        watching: dict[str, Any] = {"progress": progress, "on_phase": on_phase}
        given: dict[str, Any] = {"seed": seed, "scenarios": scenarios, "options": options, **watching}
        result = _asked(solve(remaining, method, gap=gap, time_limit=left, **given), time_limit)
    met, paid = is_met(instance, state), sunk_cost(instance, plan, state)
    rest = _cheapest(remaining, old, result, met, keep_promise)
    about = instance, keep_promise, loss_law(instance).conditional
    return Replanning(state, remaining, met, old, result, paid, level, *rest, *about)


def _asked(result: Result, time_limit: float | None) -> Result:
    """The result with a plan that names the whole limit, and not what was left of it."""
    plan = result.plan
    if plan is None or plan.asked is None or plan.asked.time_limit is None:
        return result
    asked = msgspec.structs.replace(plan.asked, time_limit=time_limit)
    return replace(result, plan=msgspec.structs.replace(plan, asked=asked))


def is_met(instance: Instance, state: State) -> bool:
    """Whether the observed loss meets the target, and the present model may be the last."""
    low = Fraction(state.loss) <= Fraction(instance.target.maximum_loss) + EXACT_ATOM_TOLERANCE
    return low and instance.rules.may_end(state.model if state.epoch else instance.target.initial_model)


def not_above(new: Interval, old: Interval) -> bool:
    """Whether one probability is certified not to exceed another."""
    return new.at_most(old.lowest)


def promising_level(violation: Interval) -> float:
    """The least quantile level we can write that asks for no more violation than a certified one.

    A plan that keeps this level misses the target at most as often as the lower end of ``violation``, which a
    budget below the smallest one cannot say: there, `not_above` has to decide.
    """
    budget = max(Fraction(violation.lowest), SMALLEST_VIOLATION_BUDGET)
    level = max(float(1 - budget), _LEAST_LEVEL)
    while 1 - Fraction(repr(level)) > budget:
        level = math.nextafter(level, 1.0)
    return min(level, float(1 - SMALLEST_VIOLATION_BUDGET))


def _old_rest(instance: Instance, plan: Plan, state: State) -> OldRest:
    late = time_is_up(instance, state) is not None
    # Late or not, the loss and the cost to go are what they are; only the limit of time has no value then.
    frame = instance.replace(maximum_time=2 * state.elapsed_time) if late else instance
    rest = remaining_plan(plan, state)
    seen = remaining_instance(frame, msgspec.structs.replace(state, instance=None))
    evaluation = evaluate(seen, rest, quantile=False, lenient=True)
    unknown = instance.has_memory and math.isnan(evaluation.expected_loss)
    broken = [item.name for item in evaluation.constraints if not item.satisfied and item.equation != "(3)"]
    lawful = all(item.satisfied for item in evaluation.constraints if item.equation in SITE_RULES)
    short = len(rest.epochs) <= seen.target.maximum_epochs
    return OldRest(
        plan=rest,
        evaluation=evaluation,
        broken=tuple(dict.fromkeys(broken + (["training time"] if late else []))),
        outside=evaluation.violation.how if unknown else None,
        keeps_omega=evaluation.violation.at_most(instance.target.violation_budget),
        retimed=with_cheapest_resources(seen, rest) if lawful and short and not late else None,
    )


def _cheapest(
    remaining: Instance | None, old: OldRest, result: Result, met: bool, keep_promise: bool
) -> tuple[Choice, Plan | None, float | None]:
    """The cheapest rest that is allowed, the first of those that cost the same; nothing once time is up."""
    allowed = [] if remaining is None else [*_allowed(remaining, old, result, met, keep_promise)]
    least = min((cost for *_, cost in allowed), default=math.inf)
    same = (item for item in allowed if item[2] * (1 - PROOF_TOLERANCE) <= least)
    return next(same, (Choice.NONE, None, None))


def _lost(old: OldRest) -> bool:
    return old.evaluation.violation.lower >= 1


def _allowed(
    remaining: Instance, old: OldRest, result: Result, met: bool, keep_promise: bool
) -> Iterator[tuple[Choice, Plan, float]]:
    """What may be followed, with its cost to go."""
    lost, violation = keep_promise and _lost(old), old.evaluation.violation
    # Where all is lost the rule allows everything; but what reaches omega is worth more than nothing.
    if met or (lost and result.plan is None):
        yield Choice.STOP, Plan(), 0.0
    if not lost and (keep_promise or old.keeps_omega):
        if not old.broken:
            yield Choice.OLD, old.plan, old.evaluation.cost
        if old.retimed is not None:
            yield Choice.RETIMED, old.retimed, plan_cost(remaining, old.retimed)
    if result.plan is None or result.cost is None:
        return
    law = law_of_end(remaining, result.plan)
    if not keep_promise or not_above(law.violation(remaining.target.maximum_loss), violation):
        yield Choice.NEW, result.plan, result.cost


def _check_names(instance: Instance, state: State) -> None:
    if state.model is not None:
        require_known(state.model, [model.name for model in instance.models], "$.model")
    require_trained(state.stages or (), instance, "$.stages")
    require_data(state.transferred, instance, "$.transferred")
    for index, row in enumerate(state.transferred):
        for position, name in enumerate(row.datasets):
            if not instance.rules.may_use((name,), row.cluster):
                raise InvalidInputError(
                    f"dataset {name!r} may not be used on {row.cluster!r}; correct the state",
                    f"$.transferred[{index}].datasets[{position}]",
                )


def _check_progress(instance: Instance, state: State, plan: Plan) -> None:
    if state.epoch > len(plan.epochs):
        raise InvalidInputError(
            f"is {state.epoch}, but the plan ends after epoch {len(plan.epochs)}; give the plan that the run "
            "followed",
            "$.epoch",
        )
    done = plan.epochs[: state.epoch]
    if done and done[-1].model != state.model:
        raise InvalidInputError(
            f"is {state.model!r}, but the plan trains {done[-1].model!r} at epoch {state.epoch}; give the "
            "plan that the run followed",
            "$.model",
        )
    if state.stages is not None and state.trained != plan.schedule[: state.epoch]:
        raise InvalidInputError("are not those of the plan; give the plan that the run followed", "$.stages")
    paid, seen = state.paid, set[str]()
    for k, epoch in enumerate(done, start=1):
        for name in () if epoch.cluster in seen else sorted(plan.datasets(epoch.cluster)):
            seen.add(epoch.cluster)
            missing = (name, epoch.cluster) not in paid
            if missing and instance.transfer_cost(name, epoch.cluster) > 0:
                raise InvalidInputError(
                    f"epoch {k} was trained on {epoch.cluster!r} with {name!r}, which must have been brought "
                    "there; list it",
                    "$.transferred",
                )


def _time_left(limit: float, elapsed: float) -> float:
    """What is left of T_max; once that is used up, what is left of its tolerance."""
    left = limit - elapsed
    return left if left > 0 else limit * (1 + TIME_TOLERANCE) - elapsed


def _provenance(instance: Instance, epoch: int) -> tuple[Provenance, ...]:
    """Where the values of the rest come from: what was said of whole tables holds, of single entries not."""
    told = {"note": f"of the run after epoch {epoch}"}
    new = (
        Provenance(path="$.target.initial_loss", source="measured", **told),
        Provenance(path="$.target.initial_model", source="measured", **told),
        Provenance(path="$.target.maximum_epochs", source="derived", **told),
        Provenance(path="$.target.maximum_time", source="derived", **told),
    )
    replaced = {row.path for row in new}
    kept = (row for row in instance.provenance if row.path not in replaced and ".epochs[" not in row.path)
    return (*kept, *new)

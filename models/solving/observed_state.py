"""A run observed after some epochs, and what is left of the problem from there.

The rest obeys the same recursion (Sec. III), started from the loss that was seen: an ordinary `Instance`,
which all methods and the verifier take as it is, with certificates that hold given the state
(`docs/replanning`). Where increments are independent, its law is the conditional law of the run. Under a
traced law it records what was trained (`depl.models.problem.traced_law.ObservedRun`), and with residuals kept
per run it is an assumption.
"""

import math
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from depl.models.evaluation.evaluate import epoch_loads, epoch_times
from depl.models.evaluation.loss_law import loss_law
from depl.models.foundation.documents import Document, Name, require_known, require_unique
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.tolerances import TIME_TOLERANCE
from depl.models.problem.instance import Instance, Provenance
from depl.models.problem.laws import NonNegative
from depl.models.problem.plan import ClusterData, Plan, require_data, require_trained
from depl.models.problem.traced_law import Stage, joined_stages, require_joined
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
    """The rest of the problem, seen from a state (see the module for why it is one).

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

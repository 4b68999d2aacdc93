"""Changes of a problem of which it is known what they do to the cost of the cheapest plan."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, TypeVar

import numpy as np
from msgspec import Struct, structs

from depl.models.problem.instance import Instance, Model, Switch
from depl.models.problem.laws import (
    Deterministic,
    Empirical,
    FloatArray,
    Forbidden,
    Normal,
    StudentT,
    SwitchLaw,
    Zero,
)
from depl.models.problem.learning import Improvement, TabledImprovement
from depl.models.scenarios.draws import Scenarios
from depl.testing.problems import Problem

T = TypeVar("T", bound=Struct)


class Effect(Enum):
    """What a change does to the least cost."""

    SAME = "the least cost stays the same"
    EASIER = "the least cost does not rise"
    HARDER = "the least cost does not fall"


@dataclass(frozen=True)
class Change:
    """A change of a problem, and what it does.

    Attributes
    ----------
    apply : callable
        Takes a problem and returns the changed one; None where it cannot be made.
    factor : float
        The least cost is multiplied by it, besides.
    exact : bool
        Whether it is a change of units by a power of two, after which every method finds the same plan.
    """

    effect: Effect
    apply: Callable[[Problem], Problem | None]
    factor: float = 1.0
    exact: bool = False


_COST, _TIME, _LOSS = 64.0, 1 / 32, 16.0
"""Powers of two, by which units change."""


def _of_instance(changed: Callable[[Instance], dict[str, Any]]) -> Callable[[Problem], Problem]:
    """A change of some fields of the instance, which leaves the scenarios as they are."""
    return lambda problem: replace(problem, instance=problem.instance.replace(**changed(problem.instance)))


def _scaled_field(things: Iterable[T], name: str, factor: float) -> tuple[T, ...]:
    return tuple(structs.replace(item, **{name: getattr(item, name) * factor}) for item in things)


def _cost(instance: Instance) -> dict[str, Any]:
    clusters = _scaled_field(instance.clusters, "unit_cost", _COST)
    return {"clusters": clusters, "transfers": _scaled_field(instance.transfers, "cost", _COST)}


def _time(instance: Instance) -> dict[str, Any]:
    models = tuple(_worked(model, _TIME, size=model.size * _TIME) for model in instance.models)
    return {"models": models, **_longer(instance, _TIME)}


def _worked(model: Model, factor: float, **changes: object) -> Model:
    compute = model.compute and tuple(
        structs.replace(table, epochs=tuple(work * factor for work in table.epochs))
        for table in model.compute
    )
    return structs.replace(model, demand=model.demand * factor, compute=compute, **changes)


def _longer(instance: Instance, factor: float = 1.3) -> dict[str, Any]:
    given = {name: getattr(instance.target, name) for name in ("maximum_time", "round_deadline")}
    return {name: value * factor for name, value in given.items() if value is not None}


def _loss(problem: Problem) -> Problem | None:
    """By a power of two: increments are scaled without rounding, so that ties stay ties."""
    instance, sample, factor = problem.instance, problem.scenarios, _LOSS
    laws = [*(row.law for row in instance.switches), instance.other_switches]
    counted = sample is not None
    scaled = [law if counted and law.constant is None else _scaled_law(law, factor) for law in laws]
    if None in scaled or (sample is not None and sample.decimals is not None):
        return None
    target, pairs = instance.target, zip(instance.switches, scaled, strict=False)
    changed = instance.replace(
        initial_loss=target.initial_loss * factor,
        maximum_loss=target.maximum_loss * factor,
        models=tuple(
            structs.replace(model, improvement=_scaled(model.improvement, factor, counted))
            for model in instance.models
        ),
        switches=tuple(structs.replace(row, law=law) for row, law in pairs),
        other_switches=scaled[-1],
    )
    drawn = sample and Scenarios(sample.improvements * factor, sample.switch_losses * factor)
    return Problem(changed, drawn)


def _scaled(rule: Improvement, factor: float, counted: bool) -> Improvement:
    """The improvement in another unit; of one that is counted on a sample, the sample is scaled."""
    if isinstance(rule, TabledImprovement):
        return structs.replace(rule, epochs=tuple(_scaled(row, factor, counted) for row in rule.epochs))
    if counted and rule.noise.constant is None:
        return rule
    return structs.replace(rule, scale=rule.scale * factor)


_POWERS = {"variance": 2, **dict.fromkeys(("value", "mean", "location", "scale", "lower", "upper"), 1)}
"""By which power of the factor the fields of laws grow."""


def _scaled_law(law: SwitchLaw, factor: float) -> SwitchLaw | None:
    if isinstance(law, Empirical):
        return structs.replace(law, values=tuple(value * factor for value in law.values))
    if not isinstance(law, Zero | Forbidden | Deterministic | Normal | StudentT):
        return None
    fields = ((name, getattr(law, name)) for name in _POWERS if name in law.__struct_fields__)
    scaled = {name: value * factor ** _POWERS[name] for name, value in fields if value is not None}
    return structs.replace(law, **scaled)


def _order(problem: Problem) -> Problem:
    instance, sample = problem.instance, problem.scenarios
    order = np.roll(np.arange(len(instance.models)), 1)
    changed = instance.replace(
        clusters=instance.clusters[::-1],
        datasets=instance.datasets[::-1],
        models=tuple(instance.models[place] for place in order),
    )
    if sample is None:
        return Problem(changed)
    switches = sample.switch_losses[::-1, :, order][:, :, :, order]
    return Problem(
        changed, Scenarios(sample.improvements[::-1, :, order], switches, decimals=sample.decimals)
    )


def _copied_model(work: float) -> Callable[[Problem], Problem]:
    """Another model like the last, with so many times the work; neither may follow the other."""

    def change(problem: Problem) -> Problem:
        instance, sample = problem.instance, problem.scenarios
        last = instance.models[-1]
        copy, own = _worked(last, work, name="copy"), last.name
        rows = [*instance.switches]
        for row in instance.switches:
            if own in (row.previous, row.following):
                names = ("copy" if name == own else name for name in (row.previous, row.following))
                rows.append(Switch(previous=next(names), following=next(names), law=row.law))
        rows += [
            Switch(previous=one, following=other, law=Forbidden())
            for one, other in ((own, "copy"), ("copy", own))
        ]
        may_end = instance.target.deployable
        changed = instance.replace(
            models=(*instance.models, copy),
            switches=tuple(rows),
            deployable=(*may_end, "copy") if may_end and own in may_end else may_end,
        )
        if sample is None:
            return Problem(changed)
        switches = _with_last_twice(_with_last_twice(sample.switch_losses, 2), 3)
        gains = _with_last_twice(sample.improvements, 2)
        return Problem(changed, Scenarios(gains, switches, decimals=sample.decimals))

    return change


def _with_last_twice(array: FloatArray, axis: int) -> FloatArray:
    return np.concatenate([array, array.take([-1], axis)], axis)


def _copied_cluster(problem: Problem) -> Problem:
    """Another cluster like the first, to which everything may be brought at the same cost."""
    instance = problem.instance
    first = instance.clusters[0]
    homes = tuple(
        structs.replace(item, clusters=(*item.clusters, "copy"))
        if item.clusters and first.name in item.clusters
        else item
        for item in instance.datasets
    )
    rows = tuple(
        structs.replace(row, cluster="copy") for row in instance.transfers if row.cluster == first.name
    )
    changed = instance.replace(
        clusters=(*instance.clusters, structs.replace(first, name="copy")),
        datasets=homes,
        transfers=(*instance.transfers, *rows),
    )
    return replace(problem, instance=changed)


def _looser(instance: Instance) -> dict[str, Any]:
    target = instance.target
    return {"maximum_loss": target.maximum_loss + max(0.3 * (target.initial_loss - target.maximum_loss), 0.0)}


def _surer(instance: Instance) -> dict[str, Any]:
    return {"quantile_level": (1 + instance.target.quantile_level) / 2}


def _roomier(instance: Instance) -> dict[str, Any]:
    return {"clusters": _scaled_field(instance.clusters, "capacity", 2)}


def _freer(instance: Instance) -> dict[str, Any]:
    """Without rules of sites; what a plan may not do is not free of charge, so transfers stay."""
    clusters = tuple(structs.replace(item, memory=None) for item in instance.clusters)
    return {"clusters": clusters, "deployable": None}


def _shorter(problem: Problem) -> Problem:
    """One epoch less, with the first epochs of the same scenarios."""
    count, sample = problem.instance.target.maximum_epochs - 1, problem.scenarios
    changed = problem.instance.replace(maximum_epochs=count)
    cut = sample and Scenarios(
        sample.improvements[:, :count], sample.switch_losses[:, :count], decimals=sample.decimals
    )
    return Problem(changed, cut)


def _never_switched(problem: Problem) -> Problem:
    rows = tuple(structs.replace(row, law=Forbidden()) for row in problem.instance.switches)
    changed = problem.instance.replace(switches=rows, other_switches=Forbidden())
    sample = problem.scenarios  # without its seed, which would draw nothing for such switches
    return Problem(changed, sample and replace(sample, seed=None))


CHANGES = {
    "the unit of cost": Change(Effect.SAME, _of_instance(_cost), _COST, exact=True),
    "the unit of time": Change(Effect.SAME, _of_instance(_time), exact=True),
    "the unit of loss": Change(Effect.SAME, _loss),
    "order": Change(Effect.SAME, _order),
    "a copy of a model": Change(Effect.SAME, _copied_model(1.0)),
    "a model that needs more": Change(Effect.SAME, _copied_model(1.5)),
    "a copy of a cluster": Change(Effect.EASIER, _copied_cluster),
    "more time": Change(Effect.EASIER, _of_instance(_longer)),
    "a higher loss": Change(Effect.EASIER, _of_instance(_looser)),
    "more capacity": Change(Effect.EASIER, _of_instance(_roomier)),
    "fewer rules": Change(Effect.EASIER, _of_instance(_freer)),
    "a higher probability": Change(Effect.HARDER, _of_instance(_surer)),
    "an epoch less": Change(Effect.HARDER, _shorter),
    "no switches": Change(Effect.HARDER, _never_switched),
}

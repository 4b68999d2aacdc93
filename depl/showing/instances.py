"""An instance for people: its target, its parts, and where its values come from."""

from collections.abc import Callable, Iterator
from operator import attrgetter
from typing import Any

from depl.models.estimation.setup import Setup
from depl.models.foundation.wording import counted, number, probability
from depl.models.problem.instance import (
    ConstantImprovement,
    Instance,
    InverseLogDataLaw,
    InverseSqrtImprovement,
    LogDataLaw,
    Model,
    PowerDataLaw,
)
from depl.models.problem.laws import Zero
from depl.showing.parts import Columns, Listing, Section, shortened_name

_LONGEST_NOTE = 240
"""Letters of a note, which may name hundreds of runs: only the file shows these."""

_NO_LIMIT = ("$.target.maximum_time", "absent", "no T_max is given: nothing limits the whole time")


def instance_brief(instance: Instance | Setup) -> str:
    """One line on an instance, or on a setup."""
    target = instance.target
    sizes = [counted(len(getattr(instance, f"{noun}s")), noun) for noun in ("cluster", "dataset", "model")]
    promise = f"l_max = {number(target.maximum_loss)} with probability {probability(target.quantile_level)}"
    return f"<{type(instance).__name__} {shortened_name(instance.name)}: {', '.join(sizes)}; {promise}>"


def instance_sections(instance: Instance) -> Iterator[Section]:
    """The whole instance as titled tables."""
    titled, clusters = instance.units.titled, instance.clusters
    abilities: Columns = {
        titled("capacity r", "resource"): _float("capacity"),
        titled("bandwidth b", "size", "time"): _float("bandwidth"),
        titled("unit cost kappa", "cost", "resource"): _float("unit_cost"),
    }
    memory = _given(titled("memory of a node", "memory"), clusters, "memory", "no limit")
    yield "", "\n".join(filter(None, [instance.name, instance.description]))
    yield "Target", _target(instance)
    yield "Clusters", Listing.of(clusters, {"name": "name", "nodes": "nodes", **abilities, **memory})
    numbers = attrgetter("speed", "capacity", "bandwidth", "unit_cost")
    groups = [(item.name, group) for item in clusters for group in item.groups or ()]
    rows = [(name, group.count, *map(float, numbers(group))) for name, group in groups]
    apart = Listing(("cluster", "nodes", "speed v", *abilities), rows)
    yield "Nodes that differ; above is what they amount to", apart
    columns: Columns = {
        "name": "name",
        titled("volume q", "data"): _float("volume"),
        titled("work", "data"): _float("workload"),
        **_given("may be used on", instance.datasets, "clusters", "everywhere", ", ".join),
    }
    yield "Datasets", Listing.of(instance.datasets, columns)
    columns = {"dataset": "dataset", "cluster": "cluster", titled("beta", "cost"): _float("cost")}
    yield "Transfers: one-time cost beta(d, n); others cost nothing", Listing.of(instance.transfers, columns)
    columns = {
        "name": "name",
        titled("size s", "size"): _float("size"),
        "demand": lambda item: float(item.demand) if item.compute is None else "listed by epoch",
        **_given(titled("memory", "memory"), instance.models, "memory", "any"),
        "improvement of epoch k": _improvement,
    }
    yield "Models", Listing.of(instance.models, columns)
    yield "Law of the loss, fitted to traces; instead of improvements and switches", _traced(instance)
    columns = {"from": "previous", "to": "following", "change of the loss": lambda row: row.law.in_words()}
    none = "" if instance.switches or instance.other_switches == Zero() else "none is listed"
    switches = none or Listing.of(instance.switches, columns)
    yield f"Switches; all others: {instance.other_switches.in_words()}", switches
    yield "Where the values come from", _provenance(instance)


def _target(instance: Instance) -> list[tuple[str, str | None]]:
    target, amount = instance.target, instance.units.amount
    start = f"l(0) = {number(target.initial_loss)}"
    if not instance.rules.known_start:
        start = f"l(1) on, as runs were not evaluated before training ({start} is an estimate),"
    last = target.deployable
    limits = target.maximum_time, target.round_deadline
    time, deadline = ("none" if value is None else amount(value, "time") for value in limits)
    return [
        ("loss", f"from {start} to l_max = {number(target.maximum_loss)}"),
        ("probability", f"omega = {target.quantile_level}"),
        ("epochs", f"at most K_max = {target.maximum_epochs}"),
        ("last model", None if last is None else f"one of {', '.join(last)}"),
        ("initial model", target.initial_model),
        ("time", f"T_max = {time}"),
        ("round deadline", f"tau = {deadline}"),
        ("data law", _data_law(instance)),
        ("fingerprint", instance.fingerprint),
    ]


def _data_law(instance: Instance) -> str:
    match instance.data_law:
        case None:
            return "none: learning does not depend on the data"
        case LogDataLaw(a=a, b=b, base_volume=base):
            return f"epochs needed = {number(a)} - {number(b)} ln Q, Q = {number(base)} + volume"
        case InverseLogDataLaw(a=a, base_volume=base):
            return f"epochs needed = {number(a)} / ln(1 + Q), Q = {number(base)} + volume"
        case PowerDataLaw(p=p, a=a, base_volume=base):
            return f"epochs needed = {number(a)} Q^-{number(p)}, Q = {number(base)} + volume"
        case tabled:
            return f"epochs needed are listed for {counted(len(tabled.subsets), 'subset')}"


def _float(name: str) -> Callable[[Any], float]:
    """A number of a thing, which may be whole."""
    return lambda thing: float(getattr(thing, name))


def _given(
    title: str, things: Any, name: str, absent: str, shown: Callable[[Any], object] = float
) -> Columns:
    """A column of what some of the things have; none if all go without."""
    if all(getattr(item, name) is None for item in things):
        return {}
    return {title: lambda item: absent if getattr(item, name) is None else shown(getattr(item, name))}


def _improvement(model: Model) -> str:
    match model.improvement:
        case InverseSqrtImprovement(scale=scale, offset=offset, noise=noise):
            return f"{number(scale)} / sqrt(k + {number(offset)}) X, X ~ {noise.in_words()}"
        case ConstantImprovement(scale=scale, noise=noise):
            return f"{'' if scale == 1 else f'{number(scale)} '}X, X ~ {noise.in_words()}"
        case tabled:
            return f"listed for {counted(len(tabled.epochs), 'epoch')}"


def _traced(instance: Instance) -> list[tuple[str, str]]:
    law = instance.traced_law
    if law is None:
        return []
    loss = "l" if law.scale == "loss" else "ln l"
    return [
        ("runs", f"{len(law.runs)}, of {counted(len({run.stages for run in law.runs}), 'schedule')}"),
        ("epochs", f"up to {max(sum(stage.epochs for stage in run.stages) for run in law.runs)}"),
        (f"{loss}(k)", f"a + b ln s + retention {loss}(k-1) + e, s epochs before the model took over"),
        ("residuals e", "kept per run" if law.residuals == "per_run" else "independent"),
        ("deviations", f"of {counted(len(law.deviations), 'plan')}" if law.deviations else "none"),
    ]


def _provenance(instance: Instance) -> Listing:
    rows: list[tuple[str, str, str]] = [(row.path, row.source, row.note) for row in instance.provenance]
    if rows and instance.target.maximum_time is None and _NO_LIMIT[0] not in {row[0] for row in rows}:
        rows.append(_NO_LIMIT)
    short = [
        (*row, note if len(note) <= _LONGEST_NOTE else f"{note[: _LONGEST_NOTE - 4]} ...")
        for *row, note in rows
    ]
    return Listing(("value", "source", "note"), short)

"""An instance for people: its target, its parts, and where its values come from."""

from depl.models.foundation.wording import counted, number, probability
from depl.models.problem.instance import (
    Cluster,
    ConstantImprovement,
    Instance,
    InverseLogDataLaw,
    InverseSqrtImprovement,
    LogDataLaw,
    Model,
    PowerDataLaw,
)
from depl.models.problem.laws import Zero
from depl.models.problem.units import Units
from depl.showing.frames import instance_frames
from depl.showing.parts import Listing, Pairs, Section, shortened_name

_LONGEST_NOTE = 240


def instance_brief(instance: Instance) -> str:
    """One line on an instance."""
    target = instance.target
    sizes = (
        counted(len(found), noun)
        for noun, found in (
            ("cluster", instance.clusters),
            ("dataset", instance.datasets),
            ("model", instance.models),
        )
    )
    promise = f"l_max = {number(target.maximum_loss)} with probability {probability(target.quantile_level)}"
    return f"<Instance {shortened_name(instance.name)}: {', '.join(sizes)}; {promise}>"


def instance_sections(instance: Instance) -> list[Section]:
    """The whole instance as titled tables; a part that is empty is left out."""
    parts = [
        Section("", "\n".join(filter(None, [instance.name, instance.description]))),
        Section("Target", _target(instance)),
        Section("Clusters", _clusters(instance)),
        Section("Nodes that differ; above is what they amount to", _node_groups(instance)),
        Section("Datasets", _datasets(instance)),
        Section("Transfers: one-time cost beta(d, n); others cost nothing", _transfers(instance)),
        Section("Models", _models(instance)),
        Section("Law of the loss, fitted to traces; instead of improvements and switches", _traced(instance)),
        Section(f"Switches; all others: {instance.other_switches.in_words()}", _switches(instance)),
        Section("Where the values come from", _provenance(instance)),
    ]
    return [part for part in parts if part.body]


def _target(instance: Instance) -> Pairs:
    target = instance.target
    start = f"l(0) = {number(target.initial_loss)}"
    if not instance.rules.known_start:
        start = f"l(1) on, as runs were not evaluated before training ({start} is an estimate),"
    pairs = [
        ("loss", f"from {start} to l_max = {number(target.maximum_loss)}"),
        ("probability", f"omega = {target.quantile_level}"),
        ("epochs", f"at most K_max = {target.maximum_epochs}"),
        ("time", f"T_max = {_time(instance, target.maximum_time)}"),
        ("round deadline", f"tau = {_time(instance, target.round_deadline)}"),
        ("data law", _data_law(instance)),
        ("fingerprint", instance.fingerprint),
    ]
    if target.initial_model is not None:
        pairs.insert(3, ("initial model", target.initial_model))
    if target.deployable is not None:
        pairs.insert(3, ("last model", "one of " + ", ".join(target.deployable)))
    return Pairs(pairs)


def _time(instance: Instance, value: float | None) -> str:
    return "none" if value is None else instance.units.amount(value, "time")


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


def _clusters(instance: Instance) -> Listing:
    units = instance.units
    names = ["name", "nodes", *_capabilities(units)]
    rows = [
        [item.name, str(item.nodes), number(item.capacity), number(item.bandwidth), number(item.unit_cost)]
        for item in instance.clusters
    ]
    if any(item.memory is not None for item in instance.clusters):
        names.append(units.titled("memory of a node", "memory"))
        for row, item in zip(rows, instance.clusters, strict=True):
            row.append(_memory(item, "no limit"))
    return Listing(tuple(names), [tuple(row) for row in rows], right=names[1:])


def _capabilities(units: Units) -> tuple[str, str, str]:
    """Titles of the columns that clusters and groups of their nodes have."""
    return (
        units.titled("capacity r", "resource"),
        units.titled("bandwidth b", "size", "time"),
        units.titled("unit cost kappa", "cost", "resource"),
    )


def _memory(item: Cluster | Model, absent: str) -> str:
    return absent if item.memory is None else number(item.memory)


def _node_groups(instance: Instance) -> Listing | str:
    header = ("cluster", "nodes", "speed v", *_capabilities(instance.units))
    rows = [
        (
            item.name,
            str(group.count),
            *map(number, (group.speed, group.capacity, group.bandwidth, group.unit_cost)),
        )
        for item in instance.clusters
        for group in item.groups or ()
    ]
    return Listing(header, rows, right=header[1:]) if rows else ""


def _datasets(instance: Instance) -> Listing:
    header = ("name", instance.units.titled("volume q", "data"), instance.units.titled("work", "data"))
    rows = [(item.name, number(item.volume), number(item.workload)) for item in instance.datasets]
    if all(item.clusters is None for item in instance.datasets):
        return Listing(header, rows, right=header[1:])
    given = (item.clusters for item in instance.datasets)
    homes = ("everywhere" if names is None else ", ".join(names) for names in given)
    rows_with = [(*row, home) for row, home in zip(rows, homes, strict=True)]
    return Listing((*header, "may be used on"), rows_with, right=header[1:])


def _transfers(instance: Instance) -> Listing | str:
    rows = [(row.dataset, row.cluster, number(row.cost)) for row in instance.transfers]
    cost = instance.units.titled("beta", "cost")
    return Listing(("dataset", "cluster", cost), rows, right=(cost,)) if rows else ""


def _models(instance: Instance) -> Listing:
    size, memory = instance.units.titled("size s", "size"), instance.units.titled("memory", "memory")
    header = ("name", size, "demand", "improvement of epoch k")
    rows = [
        (
            item.name,
            number(item.size),
            number(item.demand) if item.compute is None else "listed by epoch",
            _improvement(item),
        )
        for item in instance.models
    ]
    if all(item.memory is None for item in instance.models):
        return Listing(header, rows, right=(size, "demand"))
    needs = (_memory(item, "any") for item in instance.models)
    rows_with = [(*row[:3], need, row[3]) for row, need in zip(rows, needs, strict=True)]
    return Listing((*header[:3], memory, header[3]), rows_with, right=(size, "demand", memory))


def _improvement(model: Model) -> str:
    match model.improvement:
        case InverseSqrtImprovement(scale=scale, offset=offset, noise=noise):
            return f"{number(scale)} / sqrt(k + {number(offset)}) X, X ~ {noise.in_words()}"
        case ConstantImprovement(scale=scale, noise=noise):
            return f"{'' if scale == 1 else f'{number(scale)} '}X, X ~ {noise.in_words()}"
        case tabled:
            return f"listed for {counted(len(tabled.epochs), 'epoch')}"


def _traced(instance: Instance) -> Pairs | str:
    law = instance.traced_law
    if law is None:
        return ""
    loss = "l" if law.scale == "loss" else "ln l"
    kept = "kept per run" if law.residuals == "per_run" else "independent"
    pairs = [
        ("runs", f"{len(law.runs)}, of {counted(len({run.stages for run in law.runs}), 'schedule')}"),
        ("epochs", f"up to {max(sum(stage.epochs for stage in run.stages) for run in law.runs)}"),
        (f"{loss}(k)", f"a + b ln s + retention {loss}(k-1) + e, s epochs before the model took over"),
        ("residuals e", kept),
        ("deviations", f"of {counted(len(law.deviations), 'plan')}" if law.deviations else "none"),
    ]
    return Pairs(pairs)


def _switches(instance: Instance) -> Listing | str:
    rows = [(row.previous, row.following, row.law.in_words()) for row in instance.switches]
    if not rows:
        return "" if instance.other_switches == Zero() else "none is listed"
    return Listing(("from", "to", "change of the loss"), rows)


def _provenance(instance: Instance) -> Listing | str:
    rows: list[tuple[str, ...]] = [
        (row.path, row.source, _shortened(row.note)) for row in instance.provenance
    ]
    path = "$.target.maximum_time"
    if rows and instance.target.maximum_time is None and path not in {row[0] for row in rows}:
        rows.append((path, "absent", "no T_max is given: nothing limits the whole time"))
    return Listing(("value", "source", "note"), rows) if rows else ""


def _shortened(note: str) -> str:
    """A note may name hundreds of runs, which only the file shows."""
    return note if len(note) <= _LONGEST_NOTE else note[: _LONGEST_NOTE - 4] + " ..."


__all__ = ["instance_brief", "instance_frames", "instance_sections"]

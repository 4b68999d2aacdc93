"""An instance for people: its target, its parts, and where its values come from."""

from typing import Any

from depl.models.foundation.frames import frame_of
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
from depl.showing.parts import Listing, Pairs, Section, shortened_name

_LONGEST_NOTE = 240
"""Letters of a note, which may name hundreds of runs: only the file shows these."""


FRAMES = {
    "clusters": ("name", "nodes", "capacity", "bandwidth", "unit_cost", "memory"),
    "datasets": ("name", "volume", "workload"),
    "models": ("name", "size", "demand", "memory"),
    "transfers": ("dataset", "cluster", "cost"),
}
"""The columns of each frame of pandas, by the names that fields have; laws are left to the instance."""


def instance_frames(instance: Instance) -> dict[str, Any]:
    """A frame for each of `FRAMES`; missing values are missing."""
    return {
        part: frame_of(columns, ([getattr(row, name) for name in columns] for row in getattr(instance, part)))
        for part, columns in FRAMES.items()
    }


def instance_brief(instance: Instance) -> str:
    """One line on an instance."""
    target = instance.target
    sizes = [counted(len(getattr(instance, f"{noun}s")), noun) for noun in ("cluster", "dataset", "model")]
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
    return [
        part for part in parts if part.body and not (isinstance(part.body, Listing) and not part.body.rows)
    ]


def _target(instance: Instance) -> Pairs:
    target = instance.target
    start = f"l(0) = {number(target.initial_loss)}"
    if not instance.rules.known_start:
        start = f"l(1) on, as runs were not evaluated before training ({start} is an estimate),"
    pairs = [
        ("loss", f"from {start} to l_max = {number(target.maximum_loss)}"),
        ("probability", f"omega = {target.quantile_level}"),
        ("epochs", f"at most K_max = {target.maximum_epochs}"),
    ]
    if target.deployable is not None:
        pairs.append(("last model", "one of " + ", ".join(target.deployable)))
    if target.initial_model is not None:
        pairs.append(("initial model", target.initial_model))
    return Pairs(
        [
            *pairs,
            ("time", f"T_max = {_time(instance, target.maximum_time)}"),
            ("round deadline", f"tau = {_time(instance, target.round_deadline)}"),
            ("data law", _data_law(instance)),
            ("fingerprint", instance.fingerprint),
        ]
    )


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


_CAPABILITIES = ("capacity", "bandwidth", "unit_cost")
"""What clusters and groups of their nodes have."""


def _numbers(thing: object, *names: str) -> list[str]:
    """The numbers of a thing, of which some may be whole."""
    return [number(getattr(thing, name)) for name in names]


def _capabilities(units: Units) -> tuple[str, str, str]:
    return (
        units.titled("capacity r", "resource"),
        units.titled("bandwidth b", "size", "time"),
        units.titled("unit cost kappa", "cost", "resource"),
    )


def _clusters(instance: Instance) -> Listing:
    names = ["name", "nodes", *_capabilities(instance.units)]
    rows = [[item.name, item.nodes, *_numbers(item, *_CAPABILITIES)] for item in instance.clusters]
    if any(item.memory is not None for item in instance.clusters):
        names.append(instance.units.titled("memory of a node", "memory"))
        for row, item in zip(rows, instance.clusters, strict=True):
            row.append(_memory(item, "no limit"))
    return Listing.rounded(rows, names, ("name",))


def _memory(item: Cluster | Model, absent: str) -> str:
    return absent if item.memory is None else number(item.memory)


def _node_groups(instance: Instance) -> Listing:
    rows = [
        (item.name, group.count, *_numbers(group, "speed", *_CAPABILITIES))
        for item in instance.clusters
        for group in item.groups or ()
    ]
    return Listing.rounded(
        rows, ("cluster", "nodes", "speed v", *_capabilities(instance.units)), ("cluster",)
    )


def _datasets(instance: Instance) -> Listing:
    header = ["name", instance.units.titled("volume q", "data"), instance.units.titled("work", "data")]
    rows = [[item.name, *_numbers(item, "volume", "workload")] for item in instance.datasets]
    if any(item.clusters is not None for item in instance.datasets):
        header.append("may be used on")
        for row, item in zip(rows, instance.datasets, strict=True):
            row.append("everywhere" if item.clusters is None else ", ".join(item.clusters))
    return Listing.rounded(rows, header, ("name", "may be used on"))


def _transfers(instance: Instance) -> Listing:
    rows = [(row.dataset, row.cluster, number(row.cost)) for row in instance.transfers]
    header = ("dataset", "cluster", instance.units.titled("beta", "cost"))
    return Listing.rounded(rows, header, ("dataset", "cluster"))


def _models(instance: Instance) -> Listing:
    units, limited = instance.units, any(item.memory is not None for item in instance.models)
    rows = [
        [
            item.name,
            number(item.size),
            number(item.demand) if item.compute is None else "listed by epoch",
            *([_memory(item, "any")] if limited else []),
            _improvement(item),
        ]
        for item in instance.models
    ]
    memory = [units.titled("memory", "memory")] if limited else []
    header = ("name", units.titled("size s", "size"), "demand", *memory, "improvement of epoch k")
    return Listing.rounded(rows, header, (header[0], header[-1]))


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
    if not instance.switches and instance.other_switches != Zero():
        return "none is listed"
    rows = [(row.previous, row.following, row.law.in_words()) for row in instance.switches]
    return Listing(("from", "to", "change of the loss"), rows)


def _provenance(instance: Instance) -> Listing:
    rows: list[tuple[str, ...]] = [
        (
            row.path,
            row.source,
            row.note if len(row.note) <= _LONGEST_NOTE else f"{row.note[: _LONGEST_NOTE - 4]} ...",
        )
        for row in instance.provenance
    ]
    path = "$.target.maximum_time"
    if rows and instance.target.maximum_time is None and path not in {row[0] for row in rows}:
        rows.append((path, "absent", "no T_max is given: nothing limits the whole time"))
    return Listing(("value", "source", "note"), rows)

"""A plan for people: its stages, its data, what is claimed of it; and its evaluation."""

import math
from collections import Counter
from collections.abc import Iterable
from itertools import groupby
from typing import Any

from depl.models.evaluation.evaluate import UNITS_OF_LIMITS, Constraint, Evaluation
from depl.models.foundation.wording import at_most, counted, interval, number
from depl.models.problem.instance import Instance
from depl.models.problem.plan import Bounds, Claims, Plan, PlannedEpoch
from depl.showing.parts import Fact, Listing, Pairs, Section, fact, labelled

_MOST_STAGES = 60
"""Stages that are listed one by one: two screens; the rest is counted."""

_FEW_STAGES = 8
"""Stages that an answer lists: as many lines as it has numbers; a longer plan is printed by itself."""

_FEW_DATASETS = 3
"""Datasets that an answer names: more would not fit beside the rest on a line."""

_HEADER = ("epochs", "model", "cluster", "resources x of a node")


def models_in_words(plan: Plan, instance: Instance | None = None) -> str:
    """How many epochs each model trains, in the order of the instance, or of the plan without one."""
    counts = Counter(epoch.model for epoch in plan.epochs)
    order = counts if instance is None else [model.name for model in instance.models if counts[model.name]]
    return ", ".join(f"{counts[name]} {name}" for name in order)


def plan_sections(plan: Plan) -> list[Section]:
    """Stage by stage what trains where, with which data, and what whoever made the plan says of it."""
    pairs = [("plan", f"{counted(len(plan.epochs), 'epoch')}: {models_in_words(plan) or 'no training'}")]
    if plan.instance is not None:
        pairs.append(("made for", f"the instance with fingerprint {plan.instance[:12]}"))
    pairs += [(f"data on {row.cluster}", ", ".join(row.datasets)) for row in plan.data]
    sections = [Section("", Pairs(pairs))]
    rows = _stages(plan)
    if rows:
        sections.append(Section("", Listing(_HEADER, rows[:_MOST_STAGES])))
    if len(rows) > _MOST_STAGES:
        sections.append(Section("", f"and {counted(len(rows) - _MOST_STAGES, 'more stage')}"))
    if plan.claims is not None and (claims := list(_claims(plan.claims))):
        sections.append(Section("Claimed by whoever made it; depl check works them out again", Pairs(claims)))
    return sections


def short_plan(plan: Plan, instance: Instance) -> Listing | str:
    """Who trains what, where, with which data and resources; empty if it is too long for an answer."""
    rows = _stages(plan)
    if not 0 < len(rows) <= _FEW_STAGES:
        return ""
    resources = instance.units.titled(_HEADER[3], "resource")
    filled = [(*row[:3], _data(plan, instance, row[2]), row[3]) for row in rows]
    return Listing((*_HEADER[:3], "data", resources), filled)


def _data(plan: Plan, instance: Instance, cluster: str) -> str:
    names = [item.name for item in instance.datasets if item.name in plan.datasets(cluster)]
    return ", ".join(names) if len(names) <= _FEW_DATASETS else f"{len(names)} of {len(instance.datasets)}"


def _stages(plan: Plan) -> list[tuple[str, str, str, str]]:
    rows, first = [], 1
    for (model, cluster), group in groupby(plan.epochs, key=lambda epoch: (epoch.model, epoch.cluster)):
        epochs = list(group)
        last = first + len(epochs) - 1
        rows.append(
            (str(first) if first == last else f"{first} to {last}", model, cluster, _resources(epochs))
        )
        first = last + 1
    return rows


def _resources(epochs: list[PlannedEpoch]) -> str:
    values = [epoch.resources for epoch in epochs]
    low, high = number(min(values)), number(max(values))
    return low if low == high else f"{low} to {high}"


def _claims(claims: Claims) -> Iterable[tuple[str, str]]:
    for name in ("cost", "lower_bound", "training_time"):
        if (value := getattr(claims, name)) is not None:
            claimed = fact(name, value)
            yield claimed.label, claimed.shown
    for name in ("violation", "quantile"):
        if (bounds := getattr(claims, name)) is not None:
            yield fact(name, None).label, _bounds(bounds)
    if claims.method is not None:
        yield "method", claims.method
    if claims.rows is not None:
        yield "under rows", ", ".join(claims.rows)


def _bounds(bounds: Bounds) -> str:
    if bounds.lower is None or bounds.upper is None:
        return f"{number(bounds.lower)} to {number(bounds.upper)}"
    return f"in {interval(bounds.lower, bounds.upper)}"


def most_resources(plan: Plan) -> dict[str, float]:
    """The most resources that a node of each cluster commits in an epoch."""
    most: dict[str, float] = {}
    for epoch in plan.epochs:
        if math.isfinite(epoch.resources):
            most[epoch.cluster] = max(most.get(epoch.cluster, 0.0), epoch.resources)
    return most


def evaluation_content(found: Evaluation) -> dict[str, Any]:
    """Every number, with the keys that results have; of the constraints those nearest to their limits."""
    names = ("feasible", "cost", "transfer_cost", "resource_cost", "epochs", "training_time", "violation")
    content: dict[str, Any] = {name: getattr(found, name) for name in (*names, "quantile", "expected_loss")}
    for name in ("violation", "quantile"):
        ends = content[name]
        content[name] = None if ends is None else {"lower": float(ends.lower), "upper": float(ends.upper)}
    return content


def evaluation_sections(found: Evaluation) -> list[Section]:
    """Cost, time and loss, and of every kind of constraint the one that is nearest to its limit."""
    known = labelled(evaluation_content(found), found.units)
    split = " + ".join(
        f"{part.label} {part.number}" for part in (known["transfer_cost"], known["resource_cost"])
    )
    pairs = [
        ("evaluation", "every constraint is satisfied" if found.feasible else "NOT feasible"),
        ("cost", f"{known['cost'].shown} = {split}"),
        ("epochs", str(found.epochs)),
        known["training_time"].pair,
        (known["violation"].label, missed(known["violation"], found.fitted)),
    ]
    if found.quantile is not None:
        ends = f"{at_most(found.quantile.upper)}, {AS_COUNTED}"
        pairs.append(("quantile of l(K)", ends if found.fitted else f"{known['quantile'].told}, certified"))
    if not found.fitted:
        pairs.append(known["expected_loss"].pair)
    return [Section("", Pairs(pairs)), Section("", _nearest(found))]


AS_COUNTED = "as the runs are counted"
"""Of the upper end of an interval of which the lower one is not known."""


def missed(violation: Fact, counts: bool) -> str:
    """The interval of a violation, or its upper end where runs are counted carefully."""
    return f"{violation.upper.told}, {AS_COUNTED}" if counts else violation.told


def _nearest(found: Evaluation) -> Listing:
    """One row per equation: a broken constraint if there is any, else the one with least slack."""
    nearest: dict[str, Constraint] = {}
    for item in found.constraints:
        known = nearest.setdefault(item.equation, item)
        if (item.satisfied, item.limit - item.value) < (known.satisfied, known.limit - known.value):
            nearest[item.equation] = item

    def limit(item: Constraint) -> str:
        kind = UNITS_OF_LIMITS.get(item.equation)
        return number(item.limit) if kind is None else found.units.amount(item.limit, kind)

    def verdict(item: Constraint) -> str:
        return "BROKEN" if not item.satisfied else "binds" if item.binding else "holds"

    header = ("equation", "constraint", "value", "limit", "verdict")
    values = ("equation", "name", "value", limit, verdict)
    return Listing.of(nearest.values(), header, values, left=("equation", "constraint", "verdict"))

"""A plan for people: its stages, its data, and what is claimed of it."""

import math
from collections import Counter
from itertools import groupby

from depl.models.foundation.wording import counted, interval, number
from depl.models.problem.instance import Instance
from depl.models.problem.plan import Bounds, Claims, Plan, PlannedEpoch
from depl.showing.parts import Listing, Pairs, Section

_MOST_STAGES = 60
"""Stages that are listed one by one: two screens; the rest is counted."""

_FEW_STAGES = 8
"""Stages that an answer lists: as many lines as it has numbers; a longer plan is printed by itself."""

_FEW_DATASETS = 3
"""Datasets that an answer names: more would not fit beside the rest on a line."""

_HEADER = ("epochs", "model", "cluster", "resources x of a node")

_BRIEF_MODELS = 3
"""Models that a line names: with names of 20 letters these take a third of it."""


def models_in_words(plan: Plan, instance: Instance | None = None) -> str:
    """How many epochs each model trains, in the order of the instance, or of the plan without one."""
    counts = Counter(epoch.model for epoch in plan.epochs)
    order = counts if instance is None else [model.name for model in instance.models if counts[model.name]]
    return ", ".join(f"{counts[name]} {name}" for name in order)


def plan_brief(plan: Plan) -> str:
    """One line on a plan."""
    counts = Counter(epoch.model for epoch in plan.epochs)
    words = [f"{count} {name[:20]}" for name, count in counts.items()]
    more = f", {counted(len(words) - _BRIEF_MODELS, 'more model')}" if len(words) > _BRIEF_MODELS else ""
    models = f": {', '.join(words[:_BRIEF_MODELS])}{more}" if words else ""
    cost = (
        "" if plan.claims is None or plan.claims.cost is None else f"; claims cost {number(plan.claims.cost)}"
    )
    return f"<Plan of {counted(len(plan.epochs), 'epoch')}{models}{cost}>"


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
    if plan.claims is not None and (claims := _claims(plan.claims)):
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
        span = str(first) if first == last else f"{first} to {last}"
        rows.append((span, model, cluster, _resources(epochs)))
        first = last + 1
    return rows


def _resources(epochs: list[PlannedEpoch]) -> str:
    values = [epoch.resources for epoch in epochs]
    low, high = number(min(values)), number(max(values))
    return low if low == high else f"{low} to {high}"


def _claims(claims: Claims) -> list[tuple[str, str]]:
    pairs = []
    for name, value in (
        ("cost", claims.cost),
        ("lower bound", claims.lower_bound),
        ("training time", claims.training_time),
    ):
        if value is not None:
            pairs.append((name, number(value)))
    for name, bounds in (("P(l(K) > l_max)", claims.violation), ("quantile of l(K)", claims.quantile)):
        if bounds is not None:
            pairs.append((name, _bounds(bounds)))
    if claims.method is not None:
        pairs.append(("method", claims.method))
    if claims.rows is not None:
        pairs.append(("under rows", ", ".join(claims.rows)))
    return pairs


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

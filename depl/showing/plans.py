"""A plan for people, its evaluation, and what the independent verifier says of it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Any

from depl.models.evaluation.evaluate import UNITS_OF_LIMITS, Constraint, Evaluation
from depl.models.foundation.wording import counted, number
from depl.models.problem.plan import Plan
from depl.models.verifier.findings import Finding, Kind
from depl.showing import facts
from depl.showing.parts import Columns, Listing, Pairs, Section, fact, picked

if TYPE_CHECKING:
    from depl.models.problem.instance import Instance
    from depl.models.verifier.policies import PolicyReport
    from depl.models.verifier.verify import Report

_MOST_STAGES = 60
"""Stages that are listed one by one: two screens; the rest is counted."""

_FEW_STAGES = 8
"""Stages that an answer lists: as many lines as it has numbers; a longer plan is printed by itself."""

_FEW_DATASETS = 3
"""Datasets that an answer names: more would not fit beside the rest on a line."""

_HEADER = ("epochs", "model", "cluster", "resources x of a node")


def plan_sections(plan: Plan) -> Iterator[Section]:
    """Stage by stage what trains where, with which data, and what whoever made the plan says of it."""
    made = None if plan.instance is None else f"the instance with fingerprint {plan.instance[:12]}"
    trained = f"{counted(len(plan.epochs), 'epoch')}: {models_in_words(plan) or 'no training'}"
    data = [(f"data on {row.cluster}", ", ".join(row.datasets)) for row in plan.data]
    yield "", [("plan", trained), ("made for", made), *data]
    rows = _stages(plan)
    yield "", Listing(_HEADER, rows[:_MOST_STAGES])
    more = len(rows) - _MOST_STAGES
    yield "", f"and {counted(more, 'more stage')}" if more > 0 else ""
    yield "Claimed by whoever made it; depl check works them out again", _claims(plan)


def models_in_words(plan: Plan, instance: Instance | None = None) -> str:
    """How many epochs each model trains, in the order of the instance, or of the plan without one."""
    counts = Counter(epoch.model for epoch in plan.epochs)
    order = counts if instance is None else [model.name for model in instance.models if counts[model.name]]
    return ", ".join(f"{counts[name]} {name}" for name in order)


def short_plan(plan: Plan, instance: Instance) -> Listing:
    """Who trains what, where, with which data and resources; empty if it is too long for an answer."""

    def data(cluster: str) -> str:
        names = [item.name for item in instance.datasets if item.name in plan.datasets(cluster)]
        few = len(names) <= _FEW_DATASETS
        return ", ".join(names) if few else f"{len(names)} of {len(instance.datasets)}"

    rows = [(*row[:3], data(row[2]), row[3]) for row in _stages(plan)]
    header = (*_HEADER[:3], "data", instance.units.titled(_HEADER[3], "resource"))
    return Listing(header, rows if len(rows) <= _FEW_STAGES else ())


def _stages(plan: Plan) -> list[tuple[str, str, str, str]]:
    rows, last = [], 0
    for (model, cluster), group in groupby(plan.epochs, key=lambda epoch: (epoch.model, epoch.cluster)):
        used = [epoch.resources for epoch in group]
        span, last = (last + 1, last + len(used)), last + len(used)
        rows.append((_range(*span), model, cluster, _range(number(min(used)), number(max(used)))))
    return rows


def _range(first: object, last: object) -> str:
    return str(first) if first == last else f"{first} to {last}"


def _claims(plan: Plan) -> Pairs:
    claims = plan.claims
    if claims is None:
        return
    claimed = picked(claims, "cost lower_bound training_time violation quantile")
    yield from (fact(name, value) for name, value in claimed.items())
    yield "method", claims.method
    yield "under rows", None if claims.rows is None else ", ".join(claims.rows)


def most_resources(plan: Plan) -> dict[str, float]:
    """The most resources that a node of each cluster commits in an epoch."""
    used = [(epoch.cluster, epoch.resources) for epoch in plan.epochs if math.isfinite(epoch.resources)]
    return {name: max(most for cluster, most in used if cluster == name) for name in dict(used)}


def evaluation_content(found: Evaluation) -> dict[str, Any]:
    """Every number, with the keys that results have."""
    costs = "feasible cost transfer_cost resource_cost epochs training_time"
    return picked(found, f"{costs} violation quantile expected_loss")


def evaluation_sections(found: Evaluation) -> Iterator[Section]:
    """Cost, time and loss, and of every kind of constraint the one that is nearest to its limit."""
    known = facts(found)
    quantile = None if found.quantile is None else known["quantile"].as_counted(found.fitted)
    yield (
        "",
        [
            ("evaluation", "every constraint is satisfied" if found.feasible else "NOT feasible"),
            *(known[name] for name in ("cost", "transfer_cost", "resource_cost", "epochs", "training_time")),
            (known["violation"].label, known["violation"].as_counted(found.fitted)),
            ("quantile of l(K)", quantile if quantile is None or found.fitted else f"{quantile}, certified"),
            None if found.fitted else known["expected_loss"],
        ],
    )
    yield "", _nearest(found)


def _nearest(found: Evaluation) -> Listing:
    """One row per equation: a broken constraint if there is any, else the one with least slack."""

    def limit(item: Constraint) -> object:
        kind = UNITS_OF_LIMITS.get(item.equation)
        return item.limit if kind is None else found.units.amount(item.limit, kind)

    def verdict(item: Constraint) -> str:
        return "BROKEN" if not item.satisfied else "binds" if item.binding else "holds"

    alike: dict[str, list[Constraint]] = {}
    for item in found.constraints:
        alike.setdefault(item.equation, []).append(item)
    nearest = [min(items, key=lambda one: (one.satisfied, one.limit - one.value)) for items in alike.values()]
    columns: Columns = {"equation": "equation", "constraint": "name", "value": "value", "limit": limit}
    return Listing.of(nearest, {**columns, "verdict": verdict})


def names_of(findings: Iterable[Finding]) -> list[str]:
    """The equations or claims of findings, by their bare names."""
    return [finding.subject for finding in findings]


def word_of(finding: Finding) -> str:
    """The verdict of a finding in a word; none where nothing is judged."""
    if finding.kind is Kind.NOTE:
        return ""
    if finding.kind is Kind.CHECKED:
        return finding.kind.value if finding.is_claim else "holds"
    return finding.kind.value if finding.ok else finding.kind.value.upper()


def verdict_content(report: Report | PolicyReport, rule: str) -> dict[str, Any]:
    """Whether all is well, every finding, and which claims were worked out again."""
    return {
        "ok": report.ok,
        "findings": [
            {rule: item.equation, **picked(item, "kind ok message amount")} for item in report.findings
        ],
        "checked": names_of(report.checked),
        "repeated": names_of(report.repeated),
    }


def verdict_sections(report: Report | PolicyReport, name: str, what: str, rule: str) -> Iterator[Section]:
    """The verdict, and a row per finding."""
    good = "everything holds" if what == "policy" else "every equation holds"
    verdict = f"{name}: {good if report.ok else f'the {what} FAILS'}"
    if report.repeated:
        verdict += f"\nRepeated from the {what}, not checked: {', '.join(names_of(report.repeated))}"
    yield "", verdict
    yield "", Listing.of(report.findings, {rule: "equation", "verdict": word_of, "finding": "message"})


def report_content(report: Report, epochs: int | None = None) -> dict[str, Any]:
    """The findings, and the numbers worked out again with the keys that results have."""
    bound, gap = report.proved_bound if report.proved_bound > 0 else None, None
    if bound is not None and report.ok and report.cost > 0:
        gap = max(report.cost - bound, 0.0) / report.cost
    return {
        **verdict_content(report, "equation"),
        "termination": None,
        "solution": "feasible" if report.ok else "none",
        **picked(report, "cost violation training_time expected_loss"),
        "lower_bound": bound,
        "gap": gap,
        "quantile": {"lower": None, "upper": None},
        "epochs": epochs,
    }


def report_sections(report: Report) -> Iterator[Section]:
    """The verdict, a row per finding, and what was recomputed."""
    instance, known = report.problem, facts(report)
    law = None if instance is None else instance.traced_law
    limit = "l_max" if instance is None else number(instance.target.maximum_loss)
    yield from verdict_sections(report, "the plan" if instance is None else instance.name, "plan", "equation")
    missed = known["violation"].as_counted(law is not None and law.counts_carefully)
    numbers: list[Any] = [known["cost"], known["training_time"], (f"P(l(K) > {limit})", missed)]
    yield "Recomputed by the verifier:", [*numbers, known["lower_bound"], known["gap"]]

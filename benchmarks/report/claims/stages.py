"""Claims of Sec. IV on the stages: data, transforms in the selection of models, and their order."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from depl.benchmarks.analysis.table import Table
from depl.benchmarks.measure.attempt import Attempt
from depl.benchmarks.report.evidence import Evidence
from depl.benchmarks.report.verdicts import Captioned, Claim, Findings, Reading
from depl.benchmarks.suites.stage_orders import ORDERS

PAPERS_ORDER = ORDERS[0]
"""Of the six orders in which the stages can be decided."""


def submodular(evidence: Evidence) -> Findings:
    """Whether K^ T^ is submodular on random choices of datasets, by trying all triples."""
    readings = []
    for row in _logarithmic(evidence):
        measured = f"refuted on {row['refuted']} of {row['problems']}"
        statement = f"submodular, {row['law']} law, {row['communication']}"
        readings.append(
            Reading(statement, row["problems"] - row["refuted"], row["problems"], measured, always=True)
        )
    return Findings(readings)


def no_help_no_further_help(evidence: Evidence) -> Findings:
    """Whether a dataset that does not help is never followed by one that does; and read more kindly."""
    readings = []
    for row in _logarithmic(evidence):
        for what, title in {
            "helps_later": "after a dataset that does not help, no other one helps",
            "pairs_help": "where no single dataset helps, no two help together",
        }.items():
            measured = f"refuted on {row[what]} of {row['problems']}"
            statement = f"{title}, {row['law']} law, {row['communication']}"
            shown = row["problems"] - row[what]
            readings.append(Reading(statement, shown, row["problems"], measured, always=True))
    return Findings(readings)


def solved_to_optimality(evidence: Evidence) -> Findings:
    """Whether the selection of datasets (7) is solved to its optimum, by submodularity and by other means."""
    values = {} if "data" not in evidence.records else evidence.records["data"].values
    readings = []
    if values:
        number, missed = int(values["selections"]), int(values["selections_missed"])
        readings.append(
            Reading(
                "by branch and bound, which uses no submodularity",
                number - missed,
                number,
                f"{missed} of {number} not solved",
                always=True,
            )
        )
    own = _logarithmic(evidence)
    number, wrong = sum(row["problems"] for row in own), sum(row["missed_by_minimum_norm"] for row in own)
    measured = f"another set is better on {wrong} of {number}"
    statement = "by a minimiser of submodular functions, as the paper says"
    readings.append(Reading(statement, number - wrong, number, measured, always=True))
    return Findings(readings)


def transforms_make_quantiles_additive(evidence: Evidence) -> Findings:
    """How the quantile by added log-transforms (Chernoff, best argument) compares with the certified one."""
    values = _values(evidence)
    number = int(values.get("bounded_plans", 0))
    factors = [str(values.get(name)) for name in ("least_margin_ratio", "largest_margin_ratio")]
    margin = f"margin over the mean {' to '.join(factors)} times as large" if number else ""
    equal, unsafe = int(values.get("equal_bounds", 0)), int(values.get("unsafe_bounds", 0))
    return Findings(
        [
            Reading(
                "the sum gives the quantile itself, to 1 % of its margin", equal, number, margin, always=True
            ),
            Reading(
                "the sum never lies below the quantile, so that plans judged by it are safe",
                number - unsafe,
                number,
                f"below it for {unsafe} of {number} plans",
                always=True,
            ),
        ]
    )


def order_of_stages(evidence: Evidence) -> Findings:
    """Whether deciding data, then models, then resources is best among the six orders, without errors."""
    return _ordered(evidence, lambda error: error == 0)


def order_under_errors(evidence: Evidence) -> Findings:
    """The same where what is planned with is estimated with errors."""
    return _ordered(evidence, lambda error: error > 0)


CLAIMS = (
    Claim(
        "submodular",
        "The product of epochs needed and time per epoch, K^ T^, is submodular in the set of datasets.",
        "Sec. IV-A",
        "It depends on the law and on the share of communication.",
        submodular,
        ("E4",),
        short="K^ T^ is submodular",
    ),
    Claim(
        "no-further-help",
        "If adding a dataset does not help, adding another one does not help either.",
        "Sec. IV-A",
        "It depends on the law and on the share of communication.",
        no_help_no_further_help,
        ("E4",),
        short="No help stays no help",
    ),
    Claim(
        "data-optimal",
        "The first stage, the selection of datasets, is solved to optimality in polynomial time.",
        "Sec. IV-A; proof of Property 2",
        "Which algorithm is meant decides it; [19] covers one special class of functions.",
        solved_to_optimality,
        ("E4", "E8"),
        short="Data are chosen optimally",
    ),
    Claim(
        "additive-quantiles",
        "Replacing densities by the logarithms of their Laplace transforms makes the loss quantile additive.",
        "Sec. IV-B",
        "Whether the sum is meant to be the quantile or a bound of it is open.",
        transforms_make_quantiles_additive,
        ("E5",),
        short="Laplace makes quantiles additive",
    ),
    Claim(
        "order-of-stages",
        "Decisions should be made in the order data, models, resources.",
        "Sec. IV, Fig. 3",
        "By what an order is to be judged is open.",
        order_of_stages,
        short="Data, then models, then resources",
        figures=("ablation-profiles",),
    ),
    Claim(
        "order-under-errors",
        "Making harder-to-estimate decisions less often, hence first, reduces the impact of errors.",
        "Sec. IV",
        "By what an order is to be judged is open.",
        order_under_errors,
        short="That order limits errors",
        figures=("ablation-profiles",),
    ),
)


def _values(evidence: Evidence) -> dict[str, Any]:
    record = evidence.records.get("printed-statements")
    return {} if record is None else record.values


def _logarithmic(evidence: Evidence) -> list[dict[str, Any]]:
    """Random selections under the two laws that "a logarithm law" (Sec. IV-A) can mean."""
    rows: list[dict[str, Any]] = _values(evidence).get("selections", [])
    return [row for row in rows if "log" in row["law"]]


def _ordered(evidence: Evidence, wanted: Callable[[float], bool]) -> Findings:
    """The paper's order against the five others, in cost, in plans found, and in promises kept."""
    by_order: dict[str, dict[str, Attempt]] = {}
    for attempt in evidence.suite("ablation"):
        order = attempt.settings.get("options", {}).get("order")
        error = attempt.labels.get("error", 0.0)
        if isinstance(order, str) and isinstance(error, int | float) and wanted(float(error)):
            by_order.setdefault(order, {})[f"{attempt.task.instance} {attempt.task.seed}"] = attempt
    papers = by_order.pop(PAPERS_ORDER, {})
    readings = []
    for what, figure in _FIGURES.items():
        shown, cases, worst = 0, 0, ""
        for order, others in by_order.items():
            pairs = [(figure(papers[key]), figure(others[key])) for key in papers if key in others]
            known = [(own, other) for own, other in pairs if own is not None and other is not None]
            if known:
                own, other = (float(np.mean([pair[side] for pair in known])) for side in (0, 1))
                cases += 1
                shown += own <= other * (1 + 1e-9)
                worst += f"{'; ' if worst else ''}{own:.4g} against {other:.4g} of {order}"
        statement = f"no other order has a lower {what}"
        readings.append(Reading(statement, shown, cases, worst, always=True))
    rows = [
        (order, len(own), *(_mean(figure, list(own.values())) for figure in _FIGURES.values()))
        for order, own in {PAPERS_ORDER: papers, **by_order}.items()
        if own
    ]
    table = Table(("order", "attempts", *_FIGURES), tuple(rows))
    return Findings(
        readings, [Captioned("Means by order, each over the attempts that have the figure", table)]
    )


def _true_cost(attempt: Attempt) -> float | None:
    return attempt.measures.get("true_cost", attempt.cost) if attempt.cost is not None else None


def _without_plan(attempt: Attempt) -> float | None:
    return None if attempt.ending == "refused" else float(attempt.cost is None)


def _broken(attempt: Attempt) -> float | None:
    delivered, allowed = (attempt.measures.get(key) for key in ("delivered", "violation_allowed"))
    return None if delivered is None or allowed is None else float(1 - delivered > allowed * (1 + 1e-9))


_FIGURES: dict[str, Callable[[Attempt], float | None]] = {
    "mean cost where both have plans": _true_cost,
    "share of instances without a plan": _without_plan,
    "share of promises broken under the true law": _broken,
}


def _mean(figure: Callable[[Attempt], float | None], attempts: Sequence[Attempt]) -> float | None:
    known = [value for attempt in attempts if (value := figure(attempt)) is not None]
    return float(np.mean(known)) if known else None

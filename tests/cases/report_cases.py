"""Evidence for tests of the report: made-up attempts of the paper's suites, and records of cases."""

import msgspec
from matplotlib.figure import Figure

from depl.benchmarks.analysis.table import Table
from depl.benchmarks.figures.drawing import Drawing
from depl.benchmarks.measure.results import Record
from depl.benchmarks.report.evidence import evidence_of
from tests.cases.attempts_factory import MACHINE, attempt_of

TARGETS = (5.0, 9.0, 13.0)
METHODS = ("depl", "depl-paper", "expected-greedy", "expected-cost")


def plan(cost, epochs=(0, 0, 4), violation=0.005, **measures):
    """Fields of an attempt: a plan with so many epochs of fast-unsteady, intermediate and slow-steady."""
    if cost is None:
        return {"cost": None}
    names = ("fast-unsteady", "intermediate", "slow-steady")
    return {
        "cost": cost,
        "epochs": sum(epochs),
        "epochs_by_model": dict(zip(names, epochs, strict=True)),
        "violation": (violation, violation),
        "measures": {"violation_allowed": 0.01, **measures},
    }


def paper(plans, family="paper-alexnet", suite="paper", label="family"):
    """Attempts of a family: for each method a plan at each target; that of ``exact`` is proved optimal."""
    return [
        attempt_of(
            f"{family}-{target:g}",
            method,
            suite=suite,
            labels={label: family, "target": target},
            ending="optimal" if method == "exact" else "exhausted",
            **fields,
        )
        for method, at in plans.items()
        for target, fields in zip(TARGETS, at, strict=True)
    ]


def costs(**by_method):
    """Plans that differ in cost alone; underscores in names stand for hyphens."""
    return {name.replace("_", "-"): [plan(cost) for cost in at] for name, at in by_method.items()}


def record(case, **values):
    """A record of a case with such values."""
    return Record(
        case=case,
        summary="made up",
        command=f"python -m depl.benchmarks run {case}",
        smoke=False,
        seed=1,
        date="2026-01-01",
        wall_seconds=1.0,
        cpu_seconds=1.0,
        goals=(),
        values=values,
        commit=None,
        python="3.12.0",
        versions={},
        machine=MACHINE,
    )


def evidence(attempts=(), *records):
    """Evidence of these."""
    return evidence_of(attempts, records)


def moved(attempts, **changes):
    """The attempts with other fields."""
    return [msgspec.structs.replace(attempt, **changes) for attempt in attempts]


# Two families by some methods, one of which misses a target; and one record.
ATTEMPTS = [
    *paper(
        costs(exact=(17, 12, 8), depl=(17, 12, 8.5), depl_paper=(40, None, 20), expected_greedy=(30, 20, 16))
    ),
    *paper(costs(exact=(10, 8, 5)), family="paper-mobilenet"),
]
RECORD = record("prediction-sets", comparisons=[{"mean_verdict": "smaller"}], equal_work_change=0.02)


def drawn(name):
    """A figure of one line, with its table."""
    figure = Figure()
    figure.subplots().plot([1, 2], [3, 4])
    return Drawing(name, f"What {name} <shows>", figure, Table(("x", "y"), ((1, 3.0), (2, 4.0))))

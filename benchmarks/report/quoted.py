"""What pages quote of records and attempts beside single values: figures that are worked out of them.

``docs/measured_numbers.py`` writes them into README, paper.md and the pages (``make numbers``).
"""

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any

import numpy as np
from scipy.stats import ks_2samp

from depl.benchmarks.analysis.reference import frame_of
from depl.benchmarks.analysis.table import cell
from depl.benchmarks.measure.results import RESULTS, read, read_all
from depl.benchmarks.measure.store import RECORDED, read_attempts
from depl.benchmarks.report.claims import CLAIMS, about_figure
from depl.benchmarks.report.evidence import RANDOM, SHIPPED, Evidence, evidence_of
from depl.benchmarks.report.tables import headline_table, printed_steps_table
from depl.benchmarks.report.verdicts import counts, judged
from depl.instances.training.recorded import recorded_traces
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.names import advice
from depl.models.foundation.wording import counted

Values = Mapping[str, Any]


@cache
def source(name: str) -> dict[str, Any]:
    """The values of a record with what is derived from them, or one of `SOURCES`.

    Raises
    ------
    InvalidInputError
        If there is neither.
    """
    if name in SOURCES:
        return dict(SOURCES[name]())
    known = [path.stem for path in RESULTS.glob("*.json")]
    if name not in known:
        raise InvalidInputError(f"there is no record {name!r} to quote; {advice(name, [*known, *SOURCES])}")
    record = read(RESULTS / f"{name}.json")
    derived = DERIVED[name](record.values) if name in DERIVED else {}
    clocks = {"wall_seconds": record.wall_seconds, "cpu_seconds": record.cpu_seconds}
    return {**clocks, **record.values, **derived}


def where(rows: Iterable[Any], **wanted: object) -> list[Any]:
    """The rows with these values."""
    return [row for row in rows if all(row[key] == value for key, value in wanted.items())]


def problems(values: Values) -> list[dict[str, Any]]:
    """The rows of ``closed-loop`` by problem and rung."""
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in values["rows"]:
        key = (row["family"], row["maximum_loss"], row["maximum_epochs"], row["omega"])
        found.setdefault(key, {})[row["rung"]] = row
    return list(found.values())


@cache
def shipped_and_random() -> Evidence:
    """The attempts that the README's table is made from."""
    return evidence_of([item for suite in (SHIPPED, RANDOM) for item in read_attempts(suite)])


# Figures that follow from the values of one record ------------------------------------------------------


def _closed_loop(values: Values) -> Values:
    counted, ledger = (
        [own for own in problems(values) if own[rung].get("promised") is not None]
        for rung in ("optimal, counted", "static, ledger")
    )
    pairs = [[own[f"{rung}, ledger"]["promised_cost"] for rung in ("optimal", "static")] for own in ledger]
    return {
        "policies": [own["optimal, counted"] for own in counted],
        "saved": [1 - best / fixed for best, fixed in pairs],
        "saved_little": sum(1 - best / fixed < 0.01 for best, fixed in pairs),
    }


def _promises_held_out(values: Values) -> Values:
    asked = [
        row | {"problems": row["promises"] / (1 - row["refused"])}
        for row in values["chosen"]
        if row["judged"]
    ]
    return {
        "half": where(asked, collection="drawn", known="halves", confidence=None),
        "families": [row for row in asked if row["collection"] not in ("drawn", "tuned")],
    }


def _promises_kept(values: Values) -> Values:
    rows = [row for row in values["rows"] if row["delivered"] is not None]
    return {
        "made": [row for row in rows if row["setting"] != "flattered"],
        "flattered": where(rows, setting="flattered"),
        "law_over_target": [row["paper_quantile"] / row["target"] for row in rows],
        "exceeded": [int(line.split()[0]) for pilot in values["pilots"] for line in pilot["rounds"]],
    }


DERIVED: Mapping[str, Callable[[Values], Values]] = {
    "closed-loop": _closed_loop,
    "prediction-sets": lambda values: {
        "smaller": sum(row["mean_after"] < row["mean_before"] for row in values["comparisons"]),
        "longer": [row["dependable_epochs"] / row["expected_epochs"] for row in values["comparisons"]],
    },
    "promises-held-out": _promises_held_out,
    "promises-kept": _promises_kept,
    "scale": lambda values: {
        name: max(float(values[f"{suite}_{name}"]) for suite in ("full", "regions"))
        for name in ("largest_gap_at_a_third", "largest_seconds")
    },
}

# Figures of attempts and of shipped runs ----------------------------------------------------------------


_READINGS = {
    "saves": ("with bounds against greedy", "saving relative to best-exp", "shipped"),
    "saves_on_completions": ("with bounds against greedy", "saving relative to best-exp", "completions"),
    "saves_against_aware": ("with bounds against cost-aware", "saving relative to best-exp", "shipped"),
    "aware_on_completions": ("with bounds against cost-aware", "saving relative to best-exp", "completions"),
    "printed_saves": ("as printed against greedy", "saving relative to best-exp", "shipped"),
    "near": ("with bounds: a plan", "shipped"),
    "near_on_completions": ("with bounds: a plan", "completions"),
    "printed_near": ("as printed: a plan", "shipped"),
    "annealing_against_printed": ("annealing loses to DepL as printed", "on random"),
    "annealing": ("annealing loses to DepL with bounds", "on random"),
}
"""Readings that the README quotes, by words of their statements."""


def _claims() -> Values:
    """Verdicts, and the numbers in what a reading was found to be: cases that show it, cases, figures."""
    verdicts = judged(CLAIMS, evidence_of(read_attempts(RECORDED), read_all()))
    readings = [item for verdict in verdicts for item in verdict.found]
    found: dict[str, Any] = {"judged": len(verdicts), "counts": counts(verdicts).split(", ")}
    found["aware_costs_less"] = _completions_where_depl_costs_more()
    for name, parts in _READINGS.items():
        (text,) = (own.words for reading, own in readings if all(part in reading.statement for part in parts))
        found[name] = [float(one) for one in re.findall(r"-?\d+(?:\.\d+)?", text)]
    for verdict in verdicts:
        told_of = {"ruling": verdict.ruling.value, "agree": verdict.agree, "others": len(verdict.others)}
        found[verdict.claim.key] = told_of
    for number in range(1, 10):
        own = [verdict for verdict in verdicts if verdict.claim in about_figure(number)]
        found[f"figure-{number}"] = f"{counted(len(own), 'claim')}: {counts(own)}" if own else "no claims"
    return found


_SAME = 1e-9
"""Relative difference at which costs count as the same: the precision to which they are compared."""


def _completions_where_depl_costs_more() -> int:
    """On how many completions of Table I `depl` costs more in the mean than cost-aware best-exp."""
    rows = frame_of(read_attempts("reconstruction"))
    rows = rows.assign(completion=rows["labels"].map(lambda own: own["completion"]))
    costs = rows.pivot_table("cost", ["completion", "instance"], "configuration", "last")
    savings = 1 - costs["depl"] / costs["expected-cost"]
    return int((savings.groupby("completion").mean() < -_SAME).sum())


def _suites() -> Values:
    """What the README says of the attempts behind its table, and of the family with deadlines."""
    evidence = shipped_and_random()
    drawn, shipped = evidence.suite(RANDOM), evidence.suite(SHIPPED)
    (steps,) = where(printed_steps_table(drawn["attempt"]).records(), configuration="depl-paper")
    (aware,) = where(headline_table(evidence).records(), method="expected-cost")
    told = [
        {"family": labels["family"], "method": method, "target": labels["target"], "over": cell(ratio)}
        for labels, method, ratio in shipped[["labels", "configuration", "ratio"]].itertuples(index=False)
    ]
    printed = drawn[drawn["configuration"] == "depl-paper"]
    return {
        "drawn": drawn["instance"].nunique(),
        "proved": drawn[drawn["optimum"].notna()]["instance"].nunique(),
        "not_covered": aware["not covered"],
        "commits": sorted({item.commit.id[:8] for item in evidence.attempts if item.commit}),
        "steps": steps,
        "late": int((printed["ending"] == "time_limit").sum()),
        "printed": where(told, method="depl-paper"),
    }


def _runs() -> Values:
    """The facts of Sec. II on two plans that 104 shipped runs share each, by their first and last model."""
    traces = recorded_traces("digits-alexnet")
    shared = {plan: runs for plan, runs in traces.by_schedule().items() if len(runs) == 104}
    plans = {f"{plan[0][0]} {plan[-1][0]}": traces.matrix()[runs] for plan, runs in shared.items()}
    fourth, light = (plans[ends] for ends in ("pruned-50 pruned-75", "pruned-25 pruned-50"))
    return {
        "band": np.quantile(fourth[:, 60], [0.01, 0.99]).tolist(),
        "means": [float(losses[:, 17].mean()) for losses in (fourth, light)],
        "p_value": float(ks_2samp(fourth[:, 17], light[:, 17]).pvalue),
    }


SOURCES: Mapping[str, Callable[[], Values]] = {"claims": _claims, "runs": _runs, "suites": _suites}

"""What was found out about a plan or a policy, for people: checked, simulated, and replayed."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

from depl.models.foundation.wording import counted, number, percentage, probability
from depl.models.policy.replay import Replay
from depl.models.policy.simulation import CONFIDENCE, RISK, Simulation
from depl.models.problem.units import NO_UNITS, Units
from depl.models.verifier.findings import Finding, Kind
from depl.models.verifier.policies import PolicyReport
from depl.models.verifier.verify import Report
from depl.showing.parts import Listing, Names, Pairs, Rounding, Section, fact, labelled
from depl.showing.plans import missed

_ENDS = {
    "reached": "reached the target",
    "abandoned": "given up",
    "exhausted": "out of epochs",
    "beyond": "above the grid",
}
"""How runs end, in words."""

_BOUNDS: Names = {
    "cost": ("expected cost", "cost", Rounding.UP, 7),
    "epochs": ("expected epochs", "", Rounding.UP, 7),
    "reached": ("P(reached)", "", Rounding.DOWN, 7),
    "reached_interval": ("P(reached)", "", Rounding.OUTWARD, 5),
    "cost_interval": ("expected cost", "", Rounding.OUTWARD, 5),
    "delivered_interval": ("delivered", "", Rounding.OUTWARD, 4),
}
"""What is claimed and recomputed of a policy, and the intervals of what was counted."""


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


def gap_of(report: Report) -> float | None:
    """(cost - proved bound) / cost of a plan that passes; None where nothing was proved about others."""
    if not (report.ok and report.cost > 0 and report.proved_bound > 0):
        return None
    return max(report.cost - report.proved_bound, 0.0) / report.cost


def _verdict(report: Report | PolicyReport, rule: str) -> dict[str, Any]:
    findings = [
        {
            rule: item.equation,
            "kind": item.kind.value,
            "ok": item.ok,
            "message": item.message,
            "amount": item.amount,
        }
        for item in report.findings
    ]
    kinds = {"checked": names_of(report.checked), "repeated": names_of(report.repeated)}
    return {"ok": report.ok, "findings": findings, **kinds}


def _verdict_sections(report: Report | PolicyReport, name: str, what: str, rule: str) -> list[Section]:
    """The verdict, and a row per finding."""
    verdict = (
        f"every{'thing' if what == 'policy' else ' equation'} holds" if report.ok else f"the {what} FAILS"
    )
    if report.repeated:
        verdict += f"\nRepeated from the {what}, not checked: {', '.join(names_of(report.repeated))}"
    rows = [(finding.equation, word_of(finding), finding.message) for finding in report.findings]
    return [Section("", f"{name}: {verdict}"), Section("", Listing((rule, "verdict", "finding"), rows))]


def report_content(report: Report, epochs: int | None = None) -> dict[str, Any]:
    """The findings, and the numbers worked out again with the keys that results have."""
    return _verdict(report, "equation") | {
        "termination": None,
        "solution": "feasible" if report.ok else "none",
        "cost": report.cost,
        "lower_bound": report.proved_bound if report.proved_bound > 0 else None,
        "gap": gap_of(report),
        "violation": {"lower": float(report.violation.lower), "upper": float(report.violation.upper)},
        "quantile": {"lower": None, "upper": None},
        "epochs": epochs,
        "training_time": report.training_time,
        "expected_loss": report.expected_loss,
    }


def report_sections(report: Report) -> list[Section]:
    """The verdict, a row per finding, and what was recomputed."""
    instance, known = report.problem, labelled(report_content(report), _units(report))
    name, limit, careful = "the plan", "l_max", False
    if instance is not None:
        name, limit = instance.name, number(instance.target.maximum_loss)
        careful = instance.traced_law is not None and instance.traced_law.counts_carefully
    numbers = [
        known["cost"].pair,
        known["training_time"].pair,
        (f"P(l(K) > {limit})", missed(known["violation"], careful)),
    ]
    if report.proved_bound > 0:
        below = "" if known["gap"].value is None else f", {known['gap'].shown} below the plan"
        numbers.append(
            ("least cost of any plan", f"{known['lower_bound'].told}, proved by the verifier{below}")
        )
    verdict = _verdict_sections(report, name, "plan", "equation")
    return [*verdict, Section("Recomputed by the verifier:", Pairs(numbers))]


def _units(report: Report) -> Units:
    return NO_UNITS if report.problem is None else report.problem.units


def policy_report_content(report: PolicyReport) -> dict[str, Any]:
    """The findings, and how runs end."""
    course = None if report.course is None else vars(report.course)
    return _verdict(report, "rule") | {"course": course}


def policy_report_sections(report: PolicyReport) -> list[Section]:
    """The verdict, a row per finding, and what was recomputed."""
    sections, found = _verdict_sections(report, report.policy.name, "policy", "rule"), report.course
    if found is None:
        return sections
    numbers = [fact(name, getattr(found, name), names=_BOUNDS).pair for name in ("cost", "epochs")]
    shares = {words: max(getattr(found, name), 0.0) for name, words in _ENDS.items()}
    numbers += [(words, f"probability {probability(share)}") for words, share in shares.items()]
    how = "under the law and with the ledger alone"
    if report.policy.state == "observed":
        unlike = f"probability {probability(found.unlike)}, counted as failed"
        numbers.append(("unlike all runs seen", unlike))
        how = "over all combinations of the runs"
    return [*sections, Section(f"Recomputed by the evaluator, {how}:", Pairs(numbers))]


def simulation_content(found: Simulation) -> dict[str, Any]:
    """The counts with their intervals."""
    ends = {"reached_interval": found.reached_interval, "cost_interval": _ends(found.cost_interval)}
    return {**vars(found), **ends}


def _ends(interval: tuple[float, float]) -> tuple[float, float] | None:
    return interval if all(map(math.isfinite, interval)) else None


def simulation_sections(found: Simulation, claimed_cost: float, claimed_reached: float) -> list[Section]:
    """How drawn runs ended, beside what is claimed."""
    share = number(found.reached / found.runs)
    numbers = [
        ("P(reached)", f"{share}, {_within('reached_interval', found.reached_interval)}"),
        ("", f"claimed: {fact('reached', claimed_reached, names=_BOUNDS).told}"),
        ("expected cost", f"{number(found.cost)}, {_within('cost_interval', found.cost_interval)}"),
        ("", f"claimed: {fact('cost', claimed_cost, names=_BOUNDS).told}"),
        ("epochs", f"{number(found.epochs)} in the mean"),
        *((words, counted(getattr(found, name), "run")) for name, words in _ENDS.items()),
    ]
    verdict = f"No claim is refuted at {RISK:g}."
    if found.refuted:
        lines = "\n".join(f"- {text}" for text in found.refuted)
        verdict = f"REFUTED (each by chance with probability {RISK:g} at most):\n{lines}"
    return [
        Section(f"{counted(found.runs, 'run')} drawn from the law:", Pairs(numbers)),
        Section("", verdict),
    ]


def _within(name: str, interval: Sequence[float], digits: int = 5) -> str:
    ends = fact(name, interval, names=_BOUNDS)._replace(digits=digits).number
    return f"{percentage(CONFIDENCE)} interval {ends}"


def replay_content(found: Replay) -> dict[str, Any]:
    """Every run, and the numbers of all of them."""
    names = ("delivered", "delivered_interval", "claimed", "cost")
    content: dict[str, Any] = {"runs": [vars(run) for run in found.runs], "ends": dict(found.ends)}
    content |= {name: getattr(found, name) for name in names}
    content |= {"cost_interval": _ends(found.cost_interval), "per_success": found.per_success}
    return content


def replay_sections(found: Replay, claimed_cost: float) -> list[Section]:
    """How real runs ended, beside what is claimed."""
    delivered, cost = f"{number(found.delivered, 4)} of them", f"{number(found.cost)} in the mean"
    numbers = [
        ("delivered", f"{delivered}, {_within('delivered_interval', found.delivered_interval, 4)}"),
        ("", f"claimed: {fact('reached', found.claimed, names=_BOUNDS)._replace(digits=4).told}"),
        ("cost", f"{cost}, {_within('cost_interval', found.cost_interval, 4)}"),
        ("", f"claimed: {fact('cost', claimed_cost, names=_BOUNDS)._replace(digits=4).told}"),
        ("cost of a success", number(found.per_success)),
        *((words, counted(found.ends[name], "run")) for name, words in _ENDS.items()),
    ]
    if switched := sorted(run.switched for run in found.runs if run.switched is not None):
        numbers.append(
            ("switched", f"{counted(len(switched), 'run')}, after epochs {switched[0]} to {switched[-1]}")
        )
    return [Section(f"{counted(len(found.runs), 'seed')}, followed on real training:", Pairs(numbers))]

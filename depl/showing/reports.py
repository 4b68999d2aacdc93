"""The verifier's report for people: every finding, and the numbers worked out again."""

from collections.abc import Iterable

from depl.models.foundation.wording import counted, interval, number, percentage, rounded_down, rounded_up
from depl.models.problem.units import NO_UNITS, Units
from depl.models.verifier.findings import Finding, Kind
from depl.models.verifier.verify import Report
from depl.showing.parts import Listing, Pairs, Section


def report_brief(report: Report) -> str:
    """One line on a report."""
    state = "every equation holds" if report.ok else f"{counted(len(report.failures), 'finding')} FAILED"
    cost = _units(report).amount(report.cost, "cost")
    return f"<Report: {state}, {counted(len(report.findings), 'finding')}, cost {cost}>"


def report_sections(report: Report) -> list[Section]:
    """The verdict, a row per finding, and what was recomputed."""
    verdict = "every equation holds" if report.ok else "the plan FAILS"
    if report.repeated:
        verdict += f"\nRepeated from the plan, not checked: {', '.join(names_of(report.repeated))}"
    rows = [(finding.equation, word_of(finding), finding.message) for finding in report.findings]
    instance = report.problem
    name, limit = "the plan", "l_max"
    if instance is not None:
        name, limit = instance.name, number(instance.target.maximum_loss)
    lower, upper = float(report.violation.lower), float(report.violation.upper)
    missed = f"in {interval(lower, upper)}"
    if instance is not None and instance.traced_law is not None and instance.traced_law.counts_carefully:
        missed = f"at most {rounded_up(upper)}, as the runs are counted"
    numbers = [
        ("cost", _units(report).amount(report.cost, "cost")),
        ("training time", _units(report).amount(report.training_time, "time")),
        (f"P(l(K) > {limit})", missed),
        *([("least cost of any plan", _least(report))] if report.proved_bound > 0 else []),
    ]
    return [
        Section("", f"{name}: {verdict}"),
        Section("", Listing(("equation", "verdict", "finding"), rows)),
        Section("Recomputed by the verifier:", Pairs(numbers)),
    ]


def _least(report: Report) -> str:
    gap = gap_of(report)
    below = "" if gap is None else f", {percentage(gap)} below the plan"
    least = _units(report).after(rounded_down(report.proved_bound), "cost")
    return f"at least {least}, proved by the verifier{below}"


def _units(report: Report) -> Units:
    return NO_UNITS if report.problem is None else report.problem.units


def gap_of(report: Report) -> float | None:
    """(cost - proved bound) / cost of a plan that passes; None where nothing was proved about others."""
    if not (report.ok and report.cost > 0 and report.proved_bound > 0):
        return None
    return max(report.cost - report.proved_bound, 0.0) / report.cost


def names_of(findings: Iterable[Finding]) -> list[str]:
    """The equations or claims of findings, by their bare names."""
    return [finding.subject for finding in findings]


def word_of(finding: Finding) -> str:
    """The verdict of a finding in a word; none where nothing is judged."""
    if finding.kind is Kind.NOTE:
        return ""
    if finding.kind is Kind.CHECKED:
        return finding.kind.value if finding.is_claim else "holds"
    if finding.ok:
        return finding.kind.value
    return finding.kind.value.upper()

"""What ``depl check`` does; `depl.arguments.check` declares its options."""

import argparse
import math
from collections.abc import Iterable

from depl.commands.answer import Answer, ExitCode
from depl.commands.json_text import as_json
from depl.commands.options import inside, read_instance, read_plan
from depl.commands.table import fields, table
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.wording import interval, number, rounded_down
from depl.models.problem.instance import Instance
from depl.models.problem.plan import Plan
from depl.models.scenarios.draws import Scenarios
from depl.models.scenarios.files import load_scenarios
from depl.models.verifier.findings import Finding, Kind
from depl.models.verifier.verify import Report, verify


def run(options: argparse.Namespace) -> Answer:
    """Verify the plan; one that fails is an answer, one that does not speak of the instance is not."""
    instance, plan = read_instance(options), read_plan(options.plan)
    with inside(options.plan):
        plan.check_names(instance)
    draws = None
    if options.scenarios is not None:
        scenarios = load_scenarios(options.scenarios, instance)
        _require_same_origin(plan, scenarios, options.scenarios)
        draws = scenarios.improvements, scenarios.switch_losses
    report = verify(instance, plan, draws)
    code = ExitCode.ANSWERED if report.ok else ExitCode.INFEASIBLE
    return Answer(_text(instance, report), code, as_json(_content(report, len(plan.epochs))))


def _require_same_origin(plan: Plan, scenarios: Scenarios, path: str) -> None:
    """Refuse a file whose seed or rounding is not the plan's; its arrays are the verifier's affair."""
    claim = None if plan.claims is None else plan.claims.scenarios
    if claim is None:
        return
    for name, found, wanted in (
        ("seed", scenarios.seed, claim.seed),
        ("decimals", scenarios.decimals, claim.decimals),
    ):
        if found != wanted:
            raise InvalidInputError(
                f"is {_or_none(found)} in the file, {_or_none(wanted)} in the plan; give the scenarios "
                "that the plan was made for",
                f"{path}: {name}",
            )


def _or_none(value: int | None) -> str:
    return "none" if value is None else str(value)


def _text(instance: Instance, report: Report) -> str:
    verdict = "every equation holds" if report.ok else "the plan FAILS"
    if report.repeated:
        verdict += f"\nRepeated from the plan, not checked: {', '.join(_names(report.repeated))}"
    rows = [(finding.equation, _word(finding), finding.message) for finding in report.findings]
    lower, upper = float(report.violation.lower), float(report.violation.upper)
    numbers = fields(
        [
            ("cost", number(report.cost)),
            ("training time", number(report.training_time)),
            (f"P(l(K) > {number(instance.target.maximum_loss)})", f"in {interval(lower, upper)}"),
            *([("least cost of any plan", _least(report))] if report.proved_bound > 0 else []),
        ]
    )
    findings = table(("equation", "verdict", "finding"), rows)
    return f"{instance.name}: {verdict}\n\n{findings}\n\nRecomputed by the verifier:\n{numbers}"


def _least(report: Report) -> str:
    gap = _gap(report)
    below = "" if gap is None else f", {100 * gap:.3g} % below the plan"
    return f"at least {rounded_down(report.proved_bound)}, proved by the verifier{below}"


def _gap(report: Report) -> float | None:
    """(cost - proved bound) / cost of a plan that passes; None where nothing was proved about others."""
    if not (report.ok and report.cost > 0 and report.proved_bound > 0):
        return None
    return max(report.cost - report.proved_bound, 0.0) / report.cost


def _names(findings: Iterable[Finding]) -> list[str]:
    return [finding.subject for finding in findings]


def _word(finding: Finding) -> str:
    if finding.kind is Kind.NOTE:
        return ""
    if finding.kind is Kind.CHECKED:
        return finding.kind.value if finding.is_claim else "holds"
    if finding.ok:
        return finding.kind.value
    return finding.kind.value.upper()


def _content(report: Report, epochs: int) -> dict[str, object]:
    """The report as plain data, with the keys that results have."""
    findings = [
        {
            "equation": finding.equation,
            "kind": finding.kind.value,
            "ok": finding.ok,
            "message": finding.message,
            "amount": _finite(finding.amount),
        }
        for finding in report.findings
    ]
    return {
        "ok": report.ok,
        "findings": findings,
        "checked": _names(report.checked),
        "repeated": _names(report.repeated),
        "termination": None,
        "solution": "feasible" if report.ok else "none",
        "cost": _finite(report.cost),
        "lower_bound": report.proved_bound if report.proved_bound > 0 else None,
        "gap": _gap(report),
        "violation": {"lower": float(report.violation.lower), "upper": float(report.violation.upper)},
        "quantile": {"lower": None, "upper": None},
        "epochs": epochs,
        "training_time": _finite(report.training_time),
        "expected_loss": _finite(report.expected_loss),
    }


def _finite(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else float(value)

"""``depl check``: the independent verifier's word on a plan."""

import argparse
import math

from depl.commands.answer import Answer, ExitCode, as_json
from depl.commands.options import add_instance, add_json, add_plan, inside, read_instance, read_plan
from depl.commands.table import fields, table
from depl.models.problem import Instance
from depl.models.verifier import Report, verify
from depl.models.verifier_findings import Finding, Kind
from depl.models.wording import interval, number

HELP = "verify a plan, independently of all solvers"


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_instance(parser)
    add_plan(parser)
    add_json(parser, "the findings")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> Answer:
    """Verify the plan; one that fails is an answer, one that does not speak of the instance is not."""
    instance, plan = read_instance(options), read_plan(options.plan)
    with inside(options.plan):
        plan.check_names(instance)
    report = verify(instance, plan)
    code = ExitCode.ANSWERED if report.ok else ExitCode.INFEASIBLE
    return Answer(_text(instance, report), code, as_json(_content(report, len(plan.epochs))))


def _text(instance: Instance, report: Report) -> str:
    verdict = "every equation holds" if report.ok else "the plan FAILS"
    rows = [(finding.equation, _word(finding), finding.message) for finding in report.findings]
    lower, upper = float(report.violation.lower), float(report.violation.upper)
    numbers = fields(
        [
            ("cost", number(report.cost)),
            ("training time", number(report.training_time)),
            (f"P(l(K) > {number(instance.target.maximum_loss)})", f"in {interval(lower, upper)}"),
        ]
    )
    findings = table(("equation", "verdict", "finding"), rows)
    return f"{instance.name}: {verdict}\n\n{findings}\n\nRecomputed by the verifier:\n{numbers}"


def _word(finding: Finding) -> str:
    if finding.kind is Kind.NOTE:
        return ""
    return "holds" if finding.ok else finding.kind.value.upper()


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
        "termination": None,
        "solution": "feasible" if report.ok else "none",
        "cost": _finite(report.cost),
        "lower_bound": None,
        "gap": None,
        "violation": {"lower": float(report.violation.lower), "upper": float(report.violation.upper)},
        "quantile": {"lower": None, "upper": None},
        "epochs": epochs,
        "training_time": _finite(report.training_time),
        "expected_loss": _finite(report.expected_loss),
    }


def _finite(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else float(value)

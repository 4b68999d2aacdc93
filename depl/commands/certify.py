"""``depl certify``: whether held-out runs prove that a plan keeps its promise, without any law."""

import argparse
import math
from dataclasses import asdict
from typing import Any

from depl.commands.answer import Answer, ExitCode, as_json
from depl.commands.options import add_json, named_traces, read_plan
from depl.commands.table import fields
from depl.models.estimation.certificate import Certificate, QuantileBound, Verdict, certificate
from depl.models.estimation.combinations import schedule_label
from depl.models.estimation.held_out import HeldOut, held_out
from depl.models.traces.table import TARGETS
from depl.models.wording import counted, interval, number, rounded_down, rounded_up

HELP = "prove from held-out runs, without any law, that a plan keeps its promise"

_VERDICTS = {
    Verdict.CERTIFIED: "certified",
    Verdict.UNDECIDED: "NOT certified: the runs are too few to tell",
    Verdict.REFUTED: "NOT certified: the promise is broken",
}
_DIGITS = 4
_UNNAMED = (
    "note: no runs were named that chose the plan (--chosen-by). If any of these did, this certificate is "
    "worth nothing."
)


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "traces",
        metavar="TRACES",
        help="runs of the plan that had no part in its choice: a file of traces, npz or CSV",
    )
    parser.add_argument("--target", metavar="X", type=float, required=True, help="l_max, what is promised")
    parser.add_argument(
        "--omega", metavar="P", type=float, required=True, help="promised probability of keeping the target"
    )
    parser.add_argument(
        "--confidence", metavar="C", type=float, default=0.95, help="of the certificate; default: 0.95"
    )
    parser.add_argument(
        "--chosen-by",
        metavar="TRACES",
        help="the traces that were used to choose the plan; none of their runs may be among the others",
    )
    parser.add_argument(
        "--plan", metavar="PLAN", help="what the runs must have trained; default: the longest run's schedule"
    )
    parser.add_argument(
        "--diverged",
        metavar="NAME,...",
        default="",
        help="runs that diverged: they exceed the target, also where the file does not hold them",
    )
    parser.add_argument(
        "--metric", choices=TARGETS, default=TARGETS[0], help=f"what is bounded; default: {TARGETS[0]}"
    )
    add_json(parser, "the certificate")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> Answer:
    """Judge the runs; a promise that is not certified is an answer with an exit code of its own."""
    judges = held_out(
        named_traces(options.traces),
        () if options.chosen_by is None else named_traces(options.chosen_by),
        None if options.plan is None else read_plan(options.plan),
        options.metric,
        [name.strip() for name in options.diverged.split(",") if name.strip()],
    )
    found = certificate(
        judges.losses, options.target, options.omega, options.confidence, judges.stopped, judges.diverged
    )
    code = ExitCode.ANSWERED if found.certified else ExitCode.INFEASIBLE
    aside = _UNNAMED if options.chosen_by is None else ""
    return Answer(_text(options, judges, found), code, as_json(_content(options, judges, found)), aside)


def _text(options: argparse.Namespace, judges: HeldOut, found: Certificate) -> str:
    level, confidence = number(found.level), number(found.confidence)
    kept = rounded_down(1 - found.greatest_violation, _DIGITS)
    ends = interval(1 - found.violation.upper, 1 - found.violation.lower, _DIGITS)
    rows = [
        ("promise", f"P(final {options.metric} <= {number(found.target)}) >= {level}"),
        ("plan", schedule_label(judges.schedule) or "does not train"),
        ("runs", _runs(found)),
        ("delivered", f"at least {kept} with confidence {confidence}; from both sides {ends}"),
        (
            "p-values",
            f"{number(found.p_value, _DIGITS)} for so few if the promise is broken, "
            f"{number(found.refuting_p_value, _DIGITS)} for so many if it is kept",
        ),
        (
            "quantile",
            f"with confidence {confidence} all runs to come have their {level}-quantile at most at "
            f"{_bound(found.quantile, found.runs)}",
        ),
        (
            "next run",
            f"with probability {level}, averaged over held-out runs as well, at most at "
            f"{_bound(found.conformal, found.runs)}",
        ),
    ]
    if not found.certified:
        rows.append(("needed", _needed(found)))
    return f"{options.traces}: {_VERDICTS[found.verdict]}\n\n{fields(rows)}"


def _runs(found: Certificate) -> str:
    parts = [f"{found.exceedances} of {found.runs} exceed the target"]
    for what, names in (("ended before the plan", found.stopped), ("diverged", found.diverged)):
        if names:
            named = f"{names[0]!r}, ..." if len(names) > 1 else repr(names[0])
            parts.append(f"{len(names)} of them because they {what} ({named})")
    may = "even none would be too many" if found.allowed is None else f"at most {found.allowed} may"
    return "; ".join([*parts, may])


def _bound(bound: QuantileBound, runs: int) -> str:
    if bound.rank is None:
        return f"infinite, for it takes {counted(bound.least_runs, 'run')}"
    return f"{rounded_up(bound.value, _DIGITS)}, loss {bound.rank} of {runs} in ascending order"


def _needed(found: Certificate) -> str:
    if found.verdict is Verdict.REFUTED:
        return "another plan, or a lower promise: more runs of this one will not certify it"
    return (
        f"a new sample, its size fixed before it is drawn: {counted(found.needed, 'run')} of which at most "
        f"{found.exceedances} exceed. Adding runs to these until it is certified would prove nothing"
    )


def _content(options: argparse.Namespace, judges: HeldOut, found: Certificate) -> dict[str, Any]:
    content = asdict(found) | {"verdict": found.verdict.value}
    for name in ("quantile", "conformal"):
        value = content[name]["value"]
        content[name]["value"] = value if math.isfinite(value) else None
    return {
        "traces": options.traces,
        "metric": options.metric,
        "schedule": schedule_label(judges.schedule),
        "chosen_by": options.chosen_by,
        "certified": found.certified,
    } | content

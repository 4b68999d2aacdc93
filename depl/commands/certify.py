"""What ``depl certify`` does; `depl.arguments.certify` declares its options."""

import argparse
import math
from dataclasses import asdict
from fractions import Fraction
from typing import Any

from depl.certifying import named_choice
from depl.commands.answer import Answer, ExitCode
from depl.commands.json_text import as_json
from depl.commands.options import of_runs, read_plan
from depl.commands.table import fields
from depl.instances.training.recorded import named_traces
from depl.models.estimation.binomial import design
from depl.models.estimation.certificate import Certificate, QuantileBound, Verdict, certificate
from depl.models.estimation.combinations import schedule_label
from depl.models.estimation.held_out import HeldOut, held_out
from depl.models.foundation.wording import counted, interval, number, rounded_down, rounded_up
from depl.models.risk.discrete import decimal
from depl.models.traces.lost import listed

_DIGITS = 4
_UNNAMED = (
    "note: the runs used to choose the plan were not named (--chosen-by). If any of these is among them, "
    "this certificate is worth nothing."
)


def run(options: argparse.Namespace) -> Answer:
    """Judge the runs; a promise that is not certified is an answer with an exit code of its own."""
    traces = named_traces(options.traces)
    plan = None if options.plan is None else read_plan(options.plan)
    diverged = [name.strip() for name in options.diverged.split(",") if name.strip()]
    chosen_by = [named_choice(name) for name in options.chosen_by]
    with of_runs(options.traces, ("plan", "target", "confidence", "diverged", "metric", "chosen_by")):
        judges = held_out(traces, chosen_by, plan, options.metric, diverged)
        found = certificate(
            judges.losses,
            options.target,
            options.omega,
            options.confidence,
            judges.stopped,
            judges.diverged,
            judges.flat,
        )
    code = ExitCode.ANSWERED if found.certified else ExitCode.INFEASIBLE
    aside = _untold(judges) if chosen_by else _UNNAMED
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
            "by chance",
            f"as few misses or fewer have probability {number(found.p_value, _DIGITS)} if the promise only "
            f"just fails, as many or more {number(found.refuting_p_value, _DIGITS)} if it only just holds",
        ),
        ("quantile", _bound(found.quantile, found.runs, f"the {level}-quantile", f"confidence {confidence}")),
        (
            "next run",
            _bound(found.conformal, found.runs, "it", f"probability {level}, averaged over such samples"),
        ),
    ]
    if judges.left_out:
        rows.append(
            ("left out", f"{counted(len(judges.left_out), 'run')}, as told: {listed(judges.left_out)}")
        )
    if not found.certified:
        rows.append(("needed", _needed(found)))
    return f"{options.traces}: {_verdict(found)}\n\n{fields(rows)}"


def _verdict(found: Certificate) -> str:
    """Never without the number of runs and the confidence that it rests on."""
    runs, confidence = counted(found.runs, "run"), f"with confidence {number(found.confidence)}"
    if found.verdict is Verdict.CERTIFIED:
        return f"certified by {runs} {confidence}"
    if found.verdict is Verdict.REFUTED:
        return f"NOT certified: {runs} show{'s'[found.runs > 1 :]} {confidence} that the promise is broken"
    return f"NOT certified: {runs} {'is' if found.runs == 1 else 'are'} too few to tell {confidence}"


def _untold(judges: HeldOut) -> str:
    """What of the runs that chose the plan the certificate cannot exclude."""
    if not judges.untold:
        return ""
    return (
        f"note: too short or too flat to be known again: {counted(len(judges.untold), 'run')} that chose the "
        f"plan ({judges.untold[0]!r}, ...). If any is among these, this certificate is worth nothing."
    )


def _runs(found: Certificate) -> str:
    parts = [f"{found.exceedances} of {found.runs} exceed the target"]
    for what, names in (
        ("ended before the plan", found.stopped),
        ("diverged or were lost", found.diverged),
        ("are too flat to be told from others", found.flat),
    ):
        if names:
            named = f"{names[0]!r}, ..." if len(names) > 1 else repr(names[0])
            parts.append(f"{len(names)} of them because they {what} ({named})")
    may = "so few runs certify nothing" if found.allowed is None else f"at most {found.allowed} may"
    return "; ".join([*parts, may])


def _bound(bound: QuantileBound, runs: int, what: str, surety: str) -> str:
    if bound.rank is None:
        return f"no bound, which takes {counted(bound.least_runs, 'run')}"
    if math.isinf(bound.value):
        return f"no bound, because too many runs have no final value (rank {bound.rank} of {runs})"
    return f"{what} is at most {rounded_up(bound.value, _DIGITS)} with {surety} (rank {bound.rank} of {runs})"


def _needed(found: Certificate) -> str:
    if found.verdict is Verdict.REFUTED:
        return "another plan, or a lower promise: more runs of this one will not certify it"
    text = (
        f"a new sample, its size fixed before it is drawn: {counted(found.needed, 'run')} if no more than "
        f"{found.exceedances} exceed"
    )
    share, promised = Fraction(found.exceedances, found.runs), 1 - decimal(found.level)
    likely = design(found.level, found.confidence, float(share)) if share < promised else None
    if likely is not None:
        text += f"; {likely.runs} to certify nine times in ten if they exceed as often as here"
    elif found.exceedances:
        text += "; as often as here is too often for a sample of any practical size"
    return f"{text}. To add runs until it is certified proves nothing"


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
        "left_out": dict(judges.left_out),
    } | content

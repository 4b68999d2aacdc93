"""A certificate from held-out runs, for people: never without the number of runs and the confidence."""

import math
from collections.abc import Iterator
from dataclasses import asdict
from fractions import Fraction
from typing import Any

from depl.models.estimation.binomial import design
from depl.models.estimation.certificate import Certificate, QuantileBound, Verdict
from depl.models.estimation.combinations import schedule_label
from depl.models.estimation.held_out import HeldOut
from depl.models.foundation.wording import counted, number
from depl.models.risk.discrete import decimal
from depl.models.traces.lost import listed
from depl.showing.parts import Names, Pairs, Rounding, Section, fact, promised

_DIGITS = 4
NAMES: Names = {
    "violation": ("delivered", "", Rounding.OUTWARD, _DIGITS),
    "quantile": ("quantile", "", Rounding.UP, _DIGITS),
}


def certificate_content(found: Certificate, judges: HeldOut | None = None, **of: Any) -> dict[str, Any]:
    """What the runs prove; ``of`` says of what, in front."""
    left_out = {} if judges is None else {"left_out": dict(judges.left_out)}
    return {**of, "certified": found.certified, **left_out, **asdict(found), "verdict": found.verdict.value}


def certificate_sections(
    found: Certificate, judges: HeldOut | None = None, traces: str = "RUNS", metric: str = "loss"
) -> list[Section]:
    """The verdict, and what it rests on."""
    pairs = [("promise", f"P(final {metric} <= {number(found.target)}) >= {number(found.level)}")]
    if judges is not None:
        pairs.append(("plan", schedule_label(judges.schedule) or "does not train"))
    pairs += _numbers(found)
    if judges is not None and judges.left_out:
        pairs.append(
            ("left out", f"{counted(len(judges.left_out), 'run')}, as told: {listed(judges.left_out)}")
        )
    if not found.certified:
        pairs.append(("needed", _needed(found)))
    return [Section("", f"{traces}: {_verdict(found)}"), Section("", Pairs(pairs))]


def _numbers(found: Certificate) -> Iterator[tuple[str, str]]:
    level, confidence = number(found.level), number(found.confidence)
    yield "runs", _runs(found)
    kept = promised(found.greatest_violation, _DIGITS).told
    ends = fact("violation", (1 - found.violation.upper, 1 - found.violation.lower), names=NAMES).number
    yield "delivered", f"{kept} with confidence {confidence}; from both sides {ends}"
    few, many = number(found.p_value, _DIGITS), number(found.refuting_p_value, _DIGITS)
    yield (
        "by chance",
        f"as few misses or fewer have probability {few} if the promise only just fails, as many or more "
        f"{many} if it only just holds",
    )
    yield "quantile", _bound(found.quantile, found.runs, f"the {level}-quantile", f"confidence {confidence}")
    averaged = f"probability {level}, averaged over such samples"
    yield "next run", _bound(found.conformal, found.runs, "it", averaged)


def _verdict(found: Certificate) -> str:
    runs, confidence = counted(found.runs, "run"), f"with confidence {number(found.confidence)}"
    if found.verdict is Verdict.CERTIFIED:
        return f"certified by {runs} {confidence}"
    if found.verdict is Verdict.REFUTED:
        return f"NOT certified: {runs} show{'s'[found.runs > 1 :]} {confidence} that the promise is broken"
    return f"NOT certified: {runs} {'is' if found.runs == 1 else 'are'} too few to tell {confidence}"


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
    told = fact("quantile", bound.value, names=NAMES).told
    return f"{what} is {told} with {surety} (rank {bound.rank} of {runs})"


def _needed(found: Certificate) -> str:
    if found.verdict is Verdict.REFUTED:
        return "another plan, or a lower promise: more runs of this one will not certify it"
    runs = f"{counted(found.needed, 'run')} if no more than {found.exceedances} exceed"
    text = f"a new sample, its size fixed before it is drawn: {runs}"
    share, promise = Fraction(found.exceedances, found.runs), 1 - decimal(found.level)
    likely = design(found.level, found.confidence, float(share)) if share < promise else None
    if likely is not None:
        text += f"; {likely.runs} to certify nine times in ten if they exceed as often as here"
    elif found.exceedances:
        text += "; as often as here is too often for a sample of any practical size"
    return f"{text}. To add runs until it is certified proves nothing"


def unnamed(judges: HeldOut, named: bool) -> str:
    """What of the runs that chose the plan the certificate cannot exclude; empty for nothing."""
    worth = "this certificate is worth nothing."
    if not named:
        unknown = "the runs used to choose the plan were not named (--chosen-by)"
        return f"note: {unknown}. If any of these is among them, {worth}"
    if not judges.untold:
        return ""
    runs = f"{counted(len(judges.untold), 'run')} that chose the plan ({judges.untold[0]!r}, ...)"
    return f"note: too short or too flat to be known again: {runs}. If any is among these, {worth}"

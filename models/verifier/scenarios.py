"""Equation (3) as a count: at most floor((1 - omega) S + 1e-9) of S scenarios may end above l_max.

A plan that claims scenarios is judged on them: the verifier draws them again from their seed, or takes them
where they are the user's own, counts the misses of the plan and compares with what is claimed. A loss so
close to l_max + 1e-9 that two careful computations may fall on different sides makes the count an interval.
The plan passes if the whole interval is allowed; if only a part is, it passes as undecided, provided that
the misses it claims are in that part.

The digest has two parts. The first, of S, seed and decimals, is always compared. The second covers all digits
of the numbers: it is compared where scenarios are given, and repeated only where they are drawn again, since
their last digits depend on whose quantile function was used. If scenarios with a seed are given all the same,
they are compared with those drawn again.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from depl.models.problem.instance import Instance
from depl.models.problem.laws import FloatArray
from depl.models.problem.plan import Plan, ScenarioClaim
from depl.models.verifier.findings import Finding, Kind, failed, passed, undecided
from depl.models.verifier.laws import Bracket, decimal
from depl.models.verifier.reading import has_laws
from depl.models.verifier.sample import (
    LARGEST_STREAM,
    DrawnSample,
    Ends,
    difference,
    drawn_sample,
    final_losses,
    given_sample,
    numbers_digest,
    origin_digest,
)
from depl.models.verifier.tolerances import ATOM_TOLERANCE
from depl.models.verifier.traced_sample import traced_fault, traced_final_losses, traced_thresholds

Draws = tuple[FloatArray, FloatArray]

_NAME = "claim: scenarios"
_REMEDY = "give them by 'depl check --scenarios FILE.npz' or verify(..., draws=(improvements, switches))"


@dataclass(frozen=True, eq=False)
class Count:
    """How many of the scenarios a plan misses, and how many it may.

    Attributes
    ----------
    certain, possible : int
        Bounds of the misses; equal unless a loss is at l_max to the last digits.
    allowed : int
    """

    certain: int
    possible: int
    allowed: int


def claimed_sample(
    instance: Instance, claim: ScenarioClaim, draws: Draws | None, brief: bool = False
) -> tuple[DrawnSample | None, list[Finding]]:
    """The scenarios of a claim, None if they cannot be had; and what there is to say of them.

    ``brief``: scenarios that are given are not drawn again from their seed.
    """
    if instance.traced_law is not None and (wrong := traced_fault(instance.traced_law, instance, claim)):
        return None, [undecided(_NAME, wrong)]
    origin = origin_digest(instance, claim)
    if claim.digest[:16] != origin:
        message = f"begins with {claim.digest[:16]}; S, seed and decimals as claimed give {origin}"
        return None, [failed(f"{_NAME}.digest", message, None)]
    if claim.seed is not None and not has_laws(instance):
        return None, [failed(f"{_NAME}.seed", f"{claim.seed}: there is no law to draw from", None)]
    if draws is None:
        return _drawn(instance, claim)
    wrong = _shape_fault(instance, claim, draws)
    if wrong:
        return None, [failed(_NAME, wrong, None)]
    found = origin + numbers_digest(draws)
    if found != claim.digest:
        message = f"{claim.digest} is claimed, those given have the digest {found}"
        return None, [failed(f"{_NAME}.digest", message, None)]
    sample = given_sample(draws, claim.decimals)
    findings = [passed(_NAME, f"{claim.size} given"), passed(f"{_NAME}.digest", found[:12])]
    if claim.seed is not None:
        findings.append(_seed_finding(instance, claim, sample, brief))
    return sample, findings


def counted(instance: Instance, sample: DrawnSample, plan: Plan) -> Count:
    """Count the misses of a plan of at most K_max epochs whose loss is defined."""
    law, thresholds = instance.traced_law, [instance.target.maximum_loss + ATOM_TOLERANCE]
    if law is not None and law.observed is None and not plan.epochs:
        unlike = () if law.unseen_loss is None else (math.inf,)
        worst = np.full(sample.size, max(*(run.losses[0] for run in law.runs), *unlike, -math.inf))
        losses = Ends(worst, worst)
    elif law is None or not plan.epochs:
        losses = final_losses(instance, sample, plan)
    else:
        losses = traced_final_losses(law, instance, sample, plan)
        thresholds = traced_thresholds(law, instance.target.maximum_loss)
    return Count(
        certain=int((losses.lower > max(thresholds)).sum()),
        possible=int((losses.upper > min(thresholds)).sum()),
        allowed=allowed_misses(instance, sample.size),
    )


def allowed_misses(instance: Instance, size: int) -> int:
    """floor((1 - omega) S + 1e-9), omega in the decimals that were written."""
    return math.floor((1 - decimal(instance.target.quantile_level)) * size + Fraction(1, 10**9))


def count_findings(claim: ScenarioClaim, count: Count) -> Iterator[Finding]:
    """The verdict on (3), and on the numbers that are claimed about it."""
    yield _verdict(claim, count)
    name, found = f"{_NAME}.misses", _shown(count)
    if count.certain <= claim.misses <= count.possible:
        yield passed(name, f"{claim.misses}, recounted {found}", 0.0)
    else:
        away = claim.misses - (count.certain if claim.misses < count.certain else count.possible)
        yield failed(name, f"{claim.misses} are claimed, {found} recounted: off by {away}", float(away))
    off = claim.allowed - count.allowed
    name, found = f"{_NAME}.allowed", f"floor((1 - omega) S + 1e-9) = {count.allowed}"
    if off:
        yield failed(name, f"{claim.allowed} are claimed, {found}", float(off))
    else:
        yield passed(name, found, 0.0)


def law_note(found: Bracket, level: float, declared: bool) -> Finding:
    """What the law says of a plan that was made for scenarios; it never fails one."""
    if not declared:
        return Finding("(3) under the law", True, "no law is declared: nothing is said", None, Kind.NOTE)
    budget = 1 - decimal(level)
    low, high = float(found.lower), float(found.upper)
    meets = "meets" if found.upper <= budget else "exceeds" if found.lower > budget else "may exceed"
    message = f"P(l(K) > l_max) in [{low:.12g}, {high:.12g}] {meets} 1 - omega = {float(budget):.12g}"
    return Finding("(3) under the law", True, message, high - float(budget), Kind.NOTE)


def _drawn(instance: Instance, claim: ScenarioClaim) -> tuple[DrawnSample | None, list[Finding]]:
    if claim.seed is None:
        message = f"the {claim.size} scenarios of this plan are not of a seeded stream; {_REMEDY}"
        return None, [undecided(_NAME, message)]
    sample = drawn_sample(instance, claim)
    if sample is None:
        message = f"more than {LARGEST_STREAM} numbers would have to be drawn again; {_REMEDY}"
        return None, [undecided(_NAME, message)]
    drawn = passed(_NAME, f"{claim.size} drawn again with seed {claim.seed}")
    if instance.has_memory:
        return sample, [drawn, _traced_digest_finding(instance, claim, sample)]
    repeated = (
        f"{claim.digest[:12]}: of scenarios drawn again the last digits may differ, so it is not compared"
    )
    return sample, [drawn, Finding(f"{_NAME}.digest", True, repeated, None, Kind.REPEATED)]


def _traced_digest_finding(instance: Instance, claim: ScenarioClaim, sample: DrawnSample) -> Finding:
    """Numbers of a generator are the same everywhere, to the last digit."""
    found = origin_digest(instance, claim) + numbers_digest(
        (sample.improvements.lower, sample.switch_losses.lower)
    )
    if found == claim.digest:
        return passed(f"{_NAME}.digest", found[:12])
    message = f"{claim.digest} is claimed, those drawn again have the digest {found}"
    return failed(f"{_NAME}.digest", message, None)


def _shape_fault(instance: Instance, claim: ScenarioClaim, draws: Draws) -> str:
    """Why arrays cannot be the scenarios of a claim; empty if they can."""
    models, epochs = len(instance.models), instance.target.maximum_epochs
    wanted = {
        "improvements": (claim.size, epochs, models),
        "switches": (claim.size, epochs, models, models),
    }
    for (name, shape), array in zip(wanted.items(), draws, strict=True):
        if np.shape(array) != shape:
            return f"{name} of shape {np.shape(array)} were given, the claim needs {shape}"
        if not np.isfinite(array).all():
            return f"{name} were given with numbers that are not finite"
    return ""


def _seed_finding(instance: Instance, claim: ScenarioClaim, sample: DrawnSample, brief: bool) -> Finding:
    name = f"{_NAME}.seed"
    if brief:
        message = f"{claim.seed}: taken as given; 'depl check' draws them again"
        return Finding(name, True, message, None, Kind.REPEATED)
    again = drawn_sample(instance, claim)
    if again is None:
        message = f"{claim.seed}: more than {LARGEST_STREAM} numbers are not drawn again"
        return Finding(name, True, message, None, Kind.REPEATED)
    off = difference(sample, again)
    return failed(name, off, None) if off else passed(name, f"{claim.seed}: drawing again gives the same")


def _verdict(claim: ScenarioClaim, count: Count) -> Finding:
    found = f"{_shown(count)} of {claim.size} scenarios end above l_max"
    excess = float(count.possible - count.allowed)
    if count.possible <= count.allowed:
        return passed("(3)", f"{found}, at most {count.allowed} may", excess)
    if count.certain > count.allowed:
        over = count.certain - count.allowed
        return failed("(3)", f"{found}, {over} more than the {count.allowed} that may", float(over))
    ok = count.certain <= claim.misses <= count.allowed
    message = f"{found}, {count.allowed} may: undecided within rounding"
    return Finding("(3)", ok, message, excess, Kind.UNDECIDED)


def _shown(count: Count) -> str:
    return str(count.certain) if count.certain == count.possible else f"{count.certain} to {count.possible}"

"""What a plan claims about all others: lower bounds of the cost, proved again where that needs no solver.

A dual bound is proved again from its two prices (`depl.models.verifier.dual`), a lower bound that does not
exceed it holds with it, and the plans of a tiny instance are listed (`depl.models.verifier.plans`). What is
left is the bound of a search tree that is not there any more: it is repeated, not proved.
"""

import math
from collections.abc import Iterator

from depl.models.problem.instance import Instance
from depl.models.problem.plan import Claims
from depl.models.verifier.dual import dual_finding
from depl.models.verifier.findings import Finding, Kind, failed, passed, repeated, undecided
from depl.models.verifier.plans import MOST_PLANS, listed
from depl.models.verifier.scenarios import DrawnSample, allowed_misses
from depl.models.verifier.tolerances import CLAIM_TOLERANCE

__all__ = ["MOST_PLANS", "bound_findings", "bound_without_plan"]

_DUAL, _BOUND = "claim: dual bound", "claim: lower_bound"


def bound_findings(
    instance: Instance, claims: Claims, sample: DrawnSample | None, cost: float, most_plans: int
) -> Iterator[tuple[Finding, float]]:
    """Verdicts on the dual bound and the lower bound, each with the bound that was proved (0 if none).

    Parameters
    ----------
    sample : DrawnSample or None
        The scenarios of the claim, if it makes one and they are known.
    cost : float
        Of the plan [cost].
    most_plans : int
        How many pairs of a sequence and an assignment may be listed.
    """
    proved = 0.0
    if claims.dual is not None:
        if claims.scenarios is None:
            finding = failed(_DUAL, "it speaks of scenarios, and the plan claims none")
        elif instance.has_memory:
            finding = undecided(_DUAL, "under a traced law single epochs have no gain that could be priced")
        elif sample is None:
            finding = undecided(_DUAL, "the scenarios that it speaks of are not known")
        else:
            allowed = allowed_misses(instance, sample.size)
            finding, proved = dual_finding(instance, sample, allowed, claims.dual, cost)
        yield finding, proved
    if claims.rows is not None:
        told = "given by whoever solved; whether the plan keeps them is taken on trust"
        yield repeated("claim: rows", f"{', '.join(claims.rows)}: {told}"), 0.0
    if claims.lower_bound is not None:
        finding = _lower_bound(instance, claims, sample, cost, proved, most_plans)
        yield finding, max(0.0, claims.lower_bound) if finding.kind is Kind.CHECKED else 0.0


def bound_without_plan(instance: Instance, claimed: float, most_plans: int = MOST_PLANS) -> Finding:
    """Verdict on a lower bound that comes without a plan, under the law of the instance.

    Parameters
    ----------
    claimed : float
        No plan that meets the target costs less; infinite if there is said to be none [cost].
    most_plans : int
        As in `bound_findings`.
    """
    shown = "that there is no plan" if claimed == math.inf else f"that no plan costs less than {claimed:.12g}"
    if claimed <= 0.0:
        return passed(_BOUND, f"{shown}; costs are never negative")
    found = listed(instance, None, claimed, most_plans)
    if found is None:
        return repeated(_BOUND, f"{shown}; nothing here proves it")
    plans, refuting = found
    if refuting is not None:
        message = f"{shown} is claimed, and there is one that costs {refuting:.12g}"
        return failed(_BOUND, message, claimed - refuting)
    return passed(_BOUND, f"{shown}; all {plans} plans were listed")


def _lower_bound(
    instance: Instance,
    claims: Claims,
    sample: DrawnSample | None,
    cost: float,
    proved: float,
    most_plans: int,
) -> Finding:
    claimed = claims.lower_bound or 0.0
    excess = claimed - cost
    shown = f"{claimed:.12g} <= cost {cost:.12g}"
    if claimed > cost * (1.0 + CLAIM_TOLERANCE):
        message = f"{claimed:.12g} exceeds the plan's own cost {cost:.12g} by {excess:.6g}"
        return failed(_BOUND, message, excess)
    if claimed <= 0.0:
        return passed(_BOUND, f"{shown}; costs are never negative", excess)
    if claimed <= proved * (1.0 + CLAIM_TOLERANCE):
        return passed(_BOUND, f"{shown}; not above the dual bound", excess)
    if claims.rows is not None:  # plans that break the rows may cost less, and no file keeps the rows
        told = f"among plans that keep the rows {', '.join(claims.rows)}, taken on trust"
        return repeated(_BOUND, f"{shown}; {told}", excess)
    unknown = claims.scenarios is not None and sample is None
    found = None if unknown else listed(instance, sample, claimed, most_plans)
    if found is None:
        told = "nothing here proves it, as the search behind it is not kept"
        return repeated(_BOUND, f"{shown}; {told}", excess)
    plans, refuting = found
    if refuting is not None:
        over = claimed - refuting
        message = f"{claimed:.12g} exceeds the cost {refuting:.12g} of another plan by {over:.6g}"
        return failed(_BOUND, message, over)
    return passed(_BOUND, f"{shown}; none of all {plans} plans costs less", excess)

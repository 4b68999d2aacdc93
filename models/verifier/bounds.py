"""What a plan claims about all others: lower bounds of the cost, proved again where that needs no solver.

Three proofs are at hand. A dual bound is proved again from its two prices (`depl.models.verifier.dual`). A
lower bound that does not exceed it holds with it. And the plans of a tiny instance are listed, to confirm
or refute a lower bound (`depl.models.verifier.plans`). What is left is the bound of a search tree that is
not there any more: it is repeated, not proved.
"""

import math
from collections.abc import Iterator

from depl.models.problem.instance import Instance
from depl.models.problem.plan import Claims
from depl.models.verifier.dual import dual_finding
from depl.models.verifier.findings import Finding, Kind, failed, passed, undecided
from depl.models.verifier.plans import MOST_PLANS, listed
from depl.models.verifier.requirements import CountRequirement, LawRequirement, Requirement
from depl.models.verifier.sample import DrawnSample
from depl.models.verifier.scenarios import allowed_misses
from depl.models.verifier.tolerances import CLAIM_TOLERANCE

__all__ = ["MOST_PLANS", "bound_findings", "bound_without_plan"]

_DUAL = "claim: dual bound"
_BOUND = "claim: lower_bound"
_ROWS = "claim: rows"


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
            yield failed(_DUAL, "it speaks of scenarios, and the plan claims none", None), 0.0
        elif instance.has_memory:
            yield undecided(_DUAL, "under a traced law single epochs have no gain that could be priced"), 0.0
        elif sample is None:
            yield undecided(_DUAL, "the scenarios that it speaks of are not known"), 0.0
        else:
            finding, proved = dual_finding(
                instance, sample, allowed_misses(instance, sample.size), claims.dual, cost
            )
            yield finding, proved
    if claims.rows is not None:
        named = ", ".join(claims.rows)
        message = f"{named}: given by whoever solved; whether the plan keeps them is taken on trust"
        yield Finding(_ROWS, True, message, None, Kind.REPEATED), 0.0
    if claims.lower_bound is not None:
        finding = _lower_bound(instance, claims, sample, cost, proved, most_plans)
        yield finding, max(0.0, claims.lower_bound) if finding.kind is Kind.CHECKED else 0.0


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
        message = f"{shown}; among plans that keep the rows {', '.join(claims.rows)}, taken on trust"
        return Finding(_BOUND, True, message, excess, Kind.REPEATED)
    requirement: Requirement | None = LawRequirement(instance)
    if claims.scenarios is not None:
        requirement = None
        if sample is not None:
            requirement = CountRequirement(instance, sample, allowed_misses(instance, sample.size))
    found = None if requirement is None else listed(instance, requirement, claimed, most_plans)
    if found is None:
        message = f"{shown}; nothing here proves it, as the search behind it is not kept"
        return Finding(_BOUND, True, message, excess, Kind.REPEATED)
    if found.refuting is not None:
        over = claimed - found.refuting
        message = f"{claimed:.12g} exceeds the cost {found.refuting:.12g} of another plan by {over:.6g}"
        return failed(_BOUND, message, over)
    return passed(_BOUND, f"{shown}; none of all {found.plans} plans costs less", excess)


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
    found = listed(instance, LawRequirement(instance), claimed, most_plans)
    if found is None:
        return Finding(_BOUND, True, f"{shown}; nothing here proves it", None, Kind.REPEATED)
    if found.refuting is not None:
        message = f"{shown} is claimed, and there is one that costs {found.refuting:.12g}"
        return failed(_BOUND, message, claimed - found.refuting)
    return passed(_BOUND, f"{shown}; all {found.plans} plans were listed")

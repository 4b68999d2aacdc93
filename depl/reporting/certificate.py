"""The certificate on the page: the verifier's findings, and what is proved about cheaper plans."""

from collections import Counter

from depl.models.foundation.errors import shortened
from depl.models.foundation.wording import rounded_down
from depl.models.solving.result import Result, Termination
from depl.models.verifier.findings import Finding, Kind
from depl.reporting.facts import PlanFacts
from depl.reporting.offers import own_offer
from depl.reporting.words import beginning
from depl.showing.parts import Listing
from depl.showing.results import state_of

_LONGEST = 200
"""Letters of a finding: two lines of the page."""

_MOST_ROWS = 20
"""Findings that are listed: those of a plan with all kinds of claims, one of each equation or claim."""

LOWER_BOUND = "claim: lower_bound"
"""Name of the finding on the claimed lower bound."""


def findings(facts: PlanFacts) -> Listing:
    """The verifier's findings, failures first; of many on one equation, as of every epoch, the first."""
    found = sorted(facts.verified.findings, key=lambda item: item.ok)
    alike = Counter((item.equation, item.kind) for item in found)
    rows = []
    for (equation, kind), count in alike.items():
        first = next(item for item in found if (item.equation, item.kind) == (equation, kind))
        more = f"; and {count - 1} more: depl check" if count > 1 else ""
        rows.append((equation, _word(first), beginning(first.message, _LONGEST) + more))
    if len(rows) > _MOST_ROWS:
        rest = ("", "", f"and {len(rows) - _MOST_ROWS + 1} more findings: depl check")
        rows = [*rows[: _MOST_ROWS - 1], rest]
    return Listing(("equation or claim", "verdict", "finding"), rows)


def _word(finding: Finding) -> str:
    if finding.kind is Kind.NOTE:
        return ""
    if finding.ok:
        return "holds" if finding.kind is Kind.CHECKED and not finding.is_claim else finding.kind.value
    return finding.kind.value.upper()


def bounds(facts: PlanFacts) -> list[str]:
    """Every lower bound of the cost of all plans that meet the target, with what proves it."""
    lines, verified = [], facts.verified
    if verified.proved_bound > 0:
        least = _cost(facts, verified.proved_bound)
        lines.append(f"No plan costs less than {least}: proved again by the verifier, without a solver.")
    lines += _claimed(facts)
    own = None if facts.offers is None else own_offer(facts.offers, facts.instance)
    if own is not None and own.result is not None:
        lines += _solved(facts, own.result)
    return lines or ["Nothing is proved here about cheaper plans."]


def _claimed(facts: PlanFacts) -> list[str]:
    """The bound that the plan claims, where the verifier can only repeat it."""
    claims = facts.plan.claims
    repeated = {item.equation for item in facts.verified.repeated}
    if claims is None or not claims.lower_bound or LOWER_BOUND not in repeated:
        return []
    who = "whoever made the plan" if claims.method is None else f"method {shortened(claims.method, 60)}"
    where = "" if claims.scenarios is None else ", on its scenarios"
    return [
        f"No plan costs less than {_cost(facts, claims.lower_bound)}{where}: claimed by {who}; the verifier "
        "does not contradict it, and does not prove it again, as that takes the whole search."
    ]


def _cost(facts: PlanFacts, bound: float) -> str:
    """A lower bound of the cost, rounded down, with its unit."""
    return facts.instance.units.after(rounded_down(bound), "cost")


def _solved(facts: PlanFacts, result: Result) -> list[str]:
    """What the solve for this page proves."""
    if result.termination is Termination.INFEASIBLE:
        return [f"A solve for this page by method {result.method} says: {state_of(result)}."]
    if not result.lower_bound > 0:
        return []
    least = _cost(facts, result.lower_bound)
    if result.claimed:
        return [
            f"No plan costs less than {least}: claimed by method {result.method} in a solve for this page; "
            "nothing here proves it."
        ]
    return [
        f"No plan costs less than {least}: proved by a solve for this page, method {result.method} "
        f"({state_of(result)}), under the same law; its search is not checked a second time."
    ]


def claims(facts: PlanFacts) -> str:
    """Which claims of the plan were worked out again, and which are only repeated."""
    verified = facts.verified
    if facts.plan.claims is None:
        return "The plan claims nothing."
    again = ", ".join(item.subject for item in verified.checked) or "none"
    repeated = ", ".join(item.subject for item in verified.repeated) or "none"
    return f"Claims worked out again: {again}. Claims only repeated: {repeated}."


def recomputed(facts: PlanFacts) -> str:
    """The verifier's own numbers."""
    found, amount = facts.verified, facts.instance.units.amount
    cost, time = amount(found.cost, "cost"), amount(found.training_time, "time")
    return f"Recomputed by the verifier: cost {cost}, time {time}."

"""Whether a cheaper plan for the same promise is known, and how much cheaper one could be at most."""

import math

from depl.models.foundation.tolerances import PROOF_TOLERANCE, counts_as_proved
from depl.models.foundation.wording import rounded_down, rounded_up
from depl.models.solving.budgets import Budget
from depl.models.solving.result import Result, Termination
from depl.reporting.facts import PlanFacts
from depl.reporting.offers import own_offer
from depl.showing.results import state_of


def cheaper(facts: PlanFacts) -> tuple[str, bool]:
    """A sentence on cheaper plans, and whether it is a warning; empty where there is nothing to say."""
    found = _solved(facts)
    best = min(found, key=_cost_of, default=None)
    if not _kept(facts):
        if best is None or best.cost is None:
            return "", False
        return f"A plan that meets the target costs {_told(facts, best)}.", True
    if best is not None and _cost_of(best) < facts.evaluation.cost * (1 - PROOF_TOLERANCE):
        less = 100 * (1 - _cost_of(best) / facts.evaluation.cost)
        return f"A cheaper plan for the same promise is known: {_told(facts, best)}, {less:.3g} % less.", True
    return _no_cheaper(facts, found), False


def _kept(facts: PlanFacts) -> bool:
    """Whether the plan can be carried out and meets the target, under the law if one is known."""
    budget = facts.instance.target.violation_budget
    return facts.verified.ok and (not facts.has_law or facts.evaluation.violation.at_most(budget))


def _solved(facts: PlanFacts) -> list[Result]:
    """What methods found for this page at the probability that is asked for."""
    if facts.offers is None:
        return []
    own = own_offer(facts.offers, facts.instance)
    offers = [*([] if own is None else [own]), *facts.offers.peers]
    return [offer.result for offer in offers if offer.result is not None]


def _cost_of(result: Result) -> float:
    return math.inf if result.cost is None else result.cost


def _told(facts: PlanFacts, result: Result) -> str:
    cost = facts.instance.units.amount(result.cost, "cost")
    proved = f", {state_of(result)}" if result.termination is Termination.OPTIMAL else ""
    return f"{cost} (method {result.method}{proved})"


def _no_cheaper(facts: PlanFacts, found: list[Result]) -> str:
    """No cheaper plan is known: because there is none, or within a gap, or for all that is proved."""
    if not facts.has_law:
        return ""
    looked = (
        "No cheaper plan for the same promise was found" if found else "Cheaper plans were not looked for"
    )
    mine = facts.evaluation.cost
    bound, who = _bound(facts, found)
    if not 0 < bound < math.inf or not 0 < mine < math.inf:
        return f"{looked}, and no lower bound is proved: how much could be saved is not known."
    if counts_as_proved(mine, bound):
        return f"No plan for the same promise costs less under that law: {who}."
    least = facts.instance.units.after(rounded_down(bound), "cost")
    saved = rounded_up(100 * (1 - bound / mine), 3)
    return f"{looked}; at most {saved} % could be saved, as no plan costs less than {least}: {who}."


def _bound(facts: PlanFacts, found: list[Result]) -> tuple[float, str]:
    """The greatest lower bound that the verifier or a solve for this page proves, and by whom."""
    best, who = facts.verified.proved_bound, "proved by the verifier"
    own = facts.instance.target.quantile_level
    for result, level in [*((result, own) for result in found), *_at_lower_levels(facts)]:
        if best < result.lower_bound < math.inf and not result.claimed:
            best = result.lower_bound
            where = "" if level == own else f" at omega {level:g}, which also holds at a higher one"
            solve = f"proved by a solve for this page, method {result.method}{where}"
            who = f"{solve}, whose search is not checked again"
    return best, who


def _at_lower_levels(facts: PlanFacts) -> list[tuple[Result, float]]:
    """What was solved at lower probabilities: every plan that keeps the own one keeps these, too."""
    if facts.offers is None or not Budget.PROBABILITY.nested(facts.instance):
        return []
    own = facts.instance.target.quantile_level
    lower = [offer for offer in facts.offers.prices if offer.level < own]
    return [(offer.result, offer.level) for offer in lower if offer.result is not None]

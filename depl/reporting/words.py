"""What the page says, section by section: the promise with its assumptions, what binds, what is proved."""

import math
import re
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from depl.models.estimation.certificate import Certificate
from depl.models.foundation.errors import shortened
from depl.models.foundation.interval import Interval
from depl.models.foundation.tolerances import PROOF_TOLERANCE, counts_as_proved
from depl.models.foundation.wording import counted, interval, number, one_end, probability
from depl.models.solving.result import Result, Termination
from depl.models.verifier.findings import Finding, Kind
from depl.reporting.facts import Offer, PlanFacts
from depl.showing import view
from depl.showing.limits import binding_lines, price_lines
from depl.showing.parts import Fact, Listing, fact, promised
from depl.showing.plans import names_of, word_of
from depl.showing.results import bound_of, state_of

_LONGEST = 160
"""Letters of a line that quotes names or reasons: two lines of the page; the commands tell all."""

_LONGEST_FINDING = 200
"""Letters of a finding: two lines of the page, beside its equation and verdict."""

_MOST_LINES = 8
"""Limits that are listed: with many clusters each has one, and the page has to fit on two sheets."""

_MOST_FINDINGS = 20
"""Findings that are listed: those of a plan with all kinds of claims, one of each equation or claim."""

_SMALL = 10_000
"""Denominator up to which a fraction is easier to read than its decimals."""

_SAME = 1e-7
"""Percent that are no difference: costs agree to `PROOF_TOLERANCE`, which is as much."""

_UNIT_SAVES = (
    "What a unit saves: with the same epochs at their cheapest resources, to first order. T_max is the time "
    "allowed, tau the deadline of a round, r what a node can commit, K_max the most epochs."
)

Block = tuple[str, Any]
"""What kind of text, list or table of the template, and its content; it is left out where that is empty."""


def sections(facts: PlanFacts, picture: list[Block]) -> Iterator[tuple[str, str, list[Block]]]:
    """Name, title and blocks of each section up to the certificate."""
    better, warning = cheaper(facts)
    lead = [("lead", promise(facts)), ("warning", shortfall(facts))]
    lead.append(("warning" if warning else "cheaper", better))
    (_, numbers), *_ = view(facts.evaluation).filled()
    strip = ("strip", numbers.cells[1:] if isinstance(numbers, Listing) else [])
    counted_runs = "" if facts.fresh is None else fresh_runs(facts.fresh)
    yield "promise", "The promise", [*lead, ("", assumptions(facts)), ("cheaper", counted_runs), strip]
    yield "plan", "The plan", picture
    yield "prices", "What other promises cost, and what other methods find", solves(facts)
    yield "limits", "What binds", [("list", limits(facts)), ("small", _UNIT_SAVES)]
    yield "stopping", "If training stops once the loss is reached", [("list", stopping(facts))]
    bounds = [(facts.said("lower_bound", bound).shown, who) for bound, _, who in lower_bounds(facts)]
    none = "" if bounds else "Nothing is proved here about cheaper plans."
    proved = Listing(("no plan costs less than", "says"), bounds)
    yield "certificate", "The certificate", [("", none), ("table", proved), *certificate(facts)]


def promise(facts: PlanFacts) -> str:
    """The promise in a sentence."""
    target, said, found = facts.instance.target, facts.said, facts.evaluation
    effort = f"{counted(found.epochs, 'epoch')} of training, in a time of "
    effort += said("training_time", found.training_time).shown
    if target.maximum_time is not None:
        effort += f" of the {said('training_time', target.maximum_time).shown} allowed"
    price = f"or a cost of {said('cost', found.cost).shown} ({effort})"
    price = f"If the plan could be carried out, f{price}" if facts.broken else f"F{price}"
    if not facts.has_law:
        return f"{price} nothing is promised about the final loss: {beginning(found.violation.how)}."
    event = f"the final loss is at most {number(target.maximum_loss)}"
    law = "the laws that the instance declares" if facts.rests_on is None else "a law fitted to training runs"
    kept = f"with probability {promised(found.violation, 5).told}, certified under {law}"
    return f"{price} {event} {kept}; asked is {probability(target.quantile_level)}."


def beginning(text: str, longest: int = _LONGEST) -> str:
    """A text up to the last clause that ends within so many letters; one long name is cut in its middle."""
    if len(text) <= longest:
        return text
    ends = [match.start() for match in re.finditer(r"[,;:.] ", text[:longest])]
    return f"{text[: ends[-1]]} ..." if ends else shortened(text, longest)


def shortfall(facts: PlanFacts) -> str:
    """A warning where limits fail or the probability is less than asked; empty if all is well."""
    claims = facts.plan.claims
    if facts.broken:
        return f"It cannot be carried out: {facts.broken} of its limits fail, as the certificate tells."
    if facts.met:
        return ""
    if claims is not None and claims.scenarios is not None:
        return "This is less than asked: the plan meets the target on the scenarios it was made for only."
    return "This is less than asked."


def cheaper(facts: PlanFacts) -> tuple[str, bool]:
    """A sentence on cheaper plans, and whether it is a warning; empty where there is nothing to say."""
    found = [offer.result for offer in facts.rivals if offer.result is not None]
    costs = [(item.cost, place) for place, item in enumerate(found) if item.cost is not None]
    mine, told, least = facts.evaluation.cost, "", math.inf
    if costs:
        least, place = min(costs)
        result = found[place]
        proved = f", {state_of(result)}" if result.termination is Termination.OPTIMAL else ""
        told = f"{facts.said('cost', least).shown} (method {result.method}{proved})"
    if not (facts.verified.ok and facts.met):
        return (f"A plan that meets the target costs {told}." if told else ""), bool(told)
    if least < mine * (1 - PROOF_TOLERANCE):
        less = f"{100 * (1 - least / mine):.3g} % less"
        return f"A cheaper plan for the same promise is known: {told}, {less}.", True
    if not facts.has_law:
        return "", False
    none = "No cheaper plan for the same promise was found"
    search = none if found else "Cheaper plans were not looked for"
    on_law = facts.plan.claims is None or facts.plan.claims.scenarios is None
    known = [(sure, bound, who) for bound, sure, who in lower_bounds(facts) if sure or on_law]
    sure, bound, who = max(known, default=(False, 0.0, ""))
    if not 0 < bound < math.inf or not 0 < mine < math.inf:
        return f"{search}, and no lower bound is proved: how much could be saved is not known.", False
    if sure and counts_as_proved(mine, bound):
        return f"No plan for the same promise costs less under that law: {who}.", False
    saved, shown = facts.said("gap", max(0.0, 1 - bound / mine)).told, facts.said("lower_bound", bound).shown
    if not sure:
        claim = f"That no plan costs less than {shown} is {who}. If that is right, {saved} could be saved."
        return f"{search}, and no lower bound is proved. {claim}", False
    return f"{search}; {saved} could be saved, as no plan costs less than {shown}: {who}.", False


def lower_bounds(facts: PlanFacts) -> Iterator[tuple[float, bool, str]]:
    """Every lower bound of the cost of all plans that meet the target, whether it is proved, and by whom."""
    verified, claims = facts.verified, facts.plan.claims
    if verified.proved_bound > 0:
        yield verified.proved_bound, True, "proved by the verifier, without a solver"
    if claims is not None and claims.lower_bound and "lower_bound" in names_of(verified.repeated):
        who = "whoever made the plan" if claims.method is None else f"method {shortened(claims.method, 60)}"
        where = "" if claims.scenarios is None else ", on its scenarios"
        only = "the verifier does not contradict it, and does not prove it again: it takes the whole search"
        yield claims.lower_bound, False, f"claimed by {who}{where}; {only}"
    for offer in [*facts.rivals, *facts.looser]:
        if offer.result is None or not 0 < offer.result.lower_bound < math.inf:
            continue
        solve = f"by a solve for this page, method {offer.result.method}"
        if offer in facts.looser:
            solve += f" at omega {offer.level:g}, which also holds at a higher one"
        proved = f"proved {solve}, whose search is not checked again"
        claimed = f"claimed {solve}; nothing here proves it"
        yield offer.result.lower_bound, not offer.result.claimed, claimed if offer.result.claimed else proved


def assumptions(facts: PlanFacts) -> str:
    """What is certified, and under what; empty where nothing is."""
    if not facts.has_law:
        return ""
    missed = _enclosed(facts.evaluation.violation)
    basis = "" if facts.rests_on is None else f" The fitted law rests on {facts.rests_on}."
    told = f"Certified under that law, the probability of missing the loss {missed}.{basis}"
    further = "depl certify tests a plan on held-out runs, without any law"
    return told if facts.fresh else f"{told} Whether new runs follow the law is not certified; {further}."


def _enclosed(value: Interval, end: str = "") -> str:
    """An interval in words, or its lower or upper end; a fraction where it is known as a small one."""
    if value.exact is not None and value.exact.denominator <= _SMALL:
        return f"is exactly {value.exact}"
    if end and value.exact is None:
        return f"is {one_end(getattr(value, end), end == 'lower')}"
    return f"lies in {interval(value.lower, value.upper)}"


def fresh_runs(found: Certificate) -> str:
    """What the runs prove, for whoever pays."""
    runs, kept = counted(found.runs, "fresh run"), promised(found.greatest_violation, 4).told
    text = (
        f"Counted, without any law: of {runs} of this plan, {found.exceedances} ended above the loss of "
        f"{number(found.target)}. With confidence {number(found.confidence)}, the plan keeps it with "
        f"probability {kept}; asked is {number(found.level)}: "
    )
    return text + ("certified." if found.certified else f"NOT certified ({found.verdict.value}).")


def solves(facts: PlanFacts) -> list[Block]:
    """A row per solve: by the default method for each probability, and by others for that asked for."""
    if not facts.offers:
        unpriced = "No law of the loss is declared, so there is no probability to be priced."
        return [("", "Left out (--no-prices)." if facts.offers is None else unpriced)]
    titled, target = facts.instance.units.titled, facts.instance.target
    costs = titled("cost", "cost"), titled("lower bound", "cost"), "gap", "epochs", titled("time", "time")
    header = ("probability", "method", *costs, "against this plan", "proved under the law of the instance")
    rows = [_row(facts, offer) for offer in facts.offers]
    of = f"each probability of a loss of at most {number(target.maximum_loss)}, all else as it is"
    return [("", f"The cheapest plan that was found for {of}."), ("table", Listing(header, rows))]


def _row(facts: PlanFacts, offer: Offer) -> tuple[object, ...]:
    result, asked = offer.result, offer.level == facts.instance.target.quantile_level
    head = probability(offer.level) + (" (asked)" if asked else ""), offer.method
    if result is None:
        return *head, *[None] * 6, beginning(offer.reason)
    infeasible = result.termination is Termination.INFEASIBLE and not facts.instance.has_memory
    why = f" ({beginning(result.reason)})" if result.plan is None and result.reason and not infeasible else ""
    bound: Fact | str | None = bound_of(result)._replace(unit="")
    gap = None if result.gap is None else fact("gap", result.gap)
    if not (0 < result.lower_bound < math.inf or (result.lower_bound == result.cost and not result.claimed)):
        bound = gap = None
    elif result.claimed:
        bound = f"{bound_of(result).number} (claimed)"
    planned = (result.cost, bound, gap, result.epochs, result.training_time)
    over = _over(facts, result) if asked else None
    return *head, *planned, over, state_of(result) + why


def _over(facts: PlanFacts, result: Result) -> str | None:
    if result.plan is None or result.cost is None:
        return None
    if result.plan.epochs == facts.plan.epochs and set(result.plan.data) == set(facts.plan.data):
        return "the same plan"
    mine = facts.evaluation.cost
    if not 0 < mine < math.inf:
        return facts.instance.units.after(f"{result.cost - mine:+.3g}", "cost")
    share = float(100 * (Fraction(result.cost) / Fraction(mine) - 1))
    if abs(share) < _SAME:
        return "the same cost, another plan"
    return f"{share:+.3g} %" + (": CHEAPER" if share < 0 else "")


def limits(facts: PlanFacts) -> list[str]:
    """What binds or fails, and what the limits cost, a line each, without the numbers of the equations."""
    lines = [re.sub(r"^\(\d\) ", "", line.strip()) for line in binding_lines(facts.evaluation)[1:]]
    lines += [line.strip() for line in price_lines(facts.instance, facts.plan, facts.evaluation)[1:]]
    lines = list(dict.fromkeys(lines))
    if len(lines) > _MOST_LINES:
        lines = [*lines[: _MOST_LINES - 1], f"and {len(lines) - _MOST_LINES + 1} more: depl explain"]
    return [beginning(line) for line in lines]


def stopping(facts: PlanFacts) -> list[str]:
    """What training costs if it ends as soon as the loss is reached."""
    found, planned = facts.stopping, facts.evaluation
    if isinstance(found, str):
        return [f"Not computed: {beginning(found)}."]
    expected = facts.instance.units.after(_enclosed(found.cost, "upper"), "cost")
    reached = f"the loss is at most {number(facts.instance.target.maximum_loss)} after some epoch"
    return [
        f"The expected cost {expected}, in place of {facts.said('cost', planned.cost).shown}.",
        f"The expected number of epochs {_enclosed(found.epochs, 'upper')}, in place of {planned.epochs}.",
        f"The probability that {reached} {_enclosed(found.reached, 'lower')}.",
        "Certified under the same law; the data of a cluster are paid right before it first trains.",
    ]


def certificate(facts: PlanFacts) -> list[Block]:
    """The verifier's findings, failures first, and its own numbers; of many on one equation the first."""
    alike: dict[tuple[str, Kind], list[Finding]] = {}
    for item in sorted(facts.verified.findings, key=lambda item: item.ok):
        alike.setdefault((item.equation, item.kind), []).append(item)
    rows = []
    for first, *others in alike.values():
        more = f"; and {len(others)} more: depl check" if others else ""
        rows.append((first.equation, word_of(first), beginning(first.message, _LONGEST_FINDING) + more))
    if len(rows) > _MOST_FINDINGS:
        rest = ("", "", f"and {len(rows) - _MOST_FINDINGS + 1} more findings: depl check")
        rows = [*rows[: _MOST_FINDINGS - 1], rest]
    findings = Listing(("equation or claim", "verdict", "finding"), rows)
    *_, (title, numbers) = view(facts.verified).filled()
    repeated = ", ".join(names_of(facts.verified.repeated)) or "none"
    claimed = f"Claims only repeated: {repeated}." if facts.plan.claims else "The plan claims nothing."
    recomputed = numbers.cells if isinstance(numbers, Listing) else []
    kind = "folded" if facts.verified.ok else "table"  # whoever pays reads equations where one fails
    return [("", f"{claimed} {title}"), ("facts", recomputed), (kind, findings)]

"""The sentences of the page, made of facts: the promise with its assumptions, what binds, what is proved."""

import math
import re
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction

from depl.models.foundation.errors import shortened
from depl.models.foundation.tolerances import PROOF_TOLERANCE, counts_as_proved
from depl.models.foundation.wording import at_most, counted, interval, number, one_end, probability
from depl.models.problem.plan import Plan
from depl.models.risk.interval import Interval
from depl.models.solving.explain_limits import binding_lines, price_lines
from depl.models.solving.result import Result, Termination
from depl.reporting.facts import Offer, PlanFacts
from depl.showing.parts import Fact, Listing, fact, promised
from depl.showing.plans import AS_COUNTED
from depl.showing.reports import names_of, word_of
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

_NOTHING = "–"


def verdict(facts: PlanFacts) -> str:
    """Whether the plan is accepted, and by whom."""
    if facts.verified.ok:
        return "Accepted by the independent verifier: every equation holds."
    failures = counted(len(facts.verified.failures), "finding")
    return f"NOT accepted by the independent verifier: {failures} against the plan."


def promise(facts: PlanFacts) -> str:
    """The promise in a sentence."""
    target, numbers = facts.instance.target, facts.numbers
    epochs = counted(facts.evaluation.epochs, "epoch")
    effort = f"{epochs} of training, in a time of {numbers['training_time'].shown}"
    if target.maximum_time is not None:
        effort += f" of the {facts.said('training_time', target.maximum_time).shown} allowed"
    price = f"or a cost of {numbers['cost'].shown} ({effort})"
    price = f"If the plan could be carried out, f{price}" if facts.broken else f"F{price}"
    if not facts.has_law:
        why = beginning(facts.evaluation.violation.evaluator)
        return f"{price} nothing is promised about the final loss: {why}."
    event = f"the final loss is at most {number(target.maximum_loss)}"
    law = "the laws that the instance declares" if facts.rests_on is None else "a law fitted to training runs"
    kept = f"with probability {_kept(facts).told}, certified under {law}"
    return f"{price} {event} {kept}; asked is {probability(target.quantile_level)}."


def beginning(text: str, longest: int = _LONGEST) -> str:
    """A text up to the last clause that ends within so many letters; one long name is cut in its middle."""
    if len(text) <= longest:
        return text
    ends = [match.start() for match in re.finditer(r"[,;:.] ", text[:longest])]
    return f"{text[: ends[-1]]} ..." if ends else shortened(text, longest)


def _kept(facts: PlanFacts) -> Fact:
    violation = facts.evaluation.violation
    return promised(violation.upper if violation.exact is None else violation.exact, 5)


def assumptions(facts: PlanFacts) -> str:
    """What is certified, and under what; empty where nothing is."""
    if not facts.has_law:
        return ""
    missed = _enclosed(facts.evaluation.violation)
    basis = "" if facts.rests_on is None else f" The fitted law rests on {facts.rests_on}."
    return (
        f"Certified under that law, the probability of missing the loss {missed}.{basis} Whether new runs "
        "follow the law is not certified; depl certify tests a plan on held-out runs, without any law."
    )


def shortfall(facts: PlanFacts) -> str:
    """A warning where limits fail or the probability is less than asked; empty if all is well."""
    if facts.broken:
        return f"It cannot be carried out: {facts.broken} of its limits fail, as the certificate tells."
    if facts.met:
        return ""
    claims = facts.plan.claims
    if claims is not None and claims.scenarios is not None:
        return "This is less than asked: the plan meets the target on the scenarios it was made for only."
    return "This is less than asked."


def _enclosed(value: Interval, end: str = "") -> str:
    """An interval in words, or its lower or upper end; a fraction where it is known as a small one."""
    if value.exact is not None and value.exact.denominator <= _SMALL:
        return f"is exactly {value.exact}"
    if end and value.exact is None:
        return f"is {one_end(getattr(value, end), end == 'lower')}"
    return f"lies in {interval(value.lower, value.upper)}"


def readings(facts: PlanFacts) -> Iterator[tuple[str, str, str]]:
    """The numbers of the first strip: name, value, and a note."""
    found, target, numbers = facts.evaluation, facts.instance.target, facts.numbers
    split = (numbers["transfer_cost"], numbers["resource_cost"])
    yield "cost", numbers["cost"].shown, ", ".join(f"{part.label} {part.number}" for part in split)
    allowed = facts.said("training_time", target.maximum_time).shown
    limit = "no limit" if target.maximum_time is None else f"of {allowed}"
    yield "training time", numbers["training_time"].shown, limit
    yield "epochs", str(found.epochs), f"of at most {target.maximum_epochs}"
    if not facts.has_law:
        return
    level = probability(target.quantile_level)
    yield f"P(loss ≤ {number(target.maximum_loss)})", f"≥ {_kept(facts).shown}", f"asked {level}"
    if found.quantile is not None:
        quantile = numbers["quantile"]._replace(digits=5)
        most = f"≤ {quantile.upper.shown}"
        if math.isinf(found.quantile.upper):
            most = at_most(found.quantile.upper)
        yield f"{level}-quantile of the loss", most, AS_COUNTED if found.fitted else quantile.told
    if not found.fitted:  # a careful count has no mean to tell
        yield "expected loss", number(found.expected_loss), f"from {number(target.initial_loss)}"


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
    found = facts.stopping
    if isinstance(found, str):
        return [f"Not computed: {beginning(found)}."]
    level = number(facts.instance.target.maximum_loss)
    expected = facts.instance.units.after(_enclosed(found.cost, "upper"), "cost")
    epochs, reached = _enclosed(found.epochs, "upper"), _enclosed(found.reached, "lower")
    return [
        f"The expected cost {expected}, in place of {facts.numbers['cost'].shown}.",
        f"The expected number of epochs {epochs}, in place of {facts.evaluation.epochs}.",
        f"The probability that the loss is at most {level} after some epoch {reached}.",
        "Certified under the same law; the data of a cluster are paid right before it first trains.",
    ]


def price_list(facts: PlanFacts) -> Listing | None:
    """A row per probability; None where no solves were asked for or there is nothing to price."""
    if not facts.prices:
        return None
    titled = facts.instance.units.titled
    cost, bound, time = titled("cost", "cost"), titled("lower bound", "cost"), titled("time", "time")
    header = ("probability", cost, bound, "gap", "epochs", time, "proved under the law of the instance")
    rows = [
        (
            probability(offer.level) + (" (asked)" if offer is facts.own else ""),
            *_numbers(offer),
            _state(facts, offer),
        )
        for offer in facts.prices
    ]
    return Listing(header, rows, right=header[1:6])


def others(facts: PlanFacts) -> Listing | None:
    """What the default method and others found for the same target; None where they were not asked."""
    rows = [
        (offer.method, *_numbers(offer)[:2], _over(facts, offer.result), _state(facts, offer))
        for offer in facts.rivals
    ]
    rows.sort(key=lambda row: row[1] == _NOTHING)
    titled = facts.instance.units.titled
    cost, bound = titled("cost", "cost"), titled("lower bound", "cost")
    header = ("method", cost, bound, "against this plan", "proved under the law of the instance")
    return Listing(header, rows, right=header[1:3]) if rows else None


def _numbers(offer: Offer) -> tuple[str, str, str, str, str]:
    """Cost, lower bound, gap, epochs and time; dashes for what there is not."""
    result, bound, gap = offer.result, _NOTHING, _NOTHING
    if result is None:
        return (_NOTHING,) * 5
    proved = 0 < result.lower_bound < math.inf
    if proved or (result.lower_bound == result.cost and not result.claimed):
        bound = bound_of(result).number + (" (claimed)" if result.claimed else "")
        gap = _NOTHING if result.gap is None else fact("gap", result.gap).shown
    if result.cost is None:
        return _NOTHING, bound, _NOTHING, _NOTHING, _NOTHING
    return number(result.cost), bound, gap, str(result.epochs), number(result.training_time)


def _state(facts: PlanFacts, offer: Offer) -> str:
    result = offer.result
    if result is None:
        return beginning(offer.reason)
    proved = result.termination is Termination.INFEASIBLE and not facts.instance.has_memory
    why = result.plan is None and result.reason and not proved
    return state_of(result) + (f" ({beginning(result.reason or '')})" if why else "")


def _over(facts: PlanFacts, result: Result | None) -> str:
    """How much the plan of a result costs over this one's cost."""
    if result is None or result.plan is None or result.cost is None:
        return _NOTHING
    if _decisions(result.plan) == _decisions(facts.plan):
        return "the same plan"
    mine = facts.evaluation.cost
    if not 0 < mine < math.inf:
        return facts.instance.units.after(f"{result.cost - mine:+.3g}", "cost")
    share = float(100 * (Fraction(result.cost) / Fraction(mine) - 1))
    if abs(share) < _SAME:
        return "the same cost, another plan"
    return f"{share:+.3g} %" + (": CHEAPER" if share < 0 else "")


def _decisions(plan: Plan) -> tuple[object, object]:
    """What is trained with which data and resources, whatever the plan claims."""
    return plan.epochs, set(plan.data)


def cheaper(facts: PlanFacts) -> tuple[str, bool]:
    """A sentence on cheaper plans, and whether it is a warning; empty where there is nothing to say."""
    found = [offer.result for offer in facts.rivals if offer.result is not None]
    planned = [item for item in found if item.cost is not None]
    best = min(planned, key=lambda item: item.cost or 0.0, default=None)
    if not (facts.verified.ok and facts.met):
        told = "" if best is None else f"A plan that meets the target costs {_told(facts, best)}."
        return told, best is not None
    mine = facts.evaluation.cost
    if best is not None and best.cost is not None and best.cost < mine * (1 - PROOF_TOLERANCE):
        less = f"{100 * (1 - best.cost / mine):.3g} % less"
        return f"A cheaper plan for the same promise is known: {_told(facts, best)}, {less}.", True
    return (_no_cheaper(facts, bool(found)) if facts.has_law else ""), False


def _told(facts: PlanFacts, result: Result) -> str:
    proved = f", {state_of(result)}" if result.termination is Termination.OPTIMAL else ""
    return f"{facts.said('cost', result.cost).shown} (method {result.method}{proved})"


def _no_cheaper(facts: PlanFacts, looked: bool) -> str:
    """No cheaper plan is known: because there is none, or within a gap, or for all that is proved."""
    search = (
        "No cheaper plan for the same promise was found" if looked else "Cheaper plans were not looked for"
    )
    mine, (bound, who) = facts.evaluation.cost, _best_bound(facts)
    if not 0 < bound < math.inf or not 0 < mine < math.inf:
        return f"{search}, and no lower bound is proved: how much could be saved is not known."
    if counts_as_proved(mine, bound):
        return f"No plan for the same promise costs less under that law: {who}."
    saved = facts.said("gap", 1 - bound / mine)
    least = f"as no plan costs less than {_bound(facts, bound)}"
    return f"{search}; {saved.told} could be saved, {least}: {who}."


def _best_bound(facts: PlanFacts) -> tuple[float, str]:
    """The greatest lower bound that the verifier or a solve for this page proves, and by whom."""
    best, who = facts.verified.proved_bound, "proved by the verifier"
    for offer in [*facts.rivals, *facts.looser]:
        result = offer.result
        if result is not None and best < result.lower_bound < math.inf and not result.claimed:
            best = result.lower_bound
            lower = f" at omega {offer.level:g}, which also holds at a higher one"
            where = lower if offer.level != facts.instance.target.quantile_level else ""
            solve = f"proved by a solve for this page, method {result.method}{where}"
            who = f"{solve}, whose search is not checked again"
    return best, who


def _bound(facts: PlanFacts, bound: float) -> str:
    return facts.said("lower_bound", bound).shown


def findings(facts: PlanFacts) -> Listing:
    """The verifier's findings, failures first; of many on one equation, as of every epoch, the first."""
    found = sorted(facts.verified.findings, key=lambda item: item.ok)
    alike = Counter((item.equation, item.kind) for item in found)
    first = {(item.equation, item.kind): item for item in reversed(found)}
    rows = []
    for kind, count in alike.items():
        more = f"; and {count - 1} more: depl check" if count > 1 else ""
        rows.append((kind[0], word_of(first[kind]), beginning(first[kind].message, _LONGEST_FINDING) + more))
    if len(rows) > _MOST_FINDINGS:
        rest = ("", "", f"and {len(rows) - _MOST_FINDINGS + 1} more findings: depl check")
        rows = [*rows[: _MOST_FINDINGS - 1], rest]
    return Listing(("equation or claim", "verdict", "finding"), rows)


def bounds(facts: PlanFacts) -> list[str]:
    """Every lower bound of the cost of all plans that meet the target, with what proves it."""
    lines, verified = [], facts.verified
    if verified.proved_bound > 0:
        lines.append(
            f"{_bound(facts, verified.proved_bound)}: proved again by the verifier, without a solver."
        )
    claims = facts.plan.claims
    if claims is not None and claims.lower_bound and "lower_bound" in names_of(verified.repeated):
        who = "whoever made the plan" if claims.method is None else f"method {shortened(claims.method, 60)}"
        where = "" if claims.scenarios is None else ", on its scenarios"
        lines.append(
            f"{_bound(facts, claims.lower_bound)}{where}: claimed by {who}; the verifier does not contradict "
            "it, and does not prove it again, as that takes the whole search."
        )
    result = None if facts.own is None else facts.own.result
    if result is not None and result.lower_bound > 0 and result.termination is not Termination.INFEASIBLE:
        proved = (
            f"proved by a solve for this page, method {result.method} ({state_of(result)}), under the same "
            "law; its search is not checked a second time."
        )
        claimed = f"claimed by method {result.method} in a solve for this page; nothing here proves it."
        lines.append(f"{_bound(facts, result.lower_bound)}: {claimed if result.claimed else proved}")
    lines = [f"No plan costs less than {line}" for line in lines]
    if result is not None and result.termination is Termination.INFEASIBLE:
        lines.append(f"A solve for this page by method {result.method} says: {state_of(result)}.")
    return lines or ["Nothing is proved here about cheaper plans."]


def recomputed(facts: PlanFacts) -> str:
    """The verifier's own numbers; which claims were worked out again, and which are only repeated."""
    found = facts.verified
    cost, time = (facts.said(name, getattr(found, name)).shown for name in ("cost", "training_time"))
    numbers = f"Recomputed by the verifier: cost {cost}, time {time}."
    if facts.plan.claims is None:
        return f"{numbers} The plan claims nothing."
    again, repeated = (", ".join(names_of(items)) or "none" for items in (found.checked, found.repeated))
    return f"{numbers} Claims worked out again: {again}. Claims only repeated: {repeated}."

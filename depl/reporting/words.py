"""The sentences of the page: the promise with its assumptions, what binds, early stopping, other offers."""

import math
import re
from fractions import Fraction

from depl.models.foundation.errors import shortened
from depl.models.foundation.wording import (
    at_most,
    counted,
    counter_probability,
    interval,
    number,
    one_end,
    percentage,
    probability,
    rounded_up,
)
from depl.models.risk.interval import Interval
from depl.models.solving.explain_limits import binding_lines, failing, price_lines
from depl.models.solving.result import Result, Termination
from depl.reporting.facts import PlanFacts
from depl.reporting.offers import Offer, own_offer, same_decisions
from depl.showing.parts import Listing
from depl.showing.results import state_of

_LONGEST = 160
"""Letters of a line that quotes names or reasons: two lines of the page; the commands tell all."""

_MOST_LINES = 8
"""Limits that are listed: with many clusters each has one, and the page has to fit on two sheets."""

_NOTHING = "–"


def verdict(facts: PlanFacts) -> str:
    """Whether the plan is accepted, and by whom."""
    if facts.verified.ok:
        return "Accepted by the independent verifier: every equation holds."
    failures = len(facts.verified.failures)
    return f"NOT accepted by the independent verifier: {counted(failures, 'finding')} against the plan."


def promise(facts: PlanFacts) -> str:
    """The promise in a sentence."""
    found, target = facts.evaluation, facts.instance.target
    units = facts.instance.units
    time, cost = units.amount(found.training_time, "time"), units.amount(found.cost, "cost")
    effort = f"{counted(found.epochs, 'epoch')} of training, in a time of {time}"
    if target.maximum_time is not None:
        effort += f" of the {units.amount(target.maximum_time, 'time')} allowed"
    price = f"For a cost of {cost} ({effort})"
    if _broken(facts):
        price = f"If the plan could be carried out, for a cost of {cost} ({effort})"
    if not facts.has_law:
        return f"{price} nothing is promised about the final loss: {_no_law(facts)}."
    event = f"the final loss is at most {number(target.maximum_loss)}"
    law = "the laws that the instance declares" if facts.rests_on is None else "a law fitted to training runs"
    kept = f"with probability at least {_kept(found.violation)}, certified under {law}"
    return f"{price} {event} {kept}; asked is {probability(target.quantile_level)}."


def beginning(text: str, longest: int = _LONGEST) -> str:
    """A text up to the last clause that ends within so many letters; one long name is cut in its middle."""
    if len(text) <= longest:
        return text
    ends = [match.start() for match in re.finditer(r"[,;:.] ", text[:longest])]
    return f"{text[: ends[-1]]} ..." if ends else shortened(text, longest)


def _no_law(facts: PlanFacts) -> str:
    return beginning(facts.evaluation.violation.evaluator)


def _kept(violation: Interval) -> str:
    return counter_probability(violation.upper if violation.exact is None else violation.exact, 5)


def assumptions(facts: PlanFacts) -> str:
    """What is certified, and under what; empty where nothing is."""
    if not facts.has_law:
        return ""
    missed = enclosed(facts.evaluation.violation)
    basis = "" if facts.rests_on is None else f" The fitted law rests on {facts.rests_on}."
    return (
        f"Certified under that law, the probability of missing the loss {missed}.{basis} Whether new runs "
        "follow the law is not certified; depl certify tests a plan on held-out runs, without any law."
    )


def shortfall(facts: PlanFacts) -> str:
    """A warning where limits fail or the probability is less than asked; empty if all is well."""
    broken = _broken(facts)
    if broken:
        return f"It cannot be carried out: {broken} of its limits fail, as the certificate tells."
    budget, claims = facts.instance.target.violation_budget, facts.plan.claims
    if not facts.has_law or facts.evaluation.violation.at_most(budget):
        return ""
    if claims is not None and claims.scenarios is not None:
        return "This is less than asked: the plan meets the target on the scenarios it was made for only."
    return "This is less than asked."


def _broken(facts: PlanFacts) -> int:
    """How many limits fail, the probability apart, which is a promise and no limit."""
    return sum(item.equation != "(3)" for item in failing(facts.evaluation))


def enclosed(value: Interval) -> str:
    """An interval in words; a fraction where the value is known as one with a small denominator."""
    if value.exact is not None and value.exact.denominator <= _SMALL:
        return f"is exactly {value.exact}"
    return f"lies in {interval(value.lower, value.upper)}"


def _bounded(value: Interval, low: bool = False) -> str:
    """The end of an interval that stopping early is certified at; as `enclosed` where it is exact."""
    if value.exact is not None:
        return enclosed(value)
    return f"is {one_end(value.lower if low else value.upper, low)}"


_SMALL = 10_000
"""Denominator up to which a fraction is easier to read than its decimals."""


def readings(facts: PlanFacts) -> list[tuple[str, str, str]]:
    """The numbers of the first strip: name, value, and a note."""
    found, target, units = facts.evaluation, facts.instance.target, facts.instance.units
    split = f"transfers {number(found.transfer_cost)}, resources {number(found.resource_cost)}"
    limit = "no limit" if target.maximum_time is None else f"of {units.amount(target.maximum_time, 'time')}"
    rows = [
        ("cost", units.amount(found.cost, "cost"), split),
        ("training time", units.amount(found.training_time, "time"), limit),
        ("epochs", str(found.epochs), f"of at most {target.maximum_epochs}"),
    ]
    if facts.has_law:
        level = probability(target.quantile_level)
        rows.append(
            (f"P(loss ≤ {number(target.maximum_loss)})", f"≥ {_kept(found.violation)}", f"asked {level}")
        )
        if found.quantile is not None:
            upper = float(found.quantile.upper)
            most = at_most(upper) if math.isinf(upper) else f"≤ {rounded_up(upper, 5)}"
            bounds = "as the runs are counted"
            if not found.fitted:
                bounds = f"in {interval(found.quantile.lower, upper, 5)}"
            rows.append((f"{level}-quantile of the loss", most, bounds))
        if not found.fitted:  # a careful count has no mean to tell
            start = f"from {number(target.initial_loss)}"
            rows.append(("expected loss", number(found.expected_loss), start))
    return rows


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
    if found is None:
        return [f"Not computed: {beginning(facts.no_stopping)}."]
    level = number(facts.instance.target.maximum_loss)
    units = facts.instance.units
    reached = _bounded(found.reached, low=True)
    expected = units.after(_bounded(found.cost), "cost")
    return [
        f"The expected cost {expected}, in place of {units.amount(facts.evaluation.cost, 'cost')}.",
        f"The expected number of epochs {_bounded(found.epochs)}, in place of {facts.evaluation.epochs}.",
        f"The probability that the loss is at most {level} after some epoch {reached}.",
        "Certified under the same law; the data of a cluster are paid right before it first trains.",
    ]


def price_list(facts: PlanFacts) -> Listing | None:
    """A row per probability; None where no solves were asked for or there is nothing to price."""
    if facts.offers is None or not facts.offers.prices:
        return None
    own = own_offer(facts.offers, facts.instance)
    titled = facts.instance.units.titled
    header = (
        "probability",
        titled("cost", "cost"),
        titled("lower bound", "cost"),
        "gap",
        "epochs",
        titled("time", "time"),
        "proved under the law of the instance",
    )
    rows = []
    for offer in facts.offers.prices:
        level = probability(offer.level) + (" (asked)" if offer is own else "")
        rows.append((level, *_numbers(offer), _state(facts, offer)))
    return Listing(header, rows, right=header[1:6])


def others(facts: PlanFacts) -> Listing | None:
    """What the default method and others found for the same target; None where they were not asked."""
    if facts.offers is None:
        return None
    own = own_offer(facts.offers, facts.instance)
    known = [*([] if own is None else [own]), *facts.offers.peers]
    if not known:
        return None
    rows = [
        (offer.method, *_numbers(offer)[:2], _over(facts, offer.result), _state(facts, offer))
        for offer in known
    ]
    rows.sort(key=lambda row: row[1] == _NOTHING)
    titled = facts.instance.units.titled
    cost, bound = titled("cost", "cost"), titled("lower bound", "cost")
    header = ("method", cost, bound, "against this plan", "proved under the law of the instance")
    return Listing(header, rows, right=header[1:3])


def _numbers(offer: Offer) -> tuple[str, str, str, str, str]:
    """Cost, lower bound, gap, epochs and time; dashes for what there is not."""
    result = offer.result
    if result is None:
        return (_NOTHING,) * 5
    bound = number(result.lower_bound) if 0 < result.lower_bound < math.inf else _NOTHING
    if result.claimed and bound != _NOTHING:
        bound += " (claimed)"
    if result.cost is None:
        return _NOTHING, bound, _NOTHING, _NOTHING, _NOTHING
    if result.lower_bound == result.cost and not result.claimed:
        bound = number(result.lower_bound)
    gap = _NOTHING if result.gap is None or bound == _NOTHING else percentage(result.gap)
    return number(result.cost), bound, gap, str(result.epochs), number(result.training_time)


def _state(facts: PlanFacts, offer: Offer) -> str:
    result = offer.result
    if result is None:
        return beginning(offer.reason)
    words = state_of(result)
    proved = result.termination is Termination.INFEASIBLE and not facts.instance.has_memory
    if result.plan is None and result.reason and not proved:
        words += f" ({beginning(result.reason)})"
    return words


def _over(facts: PlanFacts, result: Result | None) -> str:
    """How much the plan of a result costs over this one's cost."""
    if result is None or result.plan is None or result.cost is None:
        return _NOTHING
    if same_decisions(result.plan, facts.plan):
        return "the same plan"
    mine = facts.evaluation.cost
    if not 0 < mine < math.inf:
        return facts.instance.units.after(f"{result.cost - mine:+.3g}", "cost")
    share = float(100 * (Fraction(result.cost) / Fraction(mine) - 1))
    if abs(share) < _SAME:
        return "the same cost, another plan"
    return f"{share:+.3g} %" + (": CHEAPER" if share < 0 else "")


_SAME = 1e-7
"""Percent that are no difference: costs agree to `PROOF_TOLERANCE`, which is as much."""

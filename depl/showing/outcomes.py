"""What several solves came to, for people: a front, and a replanning after some epochs."""

import math
from collections.abc import Iterator
from typing import Any

from depl.models.foundation.documents import document
from depl.models.foundation.wording import counted, number, probability, rounded_down
from depl.models.problem.instance import Instance
from depl.models.problem.plan import Plan
from depl.models.solving.budgets import Budget
from depl.models.solving.front_points import Front, FrontPoint
from depl.models.solving.replanning import Choice, Replanning
from depl.models.solving.result import Termination
from depl.showing.parts import Listing, Pairs, Section, fact, promised
from depl.showing.plans import models_in_words
from depl.showing.results import STATES, allowed, result_sections, state_of

BUDGETS = {Budget.LOSS: "l_max", Budget.TIME: "T_max", Budget.PROBABILITY: "omega"}
"""What varies, by its symbol."""

_STATES = {Termination.INFEASIBLE: "proved infeasible", Termination.GAP_REACHED: "within the gap, proved"}
"""Shorter than elsewhere, as a column has them."""

_NOT_PROMISED = "not promised, proved"
"""The same of what is infeasible under a law fitted to runs, which promises no more than they support."""

_CUT = (
    "The clock ended the search for how far the range reaches: with more time, or with nothing else on the "
    "machine, it may reach further. --between gives it."
)
_NESTED = "Between two budgets holds the lower bound of the looser one, and the plan of the tighter one."
_NOT_NESTED = (
    "Under this fitted law a plan may be refused at a lower omega and accepted at a higher one, so that "
    "between two budgets nothing is known."
)


def front_sections(front: Front) -> list[Section]:
    """What varies and how far it got, a row per budget, and what holds between them."""
    budget, target, units = BUDGETS[front.against], front.instance.target, front.instance.units
    pairs = [(front.instance.name, f"cost of certified plans against {budget}; {_progress(front)}")]
    held = {
        "l_max": number(target.maximum_loss),
        "T_max": units.amount(target.maximum_time, "time"),
        "omega": number(target.quantile_level),
    }
    pairs += [pair for pair in held.items() if pair[0] != budget]
    if front.instance.has_memory:
        pairs.append(("rests on", "a fitted law; how many runs speak for each plan: --json, rests_on"))
    varied = units.titled(budget, "time") if front.against is Budget.TIME else budget
    cost, bound = units.titled("cost", "cost"), units.titled("lower bound", "cost")
    header = (varied, "state", cost, bound, "epochs", units.titled("time", "time"), "P(l(K) > l_max)")
    grid = Listing(header, [_row(front, point) for point in front], right=(varied, *header[2:]))
    return [
        Section("", Pairs(pairs)),
        Section("", grid if front.points else ""),
        Section("", "" if len(front) < 2 else _NESTED if front.nested else _NOT_NESTED),
        Section("", _CUT if front.range_cut else ""),
    ]


def _progress(front: Front) -> str:
    """How many of the points there are, and why not all."""
    if front.complete:
        return counted(len(front), "point")
    if len(front) < front.asked:
        reason = STATES[front.stopped or Termination.TIME_LIMIT]
        return f"{len(front)} of {counted(front.asked, 'point')}, {reason}"
    return f"{counted(len(front), 'point')}, not all of them finished"


def _row(front: Front, point: FrontPoint) -> tuple[str, ...]:
    result, missed = point.result, point.violation
    state = state_of(result) if result.claimed else _STATES.get(result.termination, state_of(result))
    if front.instance.has_memory and not result.claimed and point.infeasible:
        state = _NOT_PROMISED
    bound = "-"
    if math.isfinite(point.lower_bound):
        bound = fact("lower_bound", point.lower_bound).shown + (" (claimed)" if result.claimed else "")
    if point.cost is None:
        return (number(point.budget, 9), state, "-", bound, "-", "-", "-")
    return (
        number(point.budget, 9),
        state,
        number(point.cost),
        bound,
        str(result.epochs),
        number(result.training_time),
        "-"
        if missed is None
        else fact("violation", (missed.lower, missed.upper)).upper._replace(digits=5).told,
    )


_CHOICES = {
    Choice.NEW: "the new rest",
    Choice.OLD: "the old rest, as planned",
    Choice.RETIMED: "the epochs of the old rest, with the cheapest resources for the time that is left",
    Choice.STOP: "stop here",
    Choice.NONE: "nothing: no rest is known that is allowed",
}
_OVER_ALL_RUNS = "yes, under the law: the promise made at the start, if the rule is followed in every state"
_NOT_PROVED = (
    "not proved: residuals kept per run, and margins, are drawn afresh in every state; count it on real runs"
)
_MET = ": the target is met"
_LOST = ": the old rest cannot meet the target any more, and no other is known to"
_WITHOUT_MARGIN = (
    "is asked of a new rest: what the old one delivers and a margin, as it is known as a certified interval "
    "only; the old rest is kept without the margin"
)


def replanning_content(found: Replanning) -> dict[str, Any]:
    """The new rest with the keys that results have, and under "replan" what is to be done with it."""
    old, names = found.old, ("met", "level", "holds_over_all_runs", "sunk_cost", "cost_to_go", "total_cost")
    evaluation, violation = old.evaluation, old.evaluation.violation
    replan = {
        "choice": found.choice.value,
        **{name: getattr(found, name) for name in names},
        "plan": None if found.plan is None else document(found.plan),
        "remaining": None if found.remaining is None else found.remaining.fingerprint,
        "old": {
            "epochs": evaluation.epochs,
            "cost": evaluation.cost,
            "violation": {"lower": violation.lower, "upper": violation.upper},
            "training_time": evaluation.training_time,
            "outside": old.outside,
            "keeps_omega": old.keeps_omega,
            "broken": list(old.broken),
        },
    }
    return {**found.result.to_dict(), "replan": replan}


def replanning_sections(found: Replanning) -> list[Section]:
    """The old rest, the new one, and what to do."""
    return [
        Section("", Pairs(list(_old_rest(found)))),
        Section("New rest, given the state", result_sections(found.result)[0].body),
        Section("", Pairs(list(_follow(found)))),
    ]


def _old_rest(found: Replanning) -> Iterator[tuple[str, str]]:
    instance, state, old = found.instance, found.state, found.old
    target, amount, level = instance.target, instance.units.amount, number(instance.target.maximum_loss)
    met = "met: to stop now costs nothing more" if found.met else "not met yet"
    yield "state", f"after epoch {state.epoch} of at most {target.maximum_epochs}, loss {number(state.loss)}"
    yield "target", f"{level}, {met}"
    yield "time used", allowed(instance, state.elapsed_time)
    yield "paid so far", f"{amount(found.sunk_cost, 'cost')}, as planned"
    yield "old rest", f"{_epochs(instance, old.plan)}; cost to go {amount(old.evaluation.cost, 'cost')}"
    asked = f"omega is {probability(target.quantile_level)}"
    yield f"P(l(K) <= {level} | state)", f"{_chance(found)}; {asked}"
    if old.broken:
        yield "does not keep", ", ".join(old.broken)


def _chance(found: Replanning) -> str:
    """How probably the old rest still meets the target."""
    if found.old.outside is not None:
        return f"is not known: {found.old.outside}"
    violation = found.old.evaluation.violation
    if violation.exact is None or found.old.evaluation.fitted:  # runs are counted: never exactly
        reached = promised(violation.upper if violation.exact is None else violation.exact).told
    else:
        reached = f"is {probability(float(1 - violation.exact))}"
    law = " under the fitted law, of which the last loss is all that is taken from the run"
    return f"{reached}, certified{law if found.instance.has_memory else ''}"


def _follow(found: Replanning) -> Iterator[tuple[str, str]]:
    why = "" if found.choice is not Choice.STOP else _MET if found.met else _LOST
    yield "follow", _CHOICES[found.choice] + why
    cost, amount = found.cost_to_go, found.instance.units.amount
    if found.keep_promise:
        yield "kept over all runs", _OVER_ALL_RUNS if found.holds_over_all_runs else _NOT_PROVED
        kept = found.choice in (Choice.OLD, Choice.RETIMED)
        if kept and cost is not None and cost < found.result.lower_bound:
            yield "below the bound", f"probability {rounded_down(found.level, 9)} {_WITHOUT_MARGIN}"
    if found.plan is not None:
        yield "cost to go", f"{amount(cost, 'cost')} for {_epochs(found.instance, found.plan)}"
        yield "cost in all", amount(found.total_cost, "cost")


def _epochs(instance: Instance, plan: Plan) -> str:
    models = models_in_words(plan, instance)
    return counted(len(plan.epochs), "epoch") + (f" ({models})" if models else "")

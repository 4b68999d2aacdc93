"""What solves came to, for people: a result, a front of several, and a replanning after some epochs."""

import math
from collections import Counter
from collections.abc import Iterator
from typing import Any

from depl.models.foundation.documents import document
from depl.models.foundation.wording import counted, number, probability, rounded_down
from depl.models.problem.instance import Instance
from depl.models.problem.plan import Plan
from depl.models.solving.edge import Budget
from depl.models.solving.front import Front, FrontPoint
from depl.models.solving.methods import Meaning, registered
from depl.models.solving.replanning import Choice, Replanning
from depl.models.solving.result import Result, Termination
from depl.showing import units_of
from depl.showing.parts import (
    OUTWARD,
    UP,
    Columns,
    Fact,
    Listing,
    Pairs,
    Section,
    ends,
    fact,
    picked,
    promised,
    shortened_name,
)
from depl.showing.plans import models_in_words, short_plan

_PROVED = {
    Termination.OPTIMAL: "cheapest",
    Termination.GAP_REACHED: "within the wanted gap of the cheapest",
    Termination.INFEASIBLE: "infeasible",
}
"""What a solve proves, or a method that does not come with depl claims, whose word nothing here proves."""

ENDED = {
    Termination.TIME_LIMIT: "stopped by the time limit",
    Termination.INTERRUPTED: "stopped by the user",
    Termination.EXHAUSTED: "ended without a proof",
    Termination.STUCK: "stuck: more time would prove no more",
    Termination.ERROR: "failed",
}
"""Why a solve ended that proves nothing."""

_NOT_PROMISED = "no plan can be promised on these runs: proved under the law fitted to them"
"""What infeasible means under a fitted law, which promises no more than its runs support: new runs may do."""

_NO_BOUND = "no lower bound is proved"
"""In the place of a bound that a method does not have."""


def state_of(result: Result) -> str:
    """Why a solve ended, and whether that is proved or only what its method says."""
    what = _PROVED.get(result.termination)
    if result.termination is Termination.STUCK and result.reason:
        return "stopped when stuck, as was asked"
    if what is not None and result.rows:
        return f"{what} on these scenarios, proved under your rows: {', '.join(result.rows)}"
    if what is not None and result.claimed:
        return f"claimed {what}{_claimant(result)}"
    return _ending(result.termination, result)


def _claimant(result: Result) -> str:
    return f" by {shortened_name(result.method)}, not checked by depl"


def _ending(termination: Termination, result: Result) -> str:
    """How a solve ended, on scenarios, under declared laws, or under a law that was fitted to runs."""
    sampled = result.method in {item.name for item in registered() if item.meaning is Meaning.SCENARIOS}
    where = " on these scenarios" if sampled else ""
    if termination is not Termination.INFEASIBLE:
        return ENDED.get(termination) or f"proved {_PROVED[termination]}{where}"
    fitted = not sampled and result.problem is not None and result.problem.has_memory
    return _NOT_PROMISED if fitted else f"proved infeasible: no plan meets the target{where}"


def result_brief(result: Result) -> str:
    """One line on a result."""
    proved, plan = _bounded(result), "no plan"
    if result.cost is not None:
        gap = f", gap {fact('gap', result.gap).shown}" if proved and result.gap is not None else ""
        cost = fact("cost", result.cost, units_of(result)).shown
        plan = f"cost {cost}{gap}, {counted(result.epochs or 0, 'epoch')}"
    kind = f"{'claimed ' if result.claimed else ''}lower bound{' under your rows' if result.rows else ''}"
    bound = f"{kind} {fact('lower_bound', result.lower_bound).shown}" if proved else _NO_BOUND
    return f"<Result {result.termination.value}: {plan}, {bound}, by {shortened_name(result.method)}>"


def _bounded(result: Result) -> bool:
    """Whether the lower bound says anything: no plan costs less than 0, whatever is proved."""
    return result.lower_bound > 0 or result.cost == result.lower_bound


def bound_of(result: Result) -> Fact:
    """The lower bound, with the digits of a cost, so that it does not seem to exceed that beside it."""
    return fact("lower_bound", result.lower_bound, units_of(result))._replace(digits=6)


def result_sections(result: Result) -> Iterator[Section]:
    """The result in a few lines."""
    yield "", _lines(result)
    if result.plan is not None and result.problem is not None:
        yield "", short_plan(result.plan, result.problem)


def _lines(result: Result) -> Pairs:
    instance, plan, state = result.problem, result.plan, state_of(result)
    proved = result.termination in (Termination.OPTIMAL, Termination.GAP_REACHED)
    held = "" if proved or plan is None else "a feasible plan; "
    yield "result" if instance is None else instance.name, f"{held}{state}"
    yield "method", f"{result.method}, {result.wall_seconds:.2f} s"
    known = {ending.value: _ending(ending, result) for ending in Termination}
    phases = [f"{it.method} {it.seconds:.2f} s: {known.get(it.ending, it.ending)}" for it in result.phases]
    yield "phases", "; ".join(phases) or None
    yield "reason", result.reason or None
    claimed = f", claimed{_claimant(result)}" if result.claimed else ""
    if plan is not None:
        cost, gap = fact("cost", result.cost, units_of(result)).shown, fact("gap", result.gap)
        rows = " under your rows" if result.rows else ""
        share = "" if result.gap is None else f" (gap {gap.shown})"
        bound = f", lower bound{rows} {bound_of(result).shown}{share}{claimed}"
        yield "cost", cost + (bound if _bounded(result) else f"; {_NO_BOUND}")
    elif result.termination is not Termination.INFEASIBLE:
        yield "lower bound", (bound_of(result).shown if _bounded(result) else "none is proved") + claimed
    if plan is not None and instance is None:
        yield "epochs", len(plan.epochs)
    elif plan is not None and instance is not None:
        yield from _plan(result, instance, plan)


def _plan(result: Result, instance: Instance, plan: Plan) -> Pairs:
    """Epochs, time, and what is promised of the loss, under the law or on the scenarios."""
    target, evidence, asked = instance.target, result.scenarios, probability(instance.target.quantile_level)
    careful = instance.traced_law is not None and instance.traced_law.counts_carefully
    places = Counter(epoch.cluster for epoch in plan.epochs)
    where = ", ".join(f"{count} on {name}" for name, count in places.items())
    trained = "; ".join(filter(None, [models_in_words(plan, instance), where]))
    yield "epochs", f"{len(plan.epochs)}: {trained or 'no training'}"
    yield "training time", allowed(instance, result.training_time)
    if evidence is not None:
        origin = "given" if evidence.seed is None else f"drawn with seed {evidence.seed}"
        missed = f"{evidence.misses} of {evidence.size} missed, {evidence.allowed} allowed"
        yield "scenarios", f"{missed}; {origin}"
    if evidence is not None and evidence.fresh is None:
        why = "there was no time to look at the law" if instance.declares_laws else "no law is declared"
        nothing = f"nothing is promised: {why}, and what holds on these scenarios may not hold later"
        yield "probability", nothing
    if evidence is not None and (fresh := evidence.fresh) is not None:
        missed = Fact("", (fresh.lower, fresh.upper), "%", OUTWARD, 7).shown
        sure = f"{missed} with confidence {fresh.confidence:g}"
        yield "fresh draws", f"{fresh.violations} of {fresh.samples} missed: {sure}"
    if result.violation is not None:
        kept = promised(result.violation).told
        law = "the declared laws" if result.rests_on is None else "the fitted law"
        short = evidence is not None and result.violation.highest > target.violation_budget
        only = ": NOT met under the law, only on the scenarios" if short else ""
        reached = f"P(l(K) <= {number(target.maximum_loss)})"
        yield reached, f"{kept}, certified under {law}; asked {asked}{only}"
    yield "rests on", result.rests_on
    if result.quantile is not None:
        quantile = fact("quantile", ends(result.quantile)).as_counted(careful)
        yield f"{asked}-quantile", f"{quantile}{'' if careful else ', certified'}"
    yield None if careful else fact("expected_loss", result.expected_loss)


def allowed(instance: Instance, time: float | None) -> str:
    """A time, and that which is allowed."""
    limit = instance.target.maximum_time
    limited = "" if limit is None else f" of {number(limit)}"
    return instance.units.after(f"{number(time)}{limited}", "time")


_CUT = (
    "The clock ended the search for how far the range reaches: with more time, or with nothing else on the "
    "machine, it may reach further. --between gives it."
)
_NESTED = "Between two budgets holds the lower bound of the looser one, and the plan of the tighter one."
_NOT_NESTED = (
    "Under this fitted law a plan may be refused at a lower omega and accepted at a higher one, so that "
    "between two budgets nothing is known."
)


def front_sections(front: Front) -> Iterator[Section]:
    """What varies and how far it got, a row per budget, and what holds between them."""
    instance, budget = front.instance, front.against.symbol
    target, titled = instance.target, instance.units.titled
    held = {
        "l_max": number(target.maximum_loss),
        "T_max": instance.units.amount(target.maximum_time, "time"),
        "omega": number(target.quantile_level),
    }
    basis = "a fitted law; how many runs speak for each plan: --json, rests_on"
    progress = counted(len(front), "point")
    if not front.complete:
        progress += ", not all of them finished"
    if not front.complete and len(front) < front.asked:
        ended = ENDED[front.stopped or Termination.TIME_LIMIT]
        progress = f"{len(front)} of {counted(front.asked, 'point')}, {ended}"
    head: list[tuple[str, object]] = [
        (instance.name, f"cost of certified plans against {budget}; {progress}"),
        *((name, value) for name, value in held.items() if name != budget),
        ("rests on", basis if instance.has_memory else None),
    ]
    columns: Columns = {
        titled(budget, "time") if front.against is Budget.TIME else budget: "budget",
        "state": lambda point: state_of(point.result).partition(":")[0],
        titled("cost", "cost"): "cost",
        titled("lower bound", "cost"): _least,
        "epochs": "result.epochs",
        titled("time", "time"): "result.training_time",
        "P(l(K) > l_max)": lambda point: point.violation and Fact("", point.violation.upper, "", UP, 5).told,
    }
    yield "", head
    yield "", Listing.of(front, columns)
    yield "", "" if len(front) < 2 else _NESTED if front.nested else _NOT_NESTED
    yield "", _CUT if front.range_cut else ""


def _least(point: FrontPoint) -> object:
    bound = fact("lower_bound", point.lower_bound)
    known = f"{bound.shown} (claimed)" if point.result.claimed else bound
    return known if math.isfinite(point.lower_bound) else None


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
    names, old = "choice met level holds_over_all_runs sunk_cost cost_to_go total_cost", found.old
    replan = {
        **picked(found, names),
        "plan": None if found.plan is None else document(found.plan),
        "remaining": None if found.remaining is None else found.remaining.fingerprint,
        "old": {
            **picked(old.evaluation, "epochs cost training_time violation"),
            **picked(old, "outside keeps_omega broken"),
        },
    }
    return {**found.result.to_dict(), "replan": replan}


def replanning_sections(found: Replanning) -> Iterator[Section]:
    """The old rest, the new one, and what to do."""
    yield "", _old_rest(found)
    yield "New rest, given the state", _lines(found.result)
    yield "", _follow(found)


def _old_rest(found: Replanning) -> Pairs:
    instance, state, old = found.instance, found.state, found.old
    target, amount, level = instance.target, instance.units.amount, number(instance.target.maximum_loss)
    met = "met: to stop now costs nothing more" if found.met else "not met yet"
    yield "state", f"after epoch {state.epoch} of at most {target.maximum_epochs}, loss {number(state.loss)}"
    yield "target", f"{level}, {met}"
    yield "time used", allowed(instance, state.elapsed_time)
    yield "paid so far", f"{amount(found.sunk_cost, 'cost')}, as planned"
    yield "old rest", f"{_epochs(instance, old.plan)}; cost to go {amount(old.evaluation.cost, 'cost')}"
    missed, law = old.evaluation.violation, ""
    reached = promised(missed).told
    if missed.exact is not None and not old.evaluation.fitted:  # runs are counted: never exactly
        reached = f"is {probability(float(1 - missed.exact))}"
    if instance.has_memory:
        law = " under the fitted law, of which the last loss is all that is taken from the run"
    chance = f"{reached}, certified{law}" if old.outside is None else f"is not known: {old.outside}"
    yield f"P(l(K) <= {level} | state)", f"{chance}; omega is {probability(target.quantile_level)}"
    yield "does not keep", ", ".join(old.broken) or None


def _follow(found: Replanning) -> Pairs:
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

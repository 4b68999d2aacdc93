"""A result for people: what is proved about it, and the numbers of its plan."""

from collections import Counter
from collections.abc import Iterator

from depl.models.foundation.wording import at_most, counted, interval, number, probability
from depl.models.problem.instance import Instance
from depl.models.problem.plan import Plan
from depl.models.problem.units import NO_UNITS, Units
from depl.models.scenarios.evidence import ScenarioEvidence
from depl.models.solving.methods import Meaning, registered
from depl.models.solving.result import Phase, Range, Result, Termination
from depl.showing.parts import Fact, Pairs, Section, fact, promised, shortened_name
from depl.showing.plans import models_in_words, short_plan

STATES = {
    Termination.OPTIMAL: "proved cheapest{where}",
    Termination.GAP_REACHED: "within the wanted gap of the cheapest{where}, proved",
    Termination.INFEASIBLE: "proved infeasible: no plan meets the target{where}",
    Termination.TIME_LIMIT: "stopped by the time limit",
    Termination.INTERRUPTED: "stopped by the user",
    Termination.EXHAUSTED: "ended without a proof",
    Termination.STUCK: "stuck: more time would prove no more",
    Termination.ERROR: "failed",
}
"""Why a solve ended; a method that counts scenarios proves something on these alone, which is ``where``."""

_NOT_PROMISED = "no plan can be promised on these runs: proved under the law fitted to them"
"""What infeasible means under a fitted law, which promises no more than its runs support: new runs may do."""

_CLAIMED = {
    Termination.OPTIMAL: "claimed cheapest",
    Termination.GAP_REACHED: "claimed within the wanted gap of the cheapest",
    Termination.INFEASIBLE: "claimed infeasible",
}
"""Of a method that does not come with depl, whose word nothing here proves."""

_UNDER_ROWS = {
    Termination.OPTIMAL: "cheapest on these scenarios, proved under your rows",
    Termination.GAP_REACHED: "within the wanted gap of the cheapest, proved under your rows",
    Termination.INFEASIBLE: "no plan meets the target on these scenarios, proved under your rows",
}
"""Of a solve to which the caller gave rows."""

_NO_BOUND = "no lower bound is proved"
"""In the place of a bound that a method does not have."""


def state_of(result: Result) -> str:
    """Why a solve ended, and whether that is proved or only what its method says."""
    if result.rows and result.termination in _UNDER_ROWS:
        return f"{_UNDER_ROWS[result.termination]}: {', '.join(result.rows)}"
    if result.claimed and result.termination in _CLAIMED:
        return f"{_CLAIMED[result.termination]} by {_claimant(result)}"
    return _ending(result.termination, result)


def _ending(termination: Termination, result: Result) -> str:
    """How a solve ended, on scenarios, under declared laws, or under a law that was fitted to runs."""
    sampled = result.method in {item.name for item in registered() if item.meaning is Meaning.SCENARIOS}
    fitted = result.problem is not None and result.problem.has_memory
    if fitted and not sampled and termination is Termination.INFEASIBLE:
        return _NOT_PROMISED
    return STATES[termination].format(where=" on these scenarios" if sampled else "")


def _claimant(result: Result) -> str:
    return f"{shortened_name(result.method)}, not checked by depl"


def units_of(result: Result) -> Units:
    """Those of what was solved, where it is known."""
    return NO_UNITS if result.problem is None else result.problem.units


def result_brief(result: Result) -> str:
    """One line on a result."""
    proved = _bounded(result)
    plan = "no plan"
    if result.cost is not None:
        gap = f", gap {fact('gap', result.gap).shown}" if proved and result.gap is not None else ""
        cost = fact("cost", result.cost, units_of(result)).shown
        plan = f"cost {cost}{gap}, {counted(result.epochs or 0, 'epoch')}"
    kind = "claimed lower bound" if result.claimed else "lower bound"
    kind += " under your rows" if result.rows else ""
    bound = f"{kind} {fact('lower_bound', result.lower_bound).shown}" if proved else _NO_BOUND
    return f"<Result {result.termination.value}: {plan}, {bound}, by {shortened_name(result.method)}>"


def _bounded(result: Result) -> bool:
    """Whether the lower bound says anything: no plan costs less than 0, whatever is proved."""
    return result.lower_bound > 0 or result.cost == result.lower_bound


def result_sections(result: Result) -> list[Section]:
    """The result in a few lines."""
    instance, state = result.problem, state_of(result)
    if result.plan is not None and result.termination not in (Termination.OPTIMAL, Termination.GAP_REACHED):
        state = f"a feasible plan; {state}"
    name = "result" if instance is None else instance.name
    pairs = [(name, state), ("method", f"{result.method}, {result.wall_seconds:.2f} s")]
    if result.phases:
        pairs.append(("phases", "; ".join(_phase(phase, result) for phase in result.phases)))
    if result.reason:
        pairs.append(("reason", result.reason))
    if result.plan is not None:
        pairs.append(("cost", _cost(result)))
        pairs += (
            [("epochs", str(len(result.plan.epochs)))]
            if instance is None
            else _plan(result, instance, result.plan)
        )
    elif result.termination is not Termination.INFEASIBLE:
        bound = bound_of(result).shown
        claimed = f", claimed by {_claimant(result)}" if result.claimed else ""
        pairs.append(("lower bound", (bound if _bounded(result) else "none is proved") + claimed))
    table = "" if result.plan is None or instance is None else short_plan(result.plan, instance)
    return [Section("", Pairs(pairs)), *([Section("", table)] if table else [])]


def _phase(phase: Phase, result: Result) -> str:
    """What one of the methods that a method let run came to."""
    known = {ending.value: _ending(ending, result) for ending in STATES}
    return f"{phase.method} {phase.seconds:.2f} s: {known.get(phase.ending, phase.ending)}"


def _cost(result: Result) -> str:
    units = units_of(result)
    cost = fact("cost", result.cost, units).shown
    if not _bounded(result):
        return f"{cost}; {_NO_BOUND}"
    gap = "" if result.gap is None else f" (gap {fact('gap', result.gap).shown})"
    claimed = f", claimed by {_claimant(result)}" if result.claimed else ""
    rows = " under your rows" if result.rows else ""
    return f"{cost}, lower bound{rows} {bound_of(result).shown}{gap}{claimed}"


def bound_of(result: Result) -> Fact:
    """The lower bound, with the digits of a cost, so that it does not seem to exceed that beside it."""
    return fact("lower_bound", result.lower_bound, units_of(result))._replace(digits=6)


def _plan(result: Result, instance: Instance, plan: Plan) -> Iterator[tuple[str, str]]:
    """Epochs, time, and what is promised of the loss, under the law or on the scenarios."""
    target = instance.target
    places = Counter(epoch.cluster for epoch in plan.epochs)
    clusters = ", ".join(f"{count} on {name}" for name, count in places.items())
    models = models_in_words(plan, instance) or "no training"
    yield "epochs", f"{len(plan.epochs)}: {models}" + (f"; {clusters}" if clusters else "")
    yield "training time", allowed(instance, result.training_time)
    if result.scenarios is not None:
        yield from _scenarios(result.scenarios, instance.declares_laws)
    if result.violation is not None:
        short = ""
        if result.scenarios is not None and result.violation.highest > target.violation_budget:
            short = ": NOT met under the law, only on the scenarios"
        law = "certified" if result.rests_on is None else "certified under the fitted law"
        reached = f"{promised(result.violation.highest).told}, {law}"
        event = f"P(l(K) <= {number(target.maximum_loss)})"
        yield event, f"{reached}; asked {probability(target.quantile_level)}{short}"
    if result.rests_on is not None:
        yield "rests on", result.rests_on
    careful = instance.traced_law is not None and instance.traced_law.counts_carefully
    if result.quantile is not None:
        yield f"{probability(target.quantile_level)}-quantile", _quantile(result.quantile, careful)
    if result.expected_loss is not None and not careful:
        yield fact("expected_loss", result.expected_loss).pair


def allowed(instance: Instance, time: float | None) -> str:
    """A time, and that which is allowed."""
    limit = instance.target.maximum_time
    limited = "" if limit is None else f" of {number(limit)}"
    return instance.units.after(f"{number(time)}{limited}", "time")


def _quantile(quantile: Range, careful: bool) -> str:
    if careful:
        return f"{at_most(quantile.upper)}, as these runs are counted"
    return f"{fact('quantile', (quantile.lower, quantile.upper)).told}, certified"


def _scenarios(evidence: ScenarioEvidence, declared: bool) -> Iterator[tuple[str, str]]:
    origin = "given" if evidence.seed is None else f"drawn with seed {evidence.seed}"
    yield "scenarios", f"{evidence.misses} of {evidence.size} missed, {evidence.allowed} allowed; {origin}"
    fresh = evidence.fresh
    if fresh is None:
        why = "there was no time to look at the law" if declared else "no law is declared"
        nothing = f"nothing is promised: {why}, and what holds on these scenarios may not hold later"
        yield "probability", nothing
    else:
        ends = interval(100 * fresh.lower, 100 * fresh.upper)
        sure = f"{ends} % with confidence {fresh.confidence:g}"
        yield "fresh draws", f"{fresh.violations} of {fresh.samples} missed: {sure}"

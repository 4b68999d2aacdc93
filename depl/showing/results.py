"""A result for people: what is proved about it, and the numbers of its plan."""

from collections import Counter

from depl.models.foundation.wording import (
    at_most,
    counted,
    counter_probability,
    interval,
    number,
    percentage,
    probability,
    rounded_down,
)
from depl.models.problem.instance import Instance
from depl.models.problem.plan import Plan
from depl.models.problem.units import NO_UNITS, Units
from depl.models.scenarios.evidence import ScenarioEvidence
from depl.models.solving.methods import Meaning, registered
from depl.models.solving.result import Phase, Result, Termination
from depl.showing.parts import Pairs, Section, shortened_name
from depl.showing.plans import models_in_words, short_plan

STATES = {
    Termination.OPTIMAL: "proved cheapest",
    Termination.GAP_REACHED: "within the wanted gap of the cheapest, proved",
    Termination.INFEASIBLE: "proved infeasible: no plan meets the target",
    Termination.TIME_LIMIT: "stopped by the time limit",
    Termination.INTERRUPTED: "stopped by the user",
    Termination.EXHAUSTED: "ended without a proof",
    Termination.STUCK: "stuck: more time would prove no more",
    Termination.ERROR: "failed",
}

ON_SCENARIOS = {
    Termination.OPTIMAL: "proved cheapest on these scenarios",
    Termination.GAP_REACHED: "within the wanted gap of the cheapest on these scenarios, proved",
    Termination.INFEASIBLE: "proved infeasible: no plan meets the target on these scenarios",
}


NOT_PROMISED = "no plan can be promised on these runs: proved under the law fitted to them"
"""What infeasible means under a fitted law, which promises no more than its runs support: new runs may do."""

CLAIMED = {
    Termination.OPTIMAL: "claimed cheapest",
    Termination.GAP_REACHED: "claimed within the wanted gap of the cheapest",
    Termination.INFEASIBLE: "claimed infeasible",
}
"""Of a method that does not come with depl, whose word nothing here proves."""

UNDER_ROWS = {
    Termination.OPTIMAL: "cheapest on these scenarios, proved under your rows",
    Termination.GAP_REACHED: "within the wanted gap of the cheapest, proved under your rows",
    Termination.INFEASIBLE: "no plan meets the target on these scenarios, proved under your rows",
}
"""Of a solve to which the caller gave rows."""

NO_BOUND = "no lower bound is proved"
"""In the place of a bound that a method does not have."""


def state_in_words(termination: Termination, fitted: bool) -> str:
    """How a solve ended, under declared laws or under a law that was fitted to runs."""
    return NOT_PROMISED if fitted and termination is Termination.INFEASIBLE else STATES[termination]


def state_of(result: Result) -> str:
    """Why a solve ended, and whether that is proved or only what its method says."""
    if result.rows and result.termination in UNDER_ROWS:
        return f"{UNDER_ROWS[result.termination]}: {', '.join(result.rows)}"
    if result.claimed and result.termination in CLAIMED:
        return f"{CLAIMED[result.termination]} by {_claimant(result)}"
    state = state_in_words(result.termination, _fitted(result))
    return ON_SCENARIOS.get(result.termination, state) if _counts_scenarios(result.method) else state


def _fitted(result: Result) -> bool:
    """Whether the law of its instance was fitted to runs."""
    return result.problem is not None and result.problem.has_memory


def _claimant(result: Result) -> str:
    return f"{shortened_name(result.method)}, not checked by depl"


def result_brief(result: Result) -> str:
    """One line on a result."""
    proved = _bounded(result)
    plan = "no plan"
    if result.cost is not None:
        gap = f", gap {percentage(result.gap)}" if proved and result.gap is not None else ""
        plan = (
            f"cost {_units(result).amount(result.cost, 'cost')}{gap}, {counted(result.epochs or 0, 'epoch')}"
        )
    kind = "claimed lower bound" if result.claimed else "lower bound"
    kind += " under your rows" if result.rows else ""
    bound = f"{kind} {rounded_down(result.lower_bound)}" if proved else NO_BOUND
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
        pairs.append(("phases", "; ".join(_phase(phase, _fitted(result)) for phase in result.phases)))
    if result.reason:
        pairs.append(("reason", result.reason))
    if result.plan is not None and instance is not None:
        pairs += _plan_pairs(instance, result, result.plan)
    elif result.plan is not None:
        pairs += [_cost(result), ("epochs", str(len(result.plan.epochs)))]
    elif result.termination is not Termination.INFEASIBLE:
        known = _bounded(result)
        bound = _units(result).amount(result.lower_bound, "cost") if known else "none is proved"
        bound += f", claimed by {_claimant(result)}" if result.claimed else ""
        pairs.append(("lower bound", bound))
    sections = [Section("", Pairs(pairs))]
    if result.plan is not None and instance is not None:
        sections.append(Section("", short_plan(result.plan, instance)))
    return [part for part in sections if part.body]


def _counts_scenarios(name: str) -> bool:
    return any(method.meaning is Meaning.SCENARIOS for method in registered() if method.name == name)


def _phase(phase: Phase, fitted: bool) -> str:
    """What one of the methods that a method let run came to."""
    known = {ending.value: state_in_words(ending, fitted) for ending in STATES}
    return f"{phase.method} {phase.seconds:.2f} s: {known.get(phase.ending, phase.ending)}"


def _cost(result: Result) -> tuple[str, str]:
    units = _units(result)
    cost = units.amount(result.cost, "cost")
    if not _bounded(result):
        return "cost", f"{cost}; {NO_BOUND}"
    gap = "" if result.gap is None else f" (gap {percentage(result.gap)})"
    claimed = f", claimed by {_claimant(result)}" if result.claimed else ""
    rows = " under your rows" if result.rows else ""
    return "cost", f"{cost}, lower bound{rows} {units.amount(result.lower_bound, 'cost')}{gap}{claimed}"


def _units(result: Result) -> Units:
    return NO_UNITS if result.problem is None else result.problem.units


def _plan_pairs(instance: Instance, result: Result, plan: Plan) -> list[tuple[str, str]]:
    target = instance.target
    models = models_in_words(plan, instance)
    places = Counter(epoch.cluster for epoch in plan.epochs)
    clusters = ", ".join(f"{count} on {name}" for name, count in places.items())
    limit = "" if target.maximum_time is None else f" of {number(target.maximum_time)}"
    time = instance.units.after(f"{number(result.training_time)}{limit}", "time")
    pairs = [
        _cost(result),
        ("epochs", f"{len(plan.epochs)}: {models or 'no training'}" + (f"; {clusters}" if clusters else "")),
        ("training time", time),
    ]
    if result.scenarios is not None:
        pairs += _scenario_pairs(result.scenarios, instance.declares_laws)
    if result.violation is not None:
        reached = counter_probability(result.violation.highest)
        event = f"P(l(K) <= {number(target.maximum_loss)})"
        short = ""
        if result.scenarios is not None and result.violation.highest > target.violation_budget:
            short = ": NOT met under the law, only on the scenarios"
        law = "certified" if result.rests_on is None else "certified under the fitted law"
        pairs.append((event, f"at least {reached}, {law}; asked {probability(target.quantile_level)}{short}"))
    if result.rests_on is not None:
        pairs.append(("rests on", result.rests_on))
    careful = instance.traced_law is not None and instance.traced_law.counts_carefully
    if result.quantile is not None:
        level = f"{probability(target.quantile_level)}-quantile"
        if not careful:
            pairs.append((level, f"in {interval(result.quantile.lower, result.quantile.upper)}, certified"))
        else:
            pairs.append((level, f"{at_most(result.quantile.upper)}, as these runs are counted"))
    if result.expected_loss is not None and not careful:
        pairs.append(("expected loss", number(result.expected_loss)))
    return pairs


def _scenario_pairs(evidence: ScenarioEvidence, declared: bool) -> list[tuple[str, str]]:
    origin = "given" if evidence.seed is None else f"drawn with seed {evidence.seed}"
    fresh = evidence.fresh
    counted = f"{evidence.misses} of {evidence.size} missed, {evidence.allowed} allowed; {origin}"
    if fresh is None:
        why = "there was no time to look at the law" if declared else "no law is declared"
        nothing = f"nothing is promised: {why}, and what holds on these scenarios may not hold later"
        return [("scenarios", counted), ("probability", nothing)]
    missed = interval(100 * fresh.lower, 100 * fresh.upper)
    return [
        ("scenarios", counted),
        (
            "fresh draws",
            f"{fresh.violations} of {fresh.samples} missed: {missed} % with confidence {fresh.confidence:g}",
        ),
    ]

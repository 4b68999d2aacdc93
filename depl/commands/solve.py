"""What ``depl solve`` does; `depl.arguments.solve` declares its options."""

import argparse
from collections import Counter

from depl.benchmarks.runner.outcome import epochs_by_model
from depl.commands.answer import Answer, ExitCode
from depl.commands.options import further_options, read_instance, read_scenarios, require_outputs
from depl.commands.progress import Watched
from depl.commands.table import fields
from depl.models.foundation.documents import write_text
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.wording import counter_probability, interval, number
from depl.models.problem.instance import Instance
from depl.models.problem.plan import Plan
from depl.models.scenarios.evidence import ScenarioEvidence
from depl.models.solving.decisions import told
from depl.models.solving.explain import explain
from depl.models.solving.methods import Meaning, default_method, find
from depl.models.solving.node_shares import shares_of, unequal_clusters
from depl.models.solving.result import Phase, Result, Termination
from depl.models.solving.solve import solve

STATES = {
    Termination.OPTIMAL: "proved cheapest",
    Termination.GAP_REACHED: "within the wanted gap of the cheapest, proved",
    Termination.INFEASIBLE: "proved infeasible: no plan meets the target",
    Termination.TIME_LIMIT: "stopped by the time limit",
    Termination.INTERRUPTED: "stopped by the user",
    Termination.EXHAUSTED: "ended without a proof",
    Termination.ERROR: "failed",
}

ON_SCENARIOS = {
    Termination.OPTIMAL: "proved cheapest on these scenarios",
    Termination.GAP_REACHED: "within the wanted gap of the cheapest on these scenarios, proved",
    Termination.INFEASIBLE: "proved infeasible: no plan meets the target on these scenarios",
}


def run(options: argparse.Namespace) -> Answer:
    """Solve, and write the plan where one was found and asked for."""
    given = options.scenarios if isinstance(options.scenarios, str) else None
    require_outputs([options.out], [options.instance, given])
    instance = read_instance(options)
    scenarios, further = read_scenarios(options, instance), further_options(options, instance)
    with Watched(options.method or default_method(instance)) as watched:
        result = solve(
            instance,
            options.method,
            gap=options.gap,
            time_limit=options.time_limit,
            seed=options.seed,
            scenarios=scenarios,
            progress=watched.progress,
            on_phase=watched.on_phase,
            options=further,
            memory=options.memory,
        )
    explanation = _explanation(instance, result, options.details) if options.explain else ""
    text = "\n\n".join(filter(None, [summary(instance, result), explanation]))
    code, aside = exit_code(result), [explanation] if options.json and explanation else []
    if options.out:
        # The answer is worth showing even if the file cannot be written after all.
        try:
            aside.append(_written(result.plan, options.out))
        except InvalidInputError as error:
            code, aside = ExitCode.INVALID, [*aside, f"depl: {error}"]
    return Answer(text, code, result.to_json(), "\n\n".join(aside))


def _explanation(instance: Instance, result: Result, details: bool) -> str:
    """How the plan came about, and its numbers in the equations."""
    parts = [f"Decisions of {result.method}\n{told(result.decisions, details)}"] if result.decisions else []
    if result.plan is not None:
        parts.append(explain(instance, result.plan))
    return "\n\n".join(parts)


def summary(instance: Instance, result: Result) -> str:
    """The result in a few lines."""
    state = STATES[result.termination]
    if find(result.method).meaning is Meaning.SCENARIOS:
        state = ON_SCENARIOS.get(result.termination, state)
    if result.plan is not None and result.termination not in (Termination.OPTIMAL, Termination.GAP_REACHED):
        state = f"a feasible plan; {state}"
    pairs = [(instance.name, state), ("method", f"{result.method}, {result.wall_seconds:.2f} s")]
    if result.phases:
        pairs.append(("phases", "; ".join(map(_phase, result.phases))))
    if result.reason:
        pairs.append(("reason", result.reason))
    if result.plan is not None:
        pairs += _plan_pairs(instance, result, result.plan)
    elif result.termination is not Termination.INFEASIBLE:
        pairs.append(("lower bound", number(result.lower_bound)))
    return fields(pairs)


def _phase(phase: Phase) -> str:
    """What one of the methods that a method let run came to."""
    known = {ending.value: words for ending, words in STATES.items()}
    return f"{phase.method} {phase.seconds:.2f} s: {known.get(phase.ending, phase.ending)}"


def exit_code(result: Result) -> ExitCode:
    """What a result means to the shell."""
    if result.termination is Termination.INFEASIBLE:
        return ExitCode.INFEASIBLE
    if result.termination is Termination.ERROR:
        return ExitCode.INTERNAL
    if result.plan is None:
        return ExitCode.NOTHING
    stopped = result.termination in (Termination.TIME_LIMIT, Termination.INTERRUPTED)
    return ExitCode.STOPPED if stopped else ExitCode.ANSWERED


def _plan_pairs(instance: Instance, result: Result, plan: Plan) -> list[tuple[str, str]]:
    target = instance.target
    models = ", ".join(f"{count} {name}" for name, count in epochs_by_model(instance, plan).items() if count)
    places = Counter(epoch.cluster for epoch in plan.epochs)
    clusters = ", ".join(f"{count} on {name}" for name, count in places.items())
    gap = "" if result.gap is None else f" (gap {100 * result.gap:.3g} %)"
    limit = "" if target.maximum_time is None else f" of {number(target.maximum_time)}"
    pairs = [
        ("cost", f"{number(result.cost)}, lower bound {number(result.lower_bound)}{gap}"),
        ("epochs", f"{len(plan.epochs)}: {models or 'no training'}" + (f"; {clusters}" if clusters else "")),
        ("training time", f"{number(result.training_time)}{limit}"),
    ]
    pairs += [(f"nodes of {item.name}", shares_of(item)) for item in unequal_clusters(instance, plan)]
    if result.scenarios is not None:
        pairs += _scenario_pairs(result.scenarios, instance.declares_laws)
    if result.violation is not None:
        reached = counter_probability(result.violation.highest)
        event = f"P(l(K) <= {number(target.maximum_loss)})"
        short = ""
        if result.scenarios is not None and result.violation.highest > target.violation_budget:
            short = ": NOT met under the law, only on the scenarios"
        law = "certified" if result.rests_on is None else "certified under the fitted law"
        pairs.append((event, f"at least {reached}, {law}; asked {number(target.quantile_level)}{short}"))
    if result.rests_on is not None:
        pairs.append(("rests on", result.rests_on))
    if result.quantile is not None:
        level = f"{number(target.quantile_level)}-quantile"
        pairs.append((level, f"in {interval(result.quantile.lower, result.quantile.upper)}, certified"))
    if result.expected_loss is not None:
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


def _written(plan: Plan | None, path: str) -> str:
    if plan is None:
        return f"{path} not written: there is no plan"
    write_text(path, plan.to_json())
    return f"plan written to {path}"

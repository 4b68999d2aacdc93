"""The protocol *trained afresh*: plans chosen by the toolkit are trained, and what they promised is counted.

Nothing here looks at a run before its plan is fixed: the seeds are made of the plan. What is promised is that
of a fitted instance, P(l(K) <= l_max) >= omega; what is delivered is a count.
"""

import numpy as np

from depl.instances.training.families import family
from depl.instances.training.recording import fresh_seed, schedule_of
from depl.instances.training.runs import as_traces, train_run
from depl.models.estimation.binomial import clopper_pearson, refuting_p_value
from depl.models.estimation.certificate import Certificate, Verdict, certify
from depl.models.estimation.instance import fit_instance
from depl.models.estimation.setup import Setup
from depl.models.evaluation.traced_prediction import runs_through
from depl.models.problem.instance import Instance
from depl.models.problem.plan import Plan
from depl.models.solving.interrupts import uninterrupted
from depl.models.solving.result import Result
from depl.models.solving.solve import solve
from depl.models.traces.table import Traces, joined

Row = dict[str, object]


def trained(name: str, plan: Plan, runs: int, skip: int = 0) -> Traces:
    """So many runs of a plan, trained by a family with fresh seeds; ``skip`` seeds have been used before."""
    made, schedule, first = family(name), schedule_of(plan), fresh_seed(plan) + skip
    task, seeds = made.task(), range(first, first + runs)
    found = [train_run(task, schedule, made.generator(seed)) for seed in seeds]
    return as_traces([f"fresh-{seed}" for seed in seeds], [schedule] * runs, found)


def count(name: str, instance: Instance, result: Result, runs: int, skip: int = 0) -> Row:
    """Train a plan with fresh seeds, and say how often its promise was kept."""
    plan, level, limit = result.plan, instance.target.quantile_level, instance.target.maximum_loss
    if plan is None:
        raise ValueError("there is no plan to train")
    final = np.sort(trained(name, plan, runs, skip).matrix()[:, len(plan.epochs)])
    law = None if instance.traced_law is None else instance.traced_law.law
    missed = runs - int((final <= limit).sum())  # a loss that is no number misses, too
    bounds, schedule = clopper_pearson(missed, runs, 0.95), plan.schedule
    switch = next((k for k in range(1, len(schedule)) if schedule[k] != schedule[k - 1]), len(schedule))
    return {
        "promised": level,
        "target": limit,
        "delivered": (runs - missed) / runs,
        "lower": 1 - bounds.upper,
        "upper": 1 - bounds.lower,
        "p_value": refuting_p_value(missed, runs, level),
        "runs": runs,
        "plan": f"{switch} {schedule[0][0]}, {len(schedule) - switch} {schedule[-1][0]}",
        "runs_before": 0 if law is None else len(runs_through(law, schedule)),
        "observed": float(final[int(np.ceil(level * runs)) - 1]),
    }


def chosen(instance: Instance, level: float, target: float) -> tuple[Instance, Result]:
    """The cheapest plan for a promise."""
    asked = instance.replace(quantile_level=level, maximum_loss=target)
    return asked, uninterrupted(solve(asked))


def piloted(
    name: str, traces: Traces, setup: Setup, asked: tuple[float, float], pilots: int, runs: int
) -> tuple[list[Certificate], Row | None]:
    """Let fresh pilots certify a plan; if they do not, learn from them and choose again, three times at most.

    Returns the certificates, and the row of the plan that was certified, counted on ``runs`` further runs.
    ``asked`` is omega and l_max.
    """
    certificates: list[Certificate] = []
    for _ in range(3):
        instance, result = chosen(fit_instance(traces, setup), *asked)
        if result.plan is None:
            break
        fresh = trained(name, result.plan, pilots)
        found = certify(fresh, asked[1], asked[0], chosen_by=traces, plan=result.plan)
        certificates.append(found)
        if found.verdict is Verdict.CERTIFIED:
            return certificates, count(name, instance, result, runs, skip=pilots)
        traces = joined([traces, fresh])
    return certificates, None

"""Counted policies with capped stages on real training: promises and costs.

The problems and the fixed plans are those of the case `closed-loop`; here are the policies alone that
`depl.solve_policy` certifies by counting combinations of runs.
"""

from collections.abc import Iterator, Mapping

import numpy as np

from depl.benchmarks.measure.registry import Goal, Study
from depl.benchmarks.studies.policies.baselines import FixedPlan, Prices
from depl.benchmarks.studies.policies.problems import TARGETS, Family, Problem, problems
from depl.benchmarks.studies.policies.rows import (
    FIXED,
    OPTIMAL_COUNTED,
    Row,
    cost_ratios,
    delivered,
    number,
    of_promise,
    refuted,
)
from depl.models.policy.replay import replay
from depl.models.policy.result import PolicyResult
from depl.models.policy.solve import solve_policy
from depl.models.solving.solve import solve

_EPOCHS = 47
GOAL_90, GOAL_95 = 0.85, 0.77
"""Of the cost over that of the fixed plan, for every target."""

_SMOKE_EVERY = 4


def _run(rng: np.random.Generator, smoke: bool) -> Mapping[str, object]:
    del rng  # nothing is drawn: laws are fitted, and policies followed, on recorded runs
    rows: list[Row] = []
    for name in list(TARGETS)[:1] if smoke else TARGETS:
        family = Family(name, _SMOKE_EVERY if smoke else 1)
        asked = list(problems(name, _EPOCHS))
        before: PolicyResult | None = None
        for problem in asked[-2:-1] if smoke else asked:
            if before is None or not _answers(before, problem):
                before = _solved(family, problem)
            rows += _rows(family, problem, before)
    return {**_figures(rows), "rows": rows}


def _solved(family: Family, problem: Problem) -> PolicyResult:
    """Without a limit of the time: work is counted."""
    instance, switches = problem.of(family.per_run), family.branches.switch_epochs
    return solve_policy(instance, switch_epochs=switches, gap=0.0, time_limit=None)


def _answers(before: PolicyResult, problem: Problem) -> bool:
    """Whether what was found for a smaller omega is the answer to this one, too."""
    if before.reached is None:
        return False
    target = before.instance.target
    same = (target.maximum_loss, target.maximum_epochs) == (problem.maximum_loss, problem.maximum_epochs)
    return same and before.reached >= problem.level


def _rows(family: Family, problem: Problem, result: PolicyResult) -> Iterator[Row]:
    branches, limit = family.branches, problem.maximum_loss
    prices = Prices.of(family.independent, branches)
    rho = result.failure_cost or 0.0
    told = {**problem.told(), "failure_cost": rho}
    answer = solve(problem.of(family.whole), time_limit=60)
    if answer.plan is not None:
        plan = FixedPlan.of(answer.plan, branches)
        yield {"who": FIXED, **told, **delivered(plan.final(branches, prices, limit), problem.level, rho)}
    yield {"who": OPTIMAL_COUNTED, **told, **_policy(family, problem, result, rho)}


def _policy(family: Family, problem: Problem, result: PolicyResult, rho: float) -> Row:
    if result.policy is None:
        return {"promised": None, "reason": result.reason}
    return {
        "promised": result.reached,
        "promised_cost": result.cost,
        **delivered(replay(result.policy, family.branches).runs, problem.level, rho),
    }


def _figures(rows: list[Row]) -> Mapping[str, object]:
    held = [row for row in rows if row["who"] == OPTIMAL_COUNTED and row.get("promised") is not None]
    found: dict[str, object] = {
        "policies": len(held),
        "refuted": refuted([of_promise(row) for row in held]),
        "refuted_omega": refuted([number(row["p_value"]) for row in held]),
        "given_up_at_start": sum(int(number(row["abandoned_at_start"])) for row in held),
    }
    for name, level, goal in (("90", 0.9, GOAL_90), ("95", 0.95, GOAL_95)):
        ratios = cost_ratios(rows, level)
        found[f"ratio_{name}"] = max(ratios, default=float("nan"))
        found[f"missed_{name}"] = sum(ratio > goal for ratio in ratios)
    return found


STUDY = Study(
    name="closed-loop-counted",
    summary="Counted policies with capped stages, followed on real training of 120 seeds per family.",
    goals=(
        Goal(
            "refuted",
            "probabilities certified by counting, refuted on the judging seeds (5 %, Holm)",
            "<=",
            0,
        ),
        Goal("refuted_omega", "promises of 0.90 and 0.95, refuted likewise", "<=", 0),
        Goal("given_up_at_start", "runs given up before epoch 1", "<=", 0),
        Goal("ratio_90", "0.90: cost over that of the fixed plan, worst target", "<=", GOAL_90),
        Goal("ratio_95", "0.95: cost over that of the fixed plan, worst target", "<=", GOAL_95),
    ),
    run=_run,
    seed=20261124,
)

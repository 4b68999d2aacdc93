"""Do plans that the toolkit chose keep their promises when they are trained for real afterwards.

Each main family is fitted, planned, and the plan trained with seeds made of the plan, so that nothing looks
at a run before its plan is fixed. *never run*: only the 300 runs of the design are known, four per plan; *all
runs*: those of the three fixed plans, too; *flattered*: never run, and without the margin. The promise 0.99
goes through pilots. The goals were written before the full run, for a law that promised more.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from depl.benchmarks.measure.registry import Goal, Study
from depl.benchmarks.studies.helpers.delivered import delivered, delivered_figure
from depl.instances.setups import load_setup
from depl.instances.training.families import family
from depl.instances.training.recorded import recorded_traces
from depl.instances.training.recording import fresh_seed, schedule_of
from depl.instances.training.runs import as_traces, train_run
from depl.models.estimation.binomial import Verdict
from depl.models.estimation.certificate import certificate, held_out
from depl.models.estimation.choices import CARE
from depl.models.estimation.instance import fit_instance
from depl.models.evaluation.evaluate import evaluate
from depl.models.problem.instance import Instance
from depl.models.problem.plan import Plan
from depl.models.solving.interrupts import uninterrupted
from depl.models.solving.solve import solve
from depl.models.traces.table import Traces, joined

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_TARGETS: Mapping[str, tuple[float, ...]] = {"digits-alexnet": (0.35, 0.45), "digits-mobilenet": (0.4, 0.55)}
_LEVELS, _HIGH, _SIGNIFICANCE = (0.9, 0.95), 0.99, 0.05
_NEVER, _ALL, _FLATTERED, _PILOTED = "never run", "all runs", "flattered", "piloted"
_LEGEND = {
    _NEVER: "plan never run, with margin",
    _ALL: "all runs known, with margin",
    _FLATTERED: "plan never run, no margin",
    _PILOTED: "settled by a pilot",
}
_RARE = 30
"""Runs of a plan of the design are fewer."""

Row = dict[str, Any]
Task = Mapping[str, Any]


def _tasks(rng: np.random.Generator, smoke: bool) -> Iterator[Row]:
    """A promise each; in a smoke run with few epochs and a target within their reach: schedules are few."""
    del rng  # seeds are made of plans
    if smoke:
        told = {"family": "digits-alexnet", "setting": _NEVER, "target": 1.0, "promised": _LEVELS[0]}
        yield {**told, "care": None, "runs": 1, "maximum_epochs": 12}
        return
    for name, targets in _TARGETS.items():
        for setting, care, asked, runs in (
            (_NEVER, CARE, targets, 200),
            (_ALL, CARE, targets[:1], 200),
            (_FLATTERED, None, targets[:1], 100),
        ):
            for target in asked:
                for level in _LEVELS:
                    told = {"family": name, "setting": setting, "target": target, "promised": level}
                    yield {**told, "care": care, "runs": runs}
        told = {"family": name, "setting": _PILOTED, "target": targets[0], "promised": _HIGH}
        yield {**told, "runs": 200, "pilots": 300}


def _run(task: Task) -> Row:
    told = {name: task[name] for name in ("family", "setting", "promised", "target")}
    return {"row": {**told, **(_piloted(task) if task["setting"] == _PILOTED else _kept(task))}}


def _kept(task: Task) -> Row:
    """One promise, and what the paper's independent law says of the same plan."""
    fitted = _fitted(task["family"], task["setting"], task["care"])
    if "maximum_epochs" in task:
        fitted = fitted.replace(maximum_epochs=task["maximum_epochs"])
    asked, plan = _chosen(fitted, task)
    if plan is None:
        return {"delivered": None}
    bare = msgspec.structs.replace(plan, instance=None, claims=None)  # the same for another instance
    paper = evaluate(asked.replace(traced_law=None), bare).quantile
    return {**_count(task, plan), "paper_quantile": None if paper is None else paper.upper}


@cache
def _fitted(name: str, setting: str, care: float | None) -> Instance:
    traces = recorded_traces(name)
    if setting != _ALL:
        rare = [runs for runs in traces.by_schedule().values() if len(runs) < _RARE]
        traces = traces.select(np.sort(np.concatenate(rare)))
    return fit_instance(traces, load_setup(name), care=care)


def _chosen(fitted: Instance, task: Task) -> tuple[Instance, Plan | None]:
    """The cheapest plan for a promise."""
    asked = fitted.replace(quantile_level=task["promised"], maximum_loss=task["target"])
    return asked, uninterrupted(solve(asked)).plan


def _piloted(task: Task) -> Row:
    """Let fresh pilots certify a plan; if they do not, learn from them and choose again, three times at most.

    A plan that was certified is counted on further runs.
    """
    name, target, level = task["family"], task["target"], task["promised"]
    traces, rounds = recorded_traces(name), list[str]()
    for _ in range(3):
        _, plan = _chosen(fit_instance(traces, load_setup(name)), task)
        if plan is None:
            break
        fresh = trained(name, plan, task["pilots"])
        found = certificate(held_out(fresh, traces, plan), target, level)
        rounds.append(f"{found.exceedances} of {found.runs}: {found.verdict.value}")
        if found.verdict is Verdict.CERTIFIED:
            return {**_count(task, plan, skip=task["pilots"]), "rounds": rounds, "certified": True}
        traces = joined([traces, fresh])
    return {"rounds": rounds, "certified": False}


def trained(name: str, plan: Plan, runs: int, skip: int = 0) -> Traces:
    """So many runs of a plan, trained by a family with fresh seeds; ``skip`` seeds have been used before."""
    made, schedule, first = family(name), schedule_of(plan), fresh_seed(plan) + skip
    task, seeds = made.task(), range(first, first + runs)
    found = [train_run(task, schedule, made.generator(seed)) for seed in seeds]
    return as_traces([f"fresh-{seed}" for seed in seeds], [schedule] * runs, found)


def _count(task: Task, plan: Plan, skip: int = 0) -> Row:
    """Train a plan with fresh seeds, and say how often its promise was kept."""
    runs, level, schedule = task["runs"], task["promised"], plan.schedule
    final = np.sort(trained(task["family"], plan, runs, skip).matrix()[:, len(plan.epochs)])
    missed = runs - int((final <= task["target"]).sum())  # a loss that is no number misses, too
    switch = next((k for k in range(1, len(schedule)) if schedule[k] != schedule[k - 1]), len(schedule))
    return {
        **delivered(missed, runs, level),
        "plan": f"{switch} {schedule[0][0]}, {len(schedule) - switch} {schedule[-1][0]}",
        "observed": float(final[int(np.ceil(level * runs)) - 1]),
    }


def promises_figure(values: Mapping[str, Any]) -> "Figure":
    """Promised against delivered, from ``rows`` and ``pilots``."""
    pilots = [{**row, "setting": _PILOTED} for row in values["pilots"] if row["certified"]]
    told = [
        {**row, "asked": row["promised"], "problem": f"{row['target']:g}", "rung": _LEGEND[row["setting"]]}
        for row in (*values["rows"], *pilots)
    ]
    return delivered_figure(told, list(_LEGEND.values()))


def _figures(answers: Sequence[Mapping[str, Any]]) -> Row:
    rows, pilots = (
        [answer["row"] for answer in answers if (answer["setting"] == _PILOTED) is piloted]
        for piloted in (False, True)
    )
    careful = [row for row in rows if row["setting"] != _FLATTERED]
    made = [row for row in careful if row["delivered"] is not None]
    broken = {row["family"] for row in careful if row not in made or row["p_value"] <= _SIGNIFICANCE}
    flattered = [row for row in rows if row["setting"] == _FLATTERED and row["delivered"] is not None]
    claimed = [row["paper_quantile"] / row["observed"] for row in made if row["paper_quantile"] is not None]
    short = [row["delivered"] - row["promised"] for row in flattered]
    return {
        "promises": len(made),
        "families_kept": len({row["family"] for row in careful} - broken),
        "flattered_least_delivered_less_promised": min(short, default=float("nan")),
        "paper_quantile_over_observed": min(claimed, default=float("nan")),
        "pilots_certified": sum(bool(row["certified"]) for row in pilots),
        "rows": rows,
        "pilots": pilots,
    }


STUDY = Study(
    name="promises-kept",
    summary="Plans chosen by the toolkit, trained with fresh seeds: promised against delivered frequency.",
    goals=(
        Goal("promises", "promises that could be made and were tested with 200 fresh runs", ">=", 12),
        Goal("families_kept", "families without a promise refuted at the 5 % level", ">=", 2),
        Goal("flattered_least_delivered_less_promised", "without a margin, worst", "<=", -0.1),
        Goal("paper_quantile_over_observed", "independent law: quantile over the observed, least", ">=", 1.5),
        Goal("pilots_certified", "families in which pilot runs end up certifying 0.99", ">=", 1),
    ),
    tasks=_tasks,
    run=_run,
    figures=_figures,
    draw=promises_figure,
    seed=20261122,
)

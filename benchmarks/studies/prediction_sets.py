"""Does dependable training give smaller conformal prediction sets? The paper's sentence, measured.

Definitions, which were written before anything was measured, and findings are on the page
``docs/prediction_sets.rst``. A *training* is a plan and the epoch after which it stops, past the last switch.
Expected and dependable training are chosen on shipped runs, sizes of sets playing no part, and 60 fresh seeds
of each plan judge. Every seed goes through every plan, so trainings are compared seed by seed, and intervals
resample the seeds; the held-out examples are the same in all of them.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from depl.benchmarks.figures.style import (
    COLOURS,
    MARKERS,
    legend_beside,
    make_room,
    nth,
    panels,
    plain_logarithms,
)
from depl.benchmarks.measure.registry import Goal, Study
from depl.benchmarks.studies.helpers.sets import mean_prediction_sets
from depl.instances.training.families import PLANS, Family, family
from depl.instances.training.kernels import Numbers
from depl.instances.training.recorded import recorded_traces
from depl.instances.training.runs import Epoch, model_name, train_run
from depl.models.estimation.certificate import conformal_bound
from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.laws import FloatArray
from depl.models.traces.table import Traces

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LEVEL = 0.95
"""omega: how often dependable training reaches its target."""
HORIZONS = (30, 45, 60)
"""Epochs within which a plan guarantees its three targets."""
COVERAGE = 0.95
"""Of the sets."""
CALIBRATING = 0.75
"""Share of the held-out examples that calibrate."""
UPPER = 0.95
"""Of the runs: the quantile that is compared beside the mean."""
_FAMILIES = ("digits-alexnet", "digits-mobilenet", "cells-perceptron")
_FIRST_SEED, _SEEDS, _SMOKE_SEEDS = 10_000, 60, 3
_DRAWS, _SMOKE_DRAWS = 2000, 20
_TAILS = (0.025, 0.975)
_DECIMALS = 4

_MARK: dict[str, Any] = {
    "markersize": 3.5,
    "markeredgewidth": 0.6,
    "markerfacecolor": "none",
    "linestyle": "",
}

Row = dict[str, Any]


class Training(NamedTuple):
    """A plan, by its place in a list of curves, and the epoch after which it stops."""

    plan: int
    epoch: int


@dataclass(frozen=True, eq=False)
class Curves:
    """What the runs of one plan say of its losses.

    ``first`` is the first epoch after the last switch; ``mean`` and ``guaranteed`` (the order statistic for
    the next run) are infinite before it; ``work`` sums the shares of weights that epochs so far kept.
    """

    name: str
    schedule: tuple[Epoch, ...]
    runs: int
    first: int
    mean: FloatArray
    guaranteed: FloatArray
    work: FloatArray


def curves(traces: Traces, schedule: Sequence[Epoch]) -> Curves:
    """The curves of a plan from its runs among some traces.

    Raises
    ------
    InvalidInputError
        If no run follows the schedule.
    """
    key = tuple((model_name(epoch.factor), epoch.cluster) for epoch in schedule)
    rows = traces.by_schedule().get(key)
    if rows is None:
        raise InvalidInputError("no run among the traces follows this schedule", ".schedule")
    losses = traces.matrix()[rows, : len(key) + 1]
    stages = [(epoch, len(list(epochs))) for epoch, epochs in groupby(schedule)]
    first = len(key) - stages[-1][1] + 1
    guaranteed = np.array([conformal_bound(column, LEVEL).value for column in losses.T])
    early = np.arange(len(key) + 1) < first
    return Curves(
        name=", ".join(f"{count} {model_name(epoch.factor)}" for epoch, count in stages),
        schedule=tuple(schedule),
        runs=len(rows),
        first=first,
        mean=np.where(early, np.inf, losses.mean(axis=0)),
        guaranteed=np.where(early, np.inf, guaranteed),
        work=np.cumsum([0.0, *(1 - epoch.factor for epoch in schedule)]),
    )


def targets(plan: Curves, classes: int) -> list[float]:
    """What a plan can guarantee within `HORIZONS`, each once, if it beats guessing, ln(classes) [loss]."""
    found = [float(plan.guaranteed[: horizon + 1].min()) for horizon in HORIZONS]
    return [value for value in dict.fromkeys(found) if value < math.log(classes)]


def choose(plan: Curves, target: float) -> tuple[int, int] | None:
    """Epochs of expected and of dependable training for a target; None where there is not both."""
    reached = [values <= target for values in (plan.mean, plan.guaranteed)]
    if not all(hits.any() for hits in reached):
        return None
    return int(reached[0].argmax()), int(reached[1].argmax())


def budgets(plans: Sequence[Curves]) -> list[tuple[Training, Training]]:
    """For every work that some training has: what has least mean and least guaranteed loss within it."""
    works = sorted({float(work) for plan in plans for work in plan.work[plan.first :]})
    found = []
    for work in works:
        affordable = [plan.work <= work * (1 + 1e-12) for plan in plans]
        by_mean = _least([plan.mean for plan in plans], affordable)
        found.append((by_mean, _least([plan.guaranteed for plan in plans], affordable)))
    return found


@dataclass(frozen=True, eq=False)
class Judges:
    """Plans of a family, and what fresh seeds say: loss, size and coverage of their sets.

    Arrays are by plan, seed and epoch; sets before the earliest epoch to stop after are NaN.
    """

    family: str
    plans: Sequence[Curves]
    classes: int
    calibration: int
    loss: FloatArray
    size: FloatArray
    coverage: FloatArray


def set_size_figure(values: Mapping[str, Any]) -> "Figure":
    """Set size against final loss: one of the ``points`` per run; colours tell families, markers plans."""
    points = values["points"]
    figure, (axes,) = panels(1, size=(4.8, 4.4))
    families = list(dict.fromkeys(item["family"] for item in points))
    names = list(dict.fromkeys(item["plan"] for item in points))
    for item in points:
        colour = nth(COLOURS, families.index(item["family"]))
        marker = nth(MARKERS, names.index(item["plan"]))
        axes.plot(item["loss"], item["size"], color=colour, marker=marker, **_MARK)
    for index, name in enumerate(families):
        axes.plot([], [], color=nth(COLOURS, index), linewidth=4, label=name)
    for index, name in enumerate(names):
        axes.plot([], [], color="black", marker=nth(MARKERS, index), label=name, **_MARK)
    plain_logarithms(axes, "x")
    plain_logarithms(axes, "y")
    axes.set_xlabel("final loss of the run")
    axes.set_ylabel("mean size of its sets")
    legend_beside(axes)
    make_room(figure)
    return figure


def _run(rng: np.random.Generator, smoke: bool) -> Mapping[str, object]:
    seeds = range(_FIRST_SEED, _FIRST_SEED + (_SMOKE_SEEDS if smoke else _SEEDS))
    found = [_judged(name, seeds) for name in (_FAMILIES[-1:] if smoke else _FAMILIES)]
    drawn = rng.integers(len(seeds), size=(_SMOKE_DRAWS if smoke else _DRAWS, len(seeds)))
    associations = [row for one in found for row in _associations(one)]
    comparisons = [row for one in found for row in _comparisons(one, drawn)]
    equal_work = [_equal_work(one) for one in found]
    return {
        "runs_per_family": len(seeds) * len(PLANS),
        **_figures(associations, comparisons, equal_work),
        "associations": associations,
        "comparisons": comparisons,
        "equal_work": equal_work,
        "points": [row for one in found for row in _points(one)],
    }


def _judged(name: str, seeds: range) -> Judges:
    chosen, traces = family(name), recorded_traces(name)
    plans = [curves(traces, chosen.schedule(2 * place)) for place in range(len(PLANS))]
    return judge(chosen, plans, seeds)


def judge(chosen: Family, plans: Sequence[Curves], seeds: Sequence[int]) -> Judges:
    """Train every plan with every seed and measure the sets after every epoch from which it may stop."""
    task = chosen.task()
    labels = task.material.test.labels[0]
    calibration = math.floor(CALIBRATING * labels.size)
    shape = len(plans), len(seeds), len(plans[0].schedule) + 1
    loss, size, coverage = np.empty(shape), np.full(shape, np.nan), np.full(shape, np.nan)
    for place, plan in enumerate(plans):
        for row, seed in enumerate(seeds):

            def watch(epoch: int, probabilities: Numbers, at: tuple[int, int] = (place, row)) -> None:
                if epoch >= plans[at[0]].first:
                    sets = mean_prediction_sets(probabilities[:, 0], labels, COVERAGE, calibration)
                    size[(*at, epoch)], coverage[(*at, epoch)] = sets.size, sets.coverage

            loss[place, row] = train_run(task, plan.schedule, chosen.generator(seed), watch).loss
    return Judges(chosen.name, plans, task.material.classes, calibration, loss, size, coverage)


def _associations(one: Judges) -> Iterator[Row]:
    """Final loss and set size over the runs of each plan."""
    rank = conformal_bound(np.arange(one.calibration), COVERAGE).rank
    expected = 1.0 if rank is None else rank / (one.calibration + 1)
    for plan, loss, size, coverage in zip(
        one.plans, one.loss[..., -1], one.size[..., -1], one.coverage[..., -1], strict=True
    ):
        with np.errstate(invalid="ignore", divide="ignore"):  # sizes may not vary in a smoke run
            correlation = float(np.corrcoef(loss, size)[0, 1])
        yield {
            "family": one.family,
            "plan": plan.name,
            "coverage": float(coverage.mean()),
            "coverage_expected": expected,
            "correlation": correlation,
            "worst_tenth": worst_tenth(loss, size),
        }


def worst_tenth(losses: FloatArray, sizes: FloatArray) -> float:
    """Mean size in the tenth (rounded up) of runs with the largest losses over that of the others."""
    order = np.argsort(losses, kind="stable")
    others = losses.size - math.ceil(losses.size / 10)
    return float(sizes[order[others:]].mean() / sizes[order[:others]].mean())


def _comparisons(one: Judges, drawn: np.ndarray) -> Iterator[Row]:
    """Expected (before) against dependable training (after) of every plan for each of its targets."""
    for place, plan in enumerate(one.plans):
        for target in targets(plan, one.classes):
            chosen = choose(plan, target)
            if chosen is None:
                continue
            reached = [float(np.mean(one.loss[place, :, epoch] <= target)) for epoch in chosen]
            before, after = (one.size[place, :, epoch] for epoch in chosen)
            yield {
                "family": one.family,
                "plan": plan.name,
                "chosen_on": plan.runs,
                "target": target,
                "expected_epochs": chosen[0],
                "dependable_epochs": chosen[1],
                "expected_reached": reached[0],
                "dependable_reached": reached[1],
                **change("mean", before, after, drawn, lambda values: values.mean(axis=-1)),
                **change("upper", before, after, drawn, _upper),
            }


def change(
    name: str,
    before: FloatArray,
    after: FloatArray,
    drawn: np.ndarray,
    figure: Callable[[FloatArray], FloatArray],
) -> Row:
    """A figure after both trainings; the verdict is where the interval of the difference, by seed, lies."""
    lower, upper = np.quantile(figure(after[drawn]) - figure(before[drawn]), _TAILS)
    verdict = "smaller" if upper < 0 else "larger" if lower > 0 else "undecided"
    values = {"before": float(figure(before)), "after": float(figure(after)), "verdict": verdict}
    return {f"{name}_{key}": value for key, value in values.items()}


def _least(values: Sequence[FloatArray], allowed: Sequence[np.ndarray]) -> Training:
    """Where the least allowed value lies: the first plan and epoch that has it."""
    open_ = [np.where(may, row, np.inf) for row, may in zip(values, allowed, strict=True)]
    plan = int(np.argmin([row.min() for row in open_]))
    return Training(plan, int(np.argmin(open_[plan])))


def _upper(sizes: FloatArray) -> FloatArray:
    return np.asarray(np.quantile(sizes, UPPER, axis=-1, method="inverted_cdf"))


def _equal_work(one: Judges) -> Row:
    """Mean set size of the two rules over all amounts of work, and where their choices differ."""
    pairs = budgets(one.plans)
    before, after = (
        float(np.mean([one.size[training.plan, :, training.epoch] for training in rule]))
        for rule in zip(*pairs, strict=True)
    )
    return {
        "family": one.family,
        "amounts": len(pairs),
        "different": sum(first != second for first, second in pairs),
        "different_plan": sum(first.plan != second.plan for first, second in pairs),
        "relative_change": after / before - 1,
    }


def _points(one: Judges) -> Iterator[Row]:
    """Final loss and set size of every run, for the figure."""
    for plan, loss, size in zip(one.plans, one.loss[..., -1], one.size[..., -1], strict=True):
        rounded = {"loss": np.round(loss, _DECIMALS).tolist(), "size": np.round(size, _DECIMALS).tolist()}
        yield {"family": one.family, "plan": plan.name, **rounded}


def _figures(associations: Sequence[Row], comparisons: Sequence[Row], equal_work: Sequence[Row]) -> Row:
    verdicts = {kind: [row[f"{kind}_verdict"] for row in comparisons] for kind in ("mean", "upper")}
    return {
        "coverage_shortfall": max(row["coverage_expected"] - row["coverage"] for row in associations),
        "least_correlation": float(np.min([row["correlation"] for row in associations])),
        "least_worst_tenth": min(row["worst_tenth"] for row in associations),
        "smaller_share": verdicts["mean"].count("smaller") / len(comparisons),
        "larger": verdicts["mean"].count("larger"),
        "upper_smaller_share": verdicts["upper"].count("smaller") / len(comparisons),
        "equal_work_change": max(abs(row["relative_change"]) for row in equal_work),
    }


STUDY = Study(
    name="prediction-sets",
    summary="Conformal prediction sets of fresh runs: against the loss, and after dependable training.",
    goals=(
        Goal("runs_per_family", "fresh runs per family", ">=", 100),
        Goal("coverage_shortfall", "rank / (n + 1) less mean coverage, worst plan", "<=", 1e-9),
        Goal("least_correlation", "final loss with set size over the runs of a plan, least", ">=", 0.7),
        Goal("least_worst_tenth", "set size in the worst tenth of runs over the others, least", ">=", 1.2),
        Goal("smaller_share", "comparisons where dependable training has smaller sets on average", "==", 1),
        Goal("larger", "comparisons where it has larger ones", "==", 0),
        Goal("upper_smaller_share", "comparisons where its 0.95-quantile over runs is smaller", "==", 1),
        Goal("equal_work_change", "change of set size by care at equal work, of any family", "<=", 0.01),
    ),
    run=_run,
    draw=set_size_figure,
    seed=20261123,
)

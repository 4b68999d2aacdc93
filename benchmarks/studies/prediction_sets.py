"""Does dependable training give smaller conformal prediction sets? The paper's sentence, measured.

Definitions, which were written before anything was measured, and findings are on the page
``docs/prediction_sets.rst``. Expected and dependable training are chosen on shipped runs, sizes of sets
playing no part, and fresh seeds judge. Every seed goes through every plan, so trainings are compared seed by
seed, and intervals resample the seeds; the held-out examples are the same in all of them.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from depl.benchmarks.figures.style import (
    COLOURS,
    MARKERS,
    finished,
    legend_beside,
    nth,
    panels,
    plain_logarithms,
)
from depl.benchmarks.measure.registry import Goal, Study
from depl.instances.training.families import PLANS, Family, family
from depl.instances.training.network import Numbers
from depl.instances.training.recorded import recorded_traces
from depl.instances.training.runs import Epoch, model_name, train_run
from depl.models.estimation.certificate import loss_bound
from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.laws import FloatArray
from depl.models.traces.table import Traces

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LEVEL = 0.95
"""omega, how often dependable training reaches its target; the coverage of the sets; and the quantile of the
runs that is compared beside the mean."""
HORIZONS = (30, 45, 60)
"""Epochs within which a plan guarantees its three targets."""
CALIBRATING = 0.75
"""Share of the held-out examples that calibrate."""
_FAMILIES = ("digits-alexnet", "digits-mobilenet", "cells-perceptron")
_SEED, _FIRST_SEED, _TAILS, _DECIMALS = 20261123, 10_000, (0.025, 0.975), 4

Row = dict[str, Any]
Training = tuple[int, int]
"""A plan, by its place, and the epoch after which it stops."""


class SetSizes(NamedTuple):
    """Share of the sets that hold the true class, and classes in a set, on average."""

    coverage: float
    size: float


class Curves(NamedTuple):
    """What the runs of one plan say of its losses.

    ``first`` is the first epoch after the last switch; ``mean`` and ``guaranteed`` (the order statistic for
    the next run) are infinite before it; ``work`` sums the shares of weights that epochs so far kept.
    """

    name: str
    runs: int
    first: int
    mean: FloatArray
    guaranteed: FloatArray
    work: FloatArray


def mean_prediction_sets(
    probabilities: ArrayLike, labels: NDArray[np.int64], level: float, calibration: int
) -> SetSizes:
    r"""Coverage and size of prediction sets, their mean over all splits of the examples, exactly.

    The score of a class is one less its probability. The set of an example holds every class whose score is
    at most the r-th smallest of the scores that n others have for their true classes, r = ceil((n + 1) level)
    (`depl.models.estimation.certificate.loss_bound`).

    Parameters
    ----------
    probabilities : array of float, a row per class and a column per example
        Whose columns sum to 1.
    labels : array of int, one per example
        The true class of each.
    level : float
        Coverage that is asked for, 1 - alpha.
    calibration : int
        How many examples calibrate, n; at least one, and not all.

    Notes
    -----
    Of N examples any n may calibrate. A class with score s is in the set of one of the others iff fewer than
    r of the n have scores below s. If m of the N - 1 have, this has probability

    .. math::
       :label: all-splits

       P(\text{class in set}) = P(H \le r - 1), \qquad H \sim \text{Hypergeometric}(N - 1,\, m,\, n).
    """
    scores = 1 - np.asarray(probabilities, dtype=np.float64)
    own = np.take_along_axis(scores, np.asarray(labels)[None, :], axis=0)[0]
    within = _within(own.size, calibration, _rank(calibration, level))
    below = np.searchsorted(np.sort(own), scores, side="left")
    return SetSizes(
        coverage=float(within[np.searchsorted(np.sort(own), own, side="left")].mean()),
        size=float(within[below - (own < scores)].sum(axis=0).mean()),
    )


def _rank(calibration: int, level: float) -> int | None:
    return loss_bound(np.arange(calibration), level, None).rank  # of any losses: it depends on their number


@lru_cache(maxsize=64)
def _within(examples: int, calibration: int, rank: int | None) -> FloatArray:
    """By m: probability that a class is in a set if m of the other examples have scores below its own."""
    if rank is None:  # too few examples: sets hold all classes
        return np.ones(examples)
    return np.asarray(stats.hypergeom.cdf(rank - 1, examples - 1, np.arange(examples), calibration))


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
    stages = [(model_name(epoch.factor), len(list(epochs))) for epoch, epochs in groupby(schedule)]
    early = np.arange(len(key) + 1) < (first := len(key) - stages[-1][1] + 1)
    guaranteed = [loss_bound(column, LEVEL, None).value for column in losses.T]
    return Curves(
        name=", ".join(f"{count} {model}" for model, count in stages),
        runs=len(rows),
        first=first,
        mean=np.where(early, np.inf, losses.mean(axis=0)),
        guaranteed=np.where(early, np.inf, guaranteed),
        work=np.cumsum([0.0, *(1 - epoch.factor for epoch in schedule)]),
    )


def targets(plan: Curves, classes: int) -> list[float]:
    """What a plan can guarantee within `HORIZONS`, each once, if it beats guessing, ln(classes) [loss]."""
    found = dict.fromkeys(float(plan.guaranteed[: horizon + 1].min()) for horizon in HORIZONS)
    return [value for value in found if value < math.log(classes)]


def choose(plan: Curves, target: float) -> tuple[int, int] | None:
    """Epochs of expected and of dependable training for a target; None where there is not both."""
    reached = np.stack([plan.mean, plan.guaranteed]) <= target
    expected, dependable = reached.argmax(axis=1).tolist()
    return (expected, dependable) if reached.any(axis=1).all() else None


def budgets(plans: Sequence[Curves]) -> list[tuple[Training, Training]]:
    """For every work that some training has: what has least mean and least guaranteed loss within it."""
    works = np.stack([plan.work for plan in plans])
    rules = [np.stack([getattr(plan, rule) for plan in plans]) for rule in ("mean", "guaranteed")]
    found = []
    for most in np.unique(works[np.isfinite(rules[0])]):
        within = [np.where(works <= most * (1 + 1e-12), losses, np.inf) for losses in rules]
        mean, guaranteed = (divmod(int(losses.argmin()), works.shape[1]) for losses in within)
        found.append((mean, guaranteed))
    return found


def judged(chosen: Family, schedule: Sequence[Epoch], first: int, seeds: Sequence[int]) -> FloatArray:
    """Loss, coverage and size of the sets, by seed and epoch, of runs of a plan; sets from ``first`` on."""
    task = chosen.task()
    labels = task.material.test.labels[0]
    found = np.full((3, len(seeds), len(schedule) + 1), np.nan)
    for row, seed in enumerate(seeds):

        def watch(epoch: int, probabilities: Numbers, row: int = row) -> None:
            if epoch >= first:
                sets = mean_prediction_sets(probabilities[:, 0], labels, LEVEL, _calibrating(labels))
                found[1:, row, epoch] = sets

        found[0, row] = train_run(task, schedule, chosen.generator(seed), watch).loss
    return found


def _calibrating(labels: NDArray[np.int64]) -> int:
    return math.floor(CALIBRATING * labels.size)


def set_size_figure(values: Mapping[str, Any]) -> "Figure":
    """Set size against final loss: one of the ``points`` per run; colours tell families, markers plans."""
    figure, (axes,) = panels(1, size=(4.8, 4.4))
    families, plans = (
        list(dict.fromkeys(item[key] for item in values["points"])) for key in ("family", "plan")
    )
    mark: dict[str, Any] = {"markersize": 3.5, "markerfacecolor": "none", "linestyle": ""}
    for item in values["points"]:
        look = nth(MARKERS, plans.index(item["plan"])), nth(COLOURS, families.index(item["family"]))
        axes.plot(item["loss"], item["size"], marker=look[0], color=look[1], **mark)
    for index, name in enumerate(families):
        axes.plot([], [], color=nth(COLOURS, index), linewidth=4, label=name)
    for index, name in enumerate(plans):
        axes.plot([], [], color="black", marker=nth(MARKERS, index), label=name, **mark)
    plain_logarithms(axes, "x")
    plain_logarithms(axes, "y")
    axes.set_xlabel("final loss of the run")
    axes.set_ylabel("mean size of its sets")
    legend_beside(axes)
    return finished(figure)


def _tasks(rng: np.random.Generator, smoke: bool) -> Iterator[Row]:
    """The families; seeds are drawn again for intervals alike in all of them."""
    del rng
    for name in _FAMILIES[-1:] if smoke else _FAMILIES:
        yield {"family": name, "runs": 3 if smoke else 60, "draws": 20 if smoke else 2000, "seed": _SEED}


def _run(task: Mapping[str, Any]) -> Row:
    """Train every plan of a family with fresh seeds, and compare what was chosen on its shipped runs."""
    chosen, traces, runs = family(task["family"]), recorded_traces(task["family"]), task["runs"]
    classes = chosen.task().material.classes
    drawn = np.random.default_rng(task["seed"]).integers(runs, size=(task["draws"], runs))
    plans, sizes = [], []
    rows: dict[str, list[Row]] = {"associations": [], "comparisons": [], "points": []}
    for place in range(len(PLANS)):
        schedule = chosen.schedule(2 * place)
        plans.append(plan := curves(traces, schedule))
        found = judged(chosen, schedule, plan.first, range(_FIRST_SEED, _FIRST_SEED + runs))
        sizes.append(found[2])
        told = {"family": chosen.name, "plan": plan.name}
        loss, _, size = np.round(found[..., -1], _DECIMALS).tolist()
        rows["points"].append({**told, "loss": loss, "size": size})
        rows["associations"].append({**told, **_association(chosen, *found[..., -1])})
        rows["comparisons"] += [{**told, **row} for row in _comparisons(plan, found, classes, drawn)]
    return {**rows, "equal_work": [{"family": chosen.name, **_equal_work(plans, sizes)}]}


def _association(chosen: Family, loss: FloatArray, coverage: FloatArray, size: FloatArray) -> Row:
    """Final loss, coverage and set size over the runs of a plan."""
    calibration = _calibrating(chosen.task().material.test.labels[0])
    with np.errstate(invalid="ignore", divide="ignore"):  # sizes may not vary in a smoke run
        correlation = float(np.corrcoef(loss, size)[0, 1])
    return {
        "coverage": float(coverage.mean()),
        "coverage_expected": (_rank(calibration, LEVEL) or calibration + 1) / (calibration + 1),
        "correlation": correlation,
        "worst_tenth": worst_tenth(loss, size),
    }


def worst_tenth(losses: FloatArray, sizes: FloatArray) -> float:
    """Mean size in the tenth (rounded up) of runs with the largest losses over that of the others."""
    ordered = sizes[np.argsort(losses, kind="stable")]
    others = losses.size - math.ceil(losses.size / 10)
    return float(ordered[others:].mean() / ordered[:others].mean())


def _comparisons(plan: Curves, found: FloatArray, classes: int, drawn: NDArray[np.int64]) -> Iterator[Row]:
    """Expected (before) against dependable training (after) of a plan for each of its targets."""
    loss, _, size = found
    for target in targets(plan, classes):
        epochs = choose(plan, target)
        if epochs is None:
            continue
        reached = (loss[:, epochs] <= target).mean(axis=0)
        before, after = size[:, epochs].T
        yield {
            "chosen_on": plan.runs,
            "target": target,
            **dict(zip(("expected_epochs", "dependable_epochs"), epochs, strict=True)),
            **dict(zip(("expected_reached", "dependable_reached"), reached.tolist(), strict=True)),
            **change("mean", before, after, drawn, lambda values: values.mean(axis=-1)),
            **change("upper", before, after, drawn, upper),
        }


def change(
    name: str,
    before: FloatArray,
    after: FloatArray,
    drawn: NDArray[np.int64],
    figure: Callable[[FloatArray], FloatArray],
) -> Row:
    """A figure after both trainings; the verdict is where the interval of the difference, by seed, lies."""
    least, most = np.quantile(figure(after[drawn]) - figure(before[drawn]), _TAILS)
    verdict = "smaller" if most < 0 else "larger" if least > 0 else "undecided"
    values = {"before": float(figure(before)), "after": float(figure(after)), "verdict": verdict}
    return {f"{name}_{key}": value for key, value in values.items()}


def upper(sizes: FloatArray) -> FloatArray:
    """The quantile of the runs."""
    return np.asarray(np.quantile(sizes, LEVEL, axis=-1, method="inverted_cdf"))


def _equal_work(plans: Sequence[Curves], sizes: Sequence[FloatArray]) -> Row:
    """Mean set size of the two rules over all amounts of work, and where their choices differ."""
    pairs = budgets(plans)
    before, after = np.mean([[sizes[plan][:, epoch] for plan, epoch in pair] for pair in pairs], axis=(0, 2))
    return {
        "amounts": len(pairs),
        "different": sum(first != second for first, second in pairs),
        "different_plan": sum(first[0] != second[0] for first, second in pairs),
        "relative_change": float(after / before - 1),
    }


def _figures(answers: Sequence[Mapping[str, Any]]) -> Row:
    tables = ("associations", "comparisons", "equal_work", "points")
    rows = {name: [row for answer in answers for row in answer[name]] for name in tables}
    plans, trainings = rows["associations"], rows["comparisons"]
    means, uppers = ([row[f"{kind}_verdict"] for row in trainings] for kind in ("mean", "upper"))
    return {
        "runs_per_family": len(PLANS) * min(answer["runs"] for answer in answers),
        "coverage_shortfall": max(row["coverage_expected"] - row["coverage"] for row in plans),
        "least_correlation": float(np.min([row["correlation"] for row in plans])),
        "least_worst_tenth": min(row["worst_tenth"] for row in plans),
        "smaller_share": means.count("smaller") / len(means),
        "larger": means.count("larger"),
        "upper_smaller_share": uppers.count("smaller") / len(uppers),
        "equal_work_change": max(abs(row["relative_change"]) for row in rows["equal_work"]),
        **rows,
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
    tasks=_tasks,
    run=_run,
    figures=_figures,
    draw=set_size_figure,
    seed=_SEED,
)

"""Does dependable training give smaller conformal prediction sets? The paper's sentence, measured.

The sentences: Sec. I, the end of the paragraph before the list of contributions, and the end of Sec. VII.
The paper measures nothing of the kind; it is measured here on real training.

**Definition**, fixed before anything was measured. Expected and dependable training of a plan for a target
are defined in `depl.benchmarks.studies.set_sizes.set_size_trainings` and chosen on the shipped runs (104 of
each plan of the digits families, 26 of cells). They are judged by 60 fresh seeds of each plan (10 000 and
on), trained for this case alone. Each of the three fixed plans of a family has up to three targets. A
*comparison* is one plan with one target. Its figures are the mean set size of a run, averaged over runs, and
the 0.95-quantile over runs. The claim holds in a comparison if the 95 % bootstrap interval of the difference
lies below zero, and holds if it does so in all of them. Sets use the label score and coverage 0.95; the other
score and 0.90 and 0.99 are counted beside.

**What is just longer training.** Within a plan all of it: both trainings are the same run, and the dependable
one stops later. The question that is left is whether care buys smaller sets *at equal work*. Hence for every
amount of work that some training of the family has, the plan and epoch of least mean loss within it stand
against those of least guaranteed loss. Where the two rules choose different plans for one target, the
expected plan prolonged to the work of the dependable one, or to its last epoch, stands between them. The
expectation written down before measuring: at equal work care changes the mean set size of no family by more
than 1 %.

Beside each comparison stand the same runs stopped one by one, each once its own loss reaches the target.

Goals on correlation and on the worst tenth are the least figures of design notes made before (0.72 and 1.2),
the first rounded down.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from depl.benchmarks.measure.registry import Goal, Study, as_number
from depl.benchmarks.studies.set_sizes.set_size_study import (
    HEADLINE,
    KINDS,
    Change,
    Judges,
    Kind,
    association,
    compare,
    difference,
    judge,
    stopped,
)
from depl.benchmarks.studies.set_sizes.set_size_trainings import (
    Choice,
    Curves,
    Training,
    budgets,
    choose,
    curves,
    prolonged,
    targets,
)
from depl.instances.training.families import PLANS, family
from depl.instances.training.recorded import recorded_traces
from depl.models.estimation.certificate import conformal_bound
from depl.models.estimation.curve import ConfidenceInterval

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_FAMILIES = ("digits-alexnet", "digits-mobilenet", "cells-perceptron")
_FIRST_SEED, _SEEDS, _SMOKE_SEEDS = 10_000, 60, 3
_DRAWS, _SMOKE_DRAWS = 2000, 20
_DECIMALS = 4

Row = dict[str, object]


@dataclass(frozen=True, eq=False)
class _Family:
    """Plans of a family as chosen on shipped runs, and the runs that judge them."""

    name: str
    plans: Sequence[Curves]
    judges: Judges
    rng: np.random.Generator
    draws: int

    @property
    def ends(self) -> list[Training]:
        """All plans trained to their end."""
        return [Training(place, len(plan.schedule)) for place, plan in enumerate(self.plans)]

    @property
    def choices(self) -> list[Choice]:
        """For every target of every plan what that plan does, where it reaches it in both ways."""
        found = [
            choose(self.plans, target, [place])
            for place, plan in enumerate(self.plans)
            for target in targets(plan, self.judges.classes)
        ]
        return [choice for choice in found if choice is not None]


def _run(rng: np.random.Generator, smoke: bool) -> Mapping[str, object]:
    seeds = range(_FIRST_SEED, _FIRST_SEED + (_SMOKE_SEEDS if smoke else _SEEDS))
    draws = _SMOKE_DRAWS if smoke else _DRAWS
    found = [_judged(name, seeds, rng, draws) for name in (_FAMILIES[-1:] if smoke else _FAMILIES)]
    associations = [row for one in found for row in _associations(one)]
    comparisons = [row for one in found for row in _comparisons(one)]
    equal_work = [_equal_work(one) for one in found]
    by_kind = [_summary(kind, associations, comparisons) for kind in KINDS]
    return {
        "runs_per_family": len(seeds) * len(PLANS),
        **_figures(by_kind[KINDS.index(HEADLINE)], associations, equal_work),
        "by_kind": by_kind,
        "associations": [row for row in associations if _is(row, HEADLINE)],
        "comparisons": [row for row in comparisons if _is(row, HEADLINE)],
        "between_plans": [row for one in found for row in _between(one)],
        "equal_work": equal_work,
        "points": [row for one in found for row in _points(one)],
    }


def _judged(name: str, seeds: range, rng: np.random.Generator, draws: int) -> _Family:
    chosen, traces = family(name), recorded_traces(name)
    plans = [curves(traces, chosen.schedule(2 * place)) for place in range(len(PLANS))]
    return _Family(name, plans, judge(chosen, plans, seeds), rng, draws)


def _associations(one: _Family) -> list[Row]:
    """Final loss and set size over the runs of each plan, for every kind of sets."""
    rows: list[Row] = []
    for end in one.ends:
        for kind in KINDS:
            sizes, coverage = one.judges.sizes_after(end, kind), one.judges.coverage_after(end, kind)
            found = association(one.judges.loss_after(end), sizes, one.rng, one.draws)
            rank = conformal_bound(np.arange(one.judges.calibration), kind.level).rank
            rows.append(
                {
                    "family": one.name,
                    "plan": one.plans[end.plan].name,
                    **_named(kind),
                    "runs": one.judges.seeds,
                    "size": float(sizes.mean()),
                    "least_size": float(sizes.min()),
                    "greatest_size": float(sizes.max()),
                    "coverage": float(coverage.mean()),
                    "coverage_expected": 1.0 if rank is None else rank / (one.judges.calibration + 1),
                    "correlation": found.correlation,
                    "correlation_interval": _ends(found.correlation_interval),
                    "rank_correlation": found.rank_correlation,
                    "worst_tenth": found.worst_tenth,
                    "worst_tenth_interval": _ends(found.worst_tenth_interval),
                }
            )
    return rows


def _comparisons(one: _Family) -> list[Row]:
    """Expected against dependable training of every plan for each of its targets."""
    rows: list[Row] = []
    for choice in one.choices:
        plan = one.plans[choice.expected.plan]
        for kind in KINDS:
            found = compare(one.judges, choice, kind, one.rng, one.draws)
            early = stopped(one.judges, choice.expected.plan, choice.target, kind)
            rows.append(
                {
                    "family": one.name,
                    "plan": plan.name,
                    "chosen_on": plan.runs,
                    **_named(kind),
                    "target": choice.target,
                    "expected_epochs": choice.expected.epoch,
                    "dependable_epochs": choice.dependable.epoch,
                    "expected_reached": found.expected_reached,
                    "dependable_reached": found.dependable_reached,
                    "stopped_epochs": early.epochs,
                    "stopped_reached": early.reached,
                    "stopped_size": early.size,
                    **_changed("mean", found.mean),
                    **_changed("upper", found.upper),
                }
            )
    return rows


def _between(one: _Family) -> list[Row]:
    """Targets for which the two rules choose different plans: expected, prolonged, dependable."""
    rows: list[Row] = []
    for target in sorted({choice.target for choice in one.choices}):
        choice = choose(one.plans, target)
        if choice is None or choice.expected.plan == choice.dependable.plan:
            continue
        work = float(one.plans[choice.dependable.plan].work[choice.dependable.epoch])
        longer = prolonged(one.plans, choice.expected, work)
        steps = (choice.expected, longer, choice.dependable)
        by_length, by_care = (
            difference(one.judges, before, after, HEADLINE, one.rng, one.draws)
            for before, after in pairwise(steps)
        )
        rows.append(
            {
                "family": one.name,
                "target": target,
                "steps": [
                    {
                        "plan": one.plans[step.plan].name,
                        "epochs": step.epoch,
                        "work": float(one.plans[step.plan].work[step.epoch]),
                    }
                    for step in steps
                ],
                **_changed("longer", by_length),
                **_changed("care", by_care),
            }
        )
    return rows


def _equal_work(one: _Family) -> Row:
    """Mean set size of the two rules over all amounts of work, and where their choices differ."""
    pairs = [(by_mean, by_guarantee) for _, by_mean, by_guarantee in budgets(one.plans)]
    before, after = (
        np.mean([one.judges.sizes_after(training, HEADLINE) for training in rule], axis=0)
        for rule in zip(*pairs, strict=True)
    )
    drawn = one.rng.integers(one.judges.seeds, size=(one.draws, one.judges.seeds))
    changes = after[drawn].mean(axis=1) / before[drawn].mean(axis=1) - 1
    return {
        "family": one.name,
        "amounts": len(pairs),
        "different": sum(first != second for first, second in pairs),
        "different_plan": sum(first.plan != second.plan for first, second in pairs),
        "size_by_mean": float(before.mean()),
        "size_by_guarantee": float(after.mean()),
        "relative_change": float(after.mean() / before.mean() - 1),
        "interval": [float(end) for end in np.quantile(changes, [0.025, 0.975])],
    }


def _points(one: _Family) -> list[Row]:
    """Final loss and set size of every run, for the figure."""
    return [
        {
            "family": one.name,
            "plan": one.plans[end.plan].name,
            "loss": np.round(one.judges.loss_after(end), _DECIMALS).tolist(),
            "size": np.round(one.judges.sizes_after(end, HEADLINE), _DECIMALS).tolist(),
        }
        for end in one.ends
    ]


def _figures(headline: Row, associations: Sequence[Row], equal_work: Sequence[Row]) -> Row:
    own = [row for row in associations if _is(row, HEADLINE)]
    compared = _number(headline, "comparisons")
    return {
        "coverage_shortfall": max(
            _number(row, "coverage_expected") - _number(row, "coverage") for row in own
        ),
        "least_correlation": headline["least_correlation"],
        "least_worst_tenth": headline["least_worst_tenth"],
        "smaller_share": _number(headline, "mean_smaller") / compared,
        "larger": headline["mean_larger"],
        "upper_smaller_share": _number(headline, "upper_smaller") / compared,
        "equal_work_change": max(abs(_number(row, "relative_change")) for row in equal_work),
    }


def _summary(kind: Kind, associations: Sequence[Row], comparisons: Sequence[Row]) -> Row:
    """Least figures over families and plans, and verdicts counted, for one kind of sets."""
    own = [row for row in associations if _is(row, kind)]
    compared = [row for row in comparisons if _is(row, kind)]
    reductions = [1 - _number(row, "mean_after") / _number(row, "mean_before") for row in compared]
    counts = {
        f"{figure}_{verdict}": sum(row[f"{figure}_verdict"] == verdict for row in compared)
        for figure in ("mean", "upper")
        for verdict in ("smaller", "undecided", "larger")
    }
    return {
        **_named(kind),
        "least_correlation": float(np.min([_number(row, "correlation") for row in own])),
        "least_worst_tenth": min(_number(row, "worst_tenth") for row in own),
        "greatest_worst_tenth": max(_number(row, "worst_tenth") for row in own),
        "comparisons": len(compared),
        "median_reduction": float(np.median(reductions)),
        **counts,
    }


def _number(row: Row, name: str) -> float:
    value = as_number(row[name])
    return float("nan") if value is None else value


def _named(kind: Kind) -> Row:
    return {"score": kind.score.value, "level": kind.level}


def _is(row: Row, kind: Kind) -> bool:
    return (row["score"], row["level"]) == (kind.score.value, kind.level)


def _changed(name: str, change: Change) -> Row:
    return {
        f"{name}_before": change.before,
        f"{name}_after": change.after,
        f"{name}_interval": _ends(change.interval),
        f"{name}_verdict": change.verdict,
    }


def _ends(interval: ConfidenceInterval) -> list[float]:
    return [interval.lower, interval.upper]


def _figure(values: Mapping[str, Any]) -> "Figure":
    # Drawing is all that needs matplotlib.
    from depl.benchmarks.studies.set_sizes.set_size_figure import set_size_figure

    return set_size_figure(values)


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
    draw=_figure,
    seed=20261123,
)

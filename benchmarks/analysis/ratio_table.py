"""The table of ratios: one line for every suite, group of instances and configuration."""

from collections.abc import Sequence

import numpy as np

from depl.benchmarks.analysis.order import ordered
from depl.benchmarks.analysis.reference import claim_of, question_of, references
from depl.benchmarks.analysis.table import Cell, Table, table_of
from depl.benchmarks.analysis.tally import NO_SPREAD, Fate, Tally, Trial, tally
from depl.benchmarks.measure.attempt import Attempt

_SEED = 20240222


def trials(attempts: Sequence[Attempt]) -> list[tuple[Attempt, Trial]]:
    """Every attempt with what is known of its question, in an order that does not depend on when it ended.

    Raises
    ------
    InvalidInputError
        If attempts on an instance of one name were made on different instances.
    """
    known = references(attempts)
    return [
        (
            attempt,
            Trial(
                instance=attempt.task.instance,
                ending=attempt.ending,
                claim=claim_of(attempt),
                reference=known[question_of(attempt)],
                seconds=attempt.wall_seconds,
            ),
        )
        for attempt in ordered(attempts)
    ]


def ratio_table(
    attempts: Sequence[Attempt], by: Sequence[str] = (), rng: np.random.Generator | None = None
) -> Table:
    """Ratios and counts per suite, group and configuration.

    Columns of ratios to proved optima have no prefix; those with ``bound_`` are of plans without a proved
    optimum, over the best certified bound. The columns from ``compared`` to ``crashed`` are the fates of
    `depl.benchmarks.analysis.tally.Fate` and add up to ``attempts``.

    Parameters
    ----------
    attempts : sequence of Attempt
        Of any suites.
    by : sequence of str
        Labels that form groups; a group of instances that lack one has an empty field.
    rng : numpy.random.Generator, optional
        For the intervals of the means; seeded the same every time unless given.

    Raises
    ------
    InvalidInputError
        If attempts on an instance of one name were made on different instances.
    """
    rng = np.random.default_rng(_SEED) if rng is None else rng
    groups: dict[tuple[Cell, ...], list[Trial]] = {}
    for attempt, trial in trials(attempts):
        labels = [attempt.labels.get(name) for name in by]
        key = (attempt.task.suite, *labels, attempt.task.configuration, attempt.method, attempt.meaning)
        groups.setdefault(key, []).append(trial)
    heading = ("suite", *by, "configuration", "method", "meaning")
    records = [
        {**dict(zip(heading, key, strict=True)), **_figures(tally(own, rng))} for key, own in groups.items()
    ]
    return table_of(records, (*heading, *_COLUMNS))


def _figures(found: Tally) -> dict[str, Cell]:
    ratios = NO_SPREAD if found.ratios is None else found.ratios.named
    bounds = NO_SPREAD if found.ratios_to_bound is None else found.ratios_to_bound.named
    return {
        "attempts": found.trials,
        "instances": found.instances,
        **ratios,
        "optimal_share": found.optimal_share,
        **{f"bound_{name}": value for name, value in bounds.items()},
        **{fate.value: number for fate, number in found.fates.items()},
        "at_limit": found.at_limit,
        "proved_share": found.proved_share,
        "wrong_bounds": found.wrong_bounds,
        "below_optimum": found.below_optimum,
        "median_seconds": found.median_seconds,
        "largest_seconds": found.largest_seconds,
    }


_COLUMNS = (
    "attempts",
    "instances",
    *NO_SPREAD,
    "optimal_share",
    *(f"bound_{name}" for name in NO_SPREAD),
    *(fate.value for fate in Fate),
    "at_limit",
    "proved_share",
    "wrong_bounds",
    "below_optimum",
    "median_seconds",
    "largest_seconds",
)


def reference_table(attempts: Sequence[Attempt]) -> Table:
    """What is known of every question: its optimum or best bound, who proved it, and disputes.

    Raises
    ------
    InvalidInputError
        If attempts on an instance of one name were made on different instances.
    """
    known = references(attempts)
    records: list[dict[str, Cell]] = []
    for question in dict.fromkeys(question_of(attempt) for attempt in ordered(attempts)):
        found = known[question]
        scenarios, seed = question.sample or (None, None)
        records.append(
            {
                "suite": question.suite,
                "instance": question.instance,
                "meaning": question.meaning,
                "scenarios": scenarios,
                "seed": seed,
                "optimum": found.optimum,
                "infeasible": found.infeasible,
                "bound": found.bound if abs(found.bound) < float("inf") else None,
                "cheapest": found.cheapest if found.feasible else None,
                "disputed": found.disputed,
                "proved_by": " ".join(found.proved_by),
            }
        )
    return table_of(records, _REFERENCE_COLUMNS)


_REFERENCE_COLUMNS = (
    "suite",
    "instance",
    "meaning",
    "scenarios",
    "seed",
    "optimum",
    "infeasible",
    "bound",
    "cheapest",
    "disputed",
    "proved_by",
)

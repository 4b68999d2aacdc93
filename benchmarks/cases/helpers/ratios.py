"""Outcomes of several methods in one process, and their figures under the names of the case's record.

What is proved of an instance, what a ratio is formed with, and how failures are counted is written once, in
`depl.benchmarks.analysis`; sweeps are read by the same code. Every plan has passed the verifier inside
`depl.solve`; one that it rejects is counted, and so is a method that refuses an instance.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from depl.benchmarks.analysis.reference import Reference, claimed, reference_of
from depl.benchmarks.analysis.tally import Fate, Spread, Trial, tally
from depl.benchmarks.runner.outcome import SolveOutcome, tried
from depl.models.problem.instance import Instance


@dataclass(frozen=True)
class Row:
    """One instance: what came of the reference method, and of each other one, by name."""

    name: str
    reference: SolveOutcome
    outcomes: dict[str, SolveOutcome]

    @property
    def known(self) -> Reference:
        """What all outcomes come to."""
        outcomes = {"": self.reference, **self.outcomes}
        return reference_of([claimed(who, item) for who, item in outcomes.items()])


def compared(instance: Instance, reference: SolveOutcome, methods: Sequence[tuple[str, float, float]]) -> Row:
    """The row of an instance; each method with its time limit [s] and its gap."""
    outcomes = {name: tried(instance, name, time_limit=limit, gap=gap) for name, limit, gap in methods}
    return Row(instance.name, reference, outcomes)


def figures_of(method: str, rows: Sequence[Row]) -> dict[str, object]:
    """All figures of one method, each name with the method's in front.

    Ratios are None where there is nothing to form them of. Those to a bound are of the instances that have a
    positive one; the others are counted.
    """
    name = method.replace("-", "_")
    trials = [_trial(method, row) for row in rows]
    found = tally(trials)
    unbounded = found.fates[Fate.UNBOUNDED]
    without_optimum = found.fates[Fate.BOUNDED] + unbounded
    bounds = found.ratios_to_bound
    figures: dict[str, object] = {
        "refused": found.fates[Fate.REFUSED],
        "rejected": found.fates[Fate.REJECTED],
        "compared": found.fates[Fate.COMPARED],
        "found": found.fates[Fate.COMPARED] + without_optimum,
        "missed": found.unserved,
        "false_infeasible": found.fates[Fate.FALSE_INFEASIBLE],
        "wrong_bounds": found.wrong_bounds,
        "below_optimum": found.below_optimum,
        **_spread(found.ratios),
        "optimal_share": found.optimal_share,
        "unproved_compared": without_optimum,
        "unproved_without_bound": unbounded,
        "unproved_mean_ratio_to_bound": None if bounds is None else bounds.mean,
        "unproved_largest_ratio_to_bound": None if bounds is None else bounds.largest,
        "proved_share": found.proved_share,
        "median_seconds": found.median_seconds,
        "largest_seconds": found.largest_seconds,
        "worst": list(_worst(trials)),
    }
    return {f"{name}_{key}": value for key, value in figures.items()}


def _trial(method: str, row: Row) -> Trial:
    item = row.outcomes[method]
    return Trial(row.name, item.ending, claimed(method, item), row.known, item.seconds)


def _spread(ratios: Spread | None) -> dict[str, float | None]:
    names = {
        "mean_ratio": "mean",
        "quantile_90_ratio": "quantile_90",
        "quantile_99_ratio": "quantile_99",
        "largest_ratio": "largest",
    }
    return {name: None if ratios is None else ratios.named[own] for name, own in names.items()}


def _worst(trials: Sequence[Trial], count: int = 5) -> Iterator[dict[str, object]]:
    """The instances with the largest ratios, to look at."""
    known = [(trial.ratio, trial.instance) for trial in trials if trial.ratio is not None]
    for value, name in sorted(known, reverse=True)[:count]:
        yield {"instance": name, "ratio": value}

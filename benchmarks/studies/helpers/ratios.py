"""Outcomes of several methods in one process, and their figures under the names of the case's record.

What is proved of an instance, what a ratio is formed with, and how failures are counted is written once, in
`depl.benchmarks.analysis`; sweeps are read by the same code. Every plan has passed the verifier inside
`depl.solve`; one that it rejects is counted, and so is a method that refuses an instance.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from depl.benchmarks.analysis.ratio_table import Fate, Trial, tally
from depl.benchmarks.analysis.reference import Reference, claimed, reference_of
from depl.benchmarks.measure.outcome import SolveOutcome, tried
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
    positive one.
    """
    name = method.replace("-", "_")
    found = tally([trial_of(method, row) for row in rows])
    without_optimum = sum(int(found[fate.value] or 0) for fate in (Fate.BOUNDED, Fate.UNBOUNDED))
    figures: dict[str, object] = {
        "rejected": found["rejected"],
        "compared": found["compared"],
        "found": int(found["compared"] or 0) + without_optimum,
        "missed": found["unserved"],
        "false_infeasible": found["false_infeasible"],
        "wrong_bounds": found["wrong_bounds"],
        "below_optimum": found["below_optimum"],
        "mean_ratio": found["mean"],
        "largest_ratio": found["largest"],
        "unproved_compared": without_optimum,
        "unproved_mean_ratio_to_bound": found["bound_mean"],
        "unproved_largest_ratio_to_bound": found["bound_largest"],
    }
    return {f"{name}_{key}": value for key, value in figures.items()}


def trial_of(method: str, row: Row) -> Trial:
    """What came of one method on one instance, beside what all outcomes come to."""
    item = row.outcomes[method]
    return Trial(row.name, item.ending, claimed(method, item), row.known, item.seconds)

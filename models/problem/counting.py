"""How runs that went through a whole plan, or lend a stage of one, are counted.

`depl.models.evaluation.traced_law` says why: one run more everywhere, unlike all that were seen, and
beside it those that diverged; losses that hold after each of the last epochs, because a search favours chance
dips; and, with a confidence, the upper ends of Clopper and Pearson instead of shares.
`depl.models.evaluation.traced_law` counts.
"""

from dataclasses import dataclass

LARGEST_RETENTION = 1.0 - 2.0**-20
"""Greatest retention of a fitted law: below 1, so that what a loss was before is forgotten, by a factor of e
in a million epochs; a double keeps that distance from 1 to 33 bits."""

LEAST_TOGETHER = 19
"""Fewest runs of the whole schedule that make up its law alone, unless a law says otherwise: just enough for
the level 0.95."""

MOST_DIVERGED = 1_000
"""Most runs that may have diverged: every stage lends them, and stages are combined each with each, so that
many more would take memory; with so many a promise of 0.95 takes 19,019 runs of one plan that do not."""


@dataclass(frozen=True)
class Counting:
    """How runs are counted where residuals are kept per run; see the module.

    Attributes
    ----------
    unseen : bool
        Whether one more run, unlike all that were seen, counts as a miss of every target; else the runs are
        taken for the law itself.
    whole_runs : int
        Fewest runs through a schedule that make up its law alone.
    settled_epochs : int
        As many runs count as above a limit as were above it after any of the last so many epochs of a
        schedule that runs went on from.
    confidence : float or None
        None for a marginal promise.
    diverged : int
        Runs that diverged and left no losses, each counted as another run unlike all seen.
    """

    unseen: bool = False
    whole_runs: int = LEAST_TOGETHER
    settled_epochs: int = 1
    confidence: float | None = None
    diverged: int = 0

    @property
    def beside(self) -> int:
        """How many runs are counted beside those that lend: one more, and those that diverged."""
        return 1 + self.diverged if self.unseen else 0


PLAIN = Counting()

"""How runs that went through a whole plan, or lend a stage of one, are counted.

`depl.models.evaluation.traced_prediction` says why: one run more everywhere, unlike all that were seen;
losses that hold after each of the last epochs, because a search favours chance dips; and, with a confidence,
the upper ends of Clopper and Pearson instead of shares. `depl.models.evaluation.traced_counting` counts.
"""

from dataclasses import dataclass

LEAST_TOGETHER = 19
"""Fewest runs of the whole schedule that make up its law alone, unless a law says otherwise: just enough for
the level 0.95."""


@dataclass(frozen=True)
class Counting:
    """How runs are counted where residuals are kept per run; see the module.

    Attributes
    ----------
    unseen : float or None
        The loss of one more run, unlike all that were seen, on the scale of the law; None takes the runs for
        the law itself.
    whole_runs : int
        Fewest runs through a schedule that make up its law alone.
    settled_epochs : int
        As many runs count as above a limit as were above it after any of the last so many epochs of a
        schedule that runs went on from.
    confidence : float or None
        None for a marginal promise.
    least_deviation : float
        The least that is added for plans as such; a run unlike all seen stays at its loss in spite of it.
    """

    unseen: float | None = None
    whole_runs: int = LEAST_TOGETHER
    settled_epochs: int = 1
    confidence: float | None = None
    least_deviation: float = 0.0


PLAIN = Counting()

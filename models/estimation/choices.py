"""What may be chosen of a fit, and what is done unless the caller says otherwise.

Nothing heavy is imported, so that the help of ``depl diagnose`` and ``depl fit`` may show it.
"""

from enum import Enum

RESAMPLES = 999
"""Bootstrap resamples of a test: a convention, by which p-values are multiples of 1 / 1000. Half as many are
twice as coarse."""

CARE = 0.95
"""Share of the plans held out that end off the law by no more than the careful deviation."""


class FitBy(Enum):
    """What makes a combination of its own."""

    MODEL = "model"
    CLUSTER = "cluster"
    SCHEDULE = "schedule"
    RUN = "run"

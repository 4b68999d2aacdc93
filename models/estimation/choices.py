"""What may be chosen of a fit, and what is done unless the caller says otherwise.

Nothing heavy is imported, so that the help of ``depl diagnose`` and ``depl fit`` may show it.
"""

import math
from enum import Enum

RESAMPLES = 999
"""Bootstrap resamples of a test: a convention, by which p-values are multiples of 1 / 1000. Half as many are
twice as coarse."""

CARE = 0.95
"""Share of the plans held out that end off the law by no more than the careful deviation."""


PROMISED = (0.8, 0.9, 0.95, 0.99)
"""Probabilities that promises are usually asked for."""


def plans_needed(care: float) -> int:
    """Fewest plans held out that have a margin for the share ``care``: 19 for 0.95.

    The next plan deviates by more than all p held out with probability 1 / (p + 1).
    """
    from fractions import Fraction  # which takes as long to import as the help that shows these choices

    share = Fraction(str(care))
    return math.ceil(share / (1 - share))


class FitBy(Enum):
    """What makes a combination of its own."""

    MODEL = "model"
    CLUSTER = "cluster"
    SCHEDULE = "schedule"
    RUN = "run"

"""What the benchmarks of the three stages tell of a method beside the best there is."""

from collections.abc import Sequence

import numpy as np

SAME = 1e-9
"""Relative difference that counts as none."""


def against_best(ratios: Sequence[float], seconds: Sequence[float]) -> dict[str, float | None]:
    """Share of optima, mean and worst ratio to the best, mean seconds; None of no ratios."""
    return {
        "optimal_share": float(np.mean([ratio <= 1 + SAME for ratio in ratios])) if ratios else None,
        "mean_ratio": float(np.mean(ratios)) if ratios else None,
        "worst_ratio": max(ratios, default=None),
        "mean_seconds": float(np.mean(seconds)),
    }

"""What studies keep of a solve, and what the benchmarks of the stages tell of methods beside the best."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from depl.benchmarks.measure.outcome import SolveOutcome, tried
from depl.benchmarks.measure.solving import warm_up
from depl.models.problem.instance import Instance

SAME = 1e-9
"""Relative difference that counts as none."""


def answer(instance: Instance, method: str, limit: float, **settings: Any) -> dict[str, Any]:
    """What a method comes to, once it is compiled; ``proved`` to the gap that was asked for."""
    warm_up(method)
    return kept(tried(instance, method, time_limit=limit, **settings))


def kept(found: SolveOutcome) -> dict[str, Any]:
    """An outcome without its result and reason."""
    return {**dict(zip(found._fields[:-2], found, strict=False)), "gap": found.gap, "proved": found.proved}


def against_best(ratios: Sequence[float], seconds: Sequence[float]) -> dict[str, float]:
    """Share of optima, mean and worst ratio to the best, mean seconds."""
    return {
        "optimal_share": float(np.mean([ratio <= 1 + SAME for ratio in ratios])),
        "mean_ratio": float(np.mean(ratios)),
        "worst_ratio": max(ratios),
        "mean_seconds": float(np.mean(seconds)),
    }

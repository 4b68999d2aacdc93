"""Random plans that the case on the speed of the risk draws from."""

import numpy as np

from depl.models.problem.laws import FloatArray


def random_counts(rng: np.random.Generator, plans: int, epochs: int) -> FloatArray:
    """Which row each plan uses at each epoch, shape (plans, 3 * epochs)."""
    counts = np.zeros((plans, 3 * epochs))
    counts[np.arange(plans)[:, None], 3 * np.arange(epochs) + rng.integers(0, 3, (plans, epochs))] = 1
    return counts

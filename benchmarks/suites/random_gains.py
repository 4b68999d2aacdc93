"""Random laws and plans that several cases on the risk draw from."""

import math

import numpy as np

from depl.models.problem.laws import FloatArray, InverseGamma, StudentT


def random_inverse_gamma(rng: np.random.Generator) -> InverseGamma:
    """A shape from 2.1 to 1000, log-uniform, and a mean from 0.5 to 1.5."""
    shape = math.exp(rng.uniform(math.log(2.1), math.log(1000)))
    return InverseGamma(shape=shape, scale=(shape - 1) * float(rng.uniform(0.5, 1.5)))


def random_switch(rng: np.random.Generator) -> StudentT:
    """A switch of about 0.1, truncated to [-0.2, 0.8]."""
    freedom, scale = float(rng.uniform(1.5, 8.0)), float(rng.uniform(0.02, 0.1))
    return StudentT(degrees_of_freedom=freedom, location=0.1, scale=scale, lower=-0.2, upper=0.8)


def random_counts(rng: np.random.Generator, plans: int, epochs: int) -> FloatArray:
    """Which row each plan uses at each epoch, shape (plans, 3 * epochs)."""
    counts = np.zeros((plans, 3 * epochs))
    counts[np.arange(plans)[:, None], 3 * np.arange(epochs) + rng.integers(0, 3, (plans, epochs))] = 1
    return counts

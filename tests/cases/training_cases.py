"""A task small enough to be trained in a few milliseconds: two classes of points in the plane."""

import numpy as np

from depl.instances.training.families import Family
from depl.instances.training.federated import Descent, split
from depl.instances.training.network import Dense, Shape


def points():
    """400 points about (1, 1) or (-1, -1); every fourth is held out."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 400)
    return split(rng.normal(2.0 * labels[:, None] - 1, 0.7, (400, 2)), labels, Shape(2, 1), 2, "points")


LAYERS = (Dense(8), Dense(2, linear=True))
"""One hidden layer."""


def small_family(name="points", rate=0.1):
    """A family of runs of 60 epochs."""
    return Family(name, "points in the plane", points, LAYERS, Descent(rate, batch=16), 0)

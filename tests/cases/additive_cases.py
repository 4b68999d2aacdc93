"""Small random path problems with additive weights, times and losses, solved by trying every path."""

import itertools
import math

import numpy as np

from depl.heuristics.paths.additive_problem import AdditiveProblem
from depl.models.foundation.errors import InvalidInputError


def random_problem(rng, epochs, models, *, timed=True, peaks=True):
    """Costs and times at random; switches raise the loss if ``peaks``; one step in ten is forbidden."""
    gains = rng.uniform(0.2, 1.5, models) * rng.uniform(0.5, 1.2, (epochs, models + 1, models))
    losses = -gains
    if peaks:
        losses[:, :models] += (1 - np.eye(models)) * rng.uniform(0, 1.5)
    return AdditiveProblem(
        models=tuple("abcdefgh"[:models]),
        weights=rng.uniform(0.1, 3, (epochs, models)),
        times=rng.uniform(0.1, 1, (epochs, models)),
        losses=losses,
        allowed=rng.random((epochs, models + 1, models)) < 0.9,
        initial_loss=float(rng.uniform(3, 6)),
        maximum_loss=float(rng.uniform(0.5, 2.9)),
        maximum_time=float(rng.uniform(0.4, 0.9) * epochs) if timed else math.inf,
    )


def uniform(epochs, gain=1.0, time=1.0, *, start=10.0, target, limit=20.0):
    """One model, every epoch alike, of weight 1."""
    return AdditiveProblem(
        models=("only",),
        weights=np.ones((epochs, 1)),
        times=np.full((epochs, 1), time),
        losses=np.full((epochs, 2, 1), -gain),
        allowed=np.ones((epochs, 2, 1), dtype=bool),
        initial_loss=start,
        maximum_loss=target,
        maximum_time=limit,
    )


def all_paths(problem):
    """Every allowed path of at least one epoch."""
    found = []
    for length in range(1, problem.epochs + 1):
        for path in itertools.product(range(len(problem.models)), repeat=length):
            before = (problem.start, *path[:-1])
            if all(problem.allowed[k, p, m] for k, (p, m) in enumerate(zip(before, path, strict=True))):
                found.append(path)
    return found


def brute_force(problem):
    """Least weight of a feasible path, infinite if there is none."""
    if problem.initial_loss <= problem.maximum_loss:
        return 0.0
    costs = [problem.totals(path)[0] for path in all_paths(problem) if problem.feasible(path)]
    return min(costs, default=math.inf)


def is_refused(problem, path):
    """Whether a path makes a step that is not allowed."""
    try:
        problem.totals(path)
    except InvalidInputError:
        return True
    return False

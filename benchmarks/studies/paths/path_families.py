"""Families of random path problems, from easy to hard for exact methods.

- *like-paper*: `depl.benchmarks.studies.paths.random_paths`: models from fast and expensive to slow and
  cheap.
- *stationary*: epochs differ by their gains alone, so that the order of epochs hardly matters.
- *free*: weight, time and gain are independent, switches cost nothing.
- *correlated*: who gains more weighs more and is quicker, as in hard knapsacks.
- *integer*: small whole numbers, many ties.
- *subset-sum*: an epoch weighs what it gains.

The budgets are those of a path that mostly stays with its model for 60 to 90 % of the epochs, T_max with up
to a tenth more, so that every problem is feasible; ``tight`` makes T_max smaller by up to a quarter, so that
some are not.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from depl.benchmarks.studies.paths.random_paths import random_path_problem, wandering
from depl.heuristics.paths.additive_problem import AdditiveProblem
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.names import advice
from depl.models.problem.laws import FloatArray

_Parts = tuple[
    FloatArray, FloatArray, FloatArray, FloatArray
]  # weights, times, gains (K, M); switches (M, M)


def family_problem(
    rng: np.random.Generator, family: str, epochs: int, models: int, *, tight: bool = False
) -> AdditiveProblem:
    """Draw one problem of a family.

    Parameters
    ----------
    family : str
        One of `FAMILIES`.
    epochs, models : int
        K_max and M, both at least 1.
    tight : bool
        Whether T_max may be too small for any path.

    Raises
    ------
    InvalidInputError
        If there is no such family.
    """
    if family not in FAMILIES:
        raise InvalidInputError(f"no family {family!r}; {advice(family, FAMILIES)}")
    draw = _DRAWS.get(family)
    problem = (
        random_path_problem(rng, epochs, models)
        if draw is None
        else _problem(rng, *draw(rng, epochs, models))
    )
    if tight:
        problem = problem.within(problem.maximum_time * rng.uniform(0.75, 1), problem.maximum_loss)
    return problem


def _problem(
    rng: np.random.Generator, weights: FloatArray, times: FloatArray, gains: FloatArray, switches: FloatArray
) -> AdditiveProblem:
    epochs, models = weights.shape
    losses = np.repeat(-gains[:, None, :], models + 1, axis=1)
    losses[:, :models] += (1 - np.eye(models)) * switches
    path = wandering(rng, epochs, models, 0.6, 0.9)
    steps = list(enumerate(zip((models, *path[:-1]), path, strict=True)))
    drop = -float(sum(losses[k, before, model] for k, (before, model) in steps))
    if drop <= 0:  # the path got nowhere: its first epoch did
        drop = -float(losses[0, models, path[0]])
    return AdditiveProblem(
        models=tuple(f"m{index + 1}" for index in range(models)),
        weights=weights,
        times=times,
        losses=losses,
        allowed=np.ones(losses.shape, dtype=bool),
        initial_loss=1.5 * drop,
        maximum_loss=0.5 * drop,
        maximum_time=float(sum(times[k, model] for k, model in enumerate(path))) * rng.uniform(1, 1.1),
    )


def _stationary(rng: np.random.Generator, epochs: int, models: int) -> _Parts:
    offset = np.sort(rng.uniform(0, epochs / 2, models))
    decay = np.sqrt((epochs / 2 + offset) / (np.arange(1, epochs + 1)[:, None] + offset))
    work = np.geomspace(1, 0.2, models) * rng.uniform(0.9, 1.1, models)
    times = 0.3 * work + np.geomspace(0.5, 0.2, models)
    each = np.ones((epochs, 1))
    return (
        each * np.sqrt(work),
        each * times,
        np.geomspace(1, 0.4, models) * decay,
        rng.uniform(0, 0.5, (models, models)),
    )


def _free(rng: np.random.Generator, epochs: int, models: int) -> _Parts:
    shape = (epochs, models)
    weights, times, gains = rng.uniform(0.3, 1, shape), rng.uniform(0.1, 1, shape), rng.uniform(0.2, 1, shape)
    return weights, times, gains, np.zeros((models, models))


def _correlated(rng: np.random.Generator, epochs: int, models: int) -> _Parts:
    gains = rng.uniform(0.2, 1, (epochs, models))
    times = 1.2 - gains * rng.uniform(0.8, 1, gains.shape)
    return gains + rng.uniform(0, 0.1, gains.shape), times, gains, rng.uniform(0, 0.1, (models, models))


def _integer(rng: np.random.Generator, epochs: int, models: int) -> _Parts:
    def whole(last: int, shape: tuple[int, int]) -> FloatArray:
        return np.asarray(rng.integers(1, last + 1, shape), dtype=float)

    shape = (epochs, models)
    return whole(3, shape), whole(3, shape), whole(5, shape), whole(2, (models, models)) - 1


def _subset_sum(rng: np.random.Generator, epochs: int, models: int) -> _Parts:
    gains = rng.integers(1, 1000, (epochs, models)) / 100
    times = rng.integers(1, 1000, (epochs, models)) / 100
    return gains, times, gains, np.zeros((models, models))


_DRAWS: Mapping[str, Callable[[np.random.Generator, int, int], _Parts]] = MappingProxyType(
    {
        "stationary": _stationary,
        "free": _free,
        "correlated": _correlated,
        "integer": _integer,
        "subset-sum": _subset_sum,
    }
)

FAMILIES = ("like-paper", *_DRAWS)
"""The families, by name."""

"""Random path problems of model selection, drawn before anything is solved.

- *like-paper*: models run from fast and expensive to slow and cheap, as in Table I: gains fall like
  1 / sqrt(k + offset), later for slower models, and vary by a tenth from epoch to epoch; switches cost.
- *stationary*: epochs differ by their gains alone, so that the order of epochs hardly matters.
- *free*: weight, time and gain are independent, switches cost nothing.
- *correlated*: who gains more weighs more and is quicker, as in hard knapsacks.
- *integer*: small whole numbers, many ties. *subset-sum*: an epoch weighs what it gains.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from depl.heuristics.paths.additive_problem import AdditiveProblem
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.names import advice
from depl.models.problem.laws import FloatArray

_STAYING = 0.9
_Parts = tuple[FloatArray, FloatArray, FloatArray, FloatArray]
"""Weights, times, gains, each (K, M), and losses of switches, (M, M)."""


def random_path_problem(rng: np.random.Generator, epochs: int, models: int = 3) -> AdditiveProblem:
    """Draw one problem with K_max = ``epochs``, feasible by construction.

    A path that mostly stays with its model for 80 to 100 % of the epochs sets the limits: l_max is its loss,
    T_max its time and up to a tenth more, and l(0) is chosen so that a half to nine tenths of it go.
    """
    return _around_a_path(rng, *_like_paper(rng, epochs, models), shares=(0.8, 1.0), lost=(0.5, 0.9))


def family_problem(
    rng: np.random.Generator, family: str, epochs: int, models: int, *, tight: bool = False
) -> AdditiveProblem:
    """Draw one problem of a family.

    Except for *like-paper*, which is that of `random_path_problem`, the path that sets the limits lasts 60 to
    90 % of the epochs, and two thirds of l(0) go.

    Parameters
    ----------
    family : str
        One of `FAMILIES`.
    epochs, models : int
        K_max and M, both at least 1.
    tight : bool
        Whether T_max is smaller by up to a quarter, which may be too little for any path.

    Raises
    ------
    InvalidInputError
        If there is no such family.
    """
    if family not in FAMILIES:
        raise InvalidInputError(f"no family {family!r}; {advice(family, FAMILIES)}")
    if family in _DRAWS:
        problem = _around_a_path(rng, *_DRAWS[family](rng, epochs, models), shares=(0.6, 0.9))
    else:
        problem = random_path_problem(rng, epochs, models)
    if tight:
        problem = problem.within(problem.maximum_time * rng.uniform(0.75, 1), problem.maximum_loss)
    return problem


def _around_a_path(
    rng: np.random.Generator,
    weights: FloatArray,
    times: FloatArray,
    gains: FloatArray,
    switches: FloatArray,
    *,
    shares: tuple[float, float],
    lost: tuple[float, float] = (2 / 3, 2 / 3),
) -> AdditiveProblem:
    """The problem whose limits a random path sets; ``shares`` of K_max that it lasts, ``lost`` of l(0)."""
    epochs, models = weights.shape
    losses = np.repeat(-gains[:, None, :], models + 1, axis=1)
    losses[:, :models] += (1 - np.eye(models)) * switches
    path = _wandering(rng, epochs, models, *shares)
    steps = list(enumerate(zip((models, *path[:-1]), path, strict=True)))
    drop = -float(sum(losses[k, before, model] for k, (before, model) in steps))
    if drop <= 0:  # the path got nowhere: its first epoch did
        drop = -float(losses[0, models, path[0]])
    initial = drop / (rng.uniform(*lost) if lost[0] < lost[1] else lost[0])
    return AdditiveProblem(
        models=tuple(f"m{index + 1}" for index in range(models)),
        weights=weights,
        times=times,
        losses=losses,
        allowed=np.ones(losses.shape, dtype=bool),
        initial_loss=initial,
        maximum_loss=initial - drop,
        maximum_time=float(sum(times[k, model] for k, model in enumerate(path))) * rng.uniform(1, 1.1),
    )


def _wandering(
    rng: np.random.Generator, epochs: int, models: int, least: float, most: float
) -> tuple[int, ...]:
    """A path that mostly stays with its model; it lasts from ``least`` to ``most`` of the epochs."""
    length = int(rng.integers(max(1, int(least * epochs)), max(int(most * epochs), 1) + 1))
    path = [int(rng.integers(models))]
    while len(path) < length:
        path.append(path[-1] if rng.random() < _STAYING else int(rng.integers(models)))
    return tuple(path)


def _decaying(rng: np.random.Generator, epochs: int, models: int) -> FloatArray:
    """1 / sqrt(k + offset), 1 in the middle of training for a model without an offset."""
    offset = np.sort(rng.uniform(0, epochs / 2, models))
    decay: FloatArray = np.sqrt((epochs / 2 + offset) / (np.arange(1, epochs + 1)[:, None] + offset))
    return decay


def _like_paper(rng: np.random.Generator, epochs: int, models: int) -> _Parts:
    speed = np.geomspace(1, rng.uniform(0.3, 0.6), models)
    gains = speed * _decaying(rng, epochs, models) * rng.uniform(0.9, 1.1, (epochs, models))
    work = np.geomspace(1, rng.uniform(0.1, 0.3), models) * rng.uniform(0.9, 1.1, (epochs, models))
    times = 0.3 * work + np.geomspace(0.5, rng.uniform(0.1, 0.3), models)
    return np.sqrt(work), times, gains, rng.uniform(0, 0.5, (models, models))


def _stationary(rng: np.random.Generator, epochs: int, models: int) -> _Parts:
    decay, each = _decaying(rng, epochs, models), np.ones((epochs, 1))
    work = np.geomspace(1, 0.2, models) * rng.uniform(0.9, 1.1, models)
    times, gains = 0.3 * work + np.geomspace(0.5, 0.2, models), np.geomspace(1, 0.4, models) * decay
    return each * np.sqrt(work), each * times, gains, rng.uniform(0, 0.5, (models, models))


def _free(rng: np.random.Generator, epochs: int, models: int) -> _Parts:
    shape = (epochs, models)
    weights, times, gains = rng.uniform(0.3, 1, shape), rng.uniform(0.1, 1, shape), rng.uniform(0.2, 1, shape)
    return weights, times, gains, np.zeros((models, models))


def _correlated(rng: np.random.Generator, epochs: int, models: int) -> _Parts:
    gains = rng.uniform(0.2, 1, (epochs, models))
    times = 1.2 - gains * rng.uniform(0.8, 1, gains.shape)
    return gains + rng.uniform(0, 0.1, gains.shape), times, gains, rng.uniform(0, 0.1, (models, models))


def _integer(rng: np.random.Generator, epochs: int, models: int) -> _Parts:
    shape = (epochs, models)
    weights, times, gains = (rng.integers(1, last + 1, shape).astype(float) for last in (3, 3, 5))
    return weights, times, gains, rng.integers(1, 3, (models, models)).astype(float) - 1


def _subset_sum(rng: np.random.Generator, epochs: int, models: int) -> _Parts:
    gains, times = (rng.integers(1, 1000, (epochs, models)) / 100 for _ in range(2))
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

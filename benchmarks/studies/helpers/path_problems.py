"""Random path problems of model selection, drawn before anything is solved, all around a path that is known.

- *like-paper*: models run from fast and expensive to slow and cheap, as in Table I: gains fall like
  1 / sqrt(k + offset), later for slower models, and vary by a tenth from epoch to epoch; switches cost.
- *stationary*: epochs differ by their gains alone, so that the order of epochs hardly matters.
- *free*: weight, time and gain are independent, switches cost nothing.
- *correlated*: who gains more weighs more and is quicker, as in hard knapsacks.
- *integer*: small whole numbers, many ties. *subset-sum*: an epoch weighs what it gains.
"""

from collections.abc import Callable, Mapping

import numpy as np

from depl.heuristics.paths.additive_problem import AdditiveProblem
from depl.models.problem.laws import FloatArray

_STAYING = 0.9
_Parts = tuple[FloatArray, FloatArray, FloatArray, FloatArray]
"""Weights, times, gains, each (K, M), and losses of switches, (M, M)."""


def family_problem(
    rng: np.random.Generator, family: str, epochs: int, models: int = 3, *, tight: bool = False
) -> AdditiveProblem:
    """Draw one problem of `FAMILIES` with K_max = ``epochs``, feasible by construction.

    A path that mostly stays with its model sets the limits: l_max is its loss, T_max its time and up to a
    tenth more. It lasts 60 to 90 % of the epochs (*like-paper*: 80 to 100 %), and two thirds of l(0) go (half
    to nine tenths). ``tight``: T_max is smaller by up to a quarter, which may be too little for any path.
    """
    weights, times, gains, switches = FAMILIES[family](rng, epochs, models)
    losses = np.repeat(-gains[:, None, :], models + 1, axis=1)
    losses[:, :models] += (1 - np.eye(models)) * switches
    least, most = (0.8, 1.0) if family == "like-paper" else (0.6, 0.9)
    length = int(rng.integers(max(1, int(least * epochs)), max(int(most * epochs), 1) + 1))
    path = [int(rng.integers(models))]
    while len(path) < length:
        path.append(path[-1] if rng.random() < _STAYING else int(rng.integers(models)))
    drop = -float(sum(losses[k, p, m] for k, (p, m) in enumerate(zip((models, *path), path, strict=False))))
    if drop <= 0:  # the path got nowhere: its first epoch did
        drop = -float(losses[0, models, path[0]])
    initial = drop / (rng.uniform(0.5, 0.9) if family == "like-paper" else 2 / 3)
    latest = float(sum(times[k, model] for k, model in enumerate(path))) * rng.uniform(1, 1.1)
    return AdditiveProblem(
        models=tuple(f"m{index + 1}" for index in range(models)),
        weights=weights,
        times=times,
        losses=losses,
        allowed=np.ones(losses.shape, dtype=bool),
        initial_loss=initial,
        maximum_loss=initial - drop,
        maximum_time=latest * rng.uniform(0.75, 1) if tight else latest,
    )


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
    weights, times, gains = (rng.uniform(least, 1, (epochs, models)) for least in (0.3, 0.1, 0.2))
    return weights, times, gains, np.zeros((models, models))


def _correlated(rng: np.random.Generator, epochs: int, models: int) -> _Parts:
    gains = rng.uniform(0.2, 1, (epochs, models))
    times = 1.2 - gains * rng.uniform(0.8, 1, gains.shape)
    return gains + rng.uniform(0, 0.1, gains.shape), times, gains, rng.uniform(0, 0.1, (models, models))


def _integer(rng: np.random.Generator, epochs: int, models: int) -> _Parts:
    weights, times, gains = (rng.integers(1, last + 1, (epochs, models)).astype(float) for last in (3, 3, 5))
    return weights, times, gains, rng.integers(1, 3, (models, models)).astype(float) - 1


def _subset_sum(rng: np.random.Generator, epochs: int, models: int) -> _Parts:
    gains, times = (rng.integers(1, 1000, (epochs, models)) / 100 for _ in range(2))
    return gains, times, gains, np.zeros((models, models))


FAMILIES: Mapping[str, Callable[[np.random.Generator, int, int], _Parts]] = {
    "like-paper": _like_paper,
    "stationary": _stationary,
    "free": _free,
    "correlated": _correlated,
    "integer": _integer,
    "subset-sum": _subset_sum,
}

"""Random path problems of model selection with many epochs, drawn before anything is solved.

Models run from fast and expensive to slow and cheap, as in Table I: gains fall like 1 / sqrt(k + offset),
later for slower models; gains and work vary by a tenth from epoch to epoch; switches cost up to half an
epoch's gain. A path that mostly stays with its model for 80 to 100 % of the epochs sets the limits: l_max is
its loss, T_max its time and up to a tenth more, and l(0) is chosen so that a half to nine tenths of it go.
"""

import math

import numpy as np

from depl.heuristics.paths.additive_problem import AdditiveProblem

_STAYING = 0.9


def random_path_problem(rng: np.random.Generator, epochs: int, models: int = 3) -> AdditiveProblem:
    """Draw one problem with K_max = ``epochs``, feasible by construction.

    Parameters
    ----------
    epochs, models : int
        K_max and M, both at least 1.
    """
    speed = np.geomspace(1, rng.uniform(0.3, 0.6), models)
    offset = np.sort(rng.uniform(0, epochs / 2, models))
    decay = np.sqrt((epochs / 2 + offset) / (np.arange(1, epochs + 1)[:, None] + offset))
    gains = speed * decay * rng.uniform(0.9, 1.1, (epochs, models))
    work = np.geomspace(1, rng.uniform(0.1, 0.3), models) * rng.uniform(0.9, 1.1, (epochs, models))
    times = 0.3 * work + np.geomspace(0.5, rng.uniform(0.1, 0.3), models)
    losses = np.repeat(-gains[:, None, :], models + 1, axis=1)
    losses[:, :models] += (1 - np.eye(models)) * rng.uniform(0, 0.5, (models, models))
    path = wandering(rng, epochs, models)
    steps = list(enumerate(zip((models, *path[:-1]), path, strict=True)))
    drop = -math.fsum(losses[k, before, model] for k, (before, model) in steps)
    time = math.fsum(times[k, model] for k, model in enumerate(path))
    initial = drop / rng.uniform(0.5, 0.9)
    return AdditiveProblem(
        models=tuple(f"m{index + 1}" for index in range(models)),
        weights=np.sqrt(work),
        times=times,
        losses=losses,
        allowed=np.ones(losses.shape, dtype=bool),
        initial_loss=initial,
        maximum_loss=initial - drop,
        maximum_time=time * rng.uniform(1, 1.1),
    )


def wandering(
    rng: np.random.Generator, epochs: int, models: int, least: float = 0.8, most: float = 1.0
) -> tuple[int, ...]:
    """A path that mostly stays with its model, as long as a share from ``least`` to ``most`` of the epochs.

    Parameters
    ----------
    epochs, models : int
        K_max and M, both at least 1.
    """
    length = int(rng.integers(max(1, math.floor(least * epochs)), max(math.floor(most * epochs), 1) + 1))
    path = [int(rng.integers(models))]
    while len(path) < length:
        path.append(path[-1] if rng.random() < _STAYING else int(rng.integers(models)))
    return tuple(path)

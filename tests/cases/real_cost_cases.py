"""Random problems on the real cost, and every sequence of them written out; shares no code with the search.

Costs come from bisection on q = sqrt(lam) for all sequences at once, not from the closed form.
"""

import math

import numpy as np

from depl.heuristics.paths.real_cost_problem import RealCostProblem
from depl.instances.generator import random_instance
from depl.models.problem.epochs import Load
from depl.models.problem.instance import Instance


def random_problem(
    rng: np.random.Generator, epochs: int, models: int, clusters: int, *, stationary: bool = True
) -> RealCostProblem:
    """All that may go wrong at once: expensive transfers, free clusters, idle epochs, deadlines, peaks."""
    kinds = tuple((place, model) for place in range(clusters) for model in range(models))
    gains = rng.uniform(0.3, 1.5, len(kinds)) * rng.uniform(0.6, 1.1, (epochs, models + 1, len(kinds)))
    losses = -gains
    switching = np.array([[p != m for _, m in kinds] for p in range(models)])
    losses[:, :models] += switching * rng.choice([0.0, 0.1, rng.uniform(0, 2)])
    rows = [_loads(rng, kinds, clusters) for _ in range(1 if stationary else epochs)]
    loads = tuple(rows[0] if stationary else rows[k] for k in range(epochs))
    slowest = sum(max(item.work / item.capacity + item.communication for item in row) for row in loads)
    deadline = float(rng.uniform(0.8, 3)) if rng.random() < 0.4 else None
    time = None if deadline is not None and rng.random() < 0.3 else float(slowest * rng.uniform(0.2, 1.2))
    allowed = rng.random((epochs, models + 1, len(kinds))) < 0.9
    if deadline is not None:
        fits = [[item.work / item.capacity + item.communication <= deadline for item in row] for row in loads]
        allowed &= np.array(fits)[:, None, :]
    return RealCostProblem(
        models=tuple("abcdefgh"[:models]),
        clusters=tuple("stuvwxyz"[:clusters]),
        kinds=kinds,
        loads=loads,
        losses=losses,
        allowed=allowed,
        transfers=rng.uniform(0, 3, clusters) * (rng.random(clusters) < 0.6) * rng.choice([0.1, 1.0]),
        initial_loss=3.0,
        maximum_loss=float(rng.uniform(-1, 2)),
        maximum_time=time,
        round_deadline=deadline,
    )


def _loads(rng: np.random.Generator, kinds: tuple[tuple[int, int], ...], clusters: int) -> tuple[Load, ...]:
    prices = rng.uniform(0.3, 2, clusters) * (rng.random(clusters) < 0.9)
    capacities, waits = rng.uniform(1, 5, clusters), rng.uniform(0, 0.5, clusters)
    works = rng.uniform(0.3, 3, len(kinds)) * (rng.random(len(kinds)) < 0.95)
    return tuple(
        Load(float(work), float(prices[place]), float(capacities[place]), float(waits[place]))
        for work, (place, _) in zip(works, kinds, strict=True)
    )


def drawn(
    rng: np.random.Generator, longest: int, models: int = 2, clusters: int = 2
) -> tuple[Instance, dict[str, frozenset[str]]]:
    """An instance of the random family with the data of every cluster drawn."""
    counts = (1, clusters)
    instance = random_instance(
        rng, models=(2, models), clusters=counts, datasets=(1, 3), maximum_epochs=(2, longest)
    )
    names = [item.name for item in instance.datasets]
    data = {}
    for place in instance.clusters:
        chosen = frozenset(name for name in names if rng.random() < 0.7)
        data[place.name] = chosen or frozenset(names[:1])
    return instance, data


def every_sequence(problem: RealCostProblem) -> list[tuple[float, float, tuple[int, ...]]]:
    """(cost, loss, sequence) of all sequences that are allowed and keep target and limits, sorted."""
    found = []
    if problem.initial_loss <= problem.maximum_loss + 1e-9:
        found.append((0.0, problem.initial_loss, ()))
    level = {(): (problem.initial_loss, len(problem.models))}
    for k in range(len(problem.loads)):
        level = {
            (*before, g): (loss + float(problem.losses[k, last, g]), problem.kinds[g][1])
            for before, (loss, last) in level.items()
            for g in range(len(problem.kinds))
            if problem.allowed[k, last, g]
        }
        reached = [chosen for chosen, (loss, _) in level.items() if loss <= problem.maximum_loss + 1e-9]
        for chosen, cost in zip(reached, _costs(problem, reached), strict=True):
            if math.isfinite(cost):
                found.append((float(cost), level[chosen][0], chosen))
    return sorted(found)


def cheapest(problem: RealCostProblem) -> float:
    """Least cost; infinite if nothing is feasible."""
    return min((cost for cost, _, _ in every_sequence(problem)), default=math.inf)


def _costs(problem: RealCostProblem, sequences: list[tuple[int, ...]]) -> np.ndarray:
    """Real costs of equally long sequences by bisection, 4,096 at a time."""
    if not sequences:
        return np.zeros(0)
    parts = [sequences[first : first + 4096] for first in range(0, len(sequences), 4096)]
    return np.concatenate([_bisected(problem, np.array(part)) for part in parts])


def _bisected(problem: RealCostProblem, chosen: np.ndarray) -> np.ndarray:
    rows = np.array([[(i.work, i.price, i.capacity, i.communication) for i in row] for row in problem.loads])
    work, price, full, wait = np.moveaxis(rows[np.arange(chosen.shape[1])[None, :], chosen], 2, 0)
    limit = math.inf if problem.maximum_time is None else problem.maximum_time
    least = np.zeros_like(work)
    if problem.round_deadline is not None:
        least = np.minimum(work / np.maximum(problem.round_deadline - wait, 1e-300), full)
    slope = np.where(price > 0, np.sqrt(work / np.where(price > 0, price, 1)), 0.0)
    free = np.where(price > 0, 0.0, np.inf)

    def chosen_at(pace: np.ndarray) -> np.ndarray:
        wanted = pace[:, None] * slope + free
        return np.where(work > 0, np.minimum(np.maximum(wanted, least), full), 0.0)

    def time_at(pace: np.ndarray) -> np.ndarray:
        with np.errstate(divide="ignore", invalid="ignore"):
            return (np.where(work > 0, work / chosen_at(pace), 0.0) + wait).sum(axis=1)

    low, high = np.zeros(len(chosen)), np.full(len(chosen), 1e9)
    late = time_at(high) > limit * (1 + 1e-9)
    enough = time_at(low) <= limit
    for _ in range(140):
        middle = np.where(low > 0, np.sqrt(low * high), high * 1e-3)
        if (enough | (middle == low) | (middle == high)).all():  # no number lies between
            break
        slow = time_at(middle) > limit
        low, high = np.where(slow, middle, low), np.where(slow, high, middle)
    pace = np.where(enough, 0.0, high)
    cost = (price * chosen_at(pace)).sum(axis=1)
    places = np.array([place for place, _ in problem.kinds])[chosen]
    for place, transfer in enumerate(problem.transfers):
        cost = cost + transfer * (places == place).any(axis=1)
    return np.where(late, np.inf, cost)

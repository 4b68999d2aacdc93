"""Stage 1 by dynamic programming over whole volumes: an oracle that shares no bound with the search.

With whole volumes the least duration of every total volume is a subset-sum table, S entries per dataset, and
f at the best entry is the optimum. O(n S) time, and n S bits to read the set off again.
"""

import numpy as np

from depl.heuristics.data.epochs_needed import NeededEpochs
from depl.heuristics.data.problem import SelectionProblem, training_time


def subset_sum(problem: SelectionProblem, nonempty: bool = True) -> tuple[frozenset[int], float]:
    """A minimiser of stage 1 and its value, for whole volumes, K^ by volume and no transfer costs."""
    volumes = problem.volumes.astype(np.int64)
    assert isinstance(problem.needed, NeededEpochs)
    assert not problem.priced
    assert (volumes == problem.volumes).all(), "volumes have to be whole numbers; scale them"
    total = int(volumes.sum())
    least = np.full(total + 1, np.inf)
    least[0] = 0.0
    taken: list[np.ndarray] = []
    for volume, duration in zip(volumes.tolist(), problem.durations.tolist(), strict=True):
        other = np.full(total + 1, np.inf)
        other[volume:] = least[: total + 1 - volume] + duration
        better = other < least
        taken.append(np.packbits(better))
        least = np.where(better, other, least)
    reachable = np.isfinite(least)
    values = np.full(len(least), np.inf)
    length = problem.fixed_duration + least[reachable]
    values[reachable] = training_time(problem.needed.at(np.flatnonzero(reachable).astype(float)), length)
    if nonempty:
        values[0] = np.inf
    subset = _read_off(int(np.argmin(values)), volumes.tolist(), taken)
    return subset, problem.value(subset)


def _read_off(total: int, volumes: list[int], taken: list[np.ndarray]) -> frozenset[int]:
    chosen = []
    for place in reversed(range(len(volumes))):
        if taken[place][total >> 3] >> (7 - (total & 7)) & 1:
            chosen.append(place)
            total -= volumes[place]
    return frozenset(chosen)

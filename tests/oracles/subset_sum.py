"""Stage 1 by dynamic programming over whole volumes: an oracle that shares no bound with the search.

With whole volumes the least duration of every total volume is a subset-sum table, S entries per dataset, and
f at the best entry is the optimum.
"""

import numpy as np

from depl.heuristics.data.epochs_needed import NeededEpochs
from depl.heuristics.data.problem import training_time


def subset_sum(problem):
    """The optimum of stage 1 with a dataset at least, for whole volumes and no transfer costs."""
    volumes = problem.volumes.astype(np.int64)
    assert isinstance(problem.needed, NeededEpochs)
    assert not problem.priced
    assert (volumes == problem.volumes).all(), "volumes have to be whole numbers; scale them"
    least = np.full(int(volumes.sum()) + 1, np.inf)
    least[0] = 0.0
    for volume, duration in zip(volumes.tolist(), problem.durations.tolist(), strict=True):
        least[volume:] = np.minimum(least[volume:], least[: len(least) - volume] + duration)
    reachable = np.flatnonzero(np.isfinite(least[1:])) + 1
    length = problem.fixed_duration + least[reachable]
    return float(np.min(training_time(problem.needed.at(reachable.astype(float)), length)))

"""One subproblem of the search under scenarios: an assignment of data and a number of epochs.

Beside what it may spend (`charged`), a path of kinds is cut off where too many scenarios cannot reach the
target any more: V_s[k, m, b] is the most that scenario s can still gain after k epochs, the last of them on
model m, when its remaining extra charge is at most b cells. At least S - p scenarios must satisfy gain so far
+ V >= needed.
"""

from dataclasses import dataclass

import numpy as np

from depl.models.laws import FloatArray
from depl.models.scenarios.sampled import SampledProblem
from depl.models.search import kernels
from depl.models.search.assignments import make_sample
from depl.models.search.charged import Charged

_GAIN_SLACK = 1e-10
_LARGEST_TABLE = 1 << 27
_MOST_CELLS = 512


@dataclass(eq=False)
class Subproblem(Charged):
    """Depth-first search over the plans of ``length`` epochs under one assignment.

    Parameters
    ----------
    hardest : int array (S,)
        Scenarios in the order in which they are looked at.
    """

    problem: SampledProblem
    hardest: np.ndarray

    def __post_init__(self) -> None:
        """Build charges, and the table unless the charges alone exclude every plan."""
        problem = self.problem
        self._sample = make_sample(problem, self.assignment, self.hardest, self.length)
        scale = float(np.abs(self._sample.gains).max(axis=1).sum(axis=0).max(initial=0.0))
        self._sample = self._sample._replace(needed=problem.needed - _GAIN_SLACK * max(1.0, scale))
        self._reached = np.zeros((self.length + 1, len(self.hardest)))
        super().__post_init__()
        if not self.finished:
            self._build_table()

    def proceed(self, nodes: int) -> list[int] | None:
        """Search on; the kinds of a leaf, or None when finished or after ``nodes`` more children."""
        if self.finished:
            return None
        code = kernels.descend(
            self._sample,
            self._charges,
            self._table,
            self._scale,
            self._order,
            self._state,
            self._reached,
            nodes,
        )
        if code == kernels.LEAF:
            return self._chosen()
        self.finished = code == kernels.FINISHED
        return None

    def root_gains(self) -> FloatArray:
        """Most that each scenario can gain within the first limit, shape (S,), as ordered by ``hardest``."""
        best = np.full(len(self.hardest), -np.inf)
        sample, first = self._sample, self._sample.first_model
        for kind, after in enumerate(sample.models):
            if self._steps[0, kind] < 0 or (first >= 0 and not sample.may_follow[first, after]):
                continue
            gain = sample.gains[0, kind] + self._table[1, after, self._cells - 1 - self._steps[0, kind]]
            if first not in (-1, after):
                gain = gain - sample.switch_losses[0, first, after]
            best = np.maximum(best, gain)
        return best

    def _build_table(self) -> None:
        layer = (self.length + 1) * len(self.problem.instance.models) * len(self.hardest)
        self._make_cells(max(1, min(_MOST_CELLS, _LARGEST_TABLE // layer)))
        self._table = kernels.reachable_gains(self._sample, self._steps, self._cells)

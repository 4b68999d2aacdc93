"""What traces say about the two changes of a loss: improvements of epochs, jumps of switches.

The improvement of epoch k is the loss at its start less the loss at its end; they differ from l(k-1) - l(k)
only right after a switch. Where the loss was not evaluated between a switch and its first epoch, the two
changes are seen as one: that improvement is then not observed, and the jump is estimated as the whole change
plus the improvement that the fitted curve expects, which is right in the mean and counted.
"""

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.laws import FloatArray
from depl.models.traces.table import Texts, Traces


class Observations(NamedTuple):
    """Traces as arrays of shape (runs, K), K the greatest epoch; NaN or "" where there is nothing.

    Attributes
    ----------
    model, cluster : array of str
        What was trained at epochs 1, ..., K, and where.
    before, start, end : float array
        l(k-1), the loss at the start of epoch k (after a switch), and l(k).
    """

    model: Texts
    cluster: Texts
    before: FloatArray
    start: FloatArray
    end: FloatArray

    @property
    def epochs(self) -> FloatArray:
        """1, ..., K."""
        return np.arange(1, self.end.shape[1] + 1, dtype=float)

    @property
    def switched(self) -> NDArray[np.bool_]:
        """Whether the model of epoch k differs from that of epoch k - 1, shape (runs, K)."""
        found = np.zeros(self.model.shape, dtype=bool)
        found[:, 1:] = (self.model[:, 1:] != self.model[:, :-1]) & (self.model[:, 1:] != "")
        return found

    def combinations(self) -> list[tuple[str, str]]:
        """The pairs of model and cluster that were trained, in the order of their first epochs."""
        pairs = zip(self.model.T.ravel().tolist(), self.cluster.T.ravel().tolist(), strict=True)
        return list(dict.fromkeys(pair for pair in pairs if pair[0]))

    def switches_seen(self) -> list[tuple[str, str]]:
        """The ordered pairs of models that were switched between."""
        runs, columns = np.nonzero(self.switched)
        pairs = zip(self.model[runs, columns - 1].tolist(), self.model[runs, columns].tolist(), strict=True)
        return sorted(set(pairs))

    @property
    def improvements(self) -> FloatArray:
        """Start less end of every epoch [loss]."""
        return np.asarray(self.start - self.end)

    def trained(self, model: str, cluster: str = "") -> NDArray[np.bool_]:
        """Where one model was trained (on one cluster), shape (runs, K)."""
        here = self.model == model
        return np.asarray(here & (self.cluster == cluster) if cluster else here)

    def jumps_of(self, previous: str, following: str, expected: FloatArray) -> tuple[FloatArray, int]:
        """The loss changes of all switches between two models, and how many of them are estimated.

        Parameters
        ----------
        expected : float array (K,)
            Expected improvement of ``following`` at every epoch, for switches after which the loss was
            not evaluated before training [loss].
        """
        runs, columns = np.nonzero(self.switched & (self.model == following))
        chosen = self.model[runs, columns - 1] == previous
        runs, columns = runs[chosen], columns[chosen]
        start, estimated = self.start[runs, columns], self.end[runs, columns] + expected[columns]
        unseen = np.isnan(start)
        return np.where(unseen, estimated, start) - self.before[runs, columns], int(unseen.sum())


def stretches(models: Iterable[str]) -> Iterator[tuple[str, int, int]]:
    """Every model that is trained without a break, with its first column and the one after its last."""
    end = 0
    for name, group in groupby(models):
        first, end = end, end + len(list(group))
        yield name, first, end


def observe(traces: Traces, metric: str = "loss") -> Observations:
    """Read the changes of a metric from traces.

    Parameters
    ----------
    metric : str
        ``loss`` or ``error_rate``.

    Raises
    ------
    InvalidInputError
        If the traces do not hold the metric, or no run trained.
    """
    end = traces.matrix(metric)
    if end.shape[1] < 2:
        raise InvalidInputError("no run has an epoch of training")
    row = np.repeat(np.arange(len(traces.runs)), np.diff(traces.bounds))
    start = np.full_like(end, np.nan)
    start[row, traces.epoch] = traces.start(metric)
    names = [np.full(end.shape, "", dtype=column.dtype) for column in (traces.model, traces.cluster)]
    for name, column in zip(names, (traces.model, traces.cluster), strict=True):
        name[row, traces.epoch] = column
    return Observations(names[0][:, 1:], names[1][:, 1:], end[:, :-1], start[:, 1:], end[:, 1:])

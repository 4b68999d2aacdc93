r"""In which epochs a cluster is charged for its transfers: what opening a cluster is worth to each of them.

Charged in equal shares, a cluster that is best in a third of all epochs pays a third of its transfers, and
the bound is that much too low. Every cluster may have shares of its own (`Frontier.charged`). At given
prices, let an epoch k cost r_kj at least on a cluster with a set of data, j, without its transfers F_j. For
any values v_k of the epochs, the shares

    alpha_kn = max over the sets of cluster n of (v_k - r_kj)+ / F_j

make every epoch cost v_k at least, and are allowed if their sum over all epochs is at most 1 for every
cluster. So values are raised as long as that holds: dual ascent, as for the location of facilities. Nothing
is proved here; shares are only proposed, and whatever they are, the bound holds.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from depl.heuristics.bounds.cutting_planes import Cut, Prices
from depl.heuristics.bounds.learning import Learning
from depl.heuristics.bounds.volume_bound import Frontier
from depl.models.problem.epoch_costs import EpochCosts
from depl.models.problem.laws import FloatArray

Integers = NDArray[np.int64]

_STRETCHES = 4
"""Stretches of the epochs that a sequence trains, each with shares of its own. Set by hand: psi is looked for
once for each, in time and memory; fewer know less of where a cluster is worth its transfers."""
_HALVINGS, _SWEEPS = 14, 2
"""Steps of a bisection, and times that all stretches are raised in turn. Set by hand: 2**-14 of what an epoch
may gain is little beside the rest, and the second sweep takes what the first left over."""


@dataclass(frozen=True, eq=False)
class Opening:
    """Columns, sets of data on clusters, and what an epoch of every stretch costs on them.

    Attributes
    ----------
    firsts : int array (G,)
        Where the rows of every cluster begin.
    costs : ndarray
        r of an epoch in the middle of every stretch, shape (B, R, O) [cost].
    transfers : ndarray
        F, shape (R, O) [cost].
    counts : int array (B,)
        Epochs of every stretch.
    """

    firsts: Integers
    costs: FloatArray
    transfers: FloatArray
    counts: Integers

    def shares(self, stretch: int, value: float) -> FloatArray:
        """alpha of every cluster at a value of the epochs of a stretch; infinite beyond what is free."""
        missing = np.maximum(value - self.costs[stretch], 0.0)
        asked = np.divide(missing, self.transfers, out=np.zeros_like(missing), where=self.transfers > 0)
        asked[(self.transfers <= 0) & (missing > 1e-12 * abs(value))] = math.inf
        return np.asarray(np.maximum.reduceat(asked.max(axis=1), self.firsts))

    def raised(self) -> FloatArray:
        """alpha of every stretch and cluster after dual ascent, shape (B, G); the last stretch is idle.

        Epochs that are not trained are worth 0, all others at least what they cost in equal shares.
        """
        stretches = len(self.costs) - 1
        equal = self.transfers / self.counts.sum()
        values = [float((self.costs[b] + equal).min()) for b in range(stretches)]
        values.append(min(0.0, float((self.costs[-1] + equal).min())))
        low = [float(self.costs[b].min()) for b in range(stretches)] + [0.0]
        shares = np.stack([self.shares(b, value) for b, value in enumerate(values)])
        if not np.isfinite(shares).all():
            return np.full(shares.shape, 1 / self.counts.sum())
        for sweep in range(_SWEEPS):
            for b in range(stretches):
                others = self.counts @ shares - self.counts[b] * shares[b]
                room = np.maximum(1 - others, 0.0) / self.counts[b]
                if sweep == 0:  # leave something for the stretches to come
                    room = np.minimum(room, shares[b] + (room - shares[b]) / (stretches - b))
                values[b], shares[b] = self._most(b, (values[b], low[b]), room)
        return shares

    def _most(self, stretch: int, ends: tuple[float, float], room: FloatArray) -> tuple[float, FloatArray]:
        """The greatest value of a stretch whose shares fit into what room is left."""
        known, least = ends
        step = max(known - least, 1e-9 * abs(known))
        best = known, self.shares(stretch, known)
        high = known + step
        for _ in range(_HALVINGS):
            if not (self.shares(stretch, high) <= room).all():
                break
            best, high = (high, self.shares(stretch, high)), high + 2 * (high - known)
        low = best[0]
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            found = self.shares(stretch, middle)
            if (found <= room).all():
                low, best = middle, (middle, found)
            else:
                high = middle
        return best


def charged_by_cluster(
    learning: Learning, coarse: Frontier, clusters: int, cut: Cut, prices: Prices
) -> tuple[FloatArray, Integers] | None:
    """Weights and stretches for `Frontier.charged` at some prices; None where transfers cost nothing.

    Parameters
    ----------
    learning : Learning
    coarse : Frontier
        Fractional sets of some volumes on all clusters.
    clusters : int
        |N|.
    cut : Cut
        The sequence that is cheapest at the prices.
    """
    epochs = len(learning.gains)
    transfers = coarse.charges * epochs
    if not (transfers > 0).any():
        return None
    stretches, trained = _stretches(cut.models, epochs)
    counts = np.bincount(stretches, minlength=trained + 1)
    used = np.unique(cut.models).tolist()
    psi = {model: _psi(coarse, model, prices.time) for model in used}
    costs = [np.zeros(transfers.shape) for _ in range(trained + 1)]
    for b in range(int(stretches.max()) + 1):
        k = int(np.median(np.flatnonzero(stretches == b)))
        each = [
            psi[m]
            - prices.gain * learning.gains[k, m] * coarse.factors
            + prices.variance * _finite(learning.variances[k, m]) * coarse.factors**2
            for m in used
        ]
        costs[b] = np.minimum.reduce(each)
    firsts = np.concatenate([[0], np.flatnonzero(np.diff(coarse.clusters)) + 1])
    found = Opening(firsts, np.stack(costs), transfers, counts).raised()
    shares = np.zeros((len(found), clusters))
    shares[:, coarse.clusters[firsts]] = found
    shares += np.maximum(1 - counts @ shares, 0.0) / epochs  # what is left over is charged in equal shares
    return (shares * epochs)[: int(stretches.max()) + 1], stretches


def _finite(variance: float) -> float:
    return float(variance) if math.isfinite(variance) else 0.0


def _psi(coarse: Frontier, model: int, multiplier: float) -> FloatArray:
    """Of an epoch on every row and volume, without transfers, shape (R, O)."""
    work = coarse.work[model] * coarse.excess / coarse.nodes[:, None]
    costs = EpochCosts.of_arrays(
        work,
        np.broadcast_to(coarse.price[:, None], work.shape),
        np.broadcast_to(coarse.capacity[:, None], work.shape),
        np.broadcast_to(coarse.communication[:, model][:, None], work.shape),
        coarse.deadline,
    )
    return np.asarray(costs.prices(multiplier))


def _stretches(models: Integers, epochs: int) -> tuple[Integers, int]:
    """Stretch of every epoch, where the model changes or the longest are halved, and how many are trained.

    Idle epochs are one more.
    """
    ends = [0, *(np.flatnonzero(np.diff(models)) + 1).tolist(), len(models)]
    while len(ends) - 1 > _STRETCHES:
        place = int(np.argmin(np.diff(ends)))
        del ends[max(1, min(place, len(ends) - 2))]
    while len(ends) - 1 < min(_STRETCHES, len(models)):
        place = int(np.argmax(np.diff(ends)))
        ends.insert(place + 1, (ends[place] + ends[place + 1] + 1) // 2)
    lengths = [*np.diff(ends).tolist(), max(epochs - len(models), 0)]
    return np.repeat(np.arange(len(lengths)), lengths), len(lengths) - 1

"""The ledger of a policy as a Markov chain, carried forward from l(0): how its runs end, and what they cost.

A run carries an index g. It begins with g = ceil((l(0) - origin) / step - EDGE), at least 0, and after an
epoch with noise e goes on with

    ceil((shift + retention y(g) - origin) / step - EDGE) + ceil(e / step - EDGE),    y(g) = origin + g step,

at least 0; from ``cells`` on it ends and has failed. Rows of the policy say what is trained at which index,
and where the run ends: it has reached the target if its model may be the last and the index is at most that
of the target. That a run also ends where its observed loss meets the target lowers both its cost and its
failures, run by run, and is left out: the sums here are the cost and the probability of the chain.

Probabilities are carried forward, epoch by epoch; nothing here knows what is best.
"""

import math
from collections import defaultdict
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import signal

from depl.models.problem.policy import STOP, NextEpoch, Policy, PolicyNode
from depl.models.verifier.laws import FloatArray
from depl.models.verifier.policy_noise import EDGE
from depl.models.verifier.policy_walk import Step, Walk

_FEW = 48
"""Numbers of cells up to which a sum over them is written out: set by hand, where transforms become
quicker."""


@dataclass(frozen=True)
class Course:
    """How the runs of a policy end under the law.

    Attributes
    ----------
    cost : float
        Expected, of the chain [cost].
    reached, abandoned, exhausted, beyond : float
        Probabilities of the four ends: at the target; by a row, epochs being left; by a row after K_max
        epochs; above the grid.
    epochs : float
        Expected number.
    lost : float
        Probability in the tails that was not followed.
    rounding : float
        What the sums of the probabilities may be off in all.
    doubt : float
        What quadratures may be off, where two laws with densities meet in an epoch, as they measure it.
    """

    cost: float
    reached: float
    abandoned: float
    exhausted: float
    beyond: float
    epochs: float
    lost: float
    rounding: float
    doubt: float = 0.0

    @property
    def unsure(self) -> float:
        """What the probabilities may be off in all."""
        return self.lost + self.rounding + self.doubt

    @property
    def failed(self) -> float:
        """P(not reached)."""
        return self.abandoned + self.exhausted + self.beyond


def course(policy: Policy, walk: Walk, losses: FloatArray, weights: FloatArray) -> Course:
    """Follow the chain from l(0).

    Parameters
    ----------
    losses, weights : float arrays (n,)
        Values of l(0) on the scale of the law, and their probabilities.
    """
    chain = _Chain(policy, walk)
    grid = policy.grid
    first = np.maximum(np.ceil((losses - grid.origin) / grid.step - EDGE), 0.0)
    chain.sums["beyond"] += math.fsum(weights[first >= grid.cells].tolist())
    inside = first < grid.cells
    start = np.bincount(first[inside].astype(np.int64), weights[inside], minlength=grid.cells)
    chain.here[policy.start] = start.astype(np.float64)
    for number in sorted(range(len(policy.nodes)), key=lambda item: policy.nodes[item].epoch):
        if number in chain.here:
            chain.leave(number)
    return chain.found()


class _Chain:
    """Probabilities of the indices at the nodes that are still to be left."""

    def __init__(self, policy: Policy, walk: Walk) -> None:
        self.policy, self.walk, self.grid = policy, walk, policy.grid
        self.here: dict[int, FloatArray] = {}
        self.sums: dict[str, float] = defaultdict(float)
        self.losses = self.grid.origin + np.arange(self.grid.cells) * self.grid.step

    def leave(self, number: int) -> None:
        """End the runs of a node that stop, and let the others train."""
        masses, node = self.here.pop(number), self.policy.nodes[number]
        actions = actions_of(node)
        stopped = np.where(actions == STOP, masses, 0.0)
        met = self.grid.target + 1 if node.may_stop else 0
        self.sums["reached"] += math.fsum(stopped[:met].tolist())
        last = node.epoch == self.policy.maximum_epochs
        self.sums["exhausted" if last else "abandoned"] += math.fsum(stopped[met:].tolist())
        for index, training in enumerate(node.trainings):
            going = np.flatnonzero((actions == index) & (masses != 0.0))
            if going.size:
                self._train(self.walk.steps[number, index], training, going, masses[going])

    def _train(self, step: Step, told: NextEpoch, going: NDArray[np.int64], masses: FloatArray) -> None:
        """Carry probabilities over an epoch: price and noise are the instance's, the image is the file's."""
        share = math.fsum(masses.tolist())
        self.sums["cost"] += step.price * share
        self.sums["epochs"] += share
        means = told.shift + told.retention * self.losses[going]
        images = np.ceil((means - self.grid.origin) / self.grid.step - EDGE).astype(np.int64)
        lowest, highest = int(images.min()), int(images.max())
        spread = np.bincount(images - lowest, masses).astype(np.float64)
        cells = step.noise.on_cells(self.grid.step, -highest, self.grid.cells - 1 - lowest)
        found = _convolved(spread, cells.masses)
        after = self.here.setdefault(told.following, np.zeros(self.grid.cells))
        least = lowest + cells.first
        if found.size:
            self._add(after, found, least)
        after[0] += cells.below * share
        self.sums["beyond"] += cells.above * share
        self.sums["lost"] += cells.lost * share
        self.sums["doubt"] += cells.doubt * share

    def _add(self, after: FloatArray, found: FloatArray, least: int) -> None:
        """Add probabilities of the indices from ``least`` on; those below 0 to it, those above end."""
        below = max(0, -least)
        end = max(below, min(found.size, self.grid.cells - least))
        after[0] += math.fsum(found[:below].tolist())
        self.sums["beyond"] += math.fsum(found[end:].tolist())
        if below < end:
            after[least + below : least + end] += found[below:end]

    def found(self) -> Course:
        """The sums."""
        sums = self.sums
        ended = math.fsum([sums[name] for name in ("reached", "abandoned", "exhausted", "beyond", "lost")])
        return Course(
            sums["cost"],
            sums["reached"],
            sums["abandoned"],
            sums["exhausted"],
            sums["beyond"],
            sums["epochs"],
            sums["lost"],
            abs(1.0 - ended),
            sums["doubt"],
        )


def actions_of(node: PolicyNode) -> NDArray[np.int64]:
    """What the rows of a node say, index by index; shape (cells,)."""
    ends = np.array([row.upto for row in node.rows]) + 1
    return np.repeat([row.action for row in node.rows], np.diff(ends, prepend=0))


def _convolved(one: FloatArray, other: FloatArray) -> FloatArray:
    if not one.size or not other.size:
        return np.zeros(0)
    busy = np.flatnonzero(other)
    if busy.size <= _FEW:  # a few atoms far apart
        found = np.zeros(one.size + other.size - 1)
        for place in busy.tolist():
            found[place : place + one.size] += other[place] * one
        return found
    method = "direct" if min(one.size, other.size) <= _FEW else "fft"
    return np.asarray(signal.convolve(one, other, method=method))

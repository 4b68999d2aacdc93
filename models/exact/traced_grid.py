r"""Bounds of the law of the loss with independent residuals, for all schedules at once, epoch by epoch.

With independent residuals l(k) = shift + retention l(k-1) + e is a recursion of laws. Two laws on a grid are
carried from every schedule to those one epoch longer: in one all numbers are rounded up, in the other down,
so that the true loss lies between them, stochastically (retentions are at least 0). What leaves the grid on
the side where rounding helps is moved onto its end; what leaves it on the other counts as infinite.

Sums of independent parts are products of discrete Fourier transforms, whose rounding is far below `NOISE`.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from depl.models.evaluation.traced_lending import first_losses
from depl.models.exact.traced_schedules import Candidates
from depl.models.foundation.tolerances import ATOM_TOLERANCE
from depl.models.problem.affine_law import AffineLaw, AffineStep, Position
from depl.models.problem.laws import FloatArray

POINTS = 2048
"""Places of the loss: set by hand. The width of the bounds goes with its inverse for each epoch, time in
proportion; what they leave open is certified by itself."""

NOISE = 1e-10
"""Rounding granted to probabilities, on which proofs rest: a product of transforms of 4,096 points is off by
3 times 64 times 107 times 2**-53 = 2.3e-12 at worst, so 1e-10 has a proof for 40 epochs; usual errors are far
smaller. It costs that much sharpness."""

_OFF = 1e-7
"""By how much of a grid step places are moved outwards before they are rounded."""


State = TypeVar("State")


def propagated(
    candidates: Candidates,
    first: Callable[[Position], State],
    further: Callable[[State, Position], State],
) -> Iterator[tuple[int, State]]:
    """A state for every schedule, from that of the schedule one epoch shorter; shorter ones first.

    Parameters
    ----------
    first, further : callable
        The state after the first epoch, and after one more.
    """
    states: dict[int, State] = {}
    ahead: dict[int, State] = {}
    epochs = 0
    for index, node in enumerate(candidates.nodes):
        if node.place.start + node.place.age > epochs:
            epochs, states, ahead = node.place.start + node.place.age, ahead, {}
        ahead[index] = first(node.place) if node.parent < 0 else further(states[node.parent], node.place)
        yield index, ahead[index]


@dataclass(frozen=True, eq=False)
class LossGrid:
    """Places lower, lower + width, ... of the loss, and the law of one epoch on them.

    Attributes
    ----------
    law : AffineLaw
    lower, width : float
        [loss]
    points : int
    """

    law: AffineLaw
    lower: float
    width: float
    points: int
    _known: dict[AffineStep, tuple[NDArray[np.int64], NDArray[np.complex128]]] = field(default_factory=dict)

    @classmethod
    def of(cls, law: AffineLaw, points: int = POINTS) -> "LossGrid":
        """A grid over all losses that were seen, and a little more."""
        least = min(float(run.losses.min()) for run in law.records)
        greatest = max(float(run.losses.max()) for run in law.records)
        room = 0.1 * (greatest - least) + 1e-6
        return cls(law, least - room, (greatest - least + 2 * room) / (points - 1), points)

    def first(self, place: Position) -> FloatArray:
        """Laws after the first epoch, rounded down and up; shape (2, points)."""
        losses = first_losses(self.law, place.trained)
        places, share = (losses - self.lower) / self.width, np.full(losses.size, 1 / losses.size)
        before = np.stack([self._cut(*_rounded(places, share, side), side) for side in (0, 1)])
        return self.further(before, place)

    def further(self, before: FloatArray, place: Position) -> FloatArray:
        """The same after one more epoch."""
        step = self.law.step(place)
        losses: FloatArray = self.lower + self.width * np.arange(self.points, dtype=np.float64)
        places = np.asarray((step.retention * losses + step.shift(place.start) - self.lower) / self.width)
        residuals, transforms = self._residuals(step)
        after = []
        for side in (0, 1):
            least, moved = _rounded(places, before[side], side)
            length = 2 * (transforms.shape[1] - 1)
            total = fft.irfft(fft.rfft(moved, length) * transforms[side], length)
            after.append(self._cut(least + int(residuals[side]), total, side))
        return np.stack(after)

    def exceedance(self, laws: FloatArray, limits: FloatArray) -> tuple[float, float]:
        """Bounds of P(l > limit), the mean over the limits."""
        cumulative = np.cumsum(laws, axis=1)
        held = (limits + ATOM_TOLERANCE - self.lower) / self.width
        down = np.floor(np.clip(held - _OFF, -1, self.points - 1)).astype(np.int64)
        up = np.floor(np.clip(held + _OFF, -1, self.points - 1)).astype(np.int64)
        # what the law rounded down has lost lies below the grid; of the other only what is left can be below
        above = cumulative[0, -1] - np.where(up < 0, 0.0, cumulative[0, up])
        below = np.where(down < 0, 0.0, cumulative[1, down])
        return max(0.0, float(above.mean()) - NOISE), min(1.0, float(1 - below.mean()) + NOISE)

    def _residuals(self, step: AffineStep) -> tuple[NDArray[np.int64], NDArray[np.complex128]]:
        """Least places of the residuals rounded down and up, and transforms of their laws."""
        if step not in self._known:
            places = step.residuals / self.width
            share = np.full(places.size, 1 / places.size)
            rounded = [_rounded(places, share, side) for side in (0, 1)]
            longest = max(weights.size for _, weights in rounded)
            length = 2 * fft.next_fast_len((self.points + longest + 4) // 2 + 1, real=True)
            transforms = np.stack([fft.rfft(weights, length) for _, weights in rounded])
            self._known[step] = np.array([least for least, _ in rounded]), transforms
        return self._known[step]

    def _cut(self, least: int, weights: FloatArray, side: int) -> FloatArray:
        """Weights from place ``least`` on, on the grid; see the module on what leaves it."""
        places = np.arange(least, least + weights.size)
        if side == 0:
            kept, places = places >= 0, np.minimum(places, self.points - 1)
        else:
            kept, places = places < self.points, np.maximum(places, 0)
        return np.bincount(places[kept], weights[kept], minlength=self.points).astype(np.float64)


def _rounded(places: FloatArray, weights: FloatArray, side: int) -> tuple[int, FloatArray]:
    """The least whole place, and the weights from there on; side 0 rounds down, 1 up."""
    whole = (np.floor(places - _OFF) if side == 0 else np.ceil(places + _OFF)).astype(np.int64)
    least = int(whole.min())
    return least, np.bincount(whole - least, weights).astype(np.float64)

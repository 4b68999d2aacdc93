r"""Bounds of the law of the loss with independent residuals, epoch by epoch.

With independent residuals l(k) = shift + retention l(k-1) + e is a recursion of laws. Two laws on a grid are
carried from epoch to epoch: in one all numbers are rounded up, in the other down, so that for the same
residuals the true loss lies between them in every epoch (retentions are at least 0). What leaves the grid on
the side where rounding helps is moved onto its end; what leaves it on the other counts as infinite.

The same holds of losses that have stayed above a limit: where the true loss has, so has the one that is
rounded up.

Sums of independent parts are products of discrete Fourier transforms, whose rounding is far below `NOISE`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from depl.models.evaluation.traced_law import first_losses
from depl.models.foundation.tolerances import ATOM_TOLERANCE
from depl.models.problem.affine_law import AffineLaw, AffineStep, Known, Position
from depl.models.problem.laws import FloatArray

POINTS = 2048
"""Places of the loss: set by hand. The width of the bounds goes with its inverse for each epoch, time in
proportion; what they leave open is certified by itself."""

NOISE = 1e-10
"""Rounding granted to probabilities, on which proofs rest, for every `_EPOCHS` epochs: a product of
transforms of 4,096 points is off by 3 times 64 times 107 times 2**-53 = 2.3e-12 at worst, and every epoch
takes one; usual errors are far smaller. It costs that much sharpness."""

_EPOCHS = 40
"""Epochs whose rounding `NOISE` covers: 40 times 2.3e-12 is 0.92e-10."""

_OFF = 1e-7
"""By how much of a grid step places are moved outwards before they are rounded."""


@dataclass(frozen=True, eq=False)
class LossGrid:
    """Places lower, lower + width, ... of the loss, and the law of one epoch on them."""

    law: AffineLaw
    # [loss]
    lower: float
    width: float
    points: int
    known: Known | None = None  # the state of a run under way, from which the first epoch to come begins
    _transforms: dict[AffineStep, tuple[NDArray[np.int64], NDArray[np.complex128]]] = field(
        default_factory=dict
    )

    @classmethod
    def of(cls, law: AffineLaw, points: int = POINTS, known: Known | None = None) -> "LossGrid":
        """A grid over all losses that were seen, and a little more."""
        least, greatest = law.seen
        room = 0.1 * (greatest - least) + 1e-6
        return cls(law, least - room, (greatest - least + 2 * room) / (points - 1), points, known)

    def before(self, place: Position) -> FloatArray:
        """Laws before the first epoch to come, rounded down and up; shape (2, points)."""
        losses = first_losses(self.law, place.trained) if self.known is None else np.array([self.known.loss])
        places, share = (losses - self.lower) / self.width, np.full(losses.size, 1 / losses.size)
        return np.stack([self._cut(*_rounded(places, share, side), side) for side in (0, 1)])

    def first(self, place: Position) -> FloatArray:
        """The same after it."""
        return self.further(self.before(place), place)

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

    def exceedance(self, laws: FloatArray, limits: FloatArray, epochs: int) -> tuple[float, float]:
        """Bounds of P(l > limit) after so many epochs, the mean over the limits."""
        cumulative = np.cumsum(laws, axis=1)
        down, up = self._last_below(limits)
        # what the law rounded down has lost lies below the grid; of the other only what is left can be below
        above = cumulative[0, -1] - np.where(up < 0, 0.0, cumulative[0, up])
        below = np.where(down < 0, 0.0, cumulative[1, down])
        granted = noise(epochs)
        return max(0.0, float(above.mean()) - granted), min(1.0, float(1 - below.mean()) + granted)

    def survival(self, ahead: Sequence[Position], limits: Sequence[float]) -> Iterator[float]:
        """At least P(every loss so far is above its limit), now and after each of the epochs to come.

        Parameters
        ----------
        ahead : sequence of Position
            The epochs to come, at least one.
        limits : sequence of float
            Of the loss now, and after each of them.
        """
        laws, stopped = self.before(ahead[0]), 0.0
        for epoch, down in enumerate(self._last_below(np.array(limits))[0]):
            if epoch:
                laws = self.further(laws, ahead[epoch - 1])
            stopped += float(laws[1, : down + 1].sum())
            laws[1, : down + 1] = 0.0
            granted = noise(epoch) * (epoch + 1)  # what has stopped is a sum over all epochs
            yield min(1.0, 1 - stopped + granted)

    def _last_below(self, limits: FloatArray) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The last places that are certainly not above limits, and the last that may not be; -1 for none."""
        held = (limits + ATOM_TOLERANCE - self.lower) / self.width
        down, up = (np.floor(np.clip(held + off, -1, self.points - 1)) for off in (-_OFF, _OFF))
        return down.astype(np.int64), up.astype(np.int64)

    def _residuals(self, step: AffineStep) -> tuple[NDArray[np.int64], NDArray[np.complex128]]:
        """Least places of the residuals rounded down and up, and transforms of their laws."""
        if step not in self._transforms:
            places = step.residuals / self.width
            share = np.full(places.size, 1 / places.size)
            rounded = [_rounded(places, share, side) for side in (0, 1)]
            longest = max(weights.size for _, weights in rounded)
            length = 2 * fft.next_fast_len((self.points + longest + 4) // 2 + 1, real=True)
            transforms = np.stack([fft.rfft(weights, length) for _, weights in rounded])
            self._transforms[step] = np.array([least for least, _ in rounded]), transforms
        return self._transforms[step]

    def _cut(self, least: int, weights: FloatArray, side: int) -> FloatArray:
        """Weights from place ``least`` on, on the grid; see the module on what leaves it."""
        places = np.arange(least, least + weights.size)
        if side == 0:
            kept, places = places >= 0, np.minimum(places, self.points - 1)
        else:
            kept, places = places < self.points, np.maximum(places, 0)
        return np.bincount(places[kept], weights[kept], minlength=self.points).astype(np.float64)


def noise(epochs: int) -> float:
    """What probabilities may be off by rounding after so many epochs."""
    return NOISE * max(1.0, epochs / _EPOCHS)


def _rounded(places: FloatArray, weights: FloatArray, side: int) -> tuple[int, FloatArray]:
    """The least whole place, and the weights from there on; side 0 rounds down, 1 up."""
    whole = (np.floor(places - _OFF) if side == 0 else np.ceil(places + _OFF)).astype(np.int64)
    least = int(whole.min())
    return least, np.bincount(whole - least, weights).astype(np.float64)

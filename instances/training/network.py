"""Small networks: layers, and chains of them with one vector of weights.

An activation is a matrix of shape (channels, positions x examples): the positions of an image row by row, the
examples of a batch innermost. A layer that mixes channels is then one product of matrices. A layer holds no
weights: it is handed its part of the network's vector of weights, as (outputs, inputs) and its bias after
them, and writes its part of the derivative. ``towards`` is the derivative of the loss by what it gave, which
may be overwritten; the first layer of a network may return anything for the one by what it was given.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from depl.models.foundation.compiling import kernel
from depl.models.foundation.errors import InvalidInputError

Numbers = NDArray[np.floating[Any]]
Labels = NDArray[np.int64]

TAPS = 9  # of a 3 x 3 window


class Shape(NamedTuple):
    """Channels and positions of an activation; a square image has side^2 positions."""

    channels: int
    positions: int

    @property
    def side(self) -> int:
        """Side of a square image."""
        return math.isqrt(self.positions)


class _Product:
    """A matrix for each group of channels, times columns made of what is given, and shifted.

    What is negative becomes zero unless it is linear.
    """

    channels: int
    linear: bool = False

    def output(self, given: Shape) -> Shape:
        """As many positions as before."""
        return Shape(self.channels, given.positions)

    def inputs(self, given: Shape) -> int:
        """Numbers of a column."""
        return given.channels

    def spreads(self, given: Shape) -> Numbers:
        """Normal weights that keep the size of the activations, of which half are zero if not linear (He)."""
        outputs, inputs = self.output(given).channels, self.inputs(given)
        spreads = np.full(outputs * (inputs + 1), ((1.0 if self.linear else 2.0) / inputs) ** 0.5)
        spreads[outputs * inputs :] = 0
        return spreads

    def forward(self, weights: Numbers, given: Numbers, shape: Shape) -> tuple[Numbers, Any]:
        """One product for each group."""
        columns = self.columns(given, shape)
        matrix, bias = _parts(weights, columns)
        output: Numbers = (matrix @ columns).reshape(len(bias), -1)
        output += bias
        if not self.linear:
            np.maximum(output, 0, out=output)
        return output, (columns, output)

    def backward(
        self, weights: Numbers, kept: Any, towards: Numbers, shape: Shape, slope: Numbers, first: bool
    ) -> Numbers:
        """Two products for each group."""
        columns, output = kept
        if not self.linear:
            np.copyto(towards, 0, where=~(output > 0))
        matrix, bias = _parts(slope, columns)
        grouped = towards.reshape(len(columns), -1, towards.shape[1])
        np.matmul(grouped, columns.swapaxes(1, 2), out=matrix)
        np.sum(towards, axis=1, keepdims=True, out=bias)
        if first:
            return towards
        slopes: Numbers = _parts(weights, columns)[0].swapaxes(1, 2) @ grouped
        return self.gathered(slopes, shape)

    def columns(self, given: Numbers, shape: Shape) -> Numbers:
        """A column for every position of what it gives, shape (groups, numbers, positions x examples)."""
        return given[None]

    def gathered(self, slopes: Numbers, shape: Shape) -> Numbers:
        """The derivative by what was given, of that by the columns."""
        return slopes.reshape(slopes.shape[1:])


class _Windowed(_Product):
    """3 x 3 windows of square images, padded by zeros and moved by a stride."""

    stride: int = 1

    def windows(self, given: Numbers, shape: Shape) -> Numbers:
        """All of them, shape (channels, taps, positions x examples)."""
        side, count = shape.side, given.shape[1] // shape.positions
        padded = np.zeros((shape.channels, side + 2, side + 2, count), given.dtype)
        padded[:, 1:-1, 1:-1] = given.reshape(-1, side, side, count)
        taps = [padded[:, rows, columns] for rows, columns in self._taps(side)]
        return np.stack(taps, axis=1).reshape(shape.channels, TAPS, -1)

    def gathered(self, slopes: Numbers, shape: Shape) -> Numbers:
        """Added up where the windows overlap."""
        side, across = shape.side, shape.side // self.stride
        slopes = slopes.reshape(shape.channels, TAPS, across, across, -1)
        padded = np.zeros((shape.channels, side + 2, side + 2, slopes.shape[-1]), slopes.dtype)
        for tap, (rows, columns) in enumerate(self._taps(side)):
            padded[:, rows, columns] += slopes[:, tap]
        return padded[:, 1:-1, 1:-1].reshape(shape.channels, -1)

    def _taps(self, side: int) -> list[tuple[slice, slice]]:
        """Where every number of the windows lies in the padded image."""
        ends = side // self.stride * self.stride
        places = [slice(start, start + ends, self.stride) for start in range(3)]
        return [(rows, columns) for rows in places for columns in places]


@dataclass(frozen=True)
class Convolution(_Windowed):
    """3 x 3 windows into new channels; what is negative becomes zero."""

    channels: int

    def inputs(self, given: Shape) -> int:
        """Of a window."""
        return given.channels * TAPS

    def columns(self, given: Numbers, shape: Shape) -> Numbers:
        """All channels of a window in one column."""
        return self.windows(given, shape).reshape(1, self.inputs(shape), -1)


@dataclass(frozen=True)
class Depthwise(_Windowed):
    """A 3 x 3 window for every channel by itself, moved by ``stride``; what is negative becomes zero."""

    stride: int = 1

    def output(self, given: Shape) -> Shape:
        """A smaller image."""
        return Shape(given.channels, (given.side // self.stride) ** 2)

    def inputs(self, given: Shape) -> int:
        """Of a window of one channel."""
        return TAPS

    def columns(self, given: Numbers, shape: Shape) -> Numbers:
        """A group for each channel."""
        return self.windows(given, shape)


@dataclass(frozen=True)
class Pointwise(_Product):
    """Mixes the channels of every position; what is negative becomes zero unless it is ``linear``."""

    channels: int
    linear: bool = False


@dataclass(frozen=True)
class Dense(_Product):
    """Mixes all channels of all positions into one position."""

    channels: int
    linear: bool = False

    def inputs(self, given: Shape) -> int:
        """Of an example."""
        return given.channels * given.positions

    def output(self, given: Shape) -> Shape:
        """One position."""
        return Shape(self.channels, 1)

    def columns(self, given: Numbers, shape: Shape) -> Numbers:
        """The positions of a channel lie one after the other, so that laying out anew moves nothing."""
        return given.reshape(1, self.inputs(shape), -1)

    def gathered(self, slopes: Numbers, shape: Shape) -> Numbers:
        """Laid out as it was."""
        return slopes.reshape(shape.channels, -1)


@dataclass(frozen=True)
class MaximumPool:
    """The greatest of every 2 x 2 square."""

    def output(self, given: Shape) -> Shape:
        """An image of half the side."""
        return Shape(given.channels, (given.side // 2) ** 2)

    def spreads(self, given: Shape) -> Numbers:
        """It has no weights."""
        return np.zeros(0)

    def forward(self, weights: Numbers, given: Numbers, shape: Shape) -> tuple[Numbers, Any]:
        """Square by square."""
        one, two, three, four = corners = _corners(given, shape)
        best = np.maximum(np.maximum(one, two), np.maximum(three, four))
        return best.reshape(shape.channels, -1), (corners, best)

    def backward(
        self, weights: Numbers, kept: Any, towards: Numbers, shape: Shape, slope: Numbers, first: bool
    ) -> Numbers:
        """To the greatest of every square, the first one where several are."""
        corners, best = kept
        given_slope: Numbers = np.zeros((shape.channels, 4 * best[0].size), towards.dtype)
        waiting, towards = np.ones(best.shape, dtype=bool), towards.reshape(best.shape)
        for corner, target in zip(corners, _corners(given_slope, shape), strict=True):
            greatest = waiting & (corner == best)
            np.copyto(target, towards, where=greatest)
            waiting &= ~greatest
        return given_slope


Layer = Convolution | Depthwise | Pointwise | Dense | MaximumPool


def _parts(weights: Numbers, columns: Numbers) -> tuple[Numbers, Numbers]:
    """The weights as a matrix for each group, and the bias as a column, both views."""
    groups, inputs, _ = columns.shape
    middle = len(weights) // (inputs + 1) * inputs
    return weights[:middle].reshape(groups, -1, inputs), weights[middle:].reshape(-1, 1)


def _corners(given: Numbers, shape: Shape) -> list[Numbers]:
    """The four corners of every 2 x 2 square, views of shape (channels, side / 2, side / 2, examples)."""
    across = shape.side // 2
    image = given.reshape(shape.channels, across, 2, across, 2, -1)
    return [image[:, :, row, :, column] for row in range(2) for column in range(2)]


_EVALUATED = 256  # examples at a time


class Assessment(NamedTuple):
    """What a network makes of examples.

    Attributes
    ----------
    loss : float
        Mean cross-entropy over all answers, natural logarithm.
    error_rate : float
        Share of answers whose most probable class is wrong.
    probabilities : array of float
        By class, answer and example.
    """

    loss: float
    error_rate: float
    probabilities: Numbers


@dataclass(frozen=True)
class NeuralNetwork:
    """A chain of layers; the last one gives a score for every class.

    Attributes
    ----------
    given : tuple of int
        Channels and positions of an example.
    layers : tuple
        See `depl.instances.training.network`.
    """

    given: Shape
    layers: tuple[Layer, ...]

    @cached_property
    def shapes(self) -> tuple[Shape, ...]:
        """What each layer is given and, last, what the network gives."""
        shapes = [self.given]
        for layer in self.layers:
            shapes.append(layer.output(shapes[-1]))
        return tuple(shapes)

    @cached_property
    def spreads(self) -> NDArray[np.float64]:
        """Standard deviation of every weight at the start; zero for biases, which are never pruned."""
        return np.concatenate(
            [layer.spreads(shape) for layer, shape in zip(self.layers, self.shapes, strict=False)]
        )

    @cached_property
    def _places(self) -> tuple[slice, ...]:
        """Where the weights of each layer lie."""
        sizes = [len(layer.spreads(shape)) for layer, shape in zip(self.layers, self.shapes, strict=False)]
        ends = np.cumsum([0, *sizes]).tolist()
        return tuple(slice(start, stop) for start, stop in pairwise(ends))

    def initial_weights(self, rng: np.random.Generator) -> Numbers:
        """Normal weights, zero biases; single precision."""
        return (rng.standard_normal(len(self.spreads)) * self.spreads).astype(np.float32)

    def mask(self, weights: Numbers, factor: float) -> Numbers:
        """Global magnitude pruning: one for the weights to keep, zero for the smallest ones.

        Magnitudes are compared in units of the layer's spread at the start. Compared as they are, the wide
        layers of a network that has not been trained yet would lose nearly all weights, and with them the
        network what it could learn (MobileNet-like, factor 0.75: nothing in 60 epochs).

        Parameters
        ----------
        weights : array of float, one per weight
        factor : float
            Share of the weights to remove, in [0, 1); biases are kept. Of equal ones the earlier are kept.

        Returns
        -------
        array of float, one per weight
        """
        if not 0 <= factor < 1:
            raise InvalidInputError(f"a pruning factor must be in [0, 1), not {factor}", ".factor")
        candidates = np.flatnonzero(self.spreads)
        kept = len(candidates) - int(factor * len(candidates))
        order = np.argsort(-np.abs(weights[candidates]) / self.spreads[candidates], kind="stable")
        mask = np.ones_like(weights)
        mask[candidates[order[kept:]]] = 0
        return mask

    def gradient(self, weights: Numbers, inputs: Numbers, labels: Labels) -> tuple[float, Numbers]:
        """Mean cross-entropy of a batch and its derivative by every weight.

        Parameters
        ----------
        weights : array of float, one per weight
        inputs : array of float, shape (numbers per example, examples)
        labels : array of int, shape (answers per example, examples)
        """
        scores, kept = self._forward(weights, inputs, keep=True)
        answers = np.ascontiguousarray(labels).reshape(-1)
        towards = np.empty_like(scores)
        loss, _ = _cross_entropy(scores, answers, towards)
        towards[answers, np.arange(len(answers))] -= 1
        towards /= len(answers)
        slope = np.empty_like(weights)
        for index in reversed(range(len(self.layers))):
            place, shape = self._places[index], self.shapes[index]
            layer = self.layers[index]
            towards = layer.backward(
                weights[place], kept[index], towards, shape, slope[place], first=index == 0
            )
        return loss / len(answers), slope

    def evaluate(self, weights: Numbers, inputs: Numbers, labels: Labels) -> Assessment:
        """Loss, error rate and probabilities; arrays as in `gradient`."""
        loss, wrong, parts = 0.0, 0, []
        for start in range(0, inputs.shape[1], _EVALUATED):
            part = slice(start, start + _EVALUATED)
            scores, _ = self._forward(weights, inputs[:, part], keep=False)
            probabilities = np.empty_like(scores)
            more = _cross_entropy(scores, np.ascontiguousarray(labels[:, part]).reshape(-1), probabilities)
            loss, wrong = loss + more[0], wrong + more[1]
            parts.append(probabilities.reshape(len(scores), len(labels), -1))
        return Assessment(loss / labels.size, wrong / labels.size, np.concatenate(parts, axis=2))

    def _forward(self, weights: Numbers, inputs: Numbers, keep: bool) -> tuple[Numbers, Sequence[Any]]:
        values = np.ascontiguousarray(inputs).reshape(self.given.channels, -1)
        kept = []
        for layer, place, shape in zip(self.layers, self._places, self.shapes, strict=False):
            values, needed = layer.forward(weights[place], values, shape)
            kept.append(needed if keep else None)
        return values, kept


@kernel()
def _cross_entropy(scores: Numbers, labels: Labels, probabilities: Numbers) -> tuple[float, int]:
    """Sum of the losses and number of wrong answers; fills in the probability of every class.

    ``scores`` and ``probabilities`` are (classes, answers), ``labels`` one class for each answer.
    """
    loss, wrong = 0.0, 0
    for j in range(scores.shape[1]):
        best = 0
        for c in range(1, scores.shape[0]):
            if scores[c, j] > scores[best, j]:
                best = c
        wrong += best != labels[j]
        total = 0.0
        for c in range(scores.shape[0]):
            power = math.exp(scores[c, j] - scores[best, j])
            probabilities[c, j] = power
            total += power
        loss += math.log(total) - (scores[labels[j], j] - scores[best, j])
        for c in range(scores.shape[0]):
            probabilities[c, j] /= total
    return loss, wrong

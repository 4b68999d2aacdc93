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

# Sums may be regrouped, so that they are vectorised; nothing is assumed about infinities and NaN.
REGROUP = {"contract", "reassoc", "nsz"}
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
    """A matrix times columns made of what is given; what is negative becomes zero unless it is linear."""

    channels: int
    linear: bool = False

    def inputs(self, given: Shape) -> int:
        """Numbers of a column."""
        return given.channels

    def output(self, given: Shape) -> Shape:
        """As many positions as before."""
        return Shape(self.channels, given.positions)

    def spreads(self, given: Shape) -> Numbers:
        """Normal weights that keep the size of the activations, of which half are zero if not linear (He)."""
        return _spreads(self.channels, self.inputs(given), 1.0 if self.linear else 2.0)

    def forward(self, weights: Numbers, given: Numbers, shape: Shape) -> tuple[Numbers, Any]:
        """One product."""
        columns = self.columns(given, shape)
        matrix, bias = _matrix(weights, self.channels)
        output = _shifted(matrix @ columns, bias, rectify=not self.linear)
        return output, (columns, output)

    def backward(
        self, weights: Numbers, kept: Any, towards: Numbers, shape: Shape, slope: Numbers, first: bool
    ) -> Numbers:
        """Two products."""
        columns, output = kept
        if not self.linear:
            _stop_idle(output, towards)
        matrix, bias = _matrix(slope, len(towards))
        np.matmul(towards, columns.T, out=matrix)
        np.sum(towards, axis=1, keepdims=True, out=bias)
        return towards if first else self.gathered(_matrix(weights, self.channels)[0].T @ towards, shape)

    def columns(self, given: Numbers, shape: Shape) -> Numbers:
        """A column for every position of what it gives."""
        return given

    def gathered(self, slopes: Numbers, shape: Shape) -> Numbers:
        """The derivative by what was given, of that by the columns."""
        return slopes


@dataclass(frozen=True)
class Convolution(_Product):
    """3 x 3 windows of square images, padded by zeros, into new channels; what is negative becomes zero."""

    channels: int

    def inputs(self, given: Shape) -> int:
        """Of a window."""
        return given.channels * TAPS

    def columns(self, given: Numbers, shape: Shape) -> Numbers:
        """All windows."""
        side, count = shape.side, given.shape[1] // shape.positions
        padded = np.zeros((shape.channels, side + 2, side + 2, count), given.dtype)
        padded[:, 1:-1, 1:-1] = given.reshape(-1, side, side, count)
        taps = [padded[:, y : y + side, x : x + side] for y in range(3) for x in range(3)]
        return np.stack(taps, axis=1).reshape(shape.channels * TAPS, -1)

    def gathered(self, slopes: Numbers, shape: Shape) -> Numbers:
        """Added up where the windows overlap."""
        side, count = shape.side, slopes.shape[1] // shape.positions
        slopes = slopes.reshape(-1, TAPS, side, side, count)
        padded = np.zeros((shape.channels, side + 2, side + 2, count), slopes.dtype)
        for tap in range(TAPS):
            padded[:, tap // 3 : tap // 3 + side, tap % 3 : tap % 3 + side] += slopes[:, tap]
        return padded[:, 1:-1, 1:-1].reshape(shape.channels, -1)


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
        return given.reshape(self.inputs(shape), -1)

    def gathered(self, slopes: Numbers, shape: Shape) -> Numbers:
        """Laid out as it was."""
        return slopes.reshape(shape.channels, -1)


@dataclass(frozen=True)
class Depthwise:
    """A 3 x 3 window for every channel by itself, moved by ``stride``; what is negative becomes zero."""

    stride: int = 1

    def output(self, given: Shape) -> Shape:
        """A smaller image."""
        return Shape(given.channels, (given.side // self.stride) ** 2)

    def spreads(self, given: Shape) -> Numbers:
        """As of a convolution of one channel."""
        return _spreads(given.channels, TAPS, 2.0)

    def forward(self, weights: Numbers, given: Numbers, shape: Shape) -> tuple[Numbers, Any]:
        """Window by window."""
        count = given.shape[1] // shape.positions
        matrix, bias = _matrix(weights, shape.channels)
        output = np.zeros((shape.channels, self.output(shape).positions * count), given.dtype)
        _depthwise(matrix, given, shape.side, self.stride, count, output)
        return _shifted(output, bias, rectify=True), (given, output)

    def backward(
        self, weights: Numbers, kept: Any, towards: Numbers, shape: Shape, slope: Numbers, first: bool
    ) -> Numbers:
        """Window by window."""
        given, output = kept
        _stop_idle(output, towards)
        matrix, _ = _matrix(weights, shape.channels)
        matrix_slope, bias_slope = _matrix(slope, shape.channels)
        np.sum(towards, axis=1, keepdims=True, out=bias_slope)
        given_slope: Numbers = np.zeros_like(given)
        matrix_slope[:] = 0
        count = given.shape[1] // shape.positions
        _depthwise_backward(matrix, given, shape.side, self.stride, count, towards, matrix_slope, given_slope)
        return given_slope


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


def _spreads(outputs: int, inputs: int, gain: float) -> Numbers:
    spreads = np.full(outputs * (inputs + 1), (gain / inputs) ** 0.5)
    spreads[outputs * inputs :] = 0
    return spreads


def _matrix(weights: Numbers, outputs: int) -> tuple[Numbers, Numbers]:
    """The weights as a matrix and the bias as a column, both views."""
    middle = len(weights) - outputs
    return weights[:middle].reshape(outputs, -1), weights[middle:].reshape(outputs, 1)


def _shifted(output: Numbers, bias: Numbers, *, rectify: bool) -> Numbers:
    """Add its bias to every row in place and, if asked to, set what is negative to zero."""
    output += bias
    return np.maximum(output, 0, out=output) if rectify else output


def _stop_idle(output: Numbers, towards: Numbers) -> None:
    """Set the derivative to zero where the output was set to zero."""
    np.copyto(towards, 0, where=~(output > 0))


def _corners(given: Numbers, shape: Shape) -> list[Numbers]:
    """The four corners of every 2 x 2 square, views of shape (channels, side / 2, side / 2, examples)."""
    across = shape.side // 2
    image = given.reshape(shape.channels, across, 2, across, 2, -1)
    return [image[:, :, row, :, column] for row in range(2) for column in range(2)]


@kernel(fastmath=REGROUP)
def _depthwise(weights: Numbers, given: Numbers, side: int, stride: int, count: int, output: Numbers) -> None:
    """A 3 x 3 window for every channel by itself, padded by one zero, moved by ``stride``."""
    across = side // stride
    for c in range(given.shape[0]):
        for tap in range(TAPS):
            weight = weights[c, tap]
            for y in range(across):
                for x in range(across):
                    i, j = y * stride + tap // 3 - 1, x * stride + tap % 3 - 1
                    if 0 <= i < side and 0 <= j < side:
                        source = given[c, (i * side + j) * count : (i * side + j + 1) * count]
                        target = output[c, (y * across + x) * count : (y * across + x + 1) * count]
                        for n in range(count):
                            target[n] += weight * source[n]


@kernel(fastmath=REGROUP)
def _depthwise_backward(
    weights: Numbers,
    given: Numbers,
    side: int,
    stride: int,
    count: int,
    towards: Numbers,
    slope: Numbers,
    given_slope: Numbers,
) -> None:
    """Derivatives of `_depthwise` by its weights and by what it was given, added to zeros."""
    across = side // stride
    for c in range(given.shape[0]):
        for tap in range(TAPS):
            weight = weights[c, tap]
            for y in range(across):
                for x in range(across):
                    i, j = y * stride + tap // 3 - 1, x * stride + tap % 3 - 1
                    if 0 <= i < side and 0 <= j < side:
                        start, stop = (i * side + j) * count, (i * side + j + 1) * count
                        source, target = given[c, start:stop], given_slope[c, start:stop]
                        result = towards[c, (y * across + x) * count : (y * across + x + 1) * count]
                        total = weight * 0
                        for n in range(count):
                            total += result[n] * source[n]
                            target[n] += weight * result[n]
                        slope[c, tap] += total


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

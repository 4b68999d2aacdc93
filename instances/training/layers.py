"""Layers of small networks: what each gives, and the derivatives of the loss through it.

An activation is a matrix of shape (channels, positions x examples): the positions of an image row by row, the
examples of a batch innermost. A layer that mixes channels is then one product of matrices. A layer holds no
weights: it is handed its part of the network's vector of weights, as (outputs, inputs) and its bias after
them, and writes its part of the derivative. ``towards`` is the derivative of the loss by what it gave, which
may be overwritten; the first layer of a network may return anything for the one by what it was given.
"""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from depl.models.foundation.compiling import kernel

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


@dataclass(frozen=True)
class Convolution:
    """3 x 3 windows of square images, padded by zeros, into new channels; what is negative becomes zero."""

    channels: int

    def output(self, given: Shape) -> Shape:
        """As many positions as before."""
        return Shape(self.channels, given.positions)

    def spreads(self, given: Shape) -> Numbers:
        """Normal weights that keep the size of activations of which half are zero (He)."""
        return _spreads(self.channels, given.channels * TAPS, 2.0)

    def forward(self, weights: Numbers, given: Numbers, shape: Shape) -> tuple[Numbers, Any]:
        """One product with all windows."""
        side, count = shape.side, given.shape[1] // shape.positions
        padded = np.zeros((shape.channels, side + 2, side + 2, count), given.dtype)
        padded[:, 1:-1, 1:-1] = given.reshape(-1, side, side, count)
        taps = [padded[:, y : y + side, x : x + side] for y in range(3) for x in range(3)]
        columns = np.stack(taps, axis=1).reshape(shape.channels * TAPS, -1)
        matrix, bias = _matrix(weights, self.channels)
        output = _shifted(matrix @ columns, bias, rectify=True)
        return output, (columns, output)

    def backward(
        self, weights: Numbers, kept: Any, towards: Numbers, shape: Shape, slope: Numbers, first: bool
    ) -> Numbers:
        """The windows' derivatives are added up where the windows overlap."""
        columns, output = kept
        _stop_idle(output, towards)
        _matrix_slopes(columns, towards, slope)
        if first:
            return towards
        side, count = shape.side, towards.shape[1] // shape.positions
        slopes = (_matrix(weights, self.channels)[0].T @ towards).reshape(-1, TAPS, side, side, count)
        padded = np.zeros((shape.channels, side + 2, side + 2, count), towards.dtype)
        for tap in range(TAPS):
            padded[:, tap // 3 : tap // 3 + side, tap % 3 : tap % 3 + side] += slopes[:, tap]
        return padded[:, 1:-1, 1:-1].reshape(shape.channels, -1)


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
class Pointwise:
    """Mixes the channels of every position; what is negative becomes zero unless it is ``linear``."""

    channels: int
    linear: bool = False

    def output(self, given: Shape) -> Shape:
        """As many positions as before."""
        return Shape(self.channels, given.positions)

    def spreads(self, given: Shape) -> Numbers:
        """Normal weights that keep the size of the activations."""
        return _spreads(self.channels, given.channels, 1.0 if self.linear else 2.0)

    def forward(self, weights: Numbers, given: Numbers, shape: Shape) -> tuple[Numbers, Any]:
        """One product."""
        matrix, bias = _matrix(weights, self.channels)
        output = _shifted(matrix @ given, bias, rectify=not self.linear)
        return output, (given, output)

    def backward(
        self, weights: Numbers, kept: Any, towards: Numbers, shape: Shape, slope: Numbers, first: bool
    ) -> Numbers:
        """Two products."""
        given, output = kept
        if not self.linear:
            _stop_idle(output, towards)
        _matrix_slopes(given, towards, slope)
        given_slope: Numbers = towards if first else _matrix(weights, self.channels)[0].T @ towards
        return given_slope


@dataclass(frozen=True)
class Dense:
    """Mixes all channels of all positions into one position."""

    channels: int
    linear: bool = False

    def output(self, given: Shape) -> Shape:
        """One position."""
        return Shape(self.channels, 1)

    def spreads(self, given: Shape) -> Numbers:
        """As `Pointwise` of all numbers of an example."""
        return self._flat.spreads(_flat(given))

    def forward(self, weights: Numbers, given: Numbers, shape: Shape) -> tuple[Numbers, Any]:
        """The positions of a channel lie one after the other, so that laying out anew moves nothing."""
        flat = _flat(shape)
        return self._flat.forward(weights, given.reshape(flat.channels, -1), flat)

    def backward(
        self, weights: Numbers, kept: Any, towards: Numbers, shape: Shape, slope: Numbers, first: bool
    ) -> Numbers:
        """As `Pointwise`."""
        back = self._flat.backward(weights, kept, towards, _flat(shape), slope, first)
        return back if first else back.reshape(shape.channels, -1)

    @property
    def _flat(self) -> Pointwise:
        return Pointwise(self.channels, self.linear)


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


def _matrix_slopes(given: Numbers, towards: Numbers, slope: Numbers) -> None:
    matrix, bias = _matrix(slope, len(towards))
    np.matmul(towards, given.T, out=matrix)
    np.sum(towards, axis=1, keepdims=True, out=bias)


def _flat(shape: Shape) -> Shape:
    return Shape(shape.channels * shape.positions, 1)


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

"""Layers of small networks: what each gives, and the derivatives of the loss through it.

An activation is a matrix of shape (channels, positions x examples), the examples of a batch innermost. A
layer that mixes channels is then one product of matrices, left to BLAS; the rest is compiled
(`depl.instances.training.kernels`). A layer holds no weights: it is handed its part of the network's vector
of weights, and writes its part of the derivative. Its weights lie as (outputs, inputs), its bias after them.

``output`` tells the shape of what a layer gives for a shape; ``spreads`` the standard deviation of every
weight at the start (zero for a bias, which starts at zero); ``forward`` what it gives for a batch, and what
``backward`` needs. That gives the derivative by what the layer was given (the first one of a network may
return anything), where ``towards`` is the one by what it gave, which may be overwritten, and ``slope`` takes
the one by its weights.
"""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from depl.instances.training import kernels
from depl.instances.training.kernels import TAPS, Numbers


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
        columns = np.empty((shape.channels * TAPS, given.shape[1]), given.dtype)
        kernels.windows(given, shape.side, given.shape[1] // shape.positions, columns)
        matrix, bias = _matrix(weights, self.channels)
        output: Numbers = matrix @ columns
        kernels.add_bias(output, bias, True)
        return output, (columns, output)

    def backward(
        self, weights: Numbers, kept: Any, towards: Numbers, shape: Shape, slope: Numbers, first: bool
    ) -> Numbers:
        """The windows' derivatives are added up where the windows overlap."""
        columns, output = kept
        kernels.rectify_backward(output, towards)
        _matrix_slopes(columns, towards, slope)
        if first:
            return towards
        matrix, _ = _matrix(weights, self.channels)
        count = towards.shape[1] // shape.positions
        given_slope = np.empty((shape.channels, towards.shape[1]), towards.dtype)
        kernels.windows_backward(matrix.T @ towards, shape.side, count, given_slope)
        return given_slope


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
        output = np.empty((shape.channels, self.output(shape).positions * count), given.dtype)
        kernels.depthwise(matrix, given, shape.side, self.stride, count, output)
        kernels.add_bias(output, bias, True)
        return output, (given, output)

    def backward(
        self, weights: Numbers, kept: Any, towards: Numbers, shape: Shape, slope: Numbers, first: bool
    ) -> Numbers:
        """Window by window."""
        given, output = kept
        kernels.rectify_backward(output, towards)
        matrix, _ = _matrix(weights, shape.channels)
        matrix_slope, bias_slope = _matrix(slope, shape.channels)
        np.sum(towards, axis=1, keepdims=True, out=bias_slope)
        given_slope: Numbers = np.empty_like(given)
        count = given.shape[1] // shape.positions
        kernels.depthwise_backward(
            matrix, given, shape.side, self.stride, count, towards, matrix_slope, given_slope
        )
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
        output: Numbers = matrix @ given
        kernels.add_bias(output, bias, not self.linear)
        return output, (given, output)

    def backward(
        self, weights: Numbers, kept: Any, towards: Numbers, shape: Shape, slope: Numbers, first: bool
    ) -> Numbers:
        """Two products."""
        given, output = kept
        if not self.linear:
            kernels.rectify_backward(output, towards)
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
        output = np.empty((shape.channels, given.shape[1] // 4), given.dtype)
        kernels.maximum_pool(given, shape.side, given.shape[1] // shape.positions, output)
        return output, given

    def backward(
        self, weights: Numbers, kept: Any, towards: Numbers, shape: Shape, slope: Numbers, first: bool
    ) -> Numbers:
        """To the greatest of every square."""
        given_slope: Numbers = np.empty_like(kept)
        count = kept.shape[1] // shape.positions
        kernels.maximum_pool_backward(kept, shape.side, count, towards, given_slope)
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

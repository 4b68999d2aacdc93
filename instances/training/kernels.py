"""Compiled loops of the layers that are no product of matrices.

An activation has the shape (channels, positions x examples): the positions of an image row by row, the
examples of a batch innermost, so that inner loops run over neighbouring numbers. What is named ``towards``
is the derivative of the loss by the output of a layer.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from depl.models.foundation.compiling import kernel

Numbers = NDArray[np.floating[Any]]
Labels = NDArray[np.int64]
Scalar = float | np.floating[Any]

# Sums may be regrouped, so that they are vectorised; nothing is assumed about infinities and NaN.
_REGROUP = {"contract", "reassoc", "nsz"}
TAPS = 9  # of a 3 x 3 window


@kernel()
def add_bias(output: Numbers, bias: Numbers, rectify: bool) -> None:
    """Add its bias to every row and, if asked to, set what is negative to zero."""
    for i in range(output.shape[0]):
        row, shift = output[i], bias[i, 0]
        for j in range(len(row)):
            value = row[j] + shift
            row[j] = 0 if rectify and value < 0 else value


@kernel()
def rectify_backward(output: Numbers, towards: Numbers) -> None:
    """Set the derivative to zero where `add_bias` has set the output to zero."""
    for i in range(output.shape[0]):
        row, result = output[i], towards[i]
        for j in range(len(row)):
            result[j] = result[j] if row[j] > 0 else 0


@kernel()
def windows(given: Numbers, side: int, count: int, columns: Numbers) -> None:
    """Lay out the 3 x 3 windows of square images, padded by one zero all around.

    ``given`` is (channels, side^2 x count); ``columns`` becomes (channels x 9, side^2 x count), so that a
    convolution is a product with it.
    """
    for c in range(given.shape[0]):
        source = given[c]
        for tap in range(TAPS):
            dy, dx = tap // 3 - 1, tap % 3 - 1
            target = columns[c * TAPS + tap]
            for y in range(side):
                line = target[y * side * count : (y + 1) * side * count]
                if not 0 <= y + dy < side:
                    line[:] = 0
                    continue
                first, last = max(0, -dx), side - max(0, dx)
                start = ((y + dy) * side + first + dx) * count
                line[: first * count] = 0
                line[first * count : last * count] = source[start : start + (last - first) * count]
                line[last * count :] = 0


@kernel()
def windows_backward(columns: Numbers, side: int, count: int, given: Numbers) -> None:
    """Add up the derivative by the windows into the one by the images."""
    given[:] = 0
    for c in range(given.shape[0]):
        target = given[c]
        for tap in range(TAPS):
            dy, dx = tap // 3 - 1, tap % 3 - 1
            source = columns[c * TAPS + tap]
            for y in range(max(0, -dy), side - max(0, dy)):
                first, last = max(0, -dx), side - max(0, dx)
                start = ((y + dy) * side + first + dx) * count
                begin = (y * side + first) * count
                for n in range((last - first) * count):
                    target[start + n] += source[begin + n]


@kernel(fastmath=_REGROUP)
def depthwise(weights: Numbers, given: Numbers, side: int, stride: int, count: int, output: Numbers) -> None:
    """A 3 x 3 window for every channel by itself, padded by one zero, moved by ``stride``."""
    across = side // stride
    output[:] = 0
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


@kernel(fastmath=_REGROUP)
def depthwise_backward(
    weights: Numbers,
    given: Numbers,
    side: int,
    stride: int,
    count: int,
    towards: Numbers,
    slope: Numbers,
    given_slope: Numbers,
) -> None:
    """Derivatives of `depthwise` by its weights and by what it was given."""
    across = side // stride
    slope[:] = 0
    given_slope[:] = 0
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


@kernel()
def maximum_pool(given: Numbers, side: int, count: int, output: Numbers) -> None:
    """The greatest of every 2 x 2 square."""
    across = side // 2
    for c in range(given.shape[0]):
        for y in range(across):
            for x in range(across):
                corner = (2 * y * side + 2 * x) * count
                below = corner + side * count
                target = output[c, (y * across + x) * count : (y * across + x + 1) * count]
                upper, lower = given[c, corner : corner + 2 * count], given[c, below : below + 2 * count]
                for n in range(count):
                    target[n] = max(max(upper[n], upper[n + count]), max(lower[n], lower[n + count]))


@kernel()
def maximum_pool_backward(
    given: Numbers, side: int, count: int, towards: Numbers, given_slope: Numbers
) -> None:
    """Hand the derivative to the greatest of every square, the first one where several are."""
    across = side // 2
    given_slope[:] = 0
    for c in range(given.shape[0]):
        for y in range(across):
            for x in range(across):
                corner = (2 * y * side + 2 * x) * count
                for n in range(count):
                    best = corner + n
                    for place in (best + count, best + side * count, best + (side + 1) * count):
                        if given[c, place] > given[c, best]:
                            best = place
                    given_slope[c, best] = towards[c, (y * across + x) * count + n]


@kernel()
def cross_entropy(scores: Numbers, labels: Labels, probabilities: Numbers) -> tuple[float, int]:
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


@kernel(fastmath=_REGROUP)
def descend(
    weights: Numbers, velocity: Numbers, slope: Numbers, mask: Numbers, rate: Scalar, momentum: Scalar
) -> None:
    """One step of gradient descent with momentum; what the mask sets to zero stays where it is."""
    for i in range(len(weights)):
        velocity[i] = momentum * velocity[i] + slope[i] * mask[i]
        weights[i] -= rate * velocity[i]

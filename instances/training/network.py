"""A chain of layers with one vector of weights: first weights, gradient, evaluation, pruning by magnitude."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from depl.instances.training.layers import Labels, Layer, Numbers, Shape
from depl.models.foundation.compiling import kernel
from depl.models.foundation.errors import InvalidInputError

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
        See `depl.instances.training.layers`.
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

"""Layers: the derivative of every kind against differences of the loss, and what each gives."""

import numpy as np
import pytest

from depl.instances.training.layers import (
    Convolution,
    Dense,
    Depthwise,
    MaximumPool,
    Pointwise,
    Shape,
)
from depl.instances.training.network import NeuralNetwork

EXAMPLES = 3
STEP = 1e-6
IMAGE = Shape(2, 16)
# Each kind stands first, in the middle and behind another one somewhere, so that both derivatives count.
NETWORKS = {
    "convolution": NeuralNetwork(IMAGE, (Convolution(3), Convolution(2), Dense(4, linear=True))),
    "depthwise": NeuralNetwork(IMAGE, (Depthwise(), Depthwise(stride=2), Dense(4, linear=True))),
    "pointwise": NeuralNetwork(IMAGE, (Pointwise(3), Pointwise(2, linear=True), Dense(4, linear=True))),
    "dense": NeuralNetwork(IMAGE, (Dense(5), Dense(5), Dense(4, linear=True))),
    "maximum pool": NeuralNetwork(IMAGE, (Convolution(3), MaximumPool(), Dense(4, linear=True))),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_the_derivative_is_the_limit_of_differences(name):
    network, rng = NETWORKS[name], np.random.default_rng(1)
    weights = rng.standard_normal(len(network.spreads))
    inputs = rng.standard_normal((network.given.channels * network.given.positions, EXAMPLES))
    labels = rng.integers(0, 4, (network.shapes[-1].positions, EXAMPLES))

    _, slope = network.gradient(weights, inputs, labels)

    def loss(index: int, shift: float) -> float:
        moved = weights.copy()
        moved[index] += shift
        return network.gradient(moved, inputs, labels)[0]

    differences = [(loss(i, STEP) - loss(i, -STEP)) / (2 * STEP) for i in range(len(weights))]
    assert np.abs(slope).max() > 1e-2
    assert np.abs(slope - differences).max() < 1e-8


def test_a_convolution_adds_up_the_window_around_every_position():
    image = np.arange(16.0).reshape(1, 4, 4)
    weights = np.arange(1.0, 10.0)
    layer = Convolution(1)
    given = image.reshape(1, 16)
    output, _ = layer.forward(np.append(weights, 0.5), given, Shape(1, 16))
    padded = np.pad(image[0], 1)
    wanted = [
        (padded[y : y + 3, x : x + 3] * weights.reshape(3, 3)).sum() + 0.5 for y in range(4) for x in range(4)
    ]
    assert output[0].tolist() == wanted
    single, _ = Depthwise().forward(np.append(weights, 0.5), given, Shape(1, 16))
    assert single.tolist() == output.tolist()
    coarse, _ = Depthwise(stride=2).forward(np.append(weights, 0.5), given, Shape(1, 16))
    assert coarse[0].tolist() == [wanted[i] for i in (0, 2, 8, 10)]


def test_examples_of_a_batch_do_not_mix():
    rng = np.random.default_rng(2)
    for network in NETWORKS.values():
        weights = rng.standard_normal(len(network.spreads))
        inputs = rng.integers(0, 4, (network.given.channels * network.given.positions, 4)).astype(float)
        labels = rng.integers(0, 4, (network.shapes[-1].positions, 4))
        together = network.evaluate(weights, inputs, labels).probabilities
        for n in range(4):
            alone = network.evaluate(weights, inputs[:, n : n + 1], labels[:, n : n + 1]).probabilities
            assert np.allclose(together[:, :, n : n + 1], alone, rtol=1e-12, atol=1e-15)


def test_the_pool_takes_the_greatest():
    given = np.array([[1.0, 4.0, 2.0, 3.0]])
    assert MaximumPool().forward(np.zeros(0), given, Shape(1, 4))[0].tolist() == [[4.0]]

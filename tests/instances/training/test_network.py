"""What is trained: derivatives against differences of the loss, pruning, one federated round.

That data, first weights and batches are as they were is seen where shipped runs are trained again.
"""

import math

import numpy as np
import pytest

from depl.instances.training.federated import Descent, Examples, federated_epoch
from depl.instances.training.network import (
    Convolution,
    Dense,
    Depthwise,
    MaximumPool,
    NeuralNetwork,
    Pointwise,
    Shape,
)
from depl.models.foundation.errors import InvalidInputError

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
SMALL = NeuralNetwork(Shape(2, 1), (Dense(2, linear=True),))
IDENTITY = np.array([1.0, 0.0, 0.0, 1.0, 0.0, 0.0])
"""Weights of the small network for which scores are the inputs."""


@pytest.mark.parametrize("name", NETWORKS)
def test_the_derivative_is_the_limit_of_differences_and_examples_do_not_mix(name):
    network, rng = NETWORKS[name], np.random.default_rng(1)
    weights = rng.standard_normal(len(network.spreads))
    inputs = rng.standard_normal((network.given.channels * network.given.positions, EXAMPLES))
    labels = rng.integers(0, 4, (network.shapes[-1].positions, EXAMPLES))

    _, slope = network.gradient(weights, inputs, labels)

    def loss(index, shift):
        moved = weights.copy()
        moved[index] += shift
        return network.gradient(moved, inputs, labels)[0]

    differences = [(loss(i, STEP) - loss(i, -STEP)) / (2 * STEP) for i in range(len(weights))]
    assert np.abs(slope).max() > 1e-2
    assert np.abs(slope - differences).max() < 1e-8
    together = network.evaluate(weights, inputs, labels).probabilities
    for n in range(EXAMPLES):
        alone = network.evaluate(weights, inputs[:, n : n + 1], labels[:, n : n + 1]).probabilities
        assert np.allclose(together[:, :, n : n + 1], alone, rtol=1e-12, atol=1e-15)


def test_the_loss_and_the_error_rate_of_a_network_are_those_of_its_scores():
    inputs = np.array([[0.0, 3.0, 1.0], [0.0, 0.0, 2.0]])
    found = SMALL.evaluate(IDENTITY, inputs, np.array([[0, 1, 1]]))
    losses = [math.log(2), 3 + math.log1p(math.exp(-3)), math.log1p(math.exp(-1))]
    assert found.loss == pytest.approx(sum(losses) / 3, rel=1e-15)
    assert found.error_rate == pytest.approx(1 / 3)
    assert found.probabilities[:, 0, 1] == pytest.approx([1 / (1 + math.exp(-3)), 1 / (1 + math.exp(3))])
    assert found.probabilities.sum(axis=0) == pytest.approx(np.ones((1, 3)))
    hopeless = SMALL.evaluate(IDENTITY, np.array([[1e4], [0.0]]), np.array([[1]]))
    assert hopeless.loss == 1e4


def test_pruning_removes_the_share_of_smallest_weights_and_no_bias():
    weights = np.array([0.1, -0.4, 0.3, -0.2, 0.0, 0.0])
    assert SMALL.mask(weights, 0.5).tolist() == [0, 1, 1, 0, 1, 1]
    assert SMALL.mask(weights, 0.25).tolist() == [0, 1, 1, 1, 1, 1]
    assert SMALL.mask(weights, 0).tolist() == [1] * 6
    assert SMALL.mask(weights, 0.36).sum() == 5  # of 4 weights 0.36 * 4 = 1.44 are removed: 1
    for factor in (-0.1, 1.0, math.nan):
        with pytest.raises(InvalidInputError, match="pruning factor"):
            SMALL.mask(weights, factor)


# --- federated averaging --------------------------------------------------------------------------------


@pytest.mark.parametrize("empty", [False, True])
def test_a_round_is_the_mean_of_what_clients_learn_in_proportion_to_their_examples(empty):
    rng = np.random.default_rng(2)
    inputs, labels = rng.standard_normal((2, 9)), rng.integers(0, 2, (1, 9))
    examples = Examples(inputs, labels)
    mask = np.array([1, 0, 1, 1, 1, 1.0])
    weights = rng.standard_normal(6) * mask
    clients = (np.arange(6), np.arange(6, 9)) + ((np.arange(0),) if empty else ())
    descent = Descent(rate=0.1, momentum=0.5, batch=4)

    found = federated_epoch(SMALL, weights, mask, examples, clients, descent, np.random.default_rng(3))

    order = np.random.default_rng(3)
    learned = []
    for client in clients[:2]:
        own, velocity, turn = weights.copy(), np.zeros(6), order.permutation(client)
        for batch in (turn[:4], turn[4:]):
            if len(batch):
                _, slope = SMALL.gradient(own, inputs[:, batch], labels[:, batch])
                velocity = 0.5 * velocity + slope * mask
                own = own - 0.1 * velocity
        learned.append(own)
    assert found == pytest.approx((6 * learned[0] + 3 * learned[1]) / 9, rel=1e-14)
    assert found[1] == 0

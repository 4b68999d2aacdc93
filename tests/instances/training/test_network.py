"""Networks: evaluation in closed form, pruning by magnitude, first weights."""

import math

import numpy as np
import pytest

from depl.instances.training.layers import Dense, Shape
from depl.instances.training.network import NeuralNetwork
from depl.models.foundation.errors import InvalidInputError

SMALL = NeuralNetwork(Shape(2, 1), (Dense(2, linear=True),))


def test_the_loss_and_the_error_rate_of_a_network_are_those_of_its_scores():
    weights = np.array([1.0, 0.0, 0.0, 1.0, 0.0, 0.0])  # scores are the inputs
    inputs = np.array([[0.0, 3.0, 1.0], [0.0, 0.0, 2.0]])
    found = SMALL.evaluate(weights, inputs, np.array([[0, 1, 1]]))
    losses = [math.log(2), 3 + math.log1p(math.exp(-3)), math.log1p(math.exp(-1))]
    assert found.loss == pytest.approx(sum(losses) / 3, rel=1e-15)
    assert found.error_rate == pytest.approx(1 / 3)
    assert found.probabilities[:, 0, 1] == pytest.approx([1 / (1 + math.exp(-3)), 1 / (1 + math.exp(3))])
    assert found.probabilities.sum(axis=0) == pytest.approx(np.ones((1, 3)))


def test_many_examples_are_evaluated_as_few_are():
    rng = np.random.default_rng(0)
    weights, inputs = rng.standard_normal(6), rng.standard_normal((2, 600))
    labels = rng.integers(0, 2, (1, 600))
    found = SMALL.evaluate(weights, inputs, labels)
    parts = [SMALL.evaluate(weights, inputs[:, s], labels[:, s]) for s in (slice(250), slice(250, 600))]
    assert found.loss == pytest.approx((250 * parts[0].loss + 350 * parts[1].loss) / 600, rel=1e-12)
    assert found.probabilities.shape == (2, 1, 600)


def test_a_hopeless_answer_has_a_finite_loss():
    found = SMALL.evaluate(np.array([1.0, 0, 0, 1, 0, 0]), np.array([[1e4], [0.0]]), np.array([[1]]))
    assert found.loss == 1e4


def test_pruning_removes_the_share_of_smallest_weights_and_no_bias():
    weights = np.array([0.1, -0.4, 0.3, -0.2, 0.0, 0.0])
    assert SMALL.mask(weights, 0.5).tolist() == [0, 1, 1, 0, 1, 1]
    assert SMALL.mask(weights, 0.25).tolist() == [0, 1, 1, 1, 1, 1]
    assert SMALL.mask(weights, 0).tolist() == [1] * 6
    assert SMALL.mask(weights, 0.36).sum() == 5  # of 4 weights 0.36 * 4 = 1.44 are removed: 1


def test_what_is_pruned_stays_pruned_when_more_is():
    rng = np.random.default_rng(1)
    network = NeuralNetwork(Shape(4, 1), (Dense(8), Dense(3, linear=True)))
    weights = network.initial_weights(rng)
    first = network.mask(weights, 0.5)
    second = network.mask(weights * first, 0.75)
    assert np.all(second <= first)
    count = np.count_nonzero(network.spreads)
    assert count - (first[network.spreads > 0]).sum() == int(0.5 * count)


def test_layers_of_different_width_are_pruned_in_their_own_units():
    network = NeuralNetwork(Shape(100, 1), (Dense(50), Dense(2, linear=True)))
    weights = network.initial_weights(np.random.default_rng(2))
    kept = network.mask(weights, 0.75)
    assert kept[:5000].mean() == pytest.approx(0.25, abs=0.02)
    assert kept[5050:5150].mean() == pytest.approx(0.25, abs=0.15)


@pytest.mark.parametrize("factor", [-0.1, 1.0, float("nan")])
def test_a_factor_that_is_no_share_is_refused(factor):
    with pytest.raises(InvalidInputError, match="pruning factor"):
        SMALL.mask(np.zeros(6), factor)


def test_first_weights_have_the_spread_of_their_layer_and_biases_are_zero():
    network = NeuralNetwork(Shape(100, 1), (Dense(50), Dense(2, linear=True)))
    weights = network.initial_weights(np.random.default_rng(3))
    assert weights.dtype == np.float32
    assert weights[:5000].std() == pytest.approx(math.sqrt(2 / 100), rel=0.05)
    assert not weights[network.spreads == 0].any()
    assert len(weights) == 5050 + 102

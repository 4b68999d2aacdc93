"""Federated averaging: who has which examples, and one round against the same written out."""

import numpy as np
import pytest

from depl.instances.training.federated import Descent, Examples, federated_epoch, share_out
from depl.instances.training.layers import Dense, Shape
from depl.instances.training.network import NeuralNetwork


def test_every_example_goes_to_one_client_and_clusters_get_equal_parts():
    groups = np.arange(101) % 7
    dealt = share_out(groups, (3, 2), 1.0, np.random.default_rng(0))
    assert [len(clients) for clients in dealt] == [3, 2]
    assert sorted(np.concatenate([client for clients in dealt for client in clients])) == list(range(101))
    sizes = [sum(map(len, clients)) for clients in dealt]
    assert sizes == [51, 50]


def test_a_small_concentration_makes_clients_differ_more():
    groups = np.arange(1000) % 10

    def spread(concentration: float) -> float:
        (clients,) = share_out(groups, (4,), concentration, np.random.default_rng(1))
        return float(np.std([np.bincount(groups[client], minlength=10) for client in clients]))

    assert spread(0.2) > 2 * spread(5.0) > 0


@pytest.mark.parametrize("empty", [False, True])
def test_a_round_is_the_mean_of_what_clients_learn_in_proportion_to_their_examples(empty):
    network = NeuralNetwork(Shape(2, 1), (Dense(2, linear=True),))
    rng = np.random.default_rng(2)
    inputs, labels = rng.standard_normal((2, 9)), rng.integers(0, 2, (1, 9))
    examples = Examples(inputs, labels, labels[0])
    mask = np.array([1, 0, 1, 1, 1, 1.0])
    weights = rng.standard_normal(6) * mask
    clients = (np.arange(6), np.arange(6, 9)) + ((np.arange(0),) if empty else ())
    descent = Descent(rate=0.1, momentum=0.5, batch=4)

    found = federated_epoch(network, weights, mask, examples, clients, descent, np.random.default_rng(3))

    order = np.random.default_rng(3)
    learned = []
    for client in clients[:2]:
        own, velocity, turn = weights.copy(), np.zeros(6), order.permutation(client)
        for batch in (turn[:4], turn[4:]):
            if len(batch):
                _, slope = network.gradient(own, inputs[:, batch], labels[:, batch])
                velocity = 0.5 * velocity + slope * mask
                own = own - 0.1 * velocity
        learned.append(own)
    assert found == pytest.approx((6 * learned[0] + 3 * learned[1]) / 9, rel=1e-14)
    assert found[1] == 0

"""Federated averaging of one network: clusters of clients with data of their own, one round per epoch."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from depl.instances.training.layers import REGROUP, Labels, Numbers
from depl.instances.training.network import NeuralNetwork
from depl.models.foundation.compiling import kernel


class Examples(NamedTuple):
    """Examples to learn from or to be tested on.

    Attributes
    ----------
    inputs : array of float32
        A column of numbers per example.
    labels : array of int
        A column of answers per example.
    groups : array of int
        By example: what clients have different shares of: the class, or the passage of a text.
    """

    inputs: Numbers
    labels: Labels
    groups: NDArray[np.int64]


@dataclass(frozen=True)
class Descent:
    """Stochastic gradient descent as every client does it; momentum starts at zero in every round.

    Attributes
    ----------
    rate : float
        Learning rate.
    momentum : float
        How much of the average of slopes is kept from batch to batch.
    batch : int
        Examples in a batch.
    """

    rate: float
    momentum: float = 0.9
    batch: int = 64


Clients = tuple[NDArray[np.int64], ...]
"""Examples of every client of one cluster."""


def share_out(
    groups: NDArray[np.int64],
    clients: Sequence[int],
    concentration: float,
    rng: np.random.Generator,
) -> tuple[Clients, ...]:
    """Deal the examples out to the clients of several clusters, not identically.

    The clusters get equal parts drawn at random. Within a cluster the examples of every group go to the
    clients in shares drawn from a symmetric Dirichlet law.

    Parameters
    ----------
    groups : array of int, shape (examples,)
    clients : sequence of int
        How many clients every cluster has.
    concentration : float
        Of the Dirichlet law; the smaller, the more the clients differ.
    rng : Generator

    Returns
    -------
    tuple of tuple of arrays of int
        Examples of every client of every cluster; together every example once. A client may have none.
    """
    parts = np.array_split(rng.permutation(len(groups)), len(clients))
    return tuple(
        _deal(part, groups, count, concentration, rng) for part, count in zip(parts, clients, strict=True)
    )


def federated_epoch(
    network: NeuralNetwork,
    weights: Numbers,
    mask: Numbers,
    examples: Examples,
    clients: Clients,
    descent: Descent,
    rng: np.random.Generator,
) -> Numbers:
    """One round: every client trains on each of its examples once, then the weights are averaged.

    Parameters
    ----------
    network : neural network
    weights, mask : array of float, one per weight
        Where to start, and which weights may move.
    examples : Examples
    clients : tuple of arrays of int
        The examples of every client.
    descent : Descent
    rng : Generator
        Draws the order of the examples.

    Returns
    -------
    array of float, one per weight
        Mean of the clients' weights in proportion to their numbers of examples.
    """
    average = np.zeros(len(weights))
    total = sum(map(len, clients))
    for own in clients:
        order = rng.permutation(own)
        average += _trained(network, weights, mask, examples, order, descent) * (len(own) / total)
    return average.astype(weights.dtype)


def _trained(
    network: NeuralNetwork,
    weights: Numbers,
    mask: Numbers,
    examples: Examples,
    order: NDArray[np.int64],
    descent: Descent,
) -> Numbers:
    own, velocity = weights.copy(), np.zeros_like(weights)
    number = weights.dtype.type
    rate, momentum = number(descent.rate), number(descent.momentum)
    for start in range(0, len(order), descent.batch):
        batch = order[start : start + descent.batch]
        _, slope = network.gradient(own, examples.inputs[:, batch], examples.labels[:, batch])
        _descend(own, velocity, slope, mask, rate, momentum)
    return own


def _deal(
    part: NDArray[np.int64],
    groups: NDArray[np.int64],
    count: int,
    concentration: float,
    rng: np.random.Generator,
) -> Clients:
    hands: list[list[NDArray[np.int64]]] = [[] for _ in range(count)]
    for group in np.unique(groups):
        members = part[groups[part] == group]
        shares = rng.dirichlet(np.full(count, concentration))
        cuts = np.round(np.cumsum(shares)[:-1] * len(members)).astype(np.int64)
        for hand, dealt in zip(hands, np.split(members, cuts), strict=True):
            hand.append(dealt)
    return tuple(np.concatenate(hand) for hand in hands)


@kernel(fastmath=REGROUP)
def _descend(
    weights: Numbers,
    velocity: Numbers,
    slope: Numbers,
    mask: Numbers,
    rate: float | np.floating[Any],
    momentum: float | np.floating[Any],
) -> None:
    """One step of gradient descent with momentum; what the mask sets to zero stays where it is."""
    for i in range(len(weights)):
        velocity[i] = momentum * velocity[i] + slope[i] * mask[i]
        weights[i] -= rate * velocity[i]

"""Federated averaging of one network on data that need no download: digits and a table.

Clusters of clients have data of their own, and train one round per epoch. Every fourth image or row is held
out, the same ones in every run.
"""

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from depl.instances.training.network import Labels, NeuralNetwork, Numbers, Shape
from depl.models.foundation.compiling import kernel
from depl.models.foundation.errors import InvalidInputError

_HELD_OUT = 4


class Examples(NamedTuple):
    """Examples to learn from or to be tested on: a column of numbers, and one of answers, for each."""

    inputs: Numbers
    labels: Labels


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
    classes: NDArray[np.int64], clients: Sequence[int], concentration: float, rng: np.random.Generator
) -> tuple[Clients, ...]:
    """Deal the examples out to the clients of several clusters, not identically; a client may have none.

    The clusters get equal parts drawn at random. Within a cluster the examples of every class go to the
    clients in shares drawn from a symmetric Dirichlet law.

    Parameters
    ----------
    classes : array of int
        Of every example.
    clients : sequence of int
        How many clients every cluster has.
    concentration : float
        Of the Dirichlet law; the smaller, the more the clients differ.
    rng : Generator
    """
    parts = np.array_split(rng.permutation(len(classes)), len(clients))
    return tuple(
        _deal(part, classes, count, concentration, rng) for part, count in zip(parts, clients, strict=True)
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
    number = weights.dtype.type
    for client in clients:
        order = rng.permutation(client)
        own, velocity = weights.copy(), np.zeros_like(weights)
        for start in range(0, len(order), descent.batch):
            batch = order[start : start + descent.batch]
            _, slope = network.gradient(own, examples.inputs[:, batch], examples.labels[:, batch])
            _descend(own, velocity, slope, mask, number(descent.rate), number(descent.momentum))
        average += own * (len(client) / total)
    return average.astype(weights.dtype)


def _deal(
    part: NDArray[np.int64],
    classes: NDArray[np.int64],
    count: int,
    concentration: float,
    rng: np.random.Generator,
) -> Clients:
    hands: list[list[NDArray[np.int64]]] = [[] for _ in range(count)]
    for one in np.unique(classes):
        members = part[classes[part] == one]
        shares = rng.dirichlet(np.full(count, concentration))
        cuts = np.round(np.cumsum(shares)[:-1] * len(members)).astype(np.int64)
        for hand, dealt in zip(hands, np.split(members, cuts), strict=True):
            hand.append(dealt)
    return tuple(np.concatenate(hand) for hand in hands)


# Sums may be regrouped, so that they are vectorised; nothing is assumed about infinities and NaN.
@kernel(fastmath={"contract", "reassoc", "nsz"})
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


@dataclass(frozen=True, eq=False)
class Material:
    """Examples to train on, examples that are held out, and their shape.

    Attributes
    ----------
    train, test : Examples
    example : tuple of int
        Channels and positions of an example.
    classes : int
    source : str
        What it is, with the version or a hash that fixes it.
    """

    train: Examples
    test: Examples
    example: Shape
    classes: int
    source: str


def digits() -> Material:
    """1797 images of handwritten digits, 8 x 8 pixels, ten classes; bundled with scikit-learn."""
    bundle, source = _bundled("load_digits")
    inputs = (np.asarray(bundle.data) / 16.0 - 0.3) / 0.375
    return split(inputs, np.asarray(bundle.target), Shape(1, 64), 10, source)


def breast_cancer() -> Material:
    """569 rows of 30 measurements of cells, two classes; bundled with scikit-learn. Columns standardised."""
    bundle, source = _bundled("load_breast_cancer")
    values = np.asarray(bundle.data)
    train = values[~_held_out(len(values))]
    inputs = (values - train.mean(axis=0)) / train.std(axis=0)
    return split(inputs, np.asarray(bundle.target), Shape(30, 1), 2, source)


def split(inputs: Any, labels: Any, shape: Shape, classes: int, source: str) -> Material:
    """Hold every fourth example out.

    Parameters
    ----------
    inputs : array of float, a row of numbers per example
    labels : array of int, one per example
    shape, classes, source
        As in `Material`.
    """
    test = _held_out(len(labels))
    train, held_out = (
        Examples(
            np.ascontiguousarray(inputs[chosen].T, dtype=np.float32),
            np.asarray(labels[chosen], dtype=np.int64)[None, :],
        )
        for chosen in (~test, test)
    )
    return Material(train, held_out, shape, classes, source)


def needed(module: str) -> Any:
    """A module that scikit-learn brings along."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        message = "training needs scikit-learn: install it, or depl with its extra 'train'"
        raise InvalidInputError(message) from error


def _held_out(count: int) -> Any:
    return np.arange(count) % _HELD_OUT == _HELD_OUT - 1


def _bundled(loader: str) -> tuple[Any, str]:
    bundle = getattr(needed("sklearn.datasets"), loader)()
    return bundle, f"scikit-learn {needed('sklearn').__version__}, {loader}"

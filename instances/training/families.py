"""The families of traces: what is trained, and which schedule each seed follows.

Even seeds follow one of three fixed plans in turn, so that a plan has many runs that differ by chance alone;
odd seeds go through a design that varies both pruning factors and the switch epoch, without which plans that
were never run cannot be predicted. Every run has 60 epochs: the edge cluster trains the first K_1, the
far-edge cluster the rest with a model that is pruned as much or more.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import numpy as np

from depl.instances.training import names
from depl.instances.training.federated import Descent, Material, breast_cancer, digits
from depl.instances.training.network import (
    Convolution,
    Dense,
    Depthwise,
    Layer,
    MaximumPool,
    NeuralNetwork,
    Pointwise,
)
from depl.instances.training.runs import Epoch, Task
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.names import advice

EPOCHS = 60
FACTORS = (0.25, 0.36, 0.5, 0.75, 0.9)
"""Pruning factors: those of Sec. VI-A of the paper, and 0.9."""
SWITCH_EPOCHS = (5, 10, 17, 25, 40)
"""K_1 of the design, the 17 of Fig. 4 among them."""
PLANS = ((0.5, 0.75, 17), (0.25, 0.5, 25), (0.36, 0.9, 10))
"""F_1, F_2 and K_1 of the plans that even seeds follow; the first is that of Fig. 4 (left)."""
_DESIGN = tuple(
    (first, second, switch)
    for switch, (first, second) in product(SWITCH_EPOCHS, product(FACTORS, repeat=2))
    if first <= second
)
_STRIDE = 31  # has no divisor in common with 75, so that few seeds are spread over the design too


@dataclass(frozen=True)
class Family:
    """One kind of run.

    Attributes
    ----------
    name : str
    summary : str
        One line for people.
    material : callable
        Loads the data.
    layers : tuple
        From the data to a score for each class.
    descent : Descent
    shipped : int
        How many runs depl ships, seeds 0, 1, ...
    """

    name: str
    summary: str
    material: Callable[[], Material]
    layers: tuple[Layer, ...]
    descent: Descent
    shipped: int

    def task(self) -> Task:
        """Load the data and lay out the network."""
        material = self.material()
        return Task(NeuralNetwork(material.example, self.layers), material, self.descent)

    def schedule(self, seed: int) -> tuple[Epoch, ...]:
        """What the run of this seed trains, epoch by epoch."""
        turn = seed // 2
        first, second, switch = (
            _DESIGN[turn * _STRIDE % len(_DESIGN)] if seed % 2 else PLANS[turn % len(PLANS)]
        )
        return (Epoch(first, "edge"),) * switch + (Epoch(second, "far-edge"),) * (EPOCHS - switch)

    def generator(self, seed: int) -> np.random.Generator:
        """The generator of this seed; families have generators of their own."""
        tag = int.from_bytes(hashlib.sha256(self.name.encode()).digest()[:8], "big")
        return np.random.default_rng([tag, seed])


ALEXNET: tuple[Layer, ...] = (
    *(Convolution(8), MaximumPool(), Convolution(16), MaximumPool()),
    *(Convolution(16), Dense(48), Dense(10, linear=True)),
)
"""Like AlexNet: convolutions with pooling between them, then dense layers; for digits."""
MOBILENET: tuple[Layer, ...] = (
    *(Convolution(12), Depthwise(stride=2), Pointwise(32), Depthwise(stride=2)),
    *(Pointwise(48), Dense(10, linear=True)),
)
"""Like MobileNet: windows channel by channel, then a mix of channels, each block half as wide; for digits."""
PERCEPTRON: tuple[Layer, ...] = (Dense(24), Dense(16), Dense(2, linear=True))
"""Dense layers, for the table of cells."""

_SHIPPED = (
    (names.DIGITS_ALEXNET, "AlexNet-like, digits, learning rate .05", digits, ALEXNET, 0.05, 600),
    (names.DIGITS_MOBILENET, "MobileNet-like, digits, learning rate .05", digits, MOBILENET, 0.05, 600),
    (names.DIGITS_ALEXNET_SLOW, "AlexNet-like, digits, learning rate .02", digits, ALEXNET, 0.02, 100),
    (
        *(names.DIGITS_MOBILENET_SLOW, "MobileNet-like, digits, learning rate .02"),
        *(digits, MOBILENET, 0.02, 100),
    ),
    (
        *(names.CELLS_PERCEPTRON, "dense layers, measurements of cells"),
        *(breast_cancer, PERCEPTRON, 0.05, 150),
    ),
)
FAMILIES = {
    name: Family(name, summary, material, layers, Descent(rate), shipped)
    for name, summary, material, layers, rate, shipped in _SHIPPED
}


def family(name: str) -> Family:
    """The family of that name."""
    if name in names.RECORDED_ONLY:
        raise InvalidInputError(
            f"{name} is no longer trained; its recorded traces remain. Train {names.DIGITS_ALEXNET}",
            ".family",
        )
    if name not in FAMILIES:
        raise InvalidInputError(f"there is no family {name!r}; {advice(name, FAMILIES)}", ".family")
    return FAMILIES[name]

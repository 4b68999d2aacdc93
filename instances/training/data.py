"""What there is to learn without a download: digits and a table.

Every fourth image or row is held out, the same ones in every run.
"""

import importlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from depl.instances.training.federated import Examples
from depl.instances.training.layers import Shape
from depl.models.foundation.errors import InvalidInputError

_HELD_OUT = 4


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
    shape : tuple of int
        Channels and positions of an example.
    classes, source
        As in `Material`.
    """
    test = _held_out(len(labels))
    parts = [
        Examples(
            np.ascontiguousarray(inputs[chosen].T, dtype=np.float32),
            np.asarray(labels[chosen], dtype=np.int64)[None, :],
            np.asarray(labels[chosen], dtype=np.int64),
        )
        for chosen in (~test, test)
    ]
    return Material(parts[0], parts[1], shape, classes, source)


def _held_out(count: int) -> Any:
    return np.arange(count) % _HELD_OUT == _HELD_OUT - 1


def needed(module: str) -> Any:
    """A module that scikit-learn brings along."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        message = "training needs scikit-learn: install it, or depl with its extra 'train'"
        raise InvalidInputError(message) from error


def _bundled(loader: str) -> tuple[Any, str]:
    bundle = getattr(needed("sklearn.datasets"), loader)()
    return bundle, f"scikit-learn {needed('sklearn').__version__}, {loader}"

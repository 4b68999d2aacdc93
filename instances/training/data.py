"""What there is to learn without a download: digits, a table, a text.

Every fourth image or row is held out; of the text, its last quarter. They are the same in every run.
"""

import codecs
import contextlib
import hashlib
import importlib
import io
from dataclasses import dataclass
from typing import Any

import numpy as np

from depl.instances.training.federated import Examples
from depl.instances.training.layers import Shape
from depl.models.foundation.errors import InvalidInputError

_HELD_OUT = 4
_WINDOW = 16
_PASSAGES = 12


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
    """1797 images of handwritten digits, 8 x 8 pixels, ten classes; bundled with scikit-learn.

    Raises
    ------
    InvalidInputError
        If scikit-learn is not installed.
    """
    bundle, source = _bundled("load_digits")
    inputs = (np.asarray(bundle.data) / 16.0 - 0.3) / 0.375
    return split(inputs, np.asarray(bundle.target), Shape(1, 64), 10, source)


def breast_cancer() -> Material:
    """569 rows of 30 measurements of cells, two classes; bundled with scikit-learn. Columns standardised.

    Raises
    ------
    InvalidInputError
        If scikit-learn is not installed.
    """
    bundle, source = _bundled("load_breast_cancer")
    values = np.asarray(bundle.data)
    train = values[~_held_out(len(values))]
    inputs = (values - train.mean(axis=0)) / train.std(axis=0)
    return split(inputs, np.asarray(bundle.target), Shape(30, 1), 2, source)


def zen() -> Material:
    """The Zen of Python, letter by letter: 16 letters in a row and, for each of them, the next one.

    The text is that of the module ``this``, which every CPython has. The last quarter is held out; the rest
    is cut into passages, of which clients have different shares.
    """
    with contextlib.redirect_stdout(io.StringIO()):  # the module prints its text when it is imported
        module = importlib.import_module("this")
    text = codecs.decode(module.s, "rot13").lower()
    symbols = {symbol: index for index, symbol in enumerate(sorted(set(text)))}
    code = np.array([symbols[symbol] for symbol in text])
    cut = len(code) * 3 // 4
    source = f"text of the module this, sha256 {hashlib.sha256(text.encode()).hexdigest()[:16]}"
    return Material(_letters(code[:cut]), _letters(code[cut:]), Shape(1, _WINDOW), len(symbols), source)


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


def _bundled(loader: str) -> tuple[Any, str]:
    try:
        sklearn = importlib.import_module("sklearn")
        datasets = importlib.import_module("sklearn.datasets")
    except ImportError as error:
        message = "training needs scikit-learn: install it, or depl with its extra 'train'"
        raise InvalidInputError(message) from error
    return getattr(datasets, loader)(), f"scikit-learn {sklearn.__version__}, {loader}"


def _letters(code: Any) -> Examples:
    windows = np.lib.stride_tricks.sliding_window_view(code, _WINDOW + 1)
    passages = np.arange(len(windows)) * _PASSAGES // len(windows)
    return Examples(
        np.ascontiguousarray(windows[:, :-1].T, dtype=np.float32),
        np.ascontiguousarray(windows[:, 1:].T, dtype=np.int64),
        passages,
    )

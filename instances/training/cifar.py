"""CIFAR-10 from a folder of the user's: the Python version (pickles) or the binary version of its batches.

60000 colour images of 32 x 32 pixels in ten classes, of which 10000 are the test batch (Krizhevsky 2009,
reference [8] of the paper). The pickles are read by an unpickler that knows arrays of numbers and nothing
else, so that a file from an unknown source cannot run code.
"""

import io
import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from depl.instances.training.data import Material
from depl.instances.training.federated import Examples
from depl.instances.training.layers import Shape
from depl.models.foundation.errors import InvalidInputError

_TRAIN = tuple(f"data_batch_{number}" for number in range(1, 6))
_TEST = "test_batch"
_PIXELS = 3 * 32 * 32
_CLASSES = 10
_KNOWN = {
    ("numpy.core.multiarray", "_reconstruct"),
    ("numpy._core.multiarray", "_reconstruct"),
    ("numpy", "ndarray"),
    ("numpy", "dtype"),
    ("_codecs", "encode"),
}

Bytes = NDArray[np.uint8]


def cifar10(folder: str | Path, images: int | None = None) -> Material:
    """Read CIFAR-10.

    Parameters
    ----------
    folder : str or Path
        The folder ``cifar-10-batches-py`` (``data_batch_1`` ... ``data_batch_5`` and ``test_batch``) or
        ``cifar-10-batches-bin`` (the same names with ``.bin``), or the one around it.
    images : int, optional
        Keep so many training images, the first ones, and a fifth as many test images; all by default.

    Raises
    ------
    InvalidInputError
        If the folder or a batch is missing, or a batch is not of the format.
    """
    home = _home(Path(folder))
    binary = (home / f"{_TEST}.bin").exists()
    parts = []
    for names, share in ((_TRAIN, 1.0), ((_TEST,), 0.2)):
        wanted = None if images is None else max(1, round(share * images))
        parts.append(_examples(home, names, binary, wanted))
    source = f"CIFAR-10, {parts[0].inputs.shape[1]} training and {parts[1].inputs.shape[1]} test images"
    return Material(parts[0], parts[1], Shape(3, 32 * 32), _CLASSES, source)


def _home(folder: Path) -> Path:
    for place in (folder, folder / "cifar-10-batches-py", folder / "cifar-10-batches-bin"):
        if (place / _TEST).is_file() or (place / f"{_TEST}.bin").is_file():
            return place
    message = f"holds no CIFAR-10: there is neither a file {_TEST!r} nor '{_TEST}.bin' in it"
    raise InvalidInputError(message, str(folder))


def _examples(home: Path, names: Sequence[str], binary: bool, wanted: int | None) -> Examples:
    pixels: list[Bytes] = []
    labels: list[Bytes] = []
    held = 0
    for name in names:
        if wanted is not None and held >= wanted:
            break
        path = home / (f"{name}.bin" if binary else name)
        content = _content(path)
        batch = _binary(content, path) if binary else _pickled(content, path)
        pixels.append(batch[0])
        labels.append(batch[1])
        held += len(batch[1])
    chosen = slice(wanted)
    inputs = (np.concatenate(pixels)[chosen].T.astype(np.float32) / 255 - 0.45) / 0.25
    classes = np.concatenate(labels)[chosen].astype(np.int64)
    return Examples(np.ascontiguousarray(inputs, dtype=np.float32), classes[None, :], classes)


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InvalidInputError(f"cannot be read ({error.strerror or error})", str(path)) from error


def _binary(content: bytes, path: Path) -> tuple[Bytes, Bytes]:
    """Rows of one byte of label and 3072 of pixels."""
    if not content or len(content) % (_PIXELS + 1):
        raise InvalidInputError(f"is no batch: its length is no multiple of {_PIXELS + 1}", str(path))
    rows = np.frombuffer(content, dtype=np.uint8).reshape(-1, _PIXELS + 1)
    return _checked(rows[:, 1:], rows[:, 0], path)


def _pickled(content: bytes, path: Path) -> tuple[Bytes, Bytes]:
    """A mapping with ``data``, bytes of shape (images, 3072), and ``labels``."""
    try:
        batch = _Unpickler(io.BytesIO(content), encoding="bytes").load()
    except InvalidInputError as error:
        raise InvalidInputError(error.message, str(path)) from error
    except Exception as error:  # a broken pickle raises whatever its bytes happen to ask for
        raise InvalidInputError(f"is no batch ({type(error).__name__}: {error})", str(path)) from error
    if not isinstance(batch, dict):
        raise InvalidInputError("is no batch: it holds no mapping", str(path))
    found = {key.decode() if isinstance(key, bytes) else key: value for key, value in batch.items()}
    for name in ("data", "labels"):
        if name not in found:
            raise InvalidInputError(f"is no batch: there is no {name!r}", str(path))
    return _checked(found["data"], found["labels"], path)


def _checked(data: Any, labels: Any, path: Path) -> tuple[Bytes, Bytes]:
    if not isinstance(data, np.ndarray) or data.dtype != np.uint8 or data.shape[1:] != (_PIXELS,):
        raise InvalidInputError(f"is no batch: data must be bytes in rows of {_PIXELS}", str(path))
    classes = np.asarray(labels)
    if classes.shape != (len(data),) or classes.dtype.kind not in "iu" or not len(data):
        raise InvalidInputError("is no batch: labels must be one whole number for every image", str(path))
    if classes.min() < 0 or classes.max() >= _CLASSES:
        raise InvalidInputError(f"is no batch: labels must be from 0 to {_CLASSES - 1}", str(path))
    return data, classes.astype(np.uint8)


class _Unpickler(pickle.Unpickler):
    """Rebuilds arrays, numbers, texts, lists and mappings; refuses every other name."""

    def find_class(self, module: str, name: str) -> Any:
        """The few names that an array of numbers is rebuilt with."""
        if (module, name) not in _KNOWN:
            raise InvalidInputError(f"is no batch: it asks for {module}.{name}, which no array needs")
        return super().find_class(module.replace("numpy.core", "numpy._core"), name)

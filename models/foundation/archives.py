"""Compressed files, read within a stated size: what they announce is believed only where it is there.

An npz file of a few bytes can announce an array of terabytes, and a gzip file of a few megabytes can hold
gigabytes. Both are read here, up to `depl.models.foundation.documents.LARGEST_FILE` bytes, and nowhere else.
"""

import gzip
import io
import struct
import tokenize
import warnings
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from depl.models.foundation.documents import LARGEST_FILE, read_at_most, read_bytes
from depl.models.foundation.errors import InvalidInputError

_LAST_CHARACTER = 0x10FFFF
"""Greatest code point of Unicode."""

_ENDING = ".npy"
_KINDS = "biufcSU"
"""Truth values, numbers and texts; neither objects nor dates nor records."""
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    tokenize.TokenError,
    EOFError,
    MemoryError,  # of what an array announces, and Python's own limit of nested brackets
    OSError,
    OverflowError,
    RuntimeError,  # an encrypted member, or one that Python does not know how to unpack
    SyntaxError,
    TypeError,
    UserWarning,  # a header that only Python 2 wrote
    ValueError,
)
"""What zipfile and numpy raise for broken files."""


def read_npz_arrays(path: str | Path) -> dict[str, NDArray[Any]]:
    """The arrays of a file of numpy's npz format, never a pickle; they cannot be written to.

    Raises
    ------
    InvalidInputError
        If the file cannot be read, is no npz file of arrays, or holds more than
        `depl.models.foundation.documents.LARGEST_FILE` bytes of them.
    """
    content = read_bytes(path)
    if not zipfile.is_zipfile(io.BytesIO(content)):
        raise InvalidInputError("is no npz file", str(path))
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = archive.infolist()
            _require_readable(members, str(path))
            texts = {member.filename.removesuffix(_ENDING): archive.read(member) for member in members}
    except InvalidInputError:
        raise
    except _BROKEN as error:
        raise InvalidInputError(f"is no npz file of columns ({error})", str(path)) from error
    return {name: _array(text, name, str(path)) for name, text in texts.items()}


def inflated(content: bytes, path: str, largest: int = LARGEST_FILE) -> bytes:
    """What a gzip file holds; ``path`` is for messages.

    Raises
    ------
    InvalidInputError
        If it is broken, or holds more than ``largest`` bytes.
    """
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(content)) as stream:
            found = read_at_most(stream, largest + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise InvalidInputError(f"is a broken gzip file ({error})", path) from error
    if len(found) > largest:
        raise InvalidInputError(f"holds more than {largest >> 20} MiB, the most that is read", path)
    return found


def _require_readable(members: list[zipfile.ZipInfo], path: str) -> None:
    names = [member.filename for member in members]
    for name in names:
        if not name.endswith(_ENDING):
            raise InvalidInputError(f"is no npz file of columns: {name!r} is no array", path)
    if len(set(names)) < len(names):
        raise InvalidInputError("is no npz file of columns: it holds two arrays of one name", path)
    for member in members:
        if member.compress_type not in _METHODS:
            message = f"is no npz file of columns: {member.filename!r} is packed in a way unknown"
            raise InvalidInputError(message, path)
    if sum(member.file_size for member in members) > LARGEST_FILE:
        message = f"announces more than {LARGEST_FILE >> 20} MiB of arrays, the most that is read"
        raise InvalidInputError(message, path)


def _array(text: bytes, name: str, path: str) -> NDArray[Any]:
    """The array of one member, as numpy reads it."""
    stream = io.BytesIO(text)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            array: NDArray[Any] = npy.read_array(stream, allow_pickle=False)
    except _BROKEN as error:
        raise InvalidInputError(f"is no npz file of columns: {name!r} ({error})", path) from error
    kind = array.dtype
    if kind.kind not in _KINDS:
        message = f"is no npz file of columns: {name!r} holds {kind}, which is neither numbers nor text"
        raise InvalidInputError(message, path)
    if kind.itemsize == 0 or stream.read(1):
        message = f"is no npz file of columns: {name!r} holds another number of bytes than it announces"
        raise InvalidInputError(message, path)
    if kind.kind == "U" and array.size and _largest_character(array) > _LAST_CHARACTER:
        raise InvalidInputError(f"is no npz file of columns: {name!r} holds what is no text", path)
    array.setflags(write=False)
    return array


def _largest_character(array: NDArray[Any]) -> int:
    points = np.frombuffer(array.tobytes(), dtype=np.dtype(np.uint32).newbyteorder(array.dtype.byteorder))
    return int(points.max())

"""Compressed files, read within a stated size: what they announce is believed only where it is there.

An npz file of a few bytes can announce an array of terabytes, and a gzip file of a few megabytes can hold
gigabytes. Both are read here, up to `depl.models.foundation.documents.LARGEST_FILE` bytes, and nowhere else.
"""

import gzip
import io
import sys
import warnings
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from depl.models.foundation.documents import LARGEST_FILE, read_at_most, read_bytes
from depl.models.foundation.errors import InvalidInputError

_KINDS = "biufcSU"
"""Truth values, numbers and texts; neither objects nor dates nor records."""


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
        return _arrays(io.BytesIO(content), str(path))
    except InvalidInputError:
        raise
    except Exception as error:
        raise InvalidInputError(f"is no npz file of columns ({error})", str(path)) from error


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


def _arrays(content: io.BytesIO, path: str) -> dict[str, NDArray[Any]]:
    """The arrays of an archive; what is wrong with it raises an error of some kind."""
    with zipfile.ZipFile(content) as archive, warnings.catch_warnings():
        warnings.simplefilter("error")  # of headers that only Python 2 wrote
        members = archive.infolist()
        if sum(member.file_size for member in members) > LARGEST_FILE:
            message = f"announces more than {LARGEST_FILE >> 20} MiB of arrays, the most that is read"
            raise InvalidInputError(message, path)
        found: dict[str, NDArray[Any]] = {}
        for member in members:
            name, ending = member.filename[:-4], member.filename[-4:]
            if ending != ".npy" or name in found:
                raise ValueError(f"{member.filename!r} is no array, or there twice")
            stream = io.BytesIO(archive.read(member))
            array = np.lib.format.read_array(stream, allow_pickle=False)
            if array.dtype.kind not in _KINDS or stream.read(1) or not array.dtype.itemsize:
                raise ValueError(f"{name!r} holds neither numbers nor text, or more bytes than it announces")
            codes = np.dtype(np.uint32).newbyteorder(array.dtype.byteorder)
            if array.dtype.kind == "U" and array.ravel().view(codes).max(initial=0) > sys.maxunicode:
                raise ValueError(f"{name!r} holds what is no text")
            array.setflags(write=False)
            found[name] = array
    return found

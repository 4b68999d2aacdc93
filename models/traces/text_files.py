"""Logs as text: regular files alone, as they are or packed by gzip, in UTF-8 or in UTF-16 with its mark."""

import codecs
import gzip
import os
import stat
import zlib
from pathlib import Path

from depl.models.foundation.archives import inflated
from depl.models.foundation.documents import read_bytes, reason_of
from depl.models.foundation.errors import InvalidInputError

_GZIP = b"\x1f\x8b"
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_HANDED_OVER = ("/dev/fd/", "/dev/stdin", "/proc/self/fd/")
"""Pipes that a shell hands over have a writer at their other end, or have had one."""


def unpacked(path: Path) -> Path:
    """What a file would be called without its packing."""
    return path.with_suffix("") if path.suffix.lower() == ".gz" else path


def require_end(path: str | Path) -> None:
    """Refuse what is not there, or may never end, or never begin: a named pipe or a device."""
    try:
        kind = os.stat(path).st_mode
    except (OSError, ValueError) as error:
        raise InvalidInputError(f"cannot be read ({reason_of(error)})", str(path)) from error
    if not (stat.S_ISREG(kind) or stat.S_ISDIR(kind) or str(path).startswith(_HANDED_OVER)):
        raise InvalidInputError("is no file but a pipe or a device: write it into a file", str(path))


def log_bytes(path: str | Path) -> bytes:
    """The content of a file that ends."""
    require_end(path)
    return read_bytes(path)


def first_bytes(path: str | Path, count: int) -> bytes:
    """How a file begins, once it is unpacked; nothing where it cannot be read."""
    try:
        require_end(path)
        with open(path, "rb") as file:
            content = file.read(count)
        if not content.startswith(_GZIP):
            return content
        with gzip.open(path) as packed:
            return packed.read(count)
    except (OSError, EOFError, zlib.error, InvalidInputError):
        return b""


def log_text(path: str | Path) -> str:
    """The text of a file, without a mark of its encoding, every line ended by a line feed alone.

    Raises
    ------
    InvalidInputError
        If it is no text, a broken gzip file, or larger than what is read at most once it is unpacked.
    """
    content = log_bytes(path)
    if content.startswith(_GZIP):
        content = inflated(content, str(path))
    encoding = encoding_of(content)
    try:
        return content.decode(encoding).replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"not {encoding.upper()[:6].rstrip('-')} text", str(path)) from error


def encoding_of(content: bytes) -> str:
    """The encoding of a text by the mark at its beginning; UTF-8 without one."""
    return "utf-16" if content.startswith(_UTF_16) else "utf-8-sig"

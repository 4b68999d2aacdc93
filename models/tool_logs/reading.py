"""What all readers have in common: whatever one trips over becomes a refusal that names the file."""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

from depl.models.foundation.documents import reason_of
from depl.models.foundation.errors import InvalidInputError

_Path = TypeVar("_Path", bound=str | Path)
_More = ParamSpec("_More")
_Found = TypeVar("_Found")


UNFINISHED = "unfinished, as a process that was killed leaves it: not read"
"""What is said of the last record of a file, or its last line."""


class TrippedError(InvalidInputError):
    """A file that no reader was written for: it is refused, and the reader has to learn of it."""


def reader(read: Callable[Concatenate[_Path, _More], _Found]) -> Callable[Concatenate[_Path, _More], _Found]:
    """A reader, whose first argument is the path, that raises nothing but `InvalidInputError`."""

    @functools.wraps(read)
    def careful(path: _Path, /, *more: _More.args, **named: _More.kwargs) -> _Found:
        try:
            return read(path, *more, **named)
        except InvalidInputError as error:
            if error.path:
                raise
            raise InvalidInputError(error.message, str(path)) from error
        except OSError as error:
            raise InvalidInputError(f"cannot be read ({reason_of(error)})", str(path)) from error
        except RecursionError as error:
            raise InvalidInputError("is nested too deeply to be read", str(path)) from error
        except MemoryError as error:
            raise InvalidInputError("does not fit into the memory", str(path)) from error
        except Exception as error:
            message = f"cannot be read as a log ({type(error).__name__}: {error}); leave it out"
            raise TrippedError(message, str(path)) from error

    return careful

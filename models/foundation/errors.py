"""Errors that reach the user: one root, few branches, each saying what, where and what to do."""

import re
from collections.abc import Callable, Sequence
from typing import Self

LONGEST_MESSAGE = 2000
"""Characters of a message or a place: a name in it may be as long as a file."""

MOST_TOLD = 20
"""Mistakes that are shown of one file: as many as one corrects before reading the next answer."""


def shortened(text: str, longest: int = LONGEST_MESSAGE) -> str:
    """``text``; where it is longer, its beginning and its end, between them how much is left out."""
    if len(text) <= longest:
        return text
    head, tail = longest * 3 // 4, longest // 4
    return f"{text[:head]} [... {len(text) - head - tail} characters left out ...] {text[-tail:]}"


class DeplError(Exception):
    """Root of every error that depl raises on purpose.

    ``exit_code`` is what the command line returns when the error ends it.
    """

    exit_code = 70


class InvalidInputError(DeplError, ValueError):
    """An instance, plan, option or argument that cannot be used; exit code 2.

    Parameters
    ----------
    message : str
        What is wrong and what to do about it.
    path : str, optional
        Where it is wrong, relative to the object that raised it, in JSON-path syntax
        (``.capacity``, ``[2].noise``). Enclosing readers prepend their own part (`within`).
    also : sequence of InvalidInputError
        What else is wrong with the same file or object, independently of that.
    """

    exit_code = 2

    def __init__(self, message: str, path: str = "", also: Sequence["InvalidInputError"] = ()) -> None:
        self.message = shortened(message)
        self.path = shortened(path)
        self.also = tuple(also)
        super().__init__(self.message)

    @property
    def mistakes(self) -> tuple["InvalidInputError", ...]:
        """All that is wrong, each as an error by itself."""
        return (type(self)(self.message, self.path), *self.also) if self.also else (self,)

    def within(self, place: str | Callable[[str], str]) -> Self:
        """The same in a larger whole: with its part of the place in front, or every place changed by it."""
        path = place(self.path) if callable(place) else f"{place}{self.path}"
        return type(self)(self.message, path, [error.within(place) for error in self.also])

    def __str__(self) -> str:
        """Return a line for each mistake, with its place if one is known; what is alike is told once."""
        alike: dict[tuple[str, str], list[str]] = {}
        for error in self.mistakes:
            alike.setdefault((error.message, re.sub(r"\[\d+\]", "[]", error.path)), []).append(error.path)
        lines = [
            (f"{paths[0]}: {message}" if paths[0] else message) + _also_at(paths[1:])
            for (message, _), paths in alike.items()
        ]
        more = [f"{len(lines) - MOST_TOLD} more mistakes; correct these first"] if lines[MOST_TOLD:] else []
        return "\n".join(lines[:MOST_TOLD] + more)


def _also_at(paths: Sequence[str]) -> str:
    """Where else the same is wrong, without the name of the file."""
    if not paths:
        return ""
    last = paths[-1][max(paths[-1].find("$"), 0) :]
    return f" (also at {last})" if len(paths) == 1 else f" (also at {len(paths)} more places, up to {last})"


class WrongNameError(InvalidInputError):
    """A name that is not defined, or is defined twice: no other value of a document mends that."""


class NotCoveredError(InvalidInputError):
    """A method was asked for an instance that it does not cover, or that is too large for it."""

"""Errors that reach the user: one root, few branches, each saying what, where and what to do."""

LONGEST_MESSAGE = 2000
"""Characters of a message or a place: a name in it may be as long as a file."""


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
        (``.capacity``, ``[2].noise``). Enclosing readers prepend their own part.
    """

    exit_code = 2

    def __init__(self, message: str, path: str = "") -> None:
        self.message = shortened(message)
        self.path = shortened(path)
        super().__init__(self.message)

    def __str__(self) -> str:
        """Return the message with the place in front, if one is known."""
        return f"{self.path}: {self.message}" if self.path else self.message


class NotCoveredError(InvalidInputError):
    """A method was asked for an instance that it does not cover, or that is too large for it."""

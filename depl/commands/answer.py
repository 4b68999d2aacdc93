"""What a command returns: text for people, one JSON object for programs, and the exit code."""

from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import msgspec

from depl.models.errors import DeplError
from depl.models.result import Result, Solution, Termination


class ExitCode(IntEnum):
    """What the command line returns to the shell."""

    ANSWERED = 0
    """The question is answered."""
    INVALID = 2
    """Wrong usage or input, or a file that cannot be read or written."""
    INFEASIBLE = 3
    """Proved infeasible; or ``check`` of a plan that fails, ``certify`` of one that is not certified."""
    STOPPED = 4
    """A limit or an interrupt, with a plan in hand."""
    NOTHING = 5
    """Ended without a plan and without a proof."""
    INTERNAL = 70
    """A defect of depl."""


@dataclass(frozen=True)
class Answer:
    """The outcome of one command.

    Attributes
    ----------
    text : str
        For people, on standard output; empty for nothing.
    code : ExitCode
    json : str
        One JSON object, on standard output instead of the text where ``--json`` asks for it.
    aside : str
        For standard error, whatever goes to standard output.
    """

    text: str
    code: ExitCode = ExitCode.ANSWERED
    json: str = ""
    aside: str = ""


def failure(error: DeplError) -> Answer:
    """The answer when an error ends a command."""
    place = getattr(error, "path", "") or None
    content = _json(Termination.ERROR, str(error), place)
    return Answer("", ExitCode(error.exit_code), content, f"depl: {error}")


def interrupted() -> Answer:
    """The answer when the user stops a command that holds nothing yet."""
    reason = "interrupted before there was an answer"
    return Answer("", ExitCode.NOTHING, _json(Termination.INTERRUPTED, reason, None), f"depl: {reason}")


def defect(error: Exception) -> Answer:
    """The answer when something fails that should not."""
    reason = f"internal error, please report it: {type(error).__name__}: {error}"
    return Answer("", ExitCode.INTERNAL, _json(Termination.ERROR, reason, None), f"depl: {reason}")


def as_json(content: dict[str, Any]) -> str:
    """``content`` as one line of JSON; what is not finite must be None already."""
    return msgspec.json.encode(content).decode()


def _json(termination: Termination, reason: str, place: str | None) -> str:
    nothing = Result(termination, Solution.NONE, "", None, None, float("-inf"), reason=reason)
    return as_json({**nothing.to_dict(), "method": None, "instance": None, "seed": None, "path": place})

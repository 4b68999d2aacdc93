"""What a command returns: text for people, one JSON object for programs, and the exit code."""

from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Literal

import msgspec

from depl.models.foundation.errors import LONGEST_MESSAGE, DeplError, shortened
from depl.starting import REASON


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
    reason = shortened(str(error), 2 * LONGEST_MESSAGE)
    return Answer("", ExitCode(error.exit_code), _json("error", reason, place), f"depl: {reason}")


def interrupted() -> Answer:
    """The answer when the user stops a command that holds nothing yet."""
    return Answer("", ExitCode.NOTHING, _json("interrupted", REASON, None), f"depl: {REASON}")


def defect(error: Exception) -> Answer:
    """The answer when something fails that should not."""
    reason = shortened(f"internal error, please report it: {type(error).__name__}: {error}")
    return Answer("", ExitCode.INTERNAL, _json("error", reason, None), f"depl: {reason}")


def as_json(content: dict[str, Any]) -> str:
    """``content`` as one line of JSON; what is not finite must be None already.

    Names of files need not be UTF-8, as JSON must be: bytes that are not are shown as escapes.
    """
    try:
        return msgspec.json.encode(content).decode()
    except UnicodeEncodeError:
        return msgspec.json.encode(_encodable(content)).decode()


def _encodable(content: Any) -> Any:
    if isinstance(content, str):
        return content.encode("utf-8", errors="backslashreplace").decode("utf-8")
    if isinstance(content, dict):
        return {_encodable(name): _encodable(value) for name, value in content.items()}
    if isinstance(content, list | tuple):
        return [_encodable(item) for item in content]
    return content


def _json(ended: Literal["error", "interrupted"], reason: str, place: str | None) -> str:
    """An empty result; the type of results comes with SciPy, which takes longer than ``depl --version``."""
    from depl.models.solving.result import Result, Solution, Termination

    nothing = Result(Termination(ended), Solution.NONE, "", None, None, float("-inf"), reason=reason)
    return as_json({**nothing.to_dict(), "method": None, "instance": None, "seed": None, "path": place})

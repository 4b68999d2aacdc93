"""What a command returns: text for people, one JSON object for programs, and the exit code.

Nothing that takes time is imported, as every start of the command line comes here.
"""

from enum import IntEnum
from typing import Any, Literal, NamedTuple

from depl.commands.printable import encodable
from depl.models.foundation.errors import LONGEST_MESSAGE, DeplError, shortened
from depl.starting import JSON, REASON


class ExitCode(IntEnum):
    """What the command line returns to the shell."""

    ANSWERED = 0
    """The question is answered."""
    INVALID = 2
    """Wrong usage or input, or a file that cannot be read or written."""
    INFEASIBLE = 3
    """Proved infeasible; or ``check``, ``report`` of a plan that fails, ``certify`` of one not certified."""
    STOPPED = 4
    """A limit or an interrupt, after a plan was found."""
    NOTHING = 5
    """Ended without a plan and without a proof."""
    SWITCH = 10
    """``policy decide``: train the next epoch with another model or on another cluster."""
    STOP = 11
    """``policy decide``: train no more."""
    INTERNAL = 70
    """A defect of depl."""


class Answer(NamedTuple):
    """The outcome of one command: a text for standard output, or one JSON object where that is asked for."""

    text: str
    code: ExitCode = ExitCode.ANSWERED
    json: str = ""
    aside: str = ""
    """For standard error, whatever goes to standard output."""


def interrupted() -> Answer:
    """The answer when the user stops a command that holds nothing yet."""
    return Answer("", ExitCode.NOTHING, JSON, f"depl: {REASON}")


def failure(error: DeplError) -> Answer:
    """The answer when an error ends a command."""
    place = getattr(error, "path", "") or None
    reason = shortened(str(error), 2 * LONGEST_MESSAGE)
    told = without_result("error", reason, place, getattr(error, "mistakes", ()))
    return Answer("", ExitCode(error.exit_code), told, f"depl: {reason}".replace("\n", "\n      "))


def defect(error: Exception | SystemExit) -> Answer:
    """The answer when something fails that should not: the user's own code, or depl."""
    from depl.models.foundation.users_code import users_fault

    fault = users_fault(error)
    if fault is not None:
        return failure(fault)
    reason = shortened(f"internal error, please report it: {type(error).__name__}: {error}")
    return Answer("", ExitCode.INTERNAL, without_result("error", reason, None), f"depl: {reason}")


def without_result(
    ended: Literal["error", "interrupted"], reason: str, place: str | None, mistakes: Any = ()
) -> str:
    """The JSON object of a command that has no result: the keys that results have, and single mistakes."""
    import json

    told = {"termination": ended, "reason": encodable(reason), "path": place and encodable(place)}
    each = [{"path": encodable(item.path), "message": encodable(item.message)} for item in mistakes]
    return json.dumps(json.loads(JSON) | told | ({"mistakes": each} if each else {}), separators=(",", ":"))


STOPPED = ("time_limit", "interrupted")
"""Ends of a solve that a limit or the user brought about."""


def code_of(ended: str, held: bool, claimed: bool = False) -> ExitCode:
    """What the end of a solve, by the value of its `Termination`, means to the shell.

    An infeasibility that is only ``claimed``, by a method that nobody vouches for, is no proof.
    """
    if ended == "error":
        return ExitCode.INTERNAL
    if ended == "infeasible" and not claimed:
        return ExitCode.INFEASIBLE
    if ended == "infeasible" or not held:
        return ExitCode.NOTHING
    return ExitCode.STOPPED if ended in STOPPED else ExitCode.ANSWERED

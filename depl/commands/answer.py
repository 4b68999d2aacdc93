"""What a command returns: text for people, one JSON object for programs, and the exit code.

Nothing that takes time is imported, as every start of the command line comes here.
"""

from enum import IntEnum
from typing import NamedTuple

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


def interrupted() -> Answer:
    """The answer when the user stops a command that holds nothing yet."""
    return Answer("", ExitCode.NOTHING, JSON, f"depl: {REASON}")

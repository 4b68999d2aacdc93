"""The answers of commands that end by an error, with the keys that results have.

Imported when there was one, as the type of results comes with SciPy.
"""

from typing import Literal

from depl.commands.answer import Answer, ExitCode
from depl.commands.json_text import as_json
from depl.models.foundation.errors import LONGEST_MESSAGE, DeplError, shortened
from depl.models.foundation.users_code import users_fault
from depl.models.solving.result import Result, Solution, Termination


def failure(error: DeplError) -> Answer:
    """The answer when an error ends a command."""
    place = getattr(error, "path", "") or None
    reason = shortened(str(error), 2 * LONGEST_MESSAGE)
    return Answer("", ExitCode(error.exit_code), without_result("error", reason, place), f"depl: {reason}")


def defect(error: Exception | SystemExit) -> Answer:
    """The answer when something fails that should not: the user's own code, or depl."""
    fault = users_fault(error)
    if fault is not None:
        return failure(fault)
    reason = shortened(f"internal error, please report it: {type(error).__name__}: {error}")
    return Answer("", ExitCode.INTERNAL, without_result("error", reason, None), f"depl: {reason}")


def without_result(ended: Literal["error", "interrupted"], reason: str, place: str | None) -> str:
    """The JSON object of a command that has no result, with the keys that results have."""
    nothing = Result(Termination(ended), Solution.NONE, "", None, None, float("-inf"), reason=reason)
    return as_json({**nothing.to_dict(), "method": None, "instance": None, "seed": None, "path": place})

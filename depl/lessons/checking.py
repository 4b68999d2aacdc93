"""``check``: what a lesson says about an answer."""

import sys

from depl.lessons.exercises import EXERCISES
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.names import advice


def check(name: str, answer: object) -> None:
    """Say whether the answer to an exercise is right.

    Under IPython, which runs the cells of a notebook, a hint for a wrong answer is printed, and the cells
    below can still be run. Anywhere else, in a script or a test, a wrong answer ends the program.

    Parameters
    ----------
    name : str
        Lesson and number, such as ``"2.1"``.
    answer : object
        None as long as the exercise is open.

    Raises
    ------
    SystemExit
        If the answer is wrong and no IPython runs it, with a hint, so that a script stops there with exit
        code 1. The right answer is never printed.
    InvalidInputError
        If there is no such exercise.
    """
    if name not in EXERCISES:
        raise InvalidInputError(f"there is no exercise {name!r}; {advice(name, EXERCISES)}", "name")
    if answer is None:
        print(f"Exercise {name} is open: replace None by your answer.")  # noqa: T201
        return
    hint = EXERCISES[name](answer)
    if hint is None:
        print(f"Exercise {name}: right.")  # noqa: T201
        return
    wrong = f"Exercise {name}: not yet. {hint}"
    if not under_ipython():
        raise SystemExit(wrong)
    print(wrong)  # noqa: T201


def under_ipython() -> bool:
    """Whether an IPython shell runs this code: that of a notebook, or one in a terminal.

    IPython that was only imported has no shell, and IPython is never imported for the sake of this question.
    """
    shell = getattr(sys.modules.get("IPython"), "get_ipython", None)
    return shell is not None and shell() is not None

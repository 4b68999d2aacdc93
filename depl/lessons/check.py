"""``check``: what a lesson says about an answer."""

from depl.lessons.exercises import EXERCISES
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.names import advice


def check(name: str, answer: object) -> None:
    """Print whether the answer to an exercise is right.

    Parameters
    ----------
    name : str
        Lesson and number, such as ``"2.1"``.
    answer : object
        None as long as the exercise is open.

    Raises
    ------
    SystemExit
        If the answer is wrong, with a hint, so that a script stops there with exit code 1. The right answer
        is never printed.
    InvalidInputError
        If there is no such exercise.
    """
    if name not in EXERCISES:
        raise InvalidInputError(f"there is no exercise {name!r}; {advice(name, EXERCISES)}", "name")
    if answer is None:
        print(f"Exercise {name} is open: replace None by your answer.")  # noqa: T201
        return
    hint = EXERCISES[name](answer)
    if hint is not None:
        raise SystemExit(f"Exercise {name}: not yet. {hint}")
    print(f"Exercise {name}: right.")  # noqa: T201

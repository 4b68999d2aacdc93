"""An order of attempts that depends on what they are and not on when they ended."""

import re
from collections.abc import Sequence

from depl.benchmarks.measure.attempt import Attempt
from depl.benchmarks.suites.catalogue import find_suite
from depl.models.foundation.errors import InvalidInputError

_NUMBER = re.compile(r"(\d+(?:\.\d+)?)")


def ordered(attempts: Sequence[Attempt]) -> list[Attempt]:
    """By suite, instance, configuration and seed; configurations as `configurations` has them."""
    places = {
        (suite, label): place
        for suite in {attempt.task.suite for attempt in attempts}
        for place, label in enumerate(configurations(attempts, suite))
    }
    return sorted(
        attempts,
        key=lambda attempt: (
            attempt.task.suite,
            attempt.task.version,
            natural(attempt.task.instance),
            places[attempt.task.suite, attempt.task.configuration],
            attempt.task.seed,
        ),
    )


def configurations(attempts: Sequence[Attempt], suite: str) -> list[str]:
    """Labels in the order of the suite, if it is a shipped one; the others after them, by name."""
    try:
        listed = [item.label for item in find_suite(suite).configurations]
    except InvalidInputError:  # results of a suite that is not here can be read all the same
        listed = []
    present = {attempt.task.configuration for attempt in attempts if attempt.task.suite == suite}
    return [label for label in listed if label in present] + sorted(present - set(listed), key=natural)


def natural(name: str) -> tuple[tuple[int, float, str], ...]:
    """A key that sorts ``alexnet-9`` before ``alexnet-13``."""
    parts = _NUMBER.split(name)
    return tuple((0, float(part), "") if index % 2 else (1, 0.0, part) for index, part in enumerate(parts))

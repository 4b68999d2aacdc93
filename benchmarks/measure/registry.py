"""What a benchmark case is, and how cases are found.

A case is a measurement with a written goal for each figure it is judged by. It lives in a file of its own in
`depl.benchmarks.studies` that defines ``STUDY``; adding the file is all it takes.
"""

import math
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType, ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import depl.benchmarks.studies
from depl.benchmarks.measure.discovery import defined_in
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.names import advice

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Run = Callable[[np.random.Generator, bool], Mapping[str, object]]

Draw = Callable[[Mapping[str, Any]], "Figure"]
"""Makes the figure of a case from the values of its record."""

COMPARISONS: Mapping[str, Callable[[float, float], bool]] = MappingProxyType(
    {"<": operator.lt, "<=": operator.le, "==": operator.eq, ">=": operator.ge, ">": operator.gt}
)
_CASE_NAME = re.compile(r"[a-z0-9]+(?:[-_][a-z0-9]+)*")


class Goal(NamedTuple):
    """One figure that a case is judged by.

    Parameters
    ----------
    name : str
        Key of the figure among the values that the case returns.
    sentence : str
        What is promised, for a reader who does not know the key.
    comparison : str
        How the measured value has to stand to the threshold: one of `COMPARISONS`.
    threshold : float
        The value to compare with, in the unit of the figure. Use 1 with ``==`` for a yes-or-no figure.
    """

    name: str
    sentence: str
    comparison: str
    threshold: float

    def met_by(self, measured: object) -> bool:
        """Tell whether ``measured`` reaches the goal; what is not a number, NaN included, does not."""
        value = as_number(measured)
        return (
            value is not None
            and not math.isnan(value)
            and COMPARISONS[self.comparison](value, self.threshold)
        )


@dataclass(frozen=True)
class Study:
    """One benchmark: what is run and what it is expected to show.

    Parameters
    ----------
    name : str
        Lower-case words joined by hyphens or underscores; names the record's file.
    summary : str
        One sentence on what is measured.
    goals : tuple of Goal
        Plain tuples (name, sentence, comparison, threshold) are accepted as well.
    run : callable
        Takes a random generator and whether this is a smoke run (as small as possible, figures of no
        importance), and returns the measured values by name, those of the goals among them.
    seed : int or None, default 0
        Seed of the generator, so that a run can be repeated. None: the operating system draws one at every
        recording, so that nothing can have been tuned to what the case draws; the record keeps the seed, and
        what earlier recordings measured.
    draw : callable, optional
        Makes the figure of the case from the values of a record, and from nothing else.

    Raises
    ------
    InvalidInputError
        If a name, a comparison or a threshold cannot be used.
    """

    name: str
    summary: str
    goals: tuple[Goal, ...]
    run: Run
    seed: int | None = 0
    draw: Draw | None = None

    def __post_init__(self) -> None:
        if not _CASE_NAME.fullmatch(self.name):
            raise InvalidInputError(
                f"benchmark name {self.name!r} is not usable; take lower-case words joined by hyphens"
            )
        goals = tuple(Goal(*goal) for goal in self.goals)
        object.__setattr__(self, "goals", goals)
        names = [goal.name for goal in goals]
        if len(set(names)) != len(names):
            raise InvalidInputError(f"benchmark {self.name!r} has two goals of one name: {', '.join(names)}")
        for goal in goals:
            _check_goal(self.name, goal)


def all_studies(package: ModuleType = depl.benchmarks.studies) -> dict[str, Study]:
    """Find the cases: every module of ``package`` gives its ``STUDY``.

    Parameters
    ----------
    package : module
        The package to look through.

    Returns
    -------
    dict of str to Study
        By name, in alphabetical order.

    Raises
    ------
    InvalidInputError
        If a module defines no case, or two define cases of one name.
    """
    return defined_in(package, "STUDY", Study)


def select(names: list[str], cases: Mapping[str, Study]) -> list[Study]:
    """Return the cases of these names, in the order asked for; all of them if no name is given.

    Raises
    ------
    InvalidInputError
        If a name is unknown; the message lists the known ones.
    """
    for name in names:
        if name not in cases:
            raise InvalidInputError(f"no benchmark is called {name!r}; {advice(name, cases)}")
    return [cases[name] for name in dict.fromkeys(names or cases)]


def as_number(value: object) -> float | None:
    """Return ``value`` as a float if it is a number or a truth value, of Python or NumPy, else None."""
    return float(value) if isinstance(value, int | float | np.number | np.bool_) else None


def _check_goal(case: str, goal: Goal) -> None:
    where = f"goal {goal.name!r} of benchmark {case!r}"
    if goal.comparison not in COMPARISONS:
        raise InvalidInputError(
            f"{where}: comparison {goal.comparison!r} is unknown; take {' '.join(COMPARISONS)}"
        )
    threshold = as_number(goal.threshold)
    if threshold is None or not math.isfinite(threshold):
        raise InvalidInputError(f"{where}: threshold {goal.threshold!r} has to be a finite number")

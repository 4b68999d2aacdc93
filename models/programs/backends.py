"""The solvers behind `depl.models.programs.cutting`: HiGHS kept between cuts, or one that is asked anew."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from depl.models.exact.sampled import SampledProblem
from depl.models.problem.allocation import Allocation
from depl.models.programs.highs import Answer, Option, Session, solve_program
from depl.models.programs.sequences import read_choices
from depl.models.programs.start import Choices


class Formulation(Protocol):
    """A program that can be made exact; `PriceSpace` is one."""

    model: Any

    def tighten(self, choices: Choices, allocation: Allocation) -> list[Any]:
        """Make the program exact at a feasible sequence; returns the new constraints."""

    def write_resources(self, choices: Choices, allocation: Allocation) -> None:
        """Set the continuous variables to a plan, as a start."""


class Backend(Protocol):
    """A solver that holds a program between cuts."""

    def solve(self, time_limit: float | None, watch: Callable[[float], None]) -> Answer:
        """Solve the program as it is now, started at the values of its variables."""

    def sequences(self, answer: Answer) -> list[Choices]:
        """The sequences of an answer, best last."""

    def add(self, constraints: list[Any]) -> None:
        """Take note of new constraints."""


@dataclass
class DirectBackend:
    """One HiGHS object, kept."""

    session: Session
    problem: SampledProblem

    def solve(self, time_limit: float | None, watch: Callable[[float], None]) -> Answer:
        """Solve, started at the values of the variables."""
        self.session.start()
        return self.session.solve(time_limit, watch)

    def sequences(self, answer: Answer) -> list[Choices]:
        """The sequences of an answer, best last."""
        found = []
        for values in answer.solutions:
            self.session.load(values)
            found.append(read_choices(self.session.model, self.problem))
        return found

    def add(self, constraints: list[Any]) -> None:
        """Take note of new constraints."""
        self.session.add(constraints)


@dataclass
class PyomoBackend:
    """A solver that is given the whole model every time."""

    model: Any
    problem: SampledProblem
    solve_with: str
    options: dict[str, Option]

    def solve(self, time_limit: float | None, watch: Callable[[float], None]) -> Answer:
        """Solve; nobody can watch."""
        del watch
        return solve_program(self.model, time_limit, self.options, self.solve_with)

    def sequences(self, answer: Answer) -> list[Choices]:
        """The sequences of an answer, best last."""
        return [] if answer.objective is None else [read_choices(self.model, self.problem)]

    def add(self, constraints: list[Any]) -> None:
        """Nothing to do: the constraints are in the model."""

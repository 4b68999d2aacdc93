"""What stands in a program beside its rows: whether it is a relaxation, and how it was finished.

A copy of the program, by ``clone`` or ``pickle``, keeps both.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import pyomo.environ as pyo

RELAXATION = (
    "a RELAXATION, without the cuts that make it exact: its optimum is a lower bound of the cost, and its "
    "plan may cost more than that"
)
"""What a program is called that has only the first of its cuts."""

_RELAXATION = "depl_relaxation"
_NOTE = "depl_note"


@dataclass(frozen=True)
class ProgramNote:
    """How the optimum of a finished program was proved, on which scenarios.

    Attributes
    ----------
    form : str
        ``price`` or ``cone``.
    proved_as : str
        The form that was solved for the proof.
    instance : str
        Its name.
    fingerprint : str
        Of the instance.
    scenarios : int
        S.
    digest : str
        Of the scenarios.
    optimum : float
        Least cost of a plan on these scenarios; infinite if there is none [cost].
    solver : str
        Which proved it, with its version.
    tolerances : tuple of float
        Of the solver of the proof, and that of other solvers for which it was repeated.
    programs : int
        Solved on the way.
    near_ties : int
        Sequences that a solver within its tolerance takes for feasible and that are not; excluded by rows.
    cost_rows : int
        Sequences whose cost is stated by a row of its own.
    """

    form: str
    proved_as: str
    instance: str
    fingerprint: str
    scenarios: int
    digest: str
    optimum: float
    solver: str
    tolerances: tuple[float, ...]
    programs: int
    near_ties: int
    cost_rows: int

    def lines(self) -> Iterator[str]:
        """The note in words."""
        said = f"optimum is {self.optimum!r}" if self.optimum < float("inf") else "is INFEASIBLE"
        yield (
            f"This program is FINISHED: its {said}, that of instance {self.fingerprint[:16]} on "
            f"{self.scenarios} scenarios {self.digest[:16]}."
        )
        kept = " and ".join(f"{value:g}" for value in self.tolerances) or "none"
        yield (
            f"Proved by {self.solver} on {self.programs} programs of form {self.proved_as}, for tolerances "
            f"of {kept}; {self.near_ties} near ties excluded, {self.cost_rows} costs stated by rows."
        )
        yield "Ask your solver for a relative gap of 0: the default of most is 0.0001."
        if self.form == "cone":
            yield "Ask it for a feasibility tolerance of 1e-8, too: cones are kept up to it alone."


def mark_as_relaxation(model: pyo.ConcreteModel) -> None:
    """Note in a program that its optimum is only a bound."""
    setattr(model, _RELAXATION, True)


def is_relaxation(model: pyo.ConcreteModel) -> bool:
    """Whether a program is marked by `mark_as_relaxation`, and not finished since."""
    return bool(getattr(model, _RELAXATION, False))


def mark_as_finished(model: pyo.ConcreteModel, note: ProgramNote) -> None:
    """Note in a program that its optimum is that of its problem, and how that was proved."""
    setattr(model, _RELAXATION, False)
    setattr(model, _NOTE, note)


def note_of(model: pyo.ConcreteModel) -> ProgramNote | None:
    """How a program was finished; None if it is not."""
    return getattr(model, _NOTE, None)


def is_linear(model: pyo.ConcreteModel) -> bool:
    """Whether no row has a square or a product."""
    rows = model.component_data_objects(pyo.Constraint, active=True)
    return all(row.body.polynomial_degree() in (0, 1) for row in rows)

"""What stands in a program beside its rows: whether it is a relaxation, and how it was finished.

A copy of the program, by ``clone`` or ``pickle``, keeps both.
"""

import math
from collections.abc import Iterator, Mapping
from typing import Any

import pyomo.environ as pyo

RELAXATION = (
    "a RELAXATION, without the cuts that make it exact: its optimum is a lower bound of the cost, and its "
    "plan may cost more than that"
)
"""What a program is called that has only the first of its cuts."""

_NOTE = "depl_note"


def mark(model: pyo.ConcreteModel, note: Mapping[str, Any] | str) -> None:
    """Note in a program that it is a `RELAXATION`, or how it was finished."""
    setattr(model, _NOTE, note if isinstance(note, str) else dict(note))


def is_relaxation(model: pyo.ConcreteModel) -> bool:
    """Whether the optimum of a program is only a bound, as it is not finished."""
    return bool(getattr(model, _NOTE, None) == RELAXATION)


def note_of(model: pyo.ConcreteModel) -> dict[str, Any] | None:
    """How a program was finished; None if it is not.

    The keys are ``form``, and ``proved_as``, the form that was solved for the proof; ``instance``, its name,
    and ``fingerprint``; ``scenarios``, how many, and their ``digest``; ``optimum``, the least cost of a plan,
    infinite if there is none; ``solver``, with its version; ``tolerances``, of the solver, and of others for
    which the proof was repeated; ``programs``, solved on the way; ``near_ties``, sequences that such a solver
    takes for feasible and that are not, excluded by rows; ``cost_rows``, sequences whose cost a row states.
    """
    note = getattr(model, _NOTE, None)
    return note if isinstance(note, dict) else None


def note_lines(model: pyo.ConcreteModel) -> Iterator[str]:
    """What is noted in a program in words; nothing where nothing is."""
    if is_relaxation(model):
        yield f"This program is {RELAXATION}."
    note = note_of(model)
    if note is None:
        return
    said = f"optimum is {note['optimum']!r}" if note["optimum"] < math.inf else "is INFEASIBLE"
    yield (
        f"This program is FINISHED: its {said}, that of instance {note['fingerprint'][:16]} on "
        f"{note['scenarios']} scenarios {note['digest'][:16]}."
    )
    kept = " and ".join(f"{value:g}" for value in note["tolerances"]) or "none"
    yield (
        f"Proved by {note['solver']} on {note['programs']} programs of form {note['proved_as']}, for "
        f"tolerances of {kept}; {note['near_ties']} near ties excluded, "
        f"{note['cost_rows']} costs stated by rows."
    )
    yield "Ask your solver for a relative gap of 0: the default of most is 0.0001."
    if note["form"] == "cone":
        yield "Ask it for a feasibility tolerance of 1e-8, too: cones are kept up to it alone."


def is_linear(model: pyo.ConcreteModel) -> bool:
    """Whether no row has a square or a product."""
    rows = model.component_data_objects(pyo.Constraint, active=True)
    return all(row.body.polynomial_degree() in (0, 1) for row in rows)

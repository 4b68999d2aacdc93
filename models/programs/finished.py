"""Programs for other solvers: finished, so that their optimum is that of the problem, or named relaxations.

A finished program holds what the proof of `depl.models.programs.loop` needed: cuts, costs of single plans,
and rows against near ties. Most solvers keep rows and whole numbers to `LOOSE` alone and would meet near ties
that HiGHS does not, so the proof is repeated with the rows of (3) and (4) loosened by what such a solver may
be off (`_loosened`). What another solver accepts beyond such a tolerance, nobody can exclude.
"""

import importlib.metadata
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyomo.environ as pyo
from pyomo.repn import generate_standard_repn

from depl.models.evaluation.evaluate import INTENT, Reading
from depl.models.exact.reasons import why_infeasible
from depl.models.exact.sampled import SampledProblem
from depl.models.foundation.deadline import OutOfTimeError, deadline
from depl.models.foundation.errors import InvalidInputError, NotCoveredError
from depl.models.foundation.names import advice
from depl.models.foundation.removed import removed
from depl.models.problem.instance import Instance
from depl.models.programs.attainable import Attainable, attainable
from depl.models.programs.formulations import Price, add_cost_row, add_no_good, cone
from depl.models.programs.highs import OPTIONS
from depl.models.programs.loop import PROVED, Loop, require_manageable
from depl.models.programs.methods import FORM
from depl.models.programs.notes import mark
from depl.models.scenarios.draws import Scenarios
from depl.models.solving.limits import Limits, require_limits, sample_of

LOOSE = 1e-6
"""The feasibility tolerance by default of HiGHS, SCIP, Gurobi and CPLEX, for which a program is finished."""

FORMS = FORM.words
"""Linear, with the resources projected out, and as the paper writes it."""


def program(
    instance: Instance,
    scenarios: int | Scenarios | None = None,
    form: str = "price",
    finished: bool = True,
    *,
    seed: int = 0,
    time_limit: float | None = None,
    reading: Reading = INTENT,
) -> pyo.ConcreteModel:
    """The planning problem with counted scenarios as a Pyomo model, for any solver.

    Parameters
    ----------
    instance : Instance
    scenarios : int or Scenarios, optional
        Which, or how many to draw with ``seed``; 100 unless given.
    form : str
        ``price`` (linear, few variables), or ``cone`` (as the paper writes it, exact without cuts, for
        solvers that know rotated second-order cones, such as SCIP).
    finished : bool
        Whether the problem is solved first and the rows that the proof needed are put into the program, so
        that its optimum is that of the problem. Without it, ``price`` is a relaxation, named so in the status
        of answers and in the head of files.
    seed : int
        Of the scenarios, and of HiGHS.
    time_limit : float, optional
        Wall seconds for drawing, writing the program down and solving it.
    reading : depl.models.evaluation.evaluate.Reading
        Intent or letter of (2) and (6).

    Returns
    -------
    pyomo.environ.ConcreteModel
        With the objective ``eq2_cost``, in the cost of the instance.
        `depl.models.programs.notes.note_of` says how it was finished, `depl.models.programs.export.export`
        writes it to a file.

    Raises
    ------
    InvalidInputError
        For an unknown form, or scenarios that do not fit.
    NotCoveredError
        If no plan with an epoch can be feasible, so that there is no program; if the problem has memory or is
        too large for a program; or if it could not be solved within the time limit.
    """
    if form not in FORMS:
        gone = removed(f"depl program --form {form}")
        raise InvalidInputError(gone or f"no form {form!r}; {advice(form, FORMS)}", "form")
    if instance.has_memory:
        raise NotCoveredError(
            f"programs need independent increments, and the loss of {instance.name!r} has memory "
            "(traced_law); the method scenario-search solves it"
        )
    _, time_limit, seed = require_limits(0.0, time_limit, seed)
    limits = Limits(time_limit=time_limit, seed=seed)  # drawing and writing down are within them
    try:
        with deadline(limits.lateness):
            problem = SampledProblem(instance, sample_of(instance, scenarios, seed))
            return _finish(problem, form, reading, limits) if finished else _written(problem, form, reading)
    except OutOfTimeError:
        raise NotCoveredError(
            "the time was over before the program was written down; allow more time, or take fewer scenarios"
        ) from None


def _bounds(problem: SampledProblem) -> Attainable:
    """Bounds of the plans, among them the one that does not train if it is feasible.

    Raises
    ------
    NotCoveredError
        If no plan trains.
    """
    bounds = attainable(problem)
    if bounds.possible:
        return bounds
    if bounds.idle:
        raise NotCoveredError(
            "the only feasible plan does not train, and costs 0: there is no program to write down"
        )
    raise NotCoveredError(f"there is no program: {why_infeasible(problem, bounds.best_gain)}")


def _written(problem: SampledProblem, form: str, reading: Reading) -> pyo.ConcreteModel:
    """The program as it is, without solving it."""
    bounds = _bounds(problem)
    return Price(problem, bounds, reading).model if form == "price" else cone(problem, bounds, reading)


def _finish(problem: SampledProblem, form: str, reading: Reading, limits: Limits) -> pyo.ConcreteModel:
    """Solve, and leave in the program what the proof needed: nothing where no plan costs less than 0."""
    require_manageable(problem)
    _bounds(problem)
    loop = _solved(problem, reading, limits)
    if form == "price" and loop.model is not None:
        model = loop.model
        for sequence, row in loop.settled.items():  # it stays in the program, and its cost is stated
            row.deactivate()
            add_cost_row(model, problem, sequence, loop.exact_cost(list(sequence)) / loop.unit)
        model.eq2_cost.set_value(loop.unit * model.eq2_cost.expr)
    else:
        model = _written(problem, form, reading)
        for choices, same_gain in loop.ties:
            add_no_good(model, problem, choices, same_gain)
    mark(model, _note(problem, form, loop))
    return model


def _solved(problem: SampledProblem, reading: Reading, limits: Limits) -> Loop:
    """The loop after both proofs, on the form ``price``, as HiGHS knows no cones.

    Raises
    ------
    NotCoveredError
        If one of them was not reached.
    """
    loop = Loop(problem, limits, reading).run()
    if loop.termination in PROVED and loop.model is not None:
        with _loosened(loop.model):
            loop.lower_bound = 0.0
            loop.prove()
    if loop.termination not in PROVED:
        raise NotCoveredError(
            f"the optimum was not proved ({loop.termination.value}: {loop.reason or 'time is over'}); "
            "allow more time, or take finished=False, a relaxation"
        )
    return loop


@contextmanager
def _loosened(model: pyo.ConcreteModel) -> Iterator[None]:
    """The rows of (3) and (4) let pass what a solver with the tolerance `LOOSE` may let pass.

    That is `LOOSE` for the row itself, and as much for each whole number in it times its coefficient: that of
    the miss, the largest of the row, and those of the epochs, which are at most 1.
    """
    rows = list(model.eq3_quantile.values())
    if model.find_component("eq4_time") is not None:
        rows.append(model.eq4_time)
    changed = [(row, (row.lower, row.body, row.upper)) for row in rows]
    for row, (lower, body, upper) in changed:
        largest = max(map(abs, generate_standard_repn(body).linear_coefs), default=0.0)
        slack = LOOSE * (1 + len(model.epochs) + largest)
        row.set_value((None, body, upper + slack) if lower is None else (lower - slack, body, upper))
    try:
        yield
    finally:
        for row, sides in changed:
            row.set_value(sides)


def _note(problem: SampledProblem, form: str, loop: Loop) -> dict[str, Any]:
    """What is known of a finished program."""
    solver = f"HiGHS {importlib.metadata.version('highspy')}"
    tolerances = (float(OPTIONS["mip_feasibility_tolerance"]), LOOSE)
    return {
        "form": form,
        "proved_as": "price",
        "instance": problem.instance.name,
        "fingerprint": problem.instance.fingerprint,
        "scenarios": len(problem.scenarios),
        "digest": problem.scenarios.digest,
        "optimum": loop.cost,
        "solver": "the plan that does not train" if loop.model is None else solver,
        "tolerances": () if loop.model is None else tolerances,
        "programs": loop.programs,
        "near_ties": len(loop.ties),
        "cost_rows": 0 if loop.model is None else len(loop.model.cost_rows),
    }

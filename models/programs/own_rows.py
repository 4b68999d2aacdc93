"""Rows that a caller adds to a program: what they may speak of.

The resources of a plan come from the closed form, which knows no rows. So rows of a caller may speak of the
discrete variables and of variables of the caller's own, not of resources; the solver keeps them.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyomo.environ as pyo
from numpy.typing import NDArray
from pyomo.common.errors import InvalidConstraintError
from pyomo.core.expr.visitor import identify_variables
from pyomo.repn import generate_standard_repn

from depl.models.foundation.errors import InvalidInputError, NotCoveredError
from depl.models.solving.limits import Rows

_VIOLATED = 1e-6  # of the larger of 1 and the bound: the rows are of whole numbers, of solvers that keep 1e-9
_DISCRETE = {"w", "q", "v", "stop", "z", "charged"}
_LINEAR = "write sums of variables times numbers, with variables of your own where more is needed"
_LOOK = "An index lists only what keeps the time limits: print sorted(model.w), sorted(model.q)"


def add_own_rows(model: pyo.ConcreteModel, rows: Rows) -> tuple[Any, ...]:
    """Let a caller's function add rows to the program; returns these, and discrete variables that it held.

    Raises
    ------
    NotCoveredError
        If a row speaks of resources, or the objective is not that of the program.
    InvalidInputError
        If the function does not fit the model; if a row is not linear, or not of finite numbers; or if a miss
        that no feasible plan has a choice about is given another value.
    """
    ours = {item.name for item in model.component_objects()}
    try:
        rows(model)
    except InvalidConstraintError as error:
        raise InvalidInputError(
            f"a row has no variable in it ({_first_line(error)}): is the sum empty? {_LOOK}", "rows"
        ) from error
    except (KeyError, AttributeError) as error:
        raise InvalidInputError(f"{_first_line(error)}; {_LOOK}", "rows") from error
    objectives = [item.name for item in model.component_data_objects(pyo.Objective, active=True)]
    if objectives != ["eq2_cost"]:
        raise NotCoveredError(
            f"the objectives are {', '.join(objectives) or 'none'}, but plans are compared by eq2_cost; "
            "keep it, or hand the model to solve_program"
        )
    every = model.component_data_objects(pyo.Constraint, active=True)
    own = [row for row in every if row.parent_component().name not in ours]
    _require_linear(model, own)
    for row in own:
        for name in sorted({item.parent_component().name for item in identify_variables(row.body)}):
            if name in ours - _DISCRETE:
                raise NotCoveredError(
                    f"the row {row.name!r} speaks of {name!r}, but resources are chosen after the program, "
                    "by the closed form; write it in w, q, v, stop, z or variables of your own"
                )
    return (*own, *_held(model))


def keeps(own: Sequence[Any], model: pyo.ConcreteModel, missed: NDArray[np.bool_]) -> bool:
    """Whether a sequence of the solver, which misses these scenarios, keeps rows without further variables.

    All discrete variables follow from w, but z: the solver may call a scenario missed that is met.
    """
    for s in model.undecided:
        low, high = _bounds(model.z[s])
        if not low <= missed[s - 1] <= high:
            return False
        model.z[s].set_value(float(missed[s - 1]))
    for row in (row for row in own if row.ctype is pyo.Constraint):
        if {item.parent_component().name for item in identify_variables(row.body)} <= _DISCRETE:
            most = _VIOLATED * max(1.0, *(abs(end) for end in (row.lb, row.ub) if end is not None))
            if min(row.lslack(), row.uslack()) < -most:
                return False
    return True


def _first_line(error: Exception) -> str:
    return str(error.args[0] if error.args else error).strip().partition("\n")[0]


def _require_linear(model: pyo.ConcreteModel, rows: Sequence[Any]) -> None:
    """Refuse what no linear program can hold, and numbers that are none: a solver may pass them over."""
    for kind in (pyo.SOSConstraint, pyo.LogicalConstraint):
        for other in model.component_data_objects(kind, active=True):
            raise InvalidInputError(f"{other.name!r} is a {kind.__name__}; {_LINEAR}", "rows")
    for row in rows:
        try:
            body = generate_standard_repn(row.body)
            bounds = [0.0 if end is None else pyo.value(end) for end in (row.lower, row.upper)]
            numbers = [pyo.value(number) for number in (body.constant, *body.linear_coefs)]
            _ = [item.bounds for item in identify_variables(row.body)]  # which Pyomo refuses if they are NaN
        except (ArithmeticError, TypeError, ValueError) as error:
            what = _first_line(error)
            raise InvalidInputError(f"the row {row.name!r} cannot be evaluated: {what}", "rows") from error
        if not body.is_linear():
            raise InvalidInputError(f"the row {row.name!r} is not linear; {_LINEAR}", "rows")
        if any(map(math.isnan, bounds)) or not all(map(math.isfinite, numbers)):
            raise InvalidInputError(
                f"the row {row.name!r} has numbers that are not finite: {row.expr}", "rows"
            )


def _held(model: pyo.ConcreteModel) -> Iterator[Any]:
    """Discrete variables that a caller fixed or gave other bounds than 0 and 1."""
    for name in sorted(_DISCRETE):
        component = model.find_component(name)
        for index, item in () if component is None else component.items():
            low, high = _bounds(item)
            if name == "z" and index not in model.undecided:
                decided = index in model.missed_anyway
                if not low <= decided <= high or not item.fixed:
                    said = "by every plan" if decided else "by every plan that meets the target"
                    verb = "missed" if decided else "met"
                    raise InvalidInputError(
                        f"scenario {index} is {verb} {said}: leave z[{index}] as it is", "rows"
                    )
            elif (low, high) != (0, 1):
                yield item


def _bounds(item: Any) -> tuple[float, float]:
    """Of a discrete variable: both its value where it is fixed."""
    try:
        low, high = (item.value, item.value) if item.fixed else item.bounds
    except ValueError as error:  # of a bound that is not finite
        raise InvalidInputError(str(error).strip(), "rows") from error
    if low is None or high is None or not (math.isfinite(low) and math.isfinite(high)):
        raise InvalidInputError(f"{item.name} is held to {low} <= . <= {high}; give finite numbers", "rows")
    return low, high

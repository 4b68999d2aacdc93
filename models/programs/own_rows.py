"""Rows that a caller adds to a program: what they may speak of, and which plans they forbid.

Plans reach the loop of `depl.models.programs.cutting` in two ways: from the solver, which knows all rows, and
from outside of it (the first plan, the plan that does not train), where nobody looks at rows. And a plan is
more than the solver's solution: its resources come from the closed form, which knows no rows either. So rows
of a caller may speak of the discrete variables and of variables of the caller's own, not of resources, and
every plan is held against them.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyomo.environ as pyo
from pyomo.common.errors import InvalidConstraintError
from pyomo.core.expr.visitor import identify_variables
from pyomo.repn import generate_standard_repn

from depl.models.exact.choices import Configuration
from depl.models.exact.sampled import SampledProblem
from depl.models.foundation.errors import InvalidInputError, NotCoveredError
from depl.models.programs.sequences import write_choices
from depl.models.solving.methods import Rows

ROWS = frozenset(
    {
        *("epochs_first", "epochs_prefix", "epochs_no_end", "last_model", "switch_from", "switch_to"),
        *("eq2_letter", "eq2_price_cuts", "eq3_quantile", "eq3_misses", "eq4_time", "eq6_data"),
        *("eq6_one_subset", "eq6_letter", "no_goods", "cost_rows"),
    }
)
"""Constraints that the program has itself; any other is a caller's."""

_DISCRETE = frozenset({"w", "q", "v", "stop", "z", "charged"})
_LINEAR = "write sums of variables times numbers, with variables of your own where more is needed"
_VIOLATED = 1e-6  # of the larger of 1 and the bound: the rows are of whole numbers, of solvers that keep 1e-9
_NAMED = 4
"""Rows and variables that a message names."""


@dataclass(frozen=True, eq=False)
class OwnRows:
    """The constraints, fixed variables and bounds that a caller gave a program.

    Attributes
    ----------
    model : pyomo.environ.ConcreteModel
    rows : tuple of Pyomo constraints
    held : tuple of (Pyomo variable, float, float)
        Discrete variables with bounds other than 0 and 1, and these.
    open : bool
        Whether a row speaks of variables whose values only the solver knows.
    """

    model: pyo.ConcreteModel
    rows: tuple[Any, ...]
    held: tuple[tuple[Any, float, float], ...]
    open: bool

    @classmethod
    def of(cls, model: pyo.ConcreteModel) -> "OwnRows":
        """What a caller added to a program.

        Raises
        ------
        NotCoveredError
            If a row speaks of resources, or the objective is not that of the program.
        InvalidInputError
            If a row is not linear, or not of finite numbers; or if a miss that no feasible plan has a choice
            about is given another value.
        """
        objectives = [item.name for item in model.component_data_objects(pyo.Objective, active=True)]
        if objectives != ["eq2_cost"]:
            raise NotCoveredError(
                f"the objectives are {', '.join(objectives) or 'none'}, but plans are compared by eq2_cost; "
                "keep it, or hand the model to solve_program"
            )
        rows = tuple(
            row
            for row in model.component_data_objects(pyo.Constraint, active=True)
            if row.parent_component().name not in ROWS
        )
        _require_linear(model, rows)
        spoken_of = {(row.name, name) for row in rows for name in _variables(row)}
        for row, name in sorted(spoken_of):
            if name == "theta":  # the cost of the resources
                raise NotCoveredError(
                    f"the row {row!r} speaks of {name!r}, but resources are chosen after the program, by the "
                    "closed form; write it in w, q, v, stop, z or variables of your own"
                )
        unknown = any(name not in _DISCRETE for _, name in spoken_of)
        return cls(model, rows, tuple(_held(model)), unknown)

    @property
    def any(self) -> bool:
        """Whether there are some."""
        return bool(self.rows or self.held)

    @property
    def names(self) -> str:
        """Rows and held variables by name, the first few."""
        found = [item.name for item in (*self.rows, *(item for item, _, _ in self.held))]
        return ", ".join(found[:_NAMED]) + (" and others" if len(found) > _NAMED else "")

    @property
    def components(self) -> tuple[str, ...]:
        """Names of the components of rows and held variables, each once."""
        items = (*self.rows, *(item for item, _, _ in self.held))
        return tuple(dict.fromkeys(item.parent_component().name for item in items))

    def permit(self, problem: SampledProblem, choices: Sequence[Configuration]) -> bool:
        """Whether a plan from outside the solver keeps them all; False where only the solver could say.

        The values of the discrete variables are overwritten, except those of fixed ones.
        """
        if not self.any:
            return True
        if self.open:
            return False
        fixed = [(item, item.value) for item, _, _ in self.held if item.fixed]
        written = write_choices(self.model, problem, choices)
        kept = written and all(low <= item.value <= high for item, low, high in self.held)
        kept = kept and not any(_violated(row) for row in self.rows)
        for item, value in fixed:
            item.set_value(value)
        return kept


def add_own_rows(model: pyo.ConcreteModel, rows: Rows | None) -> OwnRows:
    """Let a caller's function add rows to the program.

    Raises
    ------
    InvalidInputError, NotCoveredError
        If it does not fit the model, or adds what `OwnRows.of` refuses.
    """
    try:
        if rows is not None:
            rows(model)
    except (KeyError, AttributeError, InvalidConstraintError) as error:
        empty = isinstance(error, InvalidConstraintError)
        raise InvalidInputError(_said(error, empty), "rows") from error
    return OwnRows.of(model)


def _said(error: Exception, empty: bool) -> str:
    """What a function of a caller does wrong with the model, and where to look."""
    what = str(error.args[0] if error.args else error).strip().splitlines()[0]
    if empty:
        return (
            f"a row has no variable in it ({what}): is the sum empty? An index lists only what some feasible "
            "plan may use: print sorted(model.w), sorted(model.q)"
        )
    return (
        f"{what}; an index lists only what some feasible plan may use: print sorted(model.w), sorted(model.q)"
    )


def _variables(row: Any) -> set[str]:
    """Names of the indexed variables that a row speaks of."""
    return {item.parent_component().name for item in identify_variables(row.body)}


def _require_linear(model: pyo.ConcreteModel, rows: Sequence[Any]) -> None:
    """Refuse what no linear program can hold, and numbers that are none: a solver may pass them over."""
    for kind in (pyo.SOSConstraint, pyo.LogicalConstraint):
        other = next(model.component_data_objects(kind, active=True), None)
        if other is not None:
            raise InvalidInputError(f"{other.name!r} is a {kind.__name__}; {_LINEAR}", "rows")
    for row in rows:
        try:
            body = generate_standard_repn(row.body)
            bounds = [0.0 if end is None else pyo.value(end) for end in (row.lower, row.upper)]
            numbers = [pyo.value(number) for number in (body.constant, *body.linear_coefs)]
            _ = [item.bounds for item in identify_variables(row.body)]  # which Pyomo refuses if they are NaN
        except (ArithmeticError, TypeError, ValueError) as error:
            what = str(error).strip().partition("\n")[0]
            raise InvalidInputError(f"the row {row.name!r} cannot be evaluated: {what}", "rows") from error
        if not body.is_linear():
            raise InvalidInputError(f"the row {row.name!r} is not linear; {_LINEAR}", "rows")
        if any(map(math.isnan, bounds)) or not all(map(math.isfinite, numbers)):
            raise InvalidInputError(
                f"the row {row.name!r} has numbers that are not finite: {row.expr}", "rows"
            )


def _held(model: pyo.ConcreteModel) -> Iterator[tuple[Any, float, float]]:
    for name in sorted(_DISCRETE):
        component = model.find_component(name)
        for index, item in () if component is None else component.items():
            low, high = _bounds(item)
            if name == "z" and index not in model.undecided:
                _require_as_it_is(model, index, low, high)
            elif (low, high) != (0, 1):
                yield item, low, high


def _bounds(item: Any) -> tuple[float, float]:
    """Of a discrete variable: both its value where it is fixed."""
    try:
        low, high = (item.value, item.value) if item.fixed else item.bounds
    except ValueError as error:  # of a bound that is not finite
        raise InvalidInputError(str(error).strip(), "rows") from error
    if low is None or high is None or not (math.isfinite(low) and math.isfinite(high)):
        raise InvalidInputError(f"{item.name} is held to {low} <= . <= {high}; give finite numbers", "rows")
    return low, high


def _require_as_it_is(model: pyo.ConcreteModel, scenario: int, low: float, high: float) -> None:
    """Refuse another value for a scenario that no feasible plan has a choice about."""
    decided = float(scenario in model.missed_anyway)
    if not low <= decided <= high or not model.z[scenario].fixed:
        said = "is missed by every plan" if decided else "is met by every plan that meets the target"
        raise InvalidInputError(f"scenario {scenario} {said}: leave z[{scenario}] as it is", "rows")


def _violated(row: Any) -> bool:
    body, low, high = pyo.value(row.body), pyo.value(row.lower), pyo.value(row.upper)
    below = low is not None and body < low - _VIOLATED * max(1.0, abs(low))
    return below or (high is not None and body > high + _VIOLATED * max(1.0, abs(high)))

"""Components of Pyomo that are filled without rules, and linear expressions that are built at once.

A rule stays with its component, and a function that reads local names cannot be pickled.
"""

from collections.abc import Callable, Iterable
from typing import Any

import pyomo.environ as pyo
from pyomo.core.expr.numeric_expr import LinearExpression

from depl.models.foundation.deadline import keep_time


def add_rows(
    model: pyo.ConcreteModel, name: str, index: Iterable[Any], row: Callable[..., Any], doc: str
) -> None:
    """Add a constraint for every index; ``row`` is called with its parts.

    Nothing of ``row`` stays with the model, see the module's docstring.
    """
    rows = pyo.Constraint(index if isinstance(index, pyo.Set) else list(index), doc=doc)
    setattr(model, name, rows)
    for each in rows.index_set():
        keep_time()
        rows[each] = row(*each) if isinstance(each, tuple) else row(each)


def add_expressions(
    model: pyo.ConcreteModel, name: str, index: Iterable[Any], value: Callable[..., Any], doc: str
) -> None:
    """Add an expression for every index, likewise."""
    expressions = pyo.Expression(index if isinstance(index, pyo.Set) else list(index), doc=doc)
    setattr(model, name, expressions)
    for each in expressions.index_set():
        keep_time()
        expressions[each] = value(*each) if isinstance(each, tuple) else value(each)


def linear(coefficients: Iterable[float], variables: Iterable[Any], constant: float = 0.0) -> Any:
    """A linear expression, built at once; zero coefficients are left out."""
    pairs = [(float(c), x) for c, x in zip(coefficients, variables, strict=True) if c != 0]
    return LinearExpression(
        constant=constant, linear_coefs=[c for c, _ in pairs], linear_vars=[x for _, x in pairs]
    )

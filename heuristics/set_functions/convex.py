"""The Lovász extension as a `cvxpy.Problem`: cutting planes for any oracle, one program for arcs and groups.

Minimising the extension over the unit cube is the convex program behind the paper's reference [18]. For a
general oracle the extension has no formula, so the problem holds its greedy bases as cuts; for sums of arcs
and groups it has one, since the extension of an arc is c max(0, x_i - x_j) and that of a group is
w max { x_i : i in g }. These are written with one variable per arc and group and not as atoms, because the
multipliers of the constraints then are the flow that proves the answer.

The problem comes with the answer: look inside, change it, or give it to another solver. cvxpy compiles a
problem anew whenever a cut is added, so that `depl.heuristics.set_functions.stabilised` is the faster way to
the same numbers. This module is the only one of the package that needs cvxpy.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import cvxpy
import numpy as np

from depl.heuristics.set_functions.answers import Minimum, concluded
from depl.heuristics.set_functions.certificate import FlowCertificate, greedy_certificate
from depl.heuristics.set_functions.functions import FloatArray, ObjectArray, SetFunction
from depl.heuristics.set_functions.graphs import GraphFunction
from depl.heuristics.set_functions.lovasz import GreedyBase
from depl.heuristics.set_functions.stabilised import InOut
from depl.heuristics.set_functions.verdicts import Submodularity
from depl.models.foundation.errors import NotCoveredError


@dataclass(frozen=True, eq=False)
class ConvexAnswer:
    """A minimum with the convex program that gave it.

    Attributes
    ----------
    minimum : Minimum
        The best set, and the certificate made from the multipliers of the program.
    problem : cvxpy.Problem
        As it was solved last; its variable ``x`` holds the point in the cube.
    unit : float
        Its objective times this is the extension [as f].
    """

    minimum: Minimum
    problem: cvxpy.Problem
    unit: float = 1.0


def lovasz_program(size: int, empty_value: float, bases: FloatArray) -> cvxpy.Problem:
    """min t + f(0) subject to t >= s_j . x for the rows s_j of ``bases``, 0 <= x <= 1.

    Parameters
    ----------
    size : int
        n.
    empty_value : float
        f(0).
    bases : ndarray
        Greedy bases, shape (k, n). Its first constraint holds them; its variables are ``x`` and ``t``.
    """
    x = cvxpy.Variable(size, name="x", bounds=[0, 1])
    t = cvxpy.Variable(name="t")
    return cvxpy.Problem(cvxpy.Minimize(t + empty_value), [t >= bases @ x])


def disciplined_program(function: GraphFunction) -> cvxpy.Problem:
    """The whole extension of a sum of arcs and groups over the cube, as one linear program.

    min f(0) + u . x + c . excess + w . top  subject to  excess >= x_tail - x_head, excess >= 0, and
    top >= x_i for every member i of a group. The first two constraints are those of arcs and of members,
    if there are arcs and groups.

    Raises
    ------
    NotCoveredError
        If a capacity is negative: the extension is not convex then.
    """
    if len(function.capacities) and function.capacities.min() < 0:
        raise NotCoveredError("a negative arc makes the Lovász extension non-convex")
    x = cvxpy.Variable(function.size, name="x", bounds=[0, 1])
    objective, constraints = function.modular @ x + function.constant, []
    if len(function.capacities):
        excess = cvxpy.Variable(len(function.capacities), name="excess", nonneg=True)
        objective += function.capacities @ excess
        constraints.append(excess >= x[function.tails] - x[function.heads])
    if len(function.weights):
        top = cvxpy.Variable(len(function.weights), name="top")
        lengths = np.diff(np.append(function.starts, len(function.groups)))
        objective += function.weights @ top
        constraints.append(top[np.repeat(np.arange(len(lengths)), lengths)] >= x[function.groups])
    return cvxpy.Problem(cvxpy.Minimize(objective), constraints)


def convex_cutting_planes(
    function: SetFunction,
    *,
    iterations: int = 400,
    seconds: float | None = None,
    proceed: Callable[[], bool] = lambda: True,
    status: Submodularity | None = None,
    check: bool = True,
) -> ConvexAnswer:
    """Minimise any submodular oracle by stabilised cutting planes, each program solved through cvxpy.

    Parameters
    ----------
    function : SetFunction
        f. If its submodularity is not PROVED the answer is never called optimal.
    iterations : int
        Most programs.
    seconds : float, optional
        Wall time after which to stop.
    proceed : callable
        Asked after every program; False stops the search.
    status : Submodularity, optional
        What is known of the function; by default what its construction says.
    check : bool
        Whether to look for a violation of what is not PROVED after every program, and stop at one. Without,
        the program is minimised as if the function were submodular.
    """
    stop = None if seconds is None else time.perf_counter() + seconds
    status, search = status or function.submodularity(), InOut(function.normalised())
    # solvers measure feasibility absolutely, so the program is given in units of a typical entry
    unit = float(np.abs(search.newest.base).max()) or 1.0
    empty_value = function.value(()) / unit
    for _ in range(iterations):
        cuts = list(search.found)
        bases = np.array([found.base for found in cuts]) / unit
        problem = lovasz_program(function.size, empty_value, bases)
        problem.solve(solver=cvxpy.HIGHS)  # type: ignore[no-untyped-call]
        weights = np.maximum(problem.constraints[0].dual_value, 0.0)
        late = (stop is not None and time.perf_counter() >= stop) or not proceed()
        if search.closed(weights) or search.stalled() or late:
            break
        search.query(_value(problem, "x"))
        refutation = search.refutation() if check and not status.proved else None
        if refutation is not None:
            status = refutation
            break
    certificate = greedy_certificate([found.order for found in cuts], weights)
    minimum = concluded(function, search.best, certificate, len(search.found), status)
    return ConvexAnswer(minimum, problem, unit)


def disciplined(function: SetFunction) -> ConvexAnswer:
    """Minimise a sum of arcs and groups by its whole extension, solved once.

    The best level set {x >= t} of the solution is the answer; the multipliers, rounded to the unit of the
    data, are the flow that proves it.

    Raises
    ------
    NotCoveredError
        If the function is of another kind, or a capacity is negative.
    """
    if not isinstance(function, GraphFunction):
        raise NotCoveredError("there is one disciplined program for sums of arcs and groups only")
    problem = disciplined_program(function)
    problem.solve(solver=cvxpy.HIGHS)  # type: ignore[no-untyped-call]
    x = _value(problem, "x")
    order = np.argsort(-x, kind="stable")
    values = function.normalised().chain(order)
    best = GreedyBase(order, values, x).best_prefix
    return ConvexAnswer(concluded(function, best, _flow(function, problem), 1), problem)


def _value(problem: cvxpy.Problem, name: str) -> FloatArray:
    return np.asarray(problem.var_dict[name].value, dtype=float)


def _flow(function: GraphFunction, problem: cvxpy.Problem) -> FlowCertificate:
    """The multipliers in units of the data, made to fit: flows cut at 0 and c, shares filled up to w."""
    unit = function.denominator << 30
    duals = [np.asarray(constraint.dual_value).reshape(-1) for constraint in problem.constraints]
    flows = _rounded(duals.pop(0), unit) if len(function.capacities) else np.zeros(0, dtype=object)
    shares = _rounded(duals.pop(0), unit) if len(function.weights) else np.zeros(0, dtype=object)
    _, _, capacities, weights = function.integer_parts
    flows = np.minimum(flows, capacities << 30)
    parts = np.split(np.arange(len(shares)), function.starts[1:]) if len(shares) else []
    for group, part in enumerate(parts):
        _fill(shares, part.tolist(), int(weights[group]) << 30)
    return FlowCertificate(flows, shares, unit)


def _rounded(values: FloatArray, unit: int) -> ObjectArray:
    return np.array([max(0, round(Fraction(value) * unit)) for value in values.tolist()], dtype=object)


def _fill(shares: ObjectArray, members: list[int], weight: int) -> None:
    """Change the shares of a group so that they sum to its weight and stay nonnegative."""
    missing = weight - sum(shares[members])
    for place in members:
        change = max(missing, -shares[place])
        shares[place] += change
        missing -= change

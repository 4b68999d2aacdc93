"""Which method is for which set function, and all methods under their names.

- Sums of arcs and groups with nonnegative data (cuts, coverage, quadratics): one maximum flow, exact.
- Anything else that is PROVED submodular: the minimum-norm point; if rounding stalls it before its bound
  closes the gap, the stabilised cutting planes.
- Only told to be submodular: the same, and the answer names the condition. (``brute-force`` by name proves.)
- Neither, but at most 20 elements: all subsets.
- Otherwise the minimum-norm point as a heuristic: its set, no bound, and never the word optimal.
"""

import importlib
from collections.abc import Callable, Mapping
from types import MappingProxyType, ModuleType

from depl.heuristics.set_functions.answers import Minimum
from depl.heuristics.set_functions.brute_force import brute_force
from depl.heuristics.set_functions.functions import LARGEST_TABLE, SetFunction
from depl.heuristics.set_functions.graphs import GraphFunction
from depl.heuristics.set_functions.max_flow import max_flow
from depl.heuristics.set_functions.minimum_norm import minimum_norm_point
from depl.heuristics.set_functions.stabilised import stabilised_cutting_planes
from depl.heuristics.set_functions.verdicts import Verdict
from depl.models.foundation.errors import InvalidInputError, NotCoveredError
from depl.models.foundation.names import advice


def minimise(function: SetFunction, method: str = "auto") -> Minimum:
    """Minimise a set function and say what was proved.

    Parameters
    ----------
    function : SetFunction
        f.
    method : str
        ``auto`` for the choice described above, or a name in `METHODS`.

    Raises
    ------
    InvalidInputError
        If there is no such method.
    NotCoveredError
        If a method asked for by name does not cover the function.
    """
    if method not in METHODS:
        raise InvalidInputError(f"there is no method {method!r}; {advice(method, METHODS)}", "method")
    return METHODS[method](function)


def automatic(function: SetFunction) -> Minimum:
    """The choice of the module's first lines."""
    status = function.submodularity()
    if status.proved and isinstance(function, GraphFunction):
        return max_flow(function)
    if status.proved or status.told:
        found = minimum_norm_point(function)
        if found.settled:
            return found
        if found.status.verdict is not Verdict.REFUTED:
            return stabilised_cutting_planes(function)
        # a caller's claim that turned out to be wrong leaves an oracle of which nothing is known
    if function.size <= LARGEST_TABLE:
        return brute_force(function)
    return minimum_norm_point(function)


def cutting_planes_in_cvxpy(function: SetFunction, *, seconds: float | None = None) -> Minimum:
    """`depl.heuristics.set_functions.convex.convex_cutting_planes` without its problem.

    Raises
    ------
    NotCoveredError
        If cvxpy is not installed.
    """
    found: Minimum = convex_module().convex_cutting_planes(function, seconds=seconds).minimum
    return found


def disciplined_in_cvxpy(function: SetFunction) -> Minimum:
    """`depl.heuristics.set_functions.convex.disciplined` without its problem.

    Raises
    ------
    NotCoveredError
        If cvxpy is not installed, or the function is no sum of arcs and groups.
    """
    found: Minimum = convex_module().disciplined(function).minimum
    return found


def convex_module() -> ModuleType:
    """The module that needs cvxpy, which takes a second to import and which few methods need.

    Raises
    ------
    NotCoveredError
        If cvxpy is not installed.
    """
    try:
        return importlib.import_module("depl.heuristics.set_functions.convex")
    except ModuleNotFoundError as error:
        if error.name != "cvxpy":
            raise
        raise NotCoveredError("this method needs cvxpy; install it, or take another method") from error


METHODS: Mapping[str, Callable[[SetFunction], Minimum]] = MappingProxyType(
    {
        "auto": automatic,
        "brute-force": brute_force,
        "minimum-norm-point": minimum_norm_point,
        "max-flow": max_flow,
        "stabilised-cutting-planes": stabilised_cutting_planes,
        "cvxpy-cutting-planes": cutting_planes_in_cvxpy,
        "cvxpy-disciplined": disciplined_in_cvxpy,
    }
)
"""Every method by name; those that do not cover a function refuse with a sentence."""

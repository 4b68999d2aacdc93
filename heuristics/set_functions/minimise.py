"""Which method is for which set function, and all methods under their names.

- PROVED submodular: the minimum-norm point.
- Only told to be submodular: the same, and the answer names the condition. (``brute-force`` by name proves.)
- Neither, but at most 20 elements: all subsets.
- Otherwise the minimum-norm point as a heuristic: its set, no bound, and never the word optimal.
"""

import importlib
from collections.abc import Callable, Mapping
from types import MappingProxyType

from depl.heuristics.set_functions.answers import Minimum
from depl.heuristics.set_functions.brute_force import brute_force
from depl.heuristics.set_functions.functions import LARGEST_TABLE, SetFunction
from depl.heuristics.set_functions.minimum_norm import minimum_norm_point
from depl.heuristics.set_functions.verdicts import Verdict
from depl.models.foundation.errors import InvalidInputError
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
    if status.proved or status.told:
        found = minimum_norm_point(function)
        if found.settled or found.status.verdict is not Verdict.REFUTED:
            return found
        # a caller's claim that turned out to be wrong leaves an oracle of which nothing is known
    if function.size <= LARGEST_TABLE:
        return brute_force(function)
    return minimum_norm_point(function)


def lovasz(function: SetFunction, *, seconds: float | None = None) -> Minimum:
    """`depl.heuristics.set_functions.convex.convex_cutting_planes` without its problem."""
    convex = importlib.import_module("depl.heuristics.set_functions.convex")  # cvxpy takes a second to import
    found: Minimum = convex.convex_cutting_planes(function, seconds=seconds).minimum
    return found


METHODS: Mapping[str, Callable[[SetFunction], Minimum]] = MappingProxyType(
    {
        "auto": automatic,
        "brute-force": brute_force,
        "minimum-norm-point": minimum_norm_point,
        "lovasz": lovasz,
    }
)
"""Every method by name; those that do not cover a function refuse with a sentence."""

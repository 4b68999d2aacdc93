"""All minimisers of set functions side by side, family by family and size by size."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from depl.benchmarks.studies.set_functions.random_set_functions import SUBMODULAR, Draw, hard_grid_cut
from depl.heuristics.set_functions.answers import Minimum
from depl.heuristics.set_functions.brute_force import brute_force
from depl.heuristics.set_functions.functions import SetFunction
from depl.heuristics.set_functions.minimise import lovasz
from depl.heuristics.set_functions.minimum_norm import minimum_norm_point
from depl.models.foundation.errors import NotCoveredError

SIZES = (10, 20, 50, 100, 200, 500, 1000)
FAMILIES: Mapping[str, Draw] = MappingProxyType({**SUBMODULAR, "hard grid cut": hard_grid_cut})

Timed = Callable[[SetFunction, float], Minimum]
SOLVERS: Mapping[str, Timed] = MappingProxyType(
    {
        "brute-force": lambda function, seconds: brute_force(function),
        "minimum-norm-point": lambda function, seconds: minimum_norm_point(function, seconds=seconds),
        "lovasz": lambda function, seconds: lovasz(function, seconds=seconds),
    }
)
"""Methods by name; seconds limit those that take steps."""

_REPEATS, _SHORT = 3, 0.5


@dataclass(frozen=True)
class Row:
    """One method on one function.

    Attributes
    ----------
    family, size, solver : str, int, str
        What was minimised, and how.
    seconds : float
        Wall time, certificate and its check included; the least of up to three attempts, if they are
        short.
    value : float
        f of the set found.
    optimal : bool
        Whether it was proved optimal.
    inside : bool
        Whether the set is neither empty nor everything.
    search_seconds : float or None
        Wall time of the search alone, where the method tells it apart.
    """

    family: str
    size: int
    solver: str
    seconds: float
    value: float
    optimal: bool
    inside: bool
    search_seconds: float | None = None


def measured(seed: int, sizes: Sequence[int], seconds: float) -> list[Row]:
    """Every method on every family, in rising sizes; a method that fails to prove a size is not asked again.

    Parameters
    ----------
    seed : int
        With the family and the size, it decides the function.
    sizes : sequence of int
        n, rising.
    seconds : float
        Limit of one attempt, for methods that take one.
    """
    for name in SOLVERS:  # compilers and imports are not what is measured
        _attempt("warm-up", name, hard_grid_cut(np.random.default_rng(seed), 16), seconds)
    minimum_norm_point(hard_grid_cut(np.random.default_rng(seed), 100))  # bases leave the corral here
    rows = []
    for place, (family, draw) in enumerate(FAMILIES.items()):
        tired: set[str] = set()
        for size in sizes:
            function = draw(np.random.default_rng([seed, place, size]), size)
            for name in SOLVERS.keys() - tired:
                row = _attempt(family, name, function, seconds)
                rows += [] if row is None else [row]
                if row is None or not row.optimal:
                    tired.add(name)
    order = list(SOLVERS)
    return sorted(rows, key=lambda row: (list(FAMILIES).index(row.family), row.size, order.index(row.solver)))


def speed_ratios(rows: Sequence[Row], least_size: int, search: bool = False) -> dict[str, list[float]]:
    """Seconds of cutting planes on the Lovász extension over those of the minimum-norm point, by family.

    A method that was stopped counts with its time so far, so that the ratio is a lower bound; sizes at
    which the minimum-norm point proved nothing count as 0.

    Parameters
    ----------
    rows : sequence of Row
        What was measured.
    least_size : int
        Smaller ones do not count.
    search : bool
        Compare the searches alone. The check of submodularity before them and the rational certificate
        after them are the same code for both.
    """
    found: dict[str, list[float]] = {}
    for row in rows:
        if row.solver != "lovasz" or row.size < least_size:
            continue
        same = [
            other
            for other in rows
            if (other.family, other.size, other.solver) == (row.family, row.size, "minimum-norm-point")
        ]
        proved = bool(same) and same[0].optimal
        ratio = _seconds(row, search) / _seconds(same[0], search) if proved else 0.0
        found.setdefault(row.family, []).append(ratio)
    return found


def _seconds(row: Row, search: bool) -> float:
    return row.seconds if not search or row.search_seconds is None else row.search_seconds


def _attempt(family: str, name: str, function: SetFunction, seconds: float) -> Row | None:
    walls: list[float] = []
    searches: list[float] = []
    while len(walls) < _REPEATS and sum(walls) < _SHORT:
        start = time.perf_counter()
        try:
            found = SOLVERS[name](function, seconds)
        except NotCoveredError:
            return None
        walls.append(time.perf_counter() - start)
        searches += [] if found.search_seconds is None else [found.search_seconds]
    inside = 0 < len(found.subset) < function.size
    return Row(
        family,
        function.size,
        name,
        min(walls),
        found.value,
        found.optimal,
        inside,
        min(searches, default=None),
    )

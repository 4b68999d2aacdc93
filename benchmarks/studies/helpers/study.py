"""How optimistic is a sample? The true violation of plans that were chosen on S scenarios, against S.

A plan that is optimal on its sample uses the luck of that sample, so under the law it misses more often than
it does there: less so the larger S. The study solves one instance for several S and seeds, and asks the law.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.instance import Instance
from depl.models.risk.sampling import MonteCarloEstimate
from depl.models.solving.methods import Meaning, find
from depl.models.solving.result import Range, Solution
from depl.models.solving.solve import solve


@dataclass(frozen=True)
class StudyRow:
    """One solve on one sample.

    Attributes
    ----------
    size, seed : int
        S, and the seed of the scenarios.
    solution : Solution
        What is held: proved optimal on the sample, feasible on it, or nothing.
    cost : float or None
        Of the plan [cost]; None, like all that follows, without one.
    misses, allowed : int or None
        How many of the S scenarios the plan misses, and how many it may.
    violation : Range or None
        Certified P(l(K) > l_max) of the plan under the law.
    fresh : MonteCarloEstimate or None
        Count on fresh draws, with its Clopper-Pearson interval.
    """

    size: int
    seed: int
    solution: Solution
    cost: float | None
    misses: int | None
    allowed: int | None
    violation: Range | None
    fresh: MonteCarloEstimate | None


def sample_size_study(
    instance: Instance,
    method: str,
    sizes: Sequence[int],
    repeats: int,
    seed: int = 0,
    time_limit: float | None = None,
) -> tuple[StudyRow, ...]:
    """Solve ``instance`` on ``repeats`` samples of each size.

    The samples of one repeat have one seed (``seed``, ``seed + 1``, ...), so that its smaller samples are
    parts of its larger ones.

    Parameters
    ----------
    method : str
        A registered method that counts scenarios.
    sizes : sequence of int
        S.
    time_limit : float, optional
        Wall seconds of each solve.

    Returns
    -------
    tuple of StudyRow
        By size, then by seed.

    Raises
    ------
    InvalidInputError
        If the method is unknown or works under the law, or a number is out of range.
    """
    if find(method).meaning is not Meaning.SCENARIOS:
        raise InvalidInputError(f"method {method!r} works under the law; choose one that counts scenarios")
    if repeats < 1:
        raise InvalidInputError(f"at least one repeat is needed, not {repeats}")
    return tuple(
        _row(instance, method, size, first, time_limit)
        for size in sizes
        for first in range(seed, seed + repeats)
    )


def _row(instance: Instance, method: str, size: int, seed: int, time_limit: float | None) -> StudyRow:
    result = solve(instance, method, scenarios=size, seed=seed, time_limit=time_limit)
    evidence = result.scenarios
    return StudyRow(
        size=size,
        seed=seed,
        solution=result.solution,
        cost=result.cost,
        misses=None if evidence is None else evidence.misses,
        allowed=None if evidence is None else evidence.allowed,
        violation=result.violation,
        fresh=None if evidence is None else evidence.fresh,
    )

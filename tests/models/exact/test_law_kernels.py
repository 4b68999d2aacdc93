"""The compiled search under the law against the same tree written out, however often it is paused."""

import math
from collections.abc import Iterator

import pytest

from depl.models.exact.choices import Choices
from depl.models.exact.law_subproblem import LawSubproblem
from tests.cases.law_search_cases import AWKWARD, grid_for, prefix_bound, subproblem

LENGTH = 4
NAMES = (
    "atoms",
    "switches that lose",
    "switches that rise beyond the grid, and disasters",
    "an initial model",
    "a switch that is forbidden",
    "laws that change",
    "a rise beyond the grid",
)


def search_of(name: str, level: float, cutoff: float) -> LawSubproblem:
    """On a coarse grid, so that bounds exclude some of the plans that miss the target and not all."""
    problem = Choices(AWKWARD[name].replace(quantile_level=level))
    return subproblem(problem, LENGTH, grid_for(problem.instance, 64, 3.0, LENGTH), 24, 1.0, cutoff)


def written(search: LawSubproblem, prefix: tuple[int, ...] = ()) -> Iterator[list[int]]:
    """Leaves in the order of the search: children within all limits that may meet the target, best first."""
    if len(prefix) == search.length:
        yield list(prefix)
        return
    problem, charges = search.problem, search._charges
    children = []
    for kind, model in enumerate(search.assignment.models.tolist()):
        before = int(search.assignment.models[prefix[-1]]) if prefix else problem.initial_model
        kinds = (*prefix, kind)
        left = [
            limit - math.fsum(row[k, one] for k, one in enumerate(kinds)) - rest[len(kinds)]
            for limit, row, rest in zip(charges.limits, charges.values, charges.rest, strict=True)
        ]
        if min(left) >= 0 and (before is None or problem.may_follow[before, model]):
            bound = prefix_bound(search, kinds, left[0])
            if bound <= search._paths.most:
                children.append((bound, kinds))
    for _, kinds in sorted(children):
        yield from written(search, kinds)


def leaves_of(search: LawSubproblem, nodes: int) -> Iterator[list[int]]:
    """What the search finds with so many nodes at a time."""
    while not search.finished:
        leaf = search.proceed(nodes)
        if leaf is not None:
            yield leaf


@pytest.mark.parametrize("name", NAMES)
def test_leaves_are_those_of_the_tree_written_out_in_its_order(name: str) -> None:
    """Two kinds at every node: with one node at a time, the search is paused before every second look.

    At the price 1 of time four epochs cost 21.6 at least, 1.1 more for each of the costly kind, less the 20
    that there is time for: below 2.9 one of them may be of it.
    """
    sizes = []
    for level, cutoff in ((0.6, 60.0), (0.9, 60.0), (0.6, 2.9)):
        search = search_of(name, level, cutoff)
        expected = [] if search.finished else list(written(search))
        sizes.append(len(expected))
        for nodes in (1, 3, 10**6):
            assert list(leaves_of(search_of(name, level, cutoff), nodes)) == expected
    assert max(sizes) > 0

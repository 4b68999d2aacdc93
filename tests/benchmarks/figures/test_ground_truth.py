"""The exact methods of the demo agree, and it is noticed when they do not."""

import dataclasses

import pytest

from depl.benchmarks.figures.ground_truth import METHODS, methods_agree, solve_by_all


@pytest.fixture(scope="module")
def seen():
    """The entries as they are told, and as they are returned."""
    told = []
    return told, solve_by_all(done=told.append)


def test_the_exact_methods_prove_the_same_cost_on_the_short_instance(seen):
    told, entries = seen
    assert told == entries
    assert tuple(entry.method for entry in entries) == METHODS
    assert methods_agree(entries)


def test_methods_that_differ_or_prove_nothing_do_not_meet(seen):
    _, entries = seen
    result = entries[0].result
    assert result is not None
    assert result.cost is not None
    costlier = dataclasses.replace(result, cost=result.cost * (1 + 1e-6))
    assert not methods_agree([dataclasses.replace(entries[0], result=costlier), *entries[1:]])
    assert not methods_agree([dataclasses.replace(entries[0], result=None), *entries[1:]])
    assert not methods_agree(entries[:1])

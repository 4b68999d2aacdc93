"""The exact roads of the demo meet, and it is noticed when they do not."""

import dataclasses

from depl.benchmarks.ground_truth import ROADS, roads_meet, take_roads


def test_the_exact_roads_prove_the_same_cost_on_the_short_instance():
    seen = []
    entries = take_roads(done=seen.append)
    assert seen == entries
    assert tuple(entry.method for entry in entries) == ROADS
    assert roads_meet(entries)


def test_roads_that_differ_or_prove_nothing_do_not_meet():
    entries = take_roads()
    result = entries[0].result
    assert result is not None
    assert result.cost is not None
    dearer = dataclasses.replace(result, cost=result.cost * (1 + 1e-6))
    assert not roads_meet([dataclasses.replace(entries[0], result=dearer), *entries[1:]])
    assert not roads_meet([dataclasses.replace(entries[0], result=None), *entries[1:]])
    assert not roads_meet(entries[:1])

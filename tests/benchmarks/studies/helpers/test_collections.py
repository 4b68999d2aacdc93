"""Collections of runs: of the schedules and seeds that were stated, and trained again to the last digit."""

from collections import Counter

import numpy as np
import pytest

from depl.benchmarks.studies.helpers.collections import (
    COLLECTIONS,
    FEW,
    OF_FAMILIES,
    known_runs,
    shipped_runs,
)
from depl.benchmarks.studies.promises_held_out import QUANTILES, targets_of
from depl.instances.training import names
from depl.instances.training.recorded import recorded_traces
from depl.instances.training.runs import model_name

FACTORS = (0.25, 0.36, 0.5, 0.75, 0.9)
TUNED = {
    (0.25, 0.5): (8, 15, 25),
    (0.25, 0.75): (10, 20),
    (0.25, 0.9): (15,),
    (0.36, 0.5): (12,),
    (0.36, 0.75): (8, 18),
    (0.36, 0.9): (12,),
    (0.5, 0.5): (10, 20),
    (0.5, 0.75): (8, 15, 25),
    (0.5, 0.9): (18,),
}
"""Switch epochs by pruning factors, chosen by hand."""
FAMILY = {
    "tuned": names.DIGITS_ALEXNET,
    "drawn": names.DIGITS_MOBILENET,
    **{name: name for name in OF_FAMILIES},
}


def drawn_schedules(seed, count, latest):
    """Different ones: two factors, the smaller first, and 5 to ``latest`` epochs before the switch."""
    rng, found = np.random.default_rng(seed), {}
    while len(found) < count:
        first, second = sorted(rng.choice(FACTORS, size=2, replace=False).tolist())
        found[first, second, int(rng.integers(5, latest + 1))] = None
    return list(found)


def stated(name):
    """Schedules of a collection, first seed, epochs, and runs of each schedule."""
    if name == "tuned":
        schedules = [(*factors, switch) for factors, switches in TUNED.items() for switch in switches]
        return schedules, 40_000, 45, 75
    if name == "drawn":
        return drawn_schedules(20261123, 16, 30), 80_000, 45, 75
    number = OF_FAMILIES.index(name)
    return drawn_schedules(20261124 + number, 2, 15), 400_000 + 10_000 * number, 20, 400


@pytest.mark.parametrize("name", COLLECTIONS)
def test_the_runs_are_those_that_were_stated_and_none_of_them_was_shipped_before(name):
    traces, (schedules, first_seed, epochs, runs) = shipped_runs(name), stated(name)
    assert set(traces.last_epochs.tolist()) == {epochs}
    found = {}
    for plan, rows in traces.by_schedule().items():
        switch = [cluster for _, cluster in plan].count("edge")
        found[plan[0][0], plan[-1][0], switch] = [traces.runs[row] for row in rows]
    assert found == {
        (model_name(first), model_name(second), switch): [str(seed) for seed in range(start, start + runs)]
        for number, (first, second, switch) in enumerate(schedules)
        for start in [first_seed + 1_000 * number]
    }
    old = recorded_traces(FAMILY[name])
    assert not set(traces.runs) & set(old.runs)
    seen = {row[: epochs + 1].tobytes() for row in old.matrix()}
    assert not seen & {row.tobytes() for row in traces.matrix()}
    # every target is a quantile of the last losses, with three decimals
    for target, quantile in zip(targets_of(traces), QUANTILES, strict=True):
        assert np.mean(traces.matrix()[:, -1] <= target - 0.0005) <= quantile


@pytest.mark.parametrize(("known", "sizes"), [("halves", [37] * 16), (60, [60] * 16), ("few", FEW)])
def test_runs_are_dealt_as_stated_and_every_draw_is_another_one(known, sizes):
    traces = shipped_runs("drawn")
    drawn = [known_runs(traces, known, draw) for draw in range(3)]
    for mask in drawn:
        assert sorted(Counter(traces.schedules[i] for i in np.flatnonzero(mask)).values()) == sorted(sizes)
    assert len({mask.tobytes() for mask in drawn}) == 3
    assert np.array_equal(drawn[2], known_runs(traces, known, 2))

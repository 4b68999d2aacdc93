"""Whether limits were kept: every way to break one is told, and what keeps one is not accused."""

import pytest

from depl.benchmarks.analysis.limits import BREACHES, broken_table, judged, limits_table, verdict
from depl.benchmarks.measure.attempt import BOUND_FOUND
from depl.benchmarks.measure.store import read_attempts
from tests.cases.attempts_factory import attempt_of


def timed(configuration="exact", wall=1.0, cpu=1.0, limit=10.0, **changes):
    settings = {"time_limit": limit, "gap": 0.0, "scenarios": None, "options": {}}
    return attempt_of(
        configuration=configuration,
        settings=settings,
        solve_seconds=wall,
        solve_cpu_seconds=cpu,
        **changes,
    )


NOTHING = timed("depl", ending="time_limit")


@pytest.mark.parametrize(
    ("attempts", "ways"),
    [
        ([timed(wall=12.4, cpu=12.4)], [()]),
        ([timed(wall=12.6, cpu=12.6)], [("late",)]),  # by the clock and by CPU time
        ([timed(wall=60.0, cpu=12.4), timed(wall=12.4, cpu=60.0)], [(), ()]),
        ([timed(wall=12.6, cpu=None)], [("late",)]),
        *(([timed(wall=None, cpu=None, ending=way)], [(way,)]) for way in BREACHES[3:]),
        ([NOTHING, timed("density-greedy", cost=3.0)], [("no plan",), ()]),
        ([NOTHING, timed("density-greedy")], [(), ()]),
        ([NOTHING, timed("density-greedy", cost=3.0, instance="two")], [(), ()]),
        (
            [timed("milp", ending="time_limit", meaning="scenarios"), timed("density-greedy", cost=3.0)],
            [(), ()],
        ),
        ([timed("depl", ending="exhausted"), timed("density-greedy", cost=3.0)], [(), ()]),
        ([timed(bound=2.0, measures={BOUND_FOUND: 2.0})], [()]),
        ([timed(bound=1.0, measures={BOUND_FOUND: 2.0})], [("no bound",)]),
        ([timed(bound=None, measures={BOUND_FOUND: 2.0})], [("no bound",)]),
        ([timed(bound=None, ending="infeasible", measures={BOUND_FOUND: 2.0})], [()]),
    ],
)
def test_an_attempt_broke_its_limit_in_the_ways_that_are_told(attempts, ways):
    found = judged(attempts)
    told = {id(item): broken for item, broken in zip(found["attempt"], found["broken by"], strict=True)}
    assert [told[id(item)] for item in attempts] == [", ".join(own) for own in ways]


def test_the_table_counts_and_names_what_was_broken():
    found = judged([timed(wall=25.0, cpu=13.0), timed(instance="two", wall=5.0, cpu=5.0)])
    (row,) = limits_table(found).records()
    assert (row["attempts"], row["kept"], row["late"]) == (2, 1, 1)
    assert row["longest"] == pytest.approx(2.0)
    assert row["longest_cpu"] == pytest.approx(13 / 12.5)
    assert set(BREACHES) < set(row)
    (late,) = broken_table(found).records()
    assert (late["instance"], late["broken by"], late["seconds"]) == ("one", "late", 25.0)
    assert verdict(found) == "Limits are kept by 1 of 2 attempts; broken by 1 late."
    assert verdict(found[1:]) == "Limits are kept by the only attempt."


@pytest.mark.parametrize("suite", ["limits", "limits-short"])
def test_every_recorded_attempt_kept_its_limit(suite):
    found = judged(read_attempts(suite))
    assert len(found) == len(read_attempts(suite)) > 0
    assert set(found["broken by"]) == {""}

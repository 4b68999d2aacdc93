"""Whether limits were kept: every way to break one is told, and what keeps one is not accused."""

import pytest

from depl.benchmarks.analysis.limits import (
    BOUND_FOUND,
    BREACHES,
    GREEDY,
    allowed,
    broken_table,
    judged,
    limits_table,
    verdict,
)
from depl.benchmarks.measure.store import read_attempts
from tests.cases.attempts_factory import attempt_of

SUITES = ("limits", "limits-short")
EXCEPTIONS: dict[tuple[str, str, str], str] = {}
"""Attempts of the record that broke a limit, by suite, instance and configuration: the reason why."""


def timed(configuration="exact", wall=1.0, cpu=1.0, limit=10.0, **changes):
    settings = {"time_limit": limit, "gap": 0.0, "scenarios": None, "options": {}}
    return attempt_of(
        configuration=configuration,
        settings=settings,
        solve_seconds=wall,
        solve_cpu_seconds=cpu,
        **changes,
    )


def broken(*attempts):
    return [item.broken_by for item in judged(attempts)]


def test_a_share_and_two_seconds_are_allowed():
    assert allowed(10.0) == pytest.approx(12.5)
    assert allowed(0.5) == pytest.approx(2.525)


@pytest.mark.parametrize(
    ("wall", "cpu", "ways"),
    [(12.4, 12.4, ()), (12.6, 12.6, ("late",)), (60.0, 12.4, ()), (12.4, 60.0, ()), (12.6, None, ("late",))],
)
def test_an_attempt_is_late_by_the_clock_and_by_cpu_time(wall, cpu, ways):
    assert broken(timed(wall=wall, cpu=cpu)) == [ways]


@pytest.mark.parametrize("ending", ["hung", "crashed", "failed", "rejected", "error"])
def test_an_attempt_that_was_killed_or_failed_broke_its_limit(ending):
    assert broken(timed(wall=None, cpu=None, ending=ending)) == [(ending,)]


def test_a_limit_that_leaves_nothing_is_broken_where_the_greedy_method_has_a_plan():
    nothing = timed("depl", ending="time_limit")
    assert broken(nothing, timed(GREEDY, cost=3.0)) == [("no plan",), ()]
    assert broken(nothing, timed(GREEDY)) == [(), ()]
    other = timed(GREEDY, cost=3.0, instance="two")
    assert broken(nothing, other) == [(), ()]
    assert broken(timed("milp", ending="time_limit", meaning="scenarios"), timed(GREEDY, cost=3.0)) == [
        (),
        (),
    ]
    assert broken(timed("depl", ending="exhausted"), timed(GREEDY, cost=3.0)) == [(), ()]


def test_a_bound_that_a_phase_had_may_not_be_missing():
    assert broken(timed(bound=2.0, measures={BOUND_FOUND: 2.0})) == [()]
    assert broken(timed(bound=1.0, measures={BOUND_FOUND: 2.0})) == [("no bound",)]
    assert broken(timed(bound=None, measures={BOUND_FOUND: 2.0})) == [("no bound",)]
    assert broken(timed(bound=None, ending="infeasible", measures={BOUND_FOUND: 2.0})) == [()]


def test_attempts_that_do_not_tell_are_not_judged():
    assert broken(attempt_of()) == []


def test_the_table_counts_and_names_what_was_broken():
    found = judged([timed(wall=25.0, cpu=13.0), timed(instance="two", wall=5.0, cpu=5.0)])
    (row,) = limits_table(found).records()
    assert (row["attempts"], row["kept"], row["late"]) == (2, 1, 1)
    assert row["longest"] == pytest.approx(2.0)
    assert row["longest_cpu"] == pytest.approx(13 / 12.5)
    (late,) = broken_table(found).records()
    assert (late["instance"], late["broken by"], late["seconds"]) == ("one", "late", 25.0)
    assert verdict(found) == "Limits are kept by 1 of 2 attempts; broken by 1 late."
    assert verdict(found[1:]) == "Limits are kept by the only attempt."


@pytest.mark.parametrize("suite", SUITES)
def test_every_recorded_attempt_kept_its_limit_or_is_a_known_exception(suite):
    found = judged(read_attempts(suite))
    assert len(found) == len(read_attempts(suite)) > 0
    tasks = {item.attempt.task: item.broken_by for item in found if item.broken_by}
    unknown = {
        (task.suite, task.instance, task.configuration): ways
        for task, ways in tasks.items()
        if (task.suite, task.instance, task.configuration) not in EXCEPTIONS
    }
    assert not unknown


def test_every_way_to_break_a_limit_has_a_column():
    columns = limits_table(judged([timed()])).columns
    assert set(BREACHES) < set(columns)

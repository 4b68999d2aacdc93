"""Recorded answers are compared with those of today, value by value, and every difference is told."""

import msgspec
import numpy as np
import pytest

from depl.benchmarks.measure.attempt import Request
from depl.benchmarks.measure.compare import (
    TOLERANCE,
    asked_again,
    between,
    differences,
    equal,
    subset,
)
from tests.cases.attempts_factory import attempt_of
from tests.cases.sweep_cases import paper_jobs

COUNTED = attempt_of(
    cost=5.0,
    ending="optimal",
    settings={"time_limit": 600.0, "looks": 9},
    violation=(0.04, 0.05),
    answer={"plan": "0123", "resources": [1.0, 2.0], "decisions": 3},
)
TIMED = attempt_of(cost=5.0, ending="optimal")


def told(old, new):
    return {row.what: (row.recorded, row.found) for row in differences(old, new)}


def changed(attempt, **values):
    return msgspec.structs.replace(attempt, **values)


def test_numbers_are_equal_up_to_the_tolerance_and_no_further():
    assert equal(3.0, 3.0 * (1 + 0.5 * TOLERANCE))
    assert not equal(3.0, 3.0 * (1 + 2 * TOLERANCE))
    assert not equal(0.0, 1e-300)
    assert equal(0.0, 1e-300, absolute=1e-299)
    assert not equal(0.0, 1e-298, absolute=1e-299)
    assert equal([1.0, 2.0], (1.0, 2.0 + 1e-12))
    assert not equal((1.0,), (1.0, 2.0))
    assert not equal(1.0, None)
    assert not equal(1.0, "inf")
    assert equal("inf", "inf")


@pytest.mark.parametrize(
    ("values", "what", "counts"),
    [
        ({"cost": 5.00001}, "cost", "always"),
        ({"lower_bound": None}, "lower_bound", "always"),
        ({"ending": "exhausted"}, "ending", "always"),
        ({"solution": "feasible"}, "solution", "always"),
        ({"instance_hash": "another"}, "instance_hash", "always"),
        ({"settings": {"time_limit": 1.0, "looks": 9}}, "settings.time_limit", "always"),
        ({"settings": {"time_limit": 600.0, "looks": 1}}, "settings.looks", "counted"),
        ({"violation": None}, "violation", "counted"),
        ({"reason": "other"}, "reason", "counted"),
        ({"answer": COUNTED.answer | {"plan": "0"}}, "plan", "counted"),
        ({"answer": COUNTED.answer | {"resources": [1.0, 2.1]}}, "resources", "counted"),
        ({"answer": {"plan": "0123", "resources": [1.0, 2.0]}}, "decisions", "counted"),
        ({"total_seconds": 99.0, "started": "2027-01-01", "peak_gibibytes": 9.0}, None, "never"),
    ],
)
def test_what_differs_is_told_with_both_values(values, what, counts):
    assert list(told(COUNTED, changed(COUNTED, **values))) == ([] if what is None else [what])
    if counts == "always":
        assert list(told(TIMED, changed(TIMED, **values))) == [what]


def test_what_the_clock_stops_now_is_a_difference_only_where_a_proof_is_lost():
    stopped = changed(TIMED, ending="time_limit", cost=3.0)
    assert not told(changed(TIMED, ending="exhausted", cost=2.0), stopped)
    assert told(changed(TIMED, ending="optimal", cost=2.0), stopped)
    assert not told(changed(TIMED, ending="exhausted"), changed(TIMED, ending="stuck"))  # its older word


def test_what_only_one_of_two_files_has_is_a_difference():
    other = attempt_of("two", cost=1.0)
    found = between([TIMED, other], [changed(TIMED, cost=6.0)])
    assert [(row.task.instance, row.what, row.recorded, row.found) for row in found] == [
        ("one", "cost", 5.0, 6.0),
        ("two", "answer", "exhausted at cost 1.0", None),
    ]


def test_a_part_that_is_drawn_takes_about_so_long():
    rows = [attempt_of(str(number), seconds=float(number + 1)) for number in range(20)]
    chosen = subset(rows, 60.0, np.random.default_rng(1))
    assert 50 <= sum(row.total_seconds for row in chosen) <= 60
    assert chosen != subset(rows, 60.0, np.random.default_rng(2))
    assert len(subset(rows, 0.1, np.random.default_rng(1))) == 1
    assert subset([], 60.0, np.random.default_rng(1)) == []


def same(jobs):
    """In place of workers: every attempt is the one recorded, with another cost."""
    for job in jobs:
        yield changed(job.blank, ending="optimal", cost=7.0)


def test_what_cannot_be_asked_and_what_is_new_are_differences():
    job, new = paper_jobs(("exact", "depl"))
    known = changed(job.blank, ending="optimal", cost=7.0)
    gone = changed(known, task=changed(known.task, instance="gone"))
    odd = changed(known, task=changed(known.task, seed=1), settings={"time_limit": None})
    found, other = asked_again([known, gone, odd], Request(suites=()), same, [new])
    assert [row.task for row in other] == [new.task]
    assert [(row.task.instance, row.what, row.recorded, row.found) for row in found] == [
        ("gone", "task", "asked", "cannot be asked: study 'paper' has no instance 'gone'"),
        (
            "paper-alexnet-9",
            "task",
            "asked",
            "cannot be asked: its settings.time_limit is None instead of positive seconds",
        ),
        ("paper-alexnet-9", "answer", None, "optimal at cost 7.0"),
    ]

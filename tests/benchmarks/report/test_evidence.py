"""What counts as evidence: the latest attempt on a task, of the latest version of its suite."""

import msgspec

from depl.benchmarks.report.series import completions, families
from tests.cases.attempts_factory import attempt_of
from tests.cases.report_cases import costs, evidence, paper, plan, record


def version(attempt, number: int):
    return msgspec.structs.replace(attempt, task=msgspec.structs.replace(attempt.task, version=number))


def test_only_the_latest_version_of_a_suite_counts():
    old, new = attempt_of("one", cost=3.0), version(attempt_of("two", cost=4.0), 2)
    kept = evidence([new, old, attempt_of("one", suite="another")])
    assert [attempt.task.instance for attempt in kept.suite("made-up")] == ["two"]
    assert kept.suites() == ("another", "made-up")
    assert kept.superseded == 1


def test_of_two_attempts_on_a_task_the_one_that_began_last_counts():
    early, late = attempt_of(cost=3.0), attempt_of(cost=4.0, started="2026-02-01T00:00:00+00:00")
    kept = evidence([late, early])
    assert [attempt.cost for attempt in kept.attempts] == [4.0]
    assert kept.superseded == 1


def test_ratios_are_over_proved_optima_alone():
    proved = [attempt_of(cost=4.0, ending="optimal"), attempt_of(configuration="depl", cost=5.0)]
    open_ = [attempt_of("two", "depl", cost=5.0, bound=4.0), attempt_of("two", "depl-paper")]
    known = evidence([*proved, *open_])
    ratios = {(item.task.instance, item.task.configuration): known.ratio(item) for item in known.attempts}
    assert ratios == {
        ("one", "exact"): 1.0,
        ("one", "depl"): 1.25,
        ("two", "depl"): None,
        ("two", "depl-paper"): None,
    }
    assert all(known.feasible(item) for item in known.attempts)


def test_records_are_found_by_their_case():
    assert evidence((), record("one", x=1), record("two", x=2)).records["two"].values == {"x": 2}


def test_a_series_has_its_points_from_the_tightest_target_to_the_loosest():
    (series,) = families(evidence(paper(costs(exact=(10, 8, 6), depl=(10, None, 7)))[::-1]))
    assert [point.target for point in series.points] == [5.0, 9.0, 13.0]
    assert [point.optimum for point in series.points] == [10, 8, 6]
    assert [(point.target, one, other) for point, one, other in series.pairs("depl", "optimum")] == [
        (5.0, 10, 10),
        (13.0, 7, 6),
    ]


def test_a_point_knows_plans_and_their_figures():
    plans = {"exact": [plan(5, (0, 1, 3), quantile=4.5)] * 3, "depl": [plan(None)] * 3}
    (series,) = families(evidence(paper(plans)))
    point = series.points[0]
    assert point.epochs("optimum") == point.epochs("exact") == {"intermediate": 1, "slow-steady": 3}
    assert point.measure("optimum", "quantile") == 4.5
    assert point.measure("exact", "unheard-of") is None
    assert (point.epochs("depl"), point.cost("depl"), point.plan_of("absent")) == (None, None, None)
    assert series.tried("depl")
    assert not series.tried("absent")


def test_an_optimum_that_nobody_proved_is_none():
    (series,) = families(evidence(paper(costs(depl=(10, 8, 6)))))
    assert [point.optimum for point in series.points] == [None] * 3
    assert series.points[0].plan_of("optimum") is None


def test_completions_are_series_of_their_own():
    known = evidence(paper(costs(exact=(10, 8, 6)), "one", "reconstruction", "completion"))
    assert [series.name for series in completions(known)] == ["one"]
    assert families(known) == []

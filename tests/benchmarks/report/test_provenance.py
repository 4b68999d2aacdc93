"""Every attempt is counted where it comes from and how it ended."""

import msgspec

from depl.benchmarks.measure.provenance import Commit
from depl.benchmarks.measure.registry import Goal
from depl.benchmarks.measure.results import MeasuredGoal
from depl.benchmarks.report import provenance
from depl.benchmarks.suites.catalogue import all_suites
from tests.cases.attempts_factory import attempt_of
from tests.cases.report_cases import evidence, record

DIRTY = Commit(id="fedcba9876543210", dirty=True)
GIVEN = evidence(
    [
        attempt_of("one", "exact", cost=1.0, ending="optimal"),
        attempt_of("one", "depl", ending="hung", commit=DIRTY, started="2026-03-01T00:00:00+00:00"),
        attempt_of("two", "depl", ending="refused", commit=None),
        attempt_of("two", "depl", suite="paper", ending="a-new-ending"),
    ]
)


def test_a_suite_is_told_with_its_size_its_dates_and_its_command():
    made_up, paper = provenance.suites_table(GIVEN).records()
    assert made_up["suite"] == "made-up"
    assert made_up["asks"] == "not known here: a suite of your own, or an older one"
    assert (made_up["instances"], made_up["configurations"], made_up["attempts"]) == (2, 2, 3)
    assert (made_up["from"], made_up["to"]) == ("2026-01-01", "2026-03-01")
    assert paper["asks"] == all_suites()["paper"].summary
    assert paper["command"] == "depl bench run paper"


def test_endings_are_counted_once_each_and_those_that_are_new_as_well():
    table = provenance.endings_table(GIVEN)
    assert table.columns == (
        "suite",
        "configuration",
        "attempts",
        "optimal",
        "refused",
        "hung",
        "a-new-ending",
    )
    assert table.rows == (
        ("made-up", "depl", 2, 0, 1, 1, 0),
        ("made-up", "exact", 1, 1, 0, 0, 0),
        ("paper", "depl", 1, 0, 0, 0, 1),
    )


def test_commits_machines_and_versions_are_counted():
    rows = provenance.sources_table(GIVEN).rows
    assert [row[1:] for row in rows if row[0] == "commit"] == [
        ("0123456789", 2),
        ("fedcba9876 with uncommitted changes", 1),
        ("no commit known", 1),
    ]
    assert ("machine", "test, 2 cores, 4 GiB, test", 4) in rows
    assert ("libraries", "depl 0.1.0", 4) in rows
    assert provenance.dirty(GIVEN.attempts) == 1


def test_settings_are_those_of_each_configuration():
    settings = {"time_limit": 5.0, "gap": 0.1, "scenarios": 9, "options": {"eta": 50}}
    table = provenance.settings_table(evidence([attempt_of(settings=settings)]))
    assert table.rows == (("made-up", "exact", "exact", "law", 5.0, 0.1, 9, "eta = 50"),)


def test_assumed_values_name_the_instances_that_assume_them():
    rows = provenance.assumed_table().records()
    assert len(rows) > 5
    assert all(row["value"] and row["assumption"] for row in rows)
    assert any("paper-alexnet-deadline" in str(row["instances"]) for row in rows)


def test_goals_and_runs_of_records_are_told():
    goal = Goal("ratio", "mean ratio", "<=", 1.05)
    outcome = MeasuredGoal(goal.name, goal.sentence, goal.comparison, goal.threshold, 1.01, True)
    given = [msgspec.structs.replace(record("one"), goals=(outcome,))]
    assert provenance.records_table(given).rows == (("one", "ratio", "mean ratio", "<= 1.05", 1.01, True),)
    assert provenance.runs_table(given).rows == (
        ("one", "2026-01-01", "no commit known", 1, 1.0, "python -m depl.benchmarks run one"),
    )

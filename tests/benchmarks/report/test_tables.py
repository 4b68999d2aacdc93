"""Tables of the report: the headline, a method of the reader's own, and where the numbers come from."""

import math

import msgspec
import pytest

from depl.benchmarks.measure.catalogue import all_suites
from depl.benchmarks.measure.provenance import Commit
from depl.benchmarks.measure.results import MeasuredGoal
from depl.benchmarks.report import own, tables
from depl.benchmarks.report.own import own_method, own_names
from tests.cases.attempts_factory import attempt_of
from tests.cases.report_cases import ATTEMPTS, costs, evidence, moved, paper, plan, record

MINE = {1: 10.0, 2: 15.0, 3: None, 4: 44.0}
BEST = {1: 10.0, 2: 12.0, 3: 7.0, 4: 40.0}
DIRTY = Commit(id="fedcba9876543210", dirty=True)
GIVEN = evidence(
    [
        attempt_of("one", "exact", cost=1.0, ending="optimal"),
        attempt_of("one", "depl", ending="hung", commit=DIRTY, started="2026-03-01T00:00:00+00:00"),
        attempt_of("two", "depl", ending="refused", commit=None),
        attempt_of("two", "depl", suite="paper", ending="a-new-ending"),
    ]
)


def test_the_headline_has_the_ratios_of_the_attempts():
    rows = {str(row["method"]): row for row in tables.headline_table(evidence(ATTEMPTS)).records()}
    assert rows["expected-greedy"]["paper-alexnet"] == pytest.approx((30 / 17 + 20 / 12 + 16 / 8) / 3)
    assert rows["depl"]["largest"] == 8.5 / 8
    assert rows["depl-paper"]["paper-alexnet"] == pytest.approx((40 / 17 + 20 / 8) / 2)
    assert (rows["depl-paper"]["no plan"], rows["depl"]["paper-mobilenet"]) == (1, None)
    assert rows["exact"]["compared"] == 6
    (row, _) = tables.headline_table(evidence([item for item in GIVEN.attempts if item.cost])).records() * 2
    assert row["made-up"] == 1.0  # a suite of one's own stands where those of the paper would


def test_suites_commits_machines_settings_and_goals_are_told_with_where_they_come_from():
    made_up, shipped = tables.suites_table(GIVEN).records()
    assert made_up["asks"] == "not known here: a suite of your own, or an older one"
    assert [made_up[name] for name in ("instances", "configurations", "attempts")] == [2, 2, 3]
    assert (made_up["from"], made_up["to"]) == ("2026-01-01", "2026-03-01")
    assert (shipped["asks"], shipped["command"]) == (all_suites()["paper"].summary, "depl bench run paper")
    rows = tables.sources_table(GIVEN).rows
    assert [row[1:] for row in rows if row[0] == "commit"] == [
        ("0123456789", 2),
        ("fedcba9876 with uncommitted changes", 1),
        ("no commit known", 1),
    ]
    assert {("machine", "test, 2 cores, 4 GiB, test", 4), ("libraries", "depl 0.1.0", 4)} <= set(rows)
    settings = {"time_limit": 5.0, "gap": 0.1, "scenarios": 9, "options": {"eta": 50}}
    told = tables.settings_table(evidence([attempt_of(settings=settings)]))
    assert told.rows == (("made-up", "exact", "exact", "law", 5.0, 0.1, 9, "eta = 50"),)
    outcome = MeasuredGoal("ratio", "mean ratio", "<=", 1.05, 1.01, True)
    (row,) = tables.goals_table(evidence((), msgspec.structs.replace(record("one"), goals=(outcome,)))).rows
    assert row[:8] == ("one", "ratio", "mean ratio", "<= 1.05", 1.01, True, "2026-01-01", "no commit known")


def test_the_latest_version_of_a_suite_and_the_latest_attempt_at_a_task_count():
    first, again = attempt_of("one", cost=2.0), attempt_of("one", cost=1.0, started="2026-02-01T00:00:00")
    given = evidence([first, again, attempt_of("two", cost=3.0)])
    assert ([item.cost for item in given.attempts], given.superseded) == ([1.0, 3.0], 1)
    newer = moved([attempt_of("one", cost=5.0)], task=msgspec.structs.replace(first.task, version=2))
    assert [item.cost for item in evidence([first, again, *newer]).attempts] == [5.0]


def test_a_family_has_its_points_from_the_tightest_target_to_the_loosest():
    plans = {"exact": [plan(cost, (0, 1, 3)) for cost in (10, 8, 6)], "depl": [plan(None)] * 3}
    (points,) = evidence(paper(plans)[::-1]).families["paper"].values()
    told = [(point.target, point.of("optimum", "cost"), point.of("depl", "ratio")) for point in points]
    assert told == [(5.0, 10, math.inf), (9.0, 8, math.inf), (13.0, 6, math.inf)]
    assert [point.ends for point in points] == [(True, False), (False, False), (False, True)]
    assert points[0].models["optimum"] == points[0].models["exact"] == {"intermediate": 1, "slow-steady": 3}
    known = {"epochs": 4, "fast epochs": 0, "violation": 0.5}
    assert {name: points[0].of("exact", name) for name in known} == known
    for name, figure in (("exact", "band"), ("depl", "cost"), ("absent", "cost")):
        assert math.isnan(points[0].of(name, figure))
    (unproved,) = evidence(paper(costs(depl=(10, 8, 6)))).families["paper"].values()
    assert all(math.isnan(point.of("optimum", "cost")) for point in unproved)


def attempts():
    for number, cost in MINE.items():
        labels = {"size": "small" if number < 3 else "large", "target": 5.0, "number": number}
        one = {"suite": "random", "labels": labels}
        yield attempt_of(f"one [{number}]", "mine", cost=cost, **one)
        ending = "exhausted" if number == 4 else "optimal"
        bound = {"lower_bound": 20.0} if number == 4 else {}
        yield attempt_of(f"one [{number}]", "exact", cost=BEST[number], ending=ending, **bound, **one)
        yield attempt_of(f"one [{number}]", "depl", cost=20.0 if number < 4 else 50.0, **one)


@pytest.fixture
def given():
    return evidence(list(attempts()))


@pytest.fixture
def found(given):
    return own_method(given, "mine")


def test_methods_that_are_not_built_in_are_marked_unless_others_are_named(given):
    assert own_names(given) == ("mine",)
    assert own_names(given, ["depl", "mine", "depl"]) == ("depl", "mine")
    shipped = attempt_of("one", "annealing", method="gone since", suite="random", cost=1.0)
    assert own_names(evidence([shipped])) == ()  # a configuration of a shipped suite is nobody's own


def test_it_is_told_and_compared_with_every_other_method_on_the_same_questions(found):
    for told in (
        "mine was tried 4 times on 4 instances",
        "cost 1.125 on average and 1.250 at most (2 compared, 50 % optimal)",
        "they cost at most 2.200 times the optimum on average (1 plan)",
        "1 attempt ended without a plan where some method found one",
    ):
        assert told in found.sentence
    rows = {row["against"]: row for row in found.tables["against"].records()}
    names = (
        "tried by both",
        "cheaper",
        "equal",
        "more expensive",
        "itself without plan",
        "other without plan",
    )
    assert [rows["exact"][name] for name in names] == [4, 0, 1, 2, 1, 0]
    assert rows["exact"]["mean cost over the other's"] == pytest.approx((1 + 1.25 + 1.1) / 3)
    assert rows["depl"]["cheaper"] == 3
    # Groups are those of labels with several values, the worst first.
    rows = [row for row in found.tables["groups"].records() if row["label"] == "size"]
    assert [row["value"] for row in rows] == ["large", "small"]
    assert [(row["mean"], row["compared"], row["no plan"]) for row in rows] == [(2.2, 1, 1), (1.125, 2, 0)]
    assert "target" not in found.tables["groups"].column("label")


def test_the_worst_instances_come_with_who_did_better_and_a_command(found, given, monkeypatch):
    missed, bounded, costly = found.tables["worst"].records()
    assert (missed["instance"], missed["cost"], missed["best known cost"]) == ("one [3]", None, 7.0)
    assert (bounded["over best known"], bounded["over the optimum at most"]) == (pytest.approx(1.1), 2.2)
    assert (costly["instance"], costly["found by"], costly["over best known"]) == ("one [2]", "exact", 1.25)
    words = "depl bench run random --instances 'one [[]2]' --methods mine --out again.jsonl --import FILE.py"
    assert costly["to run it again"] == words
    monkeypatch.setattr(own, "WORST", 2)
    assert own_method(given, "mine").tables["worst"].column("instance") == ("one [3]", "one [4]")

"""The study ``behaviour``: what is asked and kept, and that the committed record is of it."""

from fnmatch import fnmatchcase

import msgspec
import pytest

import depl
from depl.benchmarks.measure.attempt import Request
from depl.benchmarks.measure.compare import asked_again
from depl.benchmarks.measure.solving import attempt
from depl.benchmarks.measure.store import read_attempts
from depl.benchmarks.studies.behaviour import LEFT_OUT, LOOKS, STUDY, _plan_digest
from depl.instances.shipped import names

EVERY = [(draw.name, item.label) for draw in STUDY.instances() for item in STUDY.configurations]
ASKED = [
    (draw.name, item.label) for draw, item, _ in STUDY.questions(STUDY.instances(), STUDY.configurations)
]
FEW = {("spent-promise", "exact"), ("digits-alexnet", "exact"), ("no-partition-by-epoch", "exact")}
"""A plan, a refusal and a proof that there is no plan."""


@pytest.fixture(scope="module")
def committed():
    return {(row.task.instance, row.task.configuration): row for row in read_attempts("behaviour")}


def test_every_method_is_asked_on_all_shipped_and_a_hundred_random_problems():
    assert len(ASKED) == len(set(ASKED))
    sometimes = [labels for labels, _, _ in LEFT_OUT]
    methods = {item.label: item.method for item in STUDY.configurations}
    always = {methods[label] for label in methods if not any(fnmatchcase(label, own) for own in sometimes)}
    assert len(always) >= len(depl.methods()) - 2  # milp and auto
    by_problem = {}
    for problem, label in ASKED:
        by_problem.setdefault(problem, set()).add(methods[label])
    assert all(found >= always for found in by_problem.values())
    assert all(any(f"{one}-".startswith(f"{name}-") for one in by_problem) for name in names())
    families = ("small-", "random-", "heterogeneous-", "sampled-")
    assert len([problem for problem in by_problem if problem.startswith(families)]) >= 100


@pytest.mark.parametrize(("labels", "problems", "reason"), LEFT_OUT)
def test_whatever_is_left_out_exists_and_has_a_reason(labels, problems, reason):
    rows = {row for row in EVERY if fnmatchcase(row[1], labels) and fnmatchcase(row[0], problems)}
    assert rows
    assert reason
    assert not rows & set(ASKED)


def test_the_digest_of_a_plan_knows_data_models_and_clusters_but_not_their_order(tiny_optimum):
    fewer = (tiny_optimum.data[0].__class__(cluster="cloud", datasets=("archive",)), tiny_optimum.data[1])
    changes = ({"data": tiny_optimum.data[::-1]}, {"epochs": tiny_optimum.epochs[::-1]}, {"data": fewer})
    digests = [_plan_digest(msgspec.structs.replace(tiny_optimum, **change)) for change in changes]
    assert [digest == _plan_digest(tiny_optimum) for digest in digests] == [True, False, False]


def test_the_committed_record_holds_every_question_and_no_crash(committed):
    assert committed.keys() == set(ASKED)
    fingerprints = {draw.name: draw.made()[0].fingerprint for draw in STUDY.instances()}
    for row in committed.values():
        assert fingerprints[row.task.instance].startswith(row.instance_hash)
        assert row.settings["looks"] == LOOKS
        assert row.ending not in ("crashed", "hung", "rejected")
        assert row.ending != "failed" or row.reason.startswith("InvalidInputError")
        assert "not ok" not in row.answer.get("findings", "")


def test_a_few_committed_answers_are_those_of_today(committed):
    few = [committed[asked] for asked in sorted(FEW)]
    assert asked_again(few, Request(suites=()), lambda jobs: map(attempt, jobs)) == ([], [])

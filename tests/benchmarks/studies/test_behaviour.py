"""The study ``behaviour``: what is asked and kept, and that the committed record is of it."""

import dataclasses
import math
from fnmatch import fnmatchcase

import msgspec
import pytest

import depl
from depl.benchmarks.measure.attempt import Attempt, Request
from depl.benchmarks.measure.compare import asked_again
from depl.benchmarks.measure.solving import attempt
from depl.benchmarks.measure.store import read_attempts
from depl.benchmarks.measure.tasks import again
from depl.benchmarks.studies.behaviour import LEFT_OUT, LOOKS, STUDY, _plan_digest
from depl.instances.library import names
from depl.models.problem.plan import Plan
from depl.models.solving.methods import Limits, Looks
from depl.models.solving.result import Termination

ASKED = [
    (draw.name, item.label) for draw, item, _ in STUDY.questions(STUDY.instances(), STUDY.configurations)
]
FEW = {("spent-promise", "exact"), ("digits-alexnet", "exact"), ("no-partition-by-epoch", "exact")}
"""A plan, a refusal and a proof that there is no plan."""


def here(jobs):
    """Makes attempts in this process."""
    yield from map(attempt, jobs)


@pytest.fixture(scope="module")
def committed() -> list[Attempt]:
    return read_attempts("behaviour")


@pytest.fixture(scope="module")
def few(committed: list[Attempt]) -> dict[str, Attempt]:
    """These answers as they are today."""
    rows = [row for row in committed if (row.task.instance, row.task.configuration) in FEW]
    return {row.task.instance: row for row in here(again(row, Request(suites=())) for row in rows)}


# --- counted looks ---------------------------------------------------------------------------------------


def test_a_limit_of_looks_is_over_after_so_many_and_limits_made_from_one_another_share_them() -> None:
    limits = Limits(looks=Looks(2))
    again = dataclasses.replace(limits, progress=None)
    assert [item.expired() for item in (limits, again, limits, again)] == [False, False, True, True]
    assert not any(Limits().expired() for _ in range(100))


@pytest.mark.parametrize("method", ["exact", "enumerate", "scenario-search"])
def test_a_solve_with_few_looks_ends_as_if_its_time_were_over_and_always_alike(method: str) -> None:
    instance = depl.load("paper-alexnet", 9)
    first, second = (depl.solve(instance, method, looks=3) for _ in range(2))
    assert first.termination is Termination.TIME_LIMIT
    assert (first.cost, first.lower_bound, first.plan) == (second.cost, second.lower_bound, second.plan)
    assert depl.solve(instance, method).termination is not Termination.TIME_LIMIT


@pytest.mark.parametrize("looks", [-1, 1.5, "3", True, math.inf])
def test_looks_must_be_counted(looks: object) -> None:
    with pytest.raises(depl.InvalidInputError, match=r"looks: must be a whole number, at least 0"):
        depl.solve(depl.load("tiny"), "exact", looks=looks)  # type: ignore[arg-type]


# --- what is asked ---------------------------------------------------------------------------------------


def test_every_method_is_asked_on_all_shipped_and_a_hundred_random_problems() -> None:
    assert len(ASKED) == len(set(ASKED))
    always = {
        item.method
        for item in STUDY.configurations
        if not any(fnmatchcase(item.label, labels) for labels, _, _ in LEFT_OUT)
    }
    assert len(always) >= len(depl.methods()) - 2  # milp and auto
    methods = {item.label: item.method for item in STUDY.configurations}
    by_problem: dict[str, set[str]] = {}
    for problem, label in ASKED:
        by_problem.setdefault(problem, set()).add(methods[label])
    assert all(found >= always for found in by_problem.values())
    for name in names():
        assert any(problem == name or problem.startswith(f"{name}-") for problem in by_problem)
    families = ("small-", "random-", "heterogeneous-", "sampled-")
    assert len([problem for problem in by_problem if problem.startswith(families)]) >= 100


def test_whatever_is_left_out_exists_and_has_a_reason() -> None:
    for labels, problems, reason in LEFT_OUT:
        rows = [
            (draw.name, item.label)
            for draw in STUDY.instances()
            for item in STUDY.configurations
            if fnmatchcase(item.label, labels) and fnmatchcase(draw.name, problems)
        ]
        assert rows
        assert reason
        assert not set(rows) & set(ASKED)


# --- what is kept ----------------------------------------------------------------------------------------


def test_an_answer_keeps_plan_bounds_intervals_and_findings(few: dict[str, Attempt]) -> None:
    found = few["spent-promise"]
    assert (found.ending, found.solution, found.cost) == ("optimal", "proven_optimal", 5.0)
    assert found.lower_bound == found.cost
    assert found.violation[0] <= 0.05 <= found.violation[1]
    assert len(found.answer["resources"]) == 2
    assert "(3) checked" in found.answer["findings"]
    assert found.plan is None  # its digest is enough


def test_a_refusal_is_kept_with_its_words_and_a_missing_plan_with_its_reason(few: dict[str, Attempt]) -> None:
    refused = few["digits-alexnet"]
    assert refused.ending == "refused"
    assert refused.reason.startswith("method 'exact' plans with independent increments")
    found = few["no-partition-by-epoch"]
    assert (found.ending, found.answer["bound"], found.plan) == ("infeasible", "inf", None)
    assert found.reason


def test_the_digest_of_a_plan_knows_data_models_and_clusters_but_not_their_order(tiny_optimum: Plan) -> None:
    turned = msgspec.structs.replace(tiny_optimum, data=tiny_optimum.data[::-1])
    other = msgspec.structs.replace(tiny_optimum, epochs=tiny_optimum.epochs[::-1])
    fewer = (tiny_optimum.data[0].__class__(cluster="cloud", datasets=("archive",)), tiny_optimum.data[1])
    assert _plan_digest(turned) == _plan_digest(tiny_optimum)
    assert _plan_digest(other) != _plan_digest(tiny_optimum)
    assert _plan_digest(msgspec.structs.replace(tiny_optimum, data=fewer)) != _plan_digest(tiny_optimum)


# --- the committed record --------------------------------------------------------------------------------


def test_the_committed_record_holds_every_question(committed: list[Attempt]) -> None:
    assert {(row.task.instance, row.task.configuration) for row in committed} == set(ASKED)
    fingerprints = {draw.name: draw.made()[0].fingerprint for draw in STUDY.instances()}
    for row in committed:
        assert fingerprints[row.task.instance].startswith(row.instance_hash)
        assert row.settings["looks"] == LOOKS


def test_no_committed_answer_is_a_crash_or_a_rejected_plan(committed: list[Attempt]) -> None:
    assert {row.ending for row in committed} & {"refused"}
    failed = {row.reason.partition(":")[0] for row in committed if row.ending == "failed"}
    assert failed <= {"InvalidInputError"}
    assert not {row.ending for row in committed} & {"crashed", "hung", "rejected"}
    assert not [row for row in committed if "not ok" in row.answer.get("findings", "")]


def test_a_few_committed_answers_are_those_of_today(committed: list[Attempt]) -> None:
    recorded = [row for row in committed if (row.task.instance, row.task.configuration) in FEW]
    assert len(recorded) == len(FEW)
    assert asked_again(recorded, Request(suites=()), here) == ([], [])

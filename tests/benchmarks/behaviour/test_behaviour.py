"""The behaviour record: solves end by counted looks, everything is kept, every difference is told."""

import dataclasses
import math
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path

import msgspec
import pytest

import depl
from depl.benchmarks.behaviour.comparing import differences
from depl.benchmarks.behaviour.problems import Problem, problems
from depl.benchmarks.behaviour.record import Answer, Record, read, write
from depl.benchmarks.behaviour.recording import plan_digest, recorded
from depl.benchmarks.behaviour.settings import LEFT_OUT, LOOKS, SCENARIOS, questions, settings, why_left_out
from depl.benchmarks.measure import results
from depl.benchmarks.measure.comparing import TOLERANCE, equal
from depl.instances.library import names
from depl.models.problem.plan import Plan
from depl.models.solving import methods
from depl.models.solving.methods import Limits, Looks
from depl.models.solving.result import Termination

COMMITTED = results.RESULTS / "behaviour" / "record.json"


@pytest.fixture(scope="module")
def asked() -> list[Problem]:
    return list(problems())


@pytest.fixture(scope="module")
def committed() -> Record:
    return read(COMMITTED)


@pytest.fixture(scope="module")
def small() -> Record:
    """A plan, a refusal and a proof that there is no plan."""
    wanted = {("spent-promise", "exact"), ("digits-alexnet", "exact"), ("no-partition-by-epoch", "exact")}
    return recorded(problems(), lambda problem, setting: (problem, setting) in wanted)


def changed(record: Record, problem: str, **values: object) -> Record:
    """The record with other values in the answer of ``exact`` on a problem."""
    answer = msgspec.structs.replace(record.answers[problem]["exact"], **values)
    return msgspec.structs.replace(record, answers={**record.answers, problem: {"exact": answer}})


def told(old: Record, new: Record) -> list[str]:
    return [str(item) for item in differences(old, new)]


# --- counted looks ---------------------------------------------------------------------------------------


def test_a_limit_of_looks_is_over_after_so_many_and_stays_over() -> None:
    limits = Limits(looks=Looks(2))
    assert [limits.expired() for _ in range(4)] == [False, False, True, True]
    assert not any(Limits().expired() for _ in range(100))


def test_limits_made_from_one_another_share_their_looks() -> None:
    limits = Limits(looks=Looks(2))
    again = dataclasses.replace(limits, progress=None)
    assert [limits.expired(), again.expired(), limits.expired(), again.expired()] == [
        False,
        False,
        True,
        True,
    ]


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


def test_names_of_problems_and_labels_of_settings_are_single(asked: list[Problem]) -> None:
    for found in ([problem.name for problem in asked], [setting.label for setting in settings()]):
        assert len(found) == len(set(found))


def test_every_method_is_asked_on_all_shipped_and_a_hundred_random_problems(asked: list[Problem]) -> None:
    by_problem = {problem.name: {item.method for item in questions(problem)} for problem in asked}
    for name in names():
        targets = [problem for problem in by_problem if problem == name or problem.startswith(f"{name}-")]
        assert targets
        assert all(by_problem[problem] >= law_methods() for problem in targets)
    families = ("small-", "random-", "heterogeneous-", "sampled-")
    drawn = [problem for problem in by_problem if problem.startswith(families)]
    assert len(drawn) >= 100
    assert all(by_problem[problem] >= law_methods() for problem in drawn)


def law_methods() -> set[str]:
    """The methods that are never left out."""
    rows = [item for item in settings() if not any(fnmatchcase(item.label, row.settings) for row in LEFT_OUT)]
    found = {item.method for item in rows}
    assert len(found) >= len(depl.methods()) - 2  # milp and auto
    return found


def test_whatever_is_left_out_exists_and_has_a_reason(asked: list[Problem]) -> None:
    for row in LEFT_OUT:
        assert any(fnmatchcase(setting.label, row.settings) for setting in settings())
        assert any(fnmatchcase(problem.name, row.problems) for problem in asked)
        assert row.reason
    left = [(item, problem) for problem in asked for item in settings() if why_left_out(item, problem)]
    assert left
    assert not [item for item, problem in left if item in questions(problem)]


# --- what is kept ----------------------------------------------------------------------------------------


def test_an_answer_keeps_plan_bounds_intervals_and_findings(small: Record) -> None:
    answer = small.answers["spent-promise"]["exact"]
    assert (answer.termination, answer.solution, answer.cost) == ("optimal", "proven_optimal", 5.0)
    assert answer.lower_bound == answer.cost
    assert answer.miss is not None
    assert answer.miss[0] <= 0.05 <= answer.miss[1]
    assert len(answer.resources) == 2
    assert "(3) checked" in small.findings[str(answer.findings)]


def test_a_refusal_is_kept_with_its_class_and_a_missing_plan_with_its_reason(small: Record) -> None:
    refused = str(small.answers["digits-alexnet"]["exact"].refused)
    assert refused.startswith("NotCoveredError: method 'exact' plans with independent increments")
    answer = small.answers["no-partition-by-epoch"]["exact"]
    assert (answer.termination, answer.lower_bound, answer.plan) == ("infeasible", "inf", None)
    assert answer.reason


@pytest.mark.usefixtures("own_methods")
def test_a_crash_is_an_answer_and_an_interrupt_ends_the_record(tiny: depl.Instance) -> None:
    def broken(instance: depl.Instance, limits: Limits) -> Plan:
        """Break."""
        raise ZeroDivisionError("by nothing")

    def stopped(instance: depl.Instance, limits: Limits) -> Plan:
        """Be stopped."""
        raise KeyboardInterrupt

    methods.register("broken", broken)
    record = recorded([Problem("mine", lambda: tiny)], lambda _, setting: setting == "broken")
    assert record.answers["mine"]["broken"].refused == "crash: ZeroDivisionError: by nothing"
    methods.register("stopped", stopped)
    with pytest.raises(KeyboardInterrupt):
        recorded([Problem("mine", lambda: tiny)], lambda _, setting: setting == "stopped")


def test_the_digest_of_a_plan_knows_data_models_and_clusters_but_not_their_order(tiny_optimum: Plan) -> None:
    turned = msgspec.structs.replace(tiny_optimum, data=tiny_optimum.data[::-1])
    other = msgspec.structs.replace(tiny_optimum, epochs=tiny_optimum.epochs[::-1])
    fewer = (tiny_optimum.data[0].__class__(cluster="cloud", datasets=("archive",)), tiny_optimum.data[1])
    assert plan_digest(turned) == plan_digest(tiny_optimum)
    assert plan_digest(other) != plan_digest(tiny_optimum)
    assert plan_digest(msgspec.structs.replace(tiny_optimum, data=fewer)) != plan_digest(tiny_optimum)


def test_a_record_read_back_equals_itself(small: Record, tmp_path: Path) -> None:
    write(small, tmp_path / "small.json")
    again = read(tmp_path / "small.json")
    assert again == small
    write(again, tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "small.json").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["again.json", "small.json"]


# --- what is compared ------------------------------------------------------------------------------------


def test_numbers_are_equal_up_to_the_tolerance_and_no_further() -> None:
    assert equal(3.0, 3.0 * (1 + 0.5 * TOLERANCE))
    assert not equal(3.0, 3.0 * (1 + 2 * TOLERANCE))
    assert not equal(0.0, 1e-300)
    assert equal(0.0, 1e-300, absolute=1e-299)
    assert not equal(0.0, 1e-298, absolute=1e-299)
    assert equal((1.0, 2.0), (1.0, 2.0 + 1e-12))
    assert not equal((1.0,), (1.0, 2.0))
    assert not equal(1.0, None)
    assert not equal(1.0, "inf")
    assert equal("inf", "inf")


@pytest.mark.parametrize(
    ("values", "line"),
    [
        ({"cost": 5.00001}, "spent-promise, exact: cost was 5.0, is 5.00001"),
        ({"termination": "exhausted"}, "spent-promise, exact: termination was optimal, is exhausted"),
        ({"lower_bound": "-inf"}, "spent-promise, exact: lower_bound was 5.0, is -inf"),
        ({"miss": None}, "spent-promise, exact: miss was (0.05, 0.05), is missing"),
        ({"plan": "0123456789"}, "is 0123456789"),
        ({"decisions": 7}, "spent-promise, exact: decisions was 0, is 7"),
    ],
)
def test_a_difference_is_told_with_problem_setting_and_both_values(
    small: Record, values: dict[str, object], line: str
) -> None:
    (found,) = told(small, changed(small, "spent-promise", **values))
    assert found.endswith(line)


def test_every_field_of_an_answer_but_the_seconds_is_compared(small: Record) -> None:
    others = {float: 77.0, str: "other", int: 77, tuple: (77.0, 78.0)}

    def other_values() -> Iterator[tuple[str, object]]:
        for field in msgspec.structs.fields(Answer):
            now = getattr(small.answers["spent-promise"]["exact"], field.name)
            yield field.name, "other" if now is None else others[type(now)]

    for name, value in other_values():
        found = list(differences(small, changed(small, "spent-promise", **{name: value})))
        assert [item.what for item in found] == ([] if name == "seconds" else [name])


def test_findings_are_told_in_words_and_missing_answers_and_other_instances_too(small: Record) -> None:
    key = str(small.answers["spent-promise"]["exact"].findings)
    worse = msgspec.structs.replace(
        changed(small, "spent-promise", findings="worse"), findings={"worse": "(3) failed and not ok"}
    )
    assert told(small, worse)[0].endswith(f"was {small.findings[key]}, is (3) failed and not ok")
    fewer = msgspec.structs.replace(
        small, answers={name: row for name, row in small.answers.items() if name != "spent-promise"}
    )
    assert told(small, fewer) == ["spent-promise, exact: answer was optimal at cost 5.0, is missing"]
    assert told(fewer, small) == ["spent-promise, exact: answer was missing, is optimal at cost 5.0"]
    drawn = msgspec.structs.replace(small, instances={**small.instances, "spent-promise": "another"})
    assert [item.what for item in differences(small, drawn)] == ["instance"]
    assert [item.what for item in differences(small, msgspec.structs.replace(small, looks=1))] == ["looks"]


# --- the committed record --------------------------------------------------------------------------------


def test_the_committed_record_holds_every_question(committed: Record, asked: list[Problem]) -> None:
    expected = {problem.name: {item.label for item in questions(problem)} for problem in asked}
    assert {name: set(row) for name, row in committed.answers.items()} == expected
    assert committed.instances == {problem.name: problem.made()[0].fingerprint[:16] for problem in asked}
    assert (committed.looks, committed.scenarios) == (LOOKS, SCENARIOS)
    assert [msgspec.structs.astuple(row) for row in committed.left_out] == [
        (row.settings, row.problems, row.reason) for row in LEFT_OUT
    ]


def test_no_committed_answer_is_a_crash_or_a_rejected_plan(committed: Record) -> None:
    refusals = {str(item.refused) for row in committed.answers.values() for item in row.values()} - {"None"}
    assert refusals
    assert {text.split(":")[0] for text in refusals} <= {"NotCoveredError", "InvalidInputError"}
    assert not [text for text in committed.findings.values() if "not ok" in text]


def test_a_few_committed_answers_are_those_of_today(committed: Record) -> None:
    few = {("spent-promise", "exact"), ("no-partition-by-epoch", "exact"), ("digits-alexnet", "exact")}
    now = recorded(problems(), lambda problem, setting: (problem, setting) in few)
    answers = {name: {"exact": committed.answers[name]["exact"]} for name, _ in few}
    assert told(msgspec.structs.replace(committed, answers=answers), now) == []

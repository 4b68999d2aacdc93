"""Whatever becomes of a solve, an attempt comes back, and tells what happened."""

import os
import time
from pathlib import Path

import msgspec
import pytest

import depl
from depl.benchmarks.measure.process import CallError, CrashedError, HungError, LoneProcess, StartError
from depl.benchmarks.sweep.attempting import attempt_alone, without_folders
from depl.benchmarks.sweep.request import jobs_of
from tests.cases.sweep_cases import own_registry, paper_jobs, users_file, users_request


@pytest.fixture(scope="module")
def process():
    with LoneProcess() as lone:
        yield lone


@pytest.fixture(scope="module")
def attempts(process, tmp_path_factory):
    """One attempt by each of the user's methods, all in one process as long as that lives."""
    source = users_file(tmp_path_factory.mktemp("attempting"), count=1)
    order = ("answers", "raises", "exits", "interrupts", "refuses", "cheats", "hangs", "leaves")
    with own_registry():
        jobs = jobs_of(users_request(source, order))
    return {job.task.configuration: attempt_alone(job, process) for job in jobs}


def test_an_attempt_holds_what_the_result_says(process):
    (job,) = paper_jobs(("exact",))
    attempt = attempt_alone(job, process)
    instance = depl.load("paper-alexnet-9")
    result = depl.solve(instance, "exact")
    assert attempt.task == job.task
    assert (attempt.method, attempt.meaning, attempt.ending) == ("exact", "law", "optimal")
    assert attempt.proved_optimal
    assert attempt.solution == "proven_optimal"
    assert attempt.instance_hash == instance.fingerprint
    assert (attempt.cost, attempt.lower_bound) == (result.cost, result.lower_bound)
    assert attempt.violation == (result.violation.lower, result.violation.upper)
    assert attempt.epochs == result.epochs == sum(attempt.epochs_by_model.values())
    assert depl.check(instance, depl.Plan.from_json(msgspec.json.encode(attempt.plan))).ok
    assert 0 < attempt.wall_seconds < attempt.total_seconds
    assert 0.05 < attempt.peak_gibibytes < 2
    assert attempt.settings == {"time_limit": 60.0, "gap": 0.0, "scenarios": None, "options": {}}
    assert attempt.labels == {"family": "paper-alexnet", "target": 9.0}


def test_a_fresh_process_is_a_new_one_and_a_warm_one_is_kept(process):
    (job,) = paper_jobs(("expected-cost",))
    attempt_alone(job, process)
    kept = process._process
    attempt_alone(job, process)
    assert process._process is kept
    attempt_alone(msgspec.structs.replace(job, fresh=True), process)
    assert process._process is not kept


def test_a_users_method_and_suite_enter_like_ours(attempts):
    attempt = attempts["answers"]
    assert attempt.ending == "exhausted"
    assert attempt.cost == pytest.approx(28.0)
    assert attempt.labels == {"number": 0}
    assert attempt.measures == {"asked": 3.0, "none": None}
    assert attempt.reason is None


@pytest.mark.parametrize(
    ("method", "ending", "reason"),
    [
        ("raises", "failed", "RuntimeError: as it was told to"),
        ("exits", "failed", "SystemExit: 3"),
        ("interrupts", "failed", "KeyboardInterrupt"),
        ("refuses", "refused", "covers nothing"),
        ("cheats", "rejected", "fails the independent verifier"),
        ("hangs", "hung", "killed after 2"),
        ("leaves", "crashed", "exit code 7"),
    ],
)
def test_every_failure_is_an_attempt_with_its_reason(attempts, method, ending, reason):
    attempt = attempts[method]
    assert attempt.ending == ending
    assert reason in attempt.reason
    assert attempt.cost is attempt.plan is None
    assert attempt.solution == "none"
    assert attempt.total_seconds > 0
    assert attempt.instance_hash == attempts["answers"].instance_hash
    assert attempt.started > "2026"


@pytest.mark.parametrize(
    ("text", "published"),
    [
        ('File "/home/me/depl/models/plan.py", line 3, in plan', 'File "plan.py", line 3, in plan'),
        ("OSError: '/tmp/x y': 1/2 of a / b is 3", "OSError: 'x y': 1/2 of a / b is 3"),
        ("see tcp://127.0.0.1:8786 and and/or a/b/c", "see tcp://127.0.0.1:8786 and and/or a/b/c"),
    ],
)
def test_reasons_name_files_and_not_where_they_lie(text, published):
    assert without_folders(text) == published


def test_a_call_returns_what_the_function_returns_or_raises_what_became_of_it():
    with LoneProcess() as lone:
        told = []
        assert lone.call("tests.cases.sweep_calls:doubled", b"[1, 2]", 60, told.append) == b"[1,2,1,2]"
        assert told == [b"[1, 2]"]
        assert lone.call("tests.cases.sweep_calls:threads", b"null", 60) == b'"1"'
        with pytest.raises(CallError, match="KeyError"):
            lone.call("tests.cases.sweep_calls:fails", b"null", 60)
        before = lone._process.pid
        with pytest.raises(HungError):
            lone.call("tests.cases.sweep_calls:sleeps", b"60", 0.3)
        assert not alive(before)
        with pytest.raises(CrashedError, match=r"(?s)SIGABRT.*last words"):
            lone.call("tests.cases.sweep_calls:dies", b"null", 60)
        assert lone.call("tests.cases.sweep_calls:doubled", b"[]", 60) == b"[]"
        last = lone._process.pid
    assert not alive(last)


def test_a_process_that_cannot_start_is_no_attempt(monkeypatch):
    (job,) = paper_jobs(("exact",))
    monkeypatch.setattr("depl.benchmarks.measure.process.one_thread", lambda: {"PYTHONHOME": "/nowhere"})
    monkeypatch.chdir("/")
    with LoneProcess() as lone, pytest.raises(StartError, match="No module named"):
        attempt_alone(job, lone)


def test_what_a_hanging_call_started_is_killed_with_it(tmp_path: Path):
    with LoneProcess() as lone:
        lone.call("tests.cases.sweep_calls:doubled", b"[]", 60)
        note = tmp_path / "pid"
        with pytest.raises(HungError):
            lone.call("tests.cases.sweep_calls:starts_another", msgspec.json.encode(str(note)), 2)
        other = int(note.read_text())
    deadline = time.monotonic() + 5
    while alive(other) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not alive(other)


def alive(identifier: int) -> bool:
    """Whether a process runs; one that has ended and was not waited for does not."""
    try:
        os.kill(identifier, 0)
        state = Path(f"/proc/{identifier}/stat").read_text().rpartition(")")[2].split()[0]
    except (ProcessLookupError, FileNotFoundError):
        return False
    return state != "Z"

"""Whatever becomes of a solve, an attempt comes back and tells what happened: here, and on dask's workers."""

import contextlib
import logging
import os
import time
from concurrent.futures import Future
from pathlib import Path
from types import SimpleNamespace

import distributed
import msgspec
import pytest

import depl
from depl.benchmarks.measure import process, solving, sweep
from depl.benchmarks.measure.attempt import without_folders
from depl.benchmarks.measure.process import CallError, LoneProcess, StartError
from depl.benchmarks.measure.sweep import attempt_alone, attempt_there, version_there, workers_of
from depl.benchmarks.measure.tasks import jobs_of
from depl.models.foundation.errors import InvalidInputError
from tests.cases import sweep_calls
from tests.cases.sweep_cases import own_registry, paper_jobs, users_file, users_request


@pytest.fixture(scope="module")
def lone():
    with LoneProcess() as lone:
        yield lone


# --- calls in another process ----------------------------------------------------------------------------


def test_a_call_returns_what_the_function_returns_or_raises_what_became_of_it():
    with LoneProcess() as lone:

        def ending(function, argument=None, seconds=60.0):
            with pytest.raises(CallError) as caught:
                lone.call(function, argument, seconds)
            return caught.value.ending, str(caught.value)

        assert lone.call(sweep_calls.doubled, [1, 2], 60) == [1, 2, 1, 2]
        assert lone.call(sweep_calls.threads, None, 60) == "1"
        kind, words = ending(sweep_calls.fails)
        assert (kind, "KeyError" in words) == ("failed", True)
        before = lone._process.pid
        assert ending(sweep_calls.sleeps, 60, 0.3)[0] == "hung"
        assert not alive(before)
        kind, words = ending(sweep_calls.dies)
        assert (kind, "SIGABRT" in words, "last words" in words) == ("crashed", True, True)
        assert lone.call(sweep_calls.doubled, [], 60) == []
        last = lone._process.pid
    assert not alive(last)


def test_what_a_hanging_call_started_is_killed_with_it(lone, tmp_path):
    note = tmp_path / "pid"
    with pytest.raises(CallError, match="did not end in time"):
        lone.call(sweep_calls.starts_another, str(note), 2)
    deadline = time.monotonic() + 5
    while alive(int(note.read_text())) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not alive(int(note.read_text()))


def test_a_process_that_cannot_start_is_no_attempt_and_stops_a_sweep(monkeypatch):
    jobs = paper_jobs(("exact",))
    monkeypatch.setattr(process, "_one_thread", lambda: {"PYTHONHOME": "/nowhere"})
    monkeypatch.chdir("/")
    with pytest.raises(StartError, match="No module named"):
        list(workers_of(2)(jobs))


def alive(identifier):
    """Whether a process runs; one that has ended and was not waited for does not."""
    try:
        os.kill(identifier, 0)
        state = Path(f"/proc/{identifier}/stat").read_text().rpartition(")")[2].split()[0]
    except (ProcessLookupError, FileNotFoundError):
        return False
    return state != "Z"


# --- attempts --------------------------------------------------------------------------------------------


def test_an_attempt_holds_what_the_result_says(lone):
    (job,) = paper_jobs(("exact",))
    attempt = attempt_alone(job, lone)
    instance = depl.load("paper-alexnet-9")
    result = depl.solve(instance, "exact")
    assert attempt.task == job.task
    assert (attempt.method, attempt.meaning, attempt.ending) == ("exact", "law", "optimal")
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


@pytest.fixture(scope="module")
def attempts(lone, tmp_path_factory):
    """One attempt by each of the user's methods, all in one process as long as that lives."""
    source = users_file(tmp_path_factory.mktemp("attempting"), count=1)
    order = ("answers", "raises", "exits", "interrupts", "refuses", "cheats", "hangs", "leaves")
    with own_registry():
        jobs = jobs_of(users_request(source, order))
    return {job.task.configuration: attempt_alone(job, lone) for job in jobs}


def test_a_users_method_and_suite_enter_like_ours(attempts):
    attempt = attempts["answers"]
    assert (attempt.ending, attempt.reason) == ("exhausted", None)
    assert attempt.cost == pytest.approx(28.0)
    assert attempt.labels == {"number": 0}
    assert attempt.measures == {"asked": 3.0, "none": None}


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
    known = ending in ("hung", "crashed") or attempt.instance_hash == attempts["answers"].instance_hash
    assert known  # nobody lived to tell it
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


def test_the_phases_of_the_default_are_those_that_are_warmed(tiny):
    """With time for none of them to end, all of them get a turn."""
    found = solving.solve(tiny, "auto", looks=30)  # too few for any of them to end
    assert {phase.method for phase in found.phases} == set(solving._LETS_RUN["auto"])


# --- schedulers ------------------------------------------------------------------------------------------


@pytest.fixture
def scheduler():
    """A scheduler without workers."""
    logging.getLogger("distributed").setLevel(logging.CRITICAL + 1)
    with distributed.LocalCluster(
        n_workers=0,
        host="127.0.0.1",
        protocol="tcp://",
        dashboard_address=":0",
        processes=True,
        silence_logs=logging.CRITICAL,
    ) as started:
        yield started


def test_a_worker_of_a_scheduler_keeps_the_deadline_and_survives_what_dies(scheduler, tmp_path):
    """It is a daemon, as workers of dask are."""
    scheduler.scale(1)
    with own_registry():
        jobs = jobs_of(users_request(users_file(tmp_path, count=1), ("answers", "hangs", "leaves")))
    found = {row.task.configuration: row for row in workers_of(scheduler=scheduler.scheduler_address)(jobs)}
    endings = {name: row.ending for name, row in found.items()}
    assert endings == {"answers": "exhausted", "hangs": "hung", "leaves": "crashed"}
    assert "exit code 7" in found["leaves"].reason


def test_a_scheduler_that_does_not_answer_or_has_no_workers_is_refused(scheduler, monkeypatch):
    jobs = paper_jobs(("expected-cost",))
    monkeypatch.setattr(sweep, "_CONNECTING", 0.5)
    monkeypatch.setattr(sweep, "_PATIENCE", 0.5)
    with pytest.raises(InvalidInputError, match=r"tcp://127\.0\.0\.1:1: no scheduler answers"):
        list(workers_of(scheduler="tcp://127.0.0.1:1")(jobs))
    with pytest.raises(InvalidInputError, match="no worker has come"):
        list(workers_of(scheduler=scheduler.scheduler_address)(jobs))
    assert list(workers_of(scheduler="tcp://127.0.0.1:1")([])) == []


@pytest.mark.parametrize(
    ("version", "complaint"),
    [
        (depl.__version__, None),
        ("9", f"workers have version 9, and {depl.__version__} is needed"),
        (None, "a worker cannot run this depl: No module"),
    ],
)
def test_workers_with_another_depl_or_none_are_refused(version, complaint):
    def run(function):
        if version is None:
            raise ModuleNotFoundError("No module named 'depl'")
        return {"there": function() and version}

    client = SimpleNamespace(run=run, wait_for_workers=lambda count, timeout: None)
    assert version_there() == depl.__version__
    with pytest.raises(InvalidInputError, match=complaint) if complaint else contextlib.nullcontext():
        sweep._require_workers(client, "tcp://there:1")


def test_a_task_that_dask_gives_up_has_crashed_and_one_that_was_not_begun_stops_the_sweep():
    (job,) = paper_jobs(("expected-cost",))
    future = Future()
    future.set_exception(RuntimeError("a worker was killed"))
    found = sweep._attempt_of(future, job)
    assert (found.task, found.ending) == (job.task, "crashed")
    assert found.reason == "its workers failed, at last: a worker was killed"
    future = Future()
    future.set_exception(StartError("no process"))
    with pytest.raises(StartError):
        sweep._attempt_of(future, job)
    assert attempt_there.__module__ == sweep.__name__  # dask finds it by this name

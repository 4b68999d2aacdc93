"""Several processes of this machine, and workers of a scheduler that runs: what fails becomes an attempt."""

import logging

import distributed
import pytest

import depl
from depl.benchmarks.measure.process import StartError
from depl.benchmarks.sweep import workers
from depl.benchmarks.sweep.workers import Processes, Scheduler, attempt_there, version_there
from depl.models.foundation.errors import InvalidInputError
from tests.cases.sweep_cases import paper_jobs


@pytest.fixture(scope="module")
def jobs():
    return paper_jobs(("expected-cost", "expected-greedy"))


@pytest.fixture
def scheduler():
    """A scheduler without workers."""
    logging.getLogger("distributed").setLevel(logging.CRITICAL + 1)
    with distributed.LocalCluster(
        n_workers=0,
        host="127.0.0.1",
        protocol="tcp://",
        dashboard_address=":0",
        processes=False,
        silence_logs=logging.CRITICAL,
    ) as started:
        yield started


@pytest.mark.parametrize("count", [1, 2])
def test_processes_make_every_attempt(jobs, count):
    attempts = list(Processes(count).attempts(jobs))
    assert {attempt.task for attempt in attempts} == {job.task for job in jobs}
    assert {(attempt.ending, attempt.reason) for attempt in attempts} == {("exhausted", None)}


def test_a_sweep_that_cannot_start_a_process_stops(monkeypatch, jobs):
    def none(job, process):
        raise StartError("no process")

    monkeypatch.setattr(workers, "attempt_alone", none)
    with pytest.raises(StartError, match="no process"):
        list(Processes(2).attempts(jobs))


def test_tasks_go_to_the_workers_of_a_scheduler_that_runs(scheduler, jobs):
    scheduler.scale(1)
    attempts = list(Scheduler(scheduler.scheduler_address).attempts(jobs))
    assert {attempt.task for attempt in attempts} == {job.task for job in jobs}
    assert {(attempt.ending, attempt.reason) for attempt in attempts} == {("exhausted", None)}


def test_a_scheduler_that_does_not_answer_or_has_no_workers_is_refused(scheduler, monkeypatch, jobs):
    monkeypatch.setattr(workers, "_CONNECTING", 0.5)
    monkeypatch.setattr(workers, "_PATIENCE", 0.5)
    with pytest.raises(InvalidInputError, match=r"tcp://127\.0\.0\.1:1: no scheduler answers"):
        list(Scheduler("tcp://127.0.0.1:1").attempts(jobs))
    with pytest.raises(InvalidInputError, match="no worker has come"):
        list(Scheduler(scheduler.scheduler_address).attempts(jobs))
    assert list(Scheduler("tcp://127.0.0.1:1").attempts([])) == []


class Client:
    """In the place of dask's: its workers have a version of depl, or none."""

    def __init__(self, version):
        self.version = version

    def wait_for_workers(self, count, timeout):
        pass

    def run(self, function):
        assert function() == depl.__version__
        if self.version is None:
            raise ModuleNotFoundError("No module named 'depl'")
        return {"there": self.version}


def test_workers_with_another_depl_or_none_are_refused():
    there = Scheduler("tcp://there:1")
    there._require_workers(Client(version_there()))
    with pytest.raises(InvalidInputError, match=f"workers have version 9, and {depl.__version__} is needed"):
        there._require_workers(Client("9"))
    with pytest.raises(InvalidInputError, match="a worker cannot run this depl: No module"):
        there._require_workers(Client(None))


class Future:
    """What dask would have brought: an exception."""

    def __init__(self, error):
        self.error = error

    def result(self):
        raise self.error


def test_a_task_that_dask_gives_up_has_crashed_and_one_that_was_not_begun_stops_the_sweep(jobs):
    found = workers._attempt_of(Future(RuntimeError("a worker was killed")), jobs[0])
    assert (found.task, found.ending) == (jobs[0].task, "crashed")
    assert found.reason == "its workers failed, at last: a worker was killed"
    with pytest.raises(StartError):
        workers._attempt_of(Future(StartError("no process")), jobs[0])
    assert attempt_there.__module__ == workers.__name__  # dask finds it by this name

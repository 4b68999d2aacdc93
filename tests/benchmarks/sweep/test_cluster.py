"""Workers of a scheduler that runs elsewhere are used; what fails there becomes an attempt or a message."""

import logging
import os
import signal
import time
from dataclasses import dataclass, field

import distributed
import msgspec
import pytest

import depl
from depl.benchmarks.sweep import cluster
from depl.benchmarks.sweep.cluster import MOST_LOSSES, Cluster
from depl.benchmarks.sweep.crew import Crew
from depl.benchmarks.sweep.process import LoneProcess, StartError
from depl.benchmarks.sweep.worker import attempt_here, require_same_depl, stop_here
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
        silence_logs=logging.CRITICAL,
    ) as started:
        yield started


def test_tasks_go_to_the_workers_of_a_scheduler_that_runs(scheduler, tmp_path, jobs):
    with Crew(1, scheduler.scheduler_address, str(tmp_path)):
        attempts = list(Cluster(1, scheduler.scheduler_address).attempts(jobs))
    assert {attempt.task for attempt in attempts} == {job.task for job in jobs}
    assert {(attempt.ending, attempt.reason) for attempt in attempts} == {("exhausted", None)}


def test_a_scheduler_that_does_not_answer_or_has_no_workers_is_refused(scheduler, monkeypatch, jobs):
    monkeypatch.setattr(cluster, "_CONNECTING", 0.5)
    monkeypatch.setattr(cluster, "_PATIENCE", 0.5)
    with pytest.raises(InvalidInputError, match=r"tcp://127\.0\.0\.1:1: no scheduler answers"):
        list(Cluster(1, "tcp://127.0.0.1:1").attempts(jobs))
    with pytest.raises(InvalidInputError, match="no worker has come"):
        list(Cluster(1, scheduler.scheduler_address).attempts(jobs))
    assert list(Cluster(1, "tcp://127.0.0.1:1").attempts([])) == []


def test_another_version_of_depl_is_refused():
    require_same_depl(depl.__version__)
    with pytest.raises(InvalidInputError, match=f"has version {depl.__version__}, and other is needed"):
        require_same_depl("other")


@dataclass(eq=False)
class Future:
    """What dask would have brought: bytes, or an exception."""

    outcome: object

    def result(self):
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return self.outcome


@dataclass
class Dask:
    """In the place of dask: the first ``losses`` submissions of each task are lost with their worker."""

    losses: int
    error: Exception = field(default_factory=lambda: RuntimeError("its worker was killed"))
    counts: dict = field(default_factory=dict)
    waiting: list = field(default_factory=list)

    def submit(self, function, content, name, key, pure):
        self.counts[content] = self.counts.get(content, 0) + 1
        lost = self.counts[content] <= self.losses
        return Future(self.error if lost else function(content))

    def as_completed(self, futures):
        self.waiting += futures
        return self

    def add(self, future):
        self.waiting.append(future)

    def __iter__(self):
        while self.waiting:
            yield self.waiting.pop(0)


@pytest.mark.parametrize(
    ("losses", "ending"), [(0, "optimal"), (MOST_LOSSES - 1, "optimal"), (MOST_LOSSES, "crashed")]
)
def test_a_task_is_made_again_until_it_has_cost_too_many_workers(monkeypatch, jobs, losses, ending):
    dask = Dask(losses)
    there = Cluster(1)
    monkeypatch.setattr(there, "_distributed", dask)
    monkeypatch.setattr(cluster, "attempt_here", answered_at_once)
    attempts = list(there._gathered(dask, jobs, "sweep", {}))
    assert {attempt.task for attempt in attempts} == {job.task for job in jobs}
    assert [attempt.ending for attempt in attempts] == [ending] * 2
    assert set(dask.counts.values()) == {min(losses + 1, MOST_LOSSES)}
    if ending == "crashed":
        assert attempts[0].reason == f"its worker failed {MOST_LOSSES} times, at last: its worker was killed"


def test_a_sweep_whose_workers_cannot_start_a_process_stops(monkeypatch, jobs):
    dask = Dask(MOST_LOSSES, StartError("no process"))
    there = Cluster(1)
    monkeypatch.setattr(there, "_distributed", dask)
    with pytest.raises(StartError, match="no process"):
        list(there._gathered(dask, jobs, "sweep", {}))


def answered_at_once(content):
    job = msgspec.json.decode(content, type=cluster.Job)
    return msgspec.json.encode(msgspec.structs.replace(job.blank, ending="optimal"))


def test_a_worker_stops_what_it_solves_for_one_sweep_alone(monkeypatch, jobs):
    killed = []
    monkeypatch.setattr(LoneProcess, "kill", lambda self: killed.append(self))
    stop_here("this")
    assert killed == []

    def halfway(job, process):
        stop_here("another")
        assert killed == []
        stop_here("this")
        assert killed == [process]
        return job.blank

    monkeypatch.setattr("depl.benchmarks.sweep.worker.attempt_alone", halfway)
    answer = attempt_here(msgspec.json.encode(jobs[0]), "this")
    assert answer == msgspec.json.encode(jobs[0].blank)


def test_a_crew_replaces_who_dies_and_leaves_nobody_behind(tmp_path):
    """Nobody answers at the address, so that workers wait for it."""
    with Crew(2, "tcp://127.0.0.1:1", str(tmp_path)) as crew:
        first = wait_for(crew, 2)
        os.kill(first[0], signal.SIGKILL)
        second = wait_for(crew, 2, without=first[0])
    for identifier in {*first, *second}:
        with pytest.raises(ProcessLookupError):
            os.kill(identifier, 0)


def wait_for(crew, size, without=None):
    """The numbers of a crew's processes, once there are so many and one of them has gone."""
    deadline = time.monotonic() + 10
    while len(found := crew.identifiers) < size or without in found:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return found

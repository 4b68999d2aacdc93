"""Sweeps are killed in every way, and at the end every task has one attempt and nothing is left running.

It is done to real processes: the one that writes is killed, and tasks abort, leave or hang.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from depl.benchmarks.measure.store import read_attempts, read_file
from tests.cases.sweep_cases import users_file

MOODS = {3: "aborts", 5: "hangs"}
"""What method ``moody`` does at some numbers; whatever ends its process, another one is started."""
TASKS = 6


def test_a_killed_parent_loses_nothing(tmp_path):
    """The parent is killed when half of the tasks are run, and resumed."""
    written = "{" + ", ".join(f"{number}: {mood}" for number, mood in MOODS.items()) + "}"
    source = users_file(tmp_path, count=TASKS, pause=0.1, limit=1.0, period=TASKS, moods=written)
    path = tmp_path / "kept.jsonl"
    asked = ["users", "--methods", "moody", "--grace", "4", "--import", source, "--out", str(path)]
    with running("run", *asked, "--workers", "2") as parent:
        while count(path) < TASKS // 2:
            time.sleep(0.1)
            assert parent.poll() is None, parent.stderr.read()
        everything = descendants(parent.pid)
        os.kill(parent.pid, signal.SIGKILL)
        parent.wait()
    assert_gone(everything)
    kept = read_attempts(path)
    assert TASKS // 2 <= len(kept) < TASKS
    with running("resume", str(path), "--workers", "1", "--json") as parent:
        while parent.poll() is None:
            everything = descendants(parent.pid) or everything
            time.sleep(0.3)
        told, complaints = parent.communicate()
    assert parent.returncode == 0, complaints
    assert complaints.splitlines()[0].startswith(f"{TASKS} of {TASKS} attempts")
    answer = json.loads(told)
    assert (answer["finished"], answer["kept"], answer["made"]) == (TASKS, len(kept), TASKS - len(kept))
    assert_gone(everything)
    attempts = read_attempts(path)
    assert attempts[: len(kept)] == kept
    numbers = [int(attempt.labels["number"]) for attempt in attempts]
    assert sorted(numbers) == list(range(TASKS))
    endings = {number: attempt.ending for number, attempt in zip(numbers, attempts, strict=True)}
    expected = ("exhausted",) * 3 + ("crashed", "exhausted", "hung")
    assert endings == dict(enumerate(expected))
    assert {attempt.cost for attempt in attempts if attempt.ending == "exhausted"} == {28.0}


@pytest.mark.parametrize(
    ("workers", "everywhere"),
    [
        ("1", True),
        pytest.param("2", False, marks=pytest.mark.slow),
    ],
)
def test_ctrl_c_keeps_what_is_finished_and_says_how_to_resume(tmp_path, workers, everywhere):
    """A shell sends it to the command alone, a batch system to all processes of a job, in any order."""
    source, path = users_file(tmp_path, count=50, pause=0.2), tmp_path / "kept.jsonl"
    asked = ["users", "--methods", "answers", "--import", source, "--out", str(path), "--workers", workers]
    with running("run", *asked) as parent:
        while count(path) < 2:
            time.sleep(0.05)
        everything = descendants(parent.pid)
        if everywhere:
            interrupt_solving(everything)
            time.sleep(0.5)  # long enough for an attempt that it ended to be recorded
        parent.send_signal(signal.SIGINT)
        _, complaints = parent.communicate(timeout=30)
    assert parent.returncode == 4
    assert f"go on with: depl bench resume {path}" in complaints
    assert "Traceback" not in complaints
    kept = read_attempts(path)
    assert 2 <= len(kept) < 50
    assert {attempt.ending for attempt in kept} == {"exhausted"}
    assert_gone(everything)
    assert read_file(path)[0] is not None


@contextlib.contextmanager
def running(*words):
    """``depl bench`` in a process of its own, as from a shell; killed at the end of the block."""
    process = subprocess.Popen(
        [sys.executable, "-m", "depl", "bench", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).resolve().parents[3],
        start_new_session=True,
    )
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for pipe in (process.stdout, process.stderr):
            pipe.close()


def interrupt_solving(processes):
    """Send SIGINT to the processes that solve."""
    solving = [item for item in processes if "depl.benchmarks.measure.process" in " ".join(item.cmdline())]
    assert solving
    for process in solving:
        process.send_signal(signal.SIGINT)


def count(path):
    """How many attempts a file holds by now."""
    try:
        return len(read_attempts(path))
    except ValueError:  # not there yet
        return 0


def descendants(ancestor):
    """All processes below one."""
    try:
        return psutil.Process(ancestor).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def assert_gone(processes, patience=15.0):
    """All of these processes end soon."""
    assert processes
    _, left = psutil.wait_procs(processes, patience)
    assert not [process for process in left if process.status() != psutil.STATUS_ZOMBIE]

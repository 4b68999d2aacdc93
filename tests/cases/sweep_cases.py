"""A user's file with methods that behave badly and a suite of tiny tasks; and attempts made by hand."""

import contextlib
import textwrap
from pathlib import Path

import msgspec
import pytest

from depl.benchmarks.measure.attempt import Request
from depl.benchmarks.measure.store import write_attempts
from depl.benchmarks.measure.tasks import jobs_of
from depl.models.solving import methods

USERS_FILE = '''
"""A user's methods and suite."""

import ctypes
import os
import time

import depl
from depl.benchmarks.measure.registry import Configuration, Draw, Study

DRAWS = {count}


def answers(instance, limits):
    """The cheapest plan, after a moment."""
    print("a method may print")
    time.sleep({pause})
    return depl.solve(instance, "enumerate").plan


def hangs(instance, limits):
    """Hardly ever returns, and holds the interpreter while it does not."""
    ctypes.PyDLL(None).sleep(1000)


def aborts(instance, limits):
    """Takes the process down with a signal."""
    os.abort()


def leaves(instance, limits):
    """Takes the process down without a word."""
    os._exit(7)


def raises(instance, limits):
    """Fails."""
    raise RuntimeError("as it was told to")


def exits(instance, limits):
    """Asks the interpreter to end."""
    raise SystemExit(3)


def interrupts(instance, limits):
    """Says that somebody pressed Ctrl-C."""
    raise KeyboardInterrupt


def refuses(instance, limits):
    """Covers nothing."""
    raise depl.NotCoveredError("covers nothing")


def cheats(instance, limits):
    """Says that not to train is the cheapest plan."""
    return depl.Outcome(depl.Termination.OPTIMAL, depl.Plan(), 0.0)


def moody(instance, limits):
    """Answers, mostly."""
    moods = {moods}
    mood = moods.get(int(instance.name.rpartition("-")[2]) % {period}, answers)
    return mood(instance, limits)


METHODS = (moody, answers, hangs, aborts, leaves, raises, exits, interrupts, refuses, cheats)
for method in METHODS:
    depl.register("{prefix}" + method.__name__, method)


def instance(seed):
    return depl.load("tiny").replace(name=f"tiny-{{seed}}")


def build(seed):
    return lambda: instance(seed)


STUDY = Study(
    name="users",
    summary="Tiny tasks of a user.",
    draws=lambda: [Draw(f"tiny-{{seed}}", {{"number": seed}}, build(seed)) for seed in range(DRAWS)],
    configurations=tuple(
        Configuration("{prefix}" + method.__name__, time_limit={limit}, label=method.__name__)
        for method in METHODS
    ),
    measure=lambda draw, instance, result: {{"asked": float(instance.target.maximum_epochs), "none": None}},
)
'''


@contextlib.contextmanager
def own_registry():
    """Methods that are registered inside the block are forgotten after it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(methods, "_REGISTRY", dict(methods._REGISTRY))
        yield


def users_file(folder, *, count=2, pause=0.0, limit=1.0, period=10, moods="{3: aborts, 5: leaves, 7: hangs}"):
    """Write the user's file; its methods are named after the folder, so that every test has its own."""
    prefix = f"{folder.name}-"
    path = folder / "users.py"
    text = USERS_FILE.format(count=count, pause=pause, prefix=prefix, limit=limit, period=period, moods=moods)
    path.write_text(textwrap.dedent(text), encoding="utf-8")
    return str(path)


def users_request(source, configurations, grace=1.0):
    """The user's suite by these of its configurations."""
    return Request(suites=("users",), configurations=configurations, grace=grace, imports=(source,))


def paper_jobs(methods, instances="paper-alexnet-9"):
    """Shipped instances that are solved at once."""
    return jobs_of(Request(suites=("paper",), configurations=methods, instances=instances))


def write_store(path, attempts, request=None):
    """A file of attempts, with what it was made for."""
    write_attempts(Path(path), attempts, request)


def write_suites(attempts, folder):
    """A compressed file for each study, as they are committed."""
    by_suite = {}
    for attempt in attempts:
        by_suite.setdefault(attempt.task.suite, []).append(attempt)
    paths = []
    for suite in sorted(by_suite):
        paths.append(folder / f"{suite}.jsonl.gz")
        write_attempts(paths[-1], by_suite[suite])
    return paths


def blanks(count):
    """Attempts that were never made: of different tasks, crashed."""
    blank = paper_jobs(("exact",))[0].blank
    tasks = [msgspec.structs.replace(blank.task, seed=seed) for seed in range(count)]
    return [
        msgspec.structs.replace(
            blank, task=task, started=f"2026-01-01T00:00:0{task.seed}.000+00:00", total_seconds=0.5
        )
        for task in tasks
    ]

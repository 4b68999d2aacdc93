"""What ``depl bench list``, ``run`` and ``resume`` do; `depl.arguments.bench` declares their options."""

import argparse
import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from depl.benchmarks.measure.attempt import Attempt
from depl.benchmarks.measure.provenance import here
from depl.benchmarks.sweep.imports import suites_with
from depl.benchmarks.sweep.request import Job, Request, jobs_of
from depl.benchmarks.sweep.run import Swept, Workers, sweep
from depl.benchmarks.sweep.store import Store
from depl.benchmarks.sweep.workers import Processes, Scheduler
from depl.commands.answer import Answer, ExitCode
from depl.commands.inputs import require_outputs, sources
from depl.commands.json_text import as_json
from depl.commands.progress import Bar
from depl.commands.table import table
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.wording import counted


def run_list(options: argparse.Namespace) -> Answer:
    """Every suite with how many instances, configurations and tasks it has."""
    suites = list(suites_with(sources(options)).values())
    content = [
        {
            "suite": suite.name,
            "version": suite.version,
            "instances": len(suite.draws()),
            "configurations": [item.label for item in suite.configurations],
            "seeds": list(suite.seeds),
            "summary": suite.summary,
        }
        for suite in suites
    ]
    rows = [
        (
            suite.name,
            str(len(suite.draws())),
            str(len(suite.configurations)),
            str(len(suite.seeds)),
            suite.summary,
        )
        for suite in suites
    ]
    header = ("suite", "instances", "methods", "seeds", "summary")
    return Answer(table(header, rows, right=header[1:4]), json=as_json({"suites": content}))


def run_run(options: argparse.Namespace) -> Answer:
    """Run a sweep into a new file."""
    path = Path(options.out or f"{'+'.join(dict.fromkeys(options.suites))}.sqlite")
    require_outputs([str(path)], options.imports)
    request = Request(
        suites=tuple(dict.fromkeys(options.suites)),
        configurations=tuple(filter(None, (options.methods or "").split(","))),
        instances=options.instances,
        limit=options.limit,
        seconds=options.seconds,
        grace=options.grace,
        imports=sources(options),
        fresh=options.fresh,
    )
    jobs, workers = jobs_of(request), _workers(options)
    with Store(path) as store:
        if store.commits_by_task():
            raise InvalidInputError(f"holds attempts already; 'depl bench resume {path}' goes on", str(path))
        store.begin(request)
        return _swept(options, store, jobs, workers)


def run_resume(options: argparse.Namespace) -> Answer:
    """Run what a file lacks of what it was made for."""
    path = Path(options.file)
    if not os.path.exists(path):
        raise InvalidInputError("there is no such file; 'depl bench run SUITE --out' makes it", str(path))
    workers = _workers(options)
    with Store(path) as store:
        requests = store.requests()
        if not requests:
            raise InvalidInputError("does not say what it was made for; use 'depl bench run'", str(path))
        jobs = [job for request in requests for job in jobs_of(request)]
        return _swept(options, store, jobs, workers)


def _swept(options: argparse.Namespace, store: Store, jobs: Sequence[Job], workers: Workers) -> Answer:
    tasks = {job.task for job in jobs}
    there = sum(task in tasks for task in store.commits_by_task())
    with Bar("sweep", len(tasks), there) as bar:
        done = sweep(store, jobs, workers, here().source, lambda attempt: bar.step(_told(attempt)))
    attempts = [attempt for attempt in store.attempts() if attempt.task in tasks]
    content = _content(store.path, len(tasks), attempts, done)
    code = ExitCode.STOPPED if done.interrupted else ExitCode.ANSWERED
    return Answer(endings_table(attempts), code, as_json(content), _aside(store.path, len(tasks), done))


def endings_table(attempts: Sequence[Attempt]) -> str:
    """How the attempts of every configuration ended, and how long they took."""
    endings = list(dict.fromkeys(attempt.ending for attempt in attempts))
    rows = []
    for suite, configuration in dict.fromkeys((row.task.suite, row.task.configuration) for row in attempts):
        own = [row for row in attempts if (row.task.suite, row.task.configuration) == (suite, configuration)]
        counts = Counter(row.ending for row in own)
        seconds = sum(row.total_seconds for row in own)
        shown = [str(counts[ending] or "") for ending in endings]
        rows.append((suite, configuration, str(len(own)), *shown, f"{seconds:.1f}"))
    header = ("suite", "configuration", "attempts", *endings, "seconds")
    return table(header, rows, right=header[2:])


def _content(path: Path, tasks: int, attempts: Sequence[Attempt], done: Swept) -> dict[str, object]:
    return {
        "file": str(path),
        "tasks": tasks,
        "finished": done.kept + len(done.made),
        "made": len(done.made),
        "kept": done.kept,
        "kept_of_other_commits": done.kept_of_other_commits,
        "interrupted": done.interrupted,
        "endings": dict(Counter(attempt.ending for attempt in attempts)),
    }


def _aside(path: Path, tasks: int, done: Swept) -> str:
    finished = done.kept + len(done.made)
    said = f"{finished} of {counted(tasks, 'attempt')} in {path}, {len(done.made)} made now"
    if done.kept_of_other_commits:
        said += f"; of those kept, {done.kept_of_other_commits} are of another commit than this one"
    if done.interrupted:
        said += f". Stopped; go on with: depl bench resume {path}"
    return said


def _told(attempt: Attempt) -> str:
    return f"{attempt.task.instance} {attempt.task.configuration}: {attempt.ending}"


def _workers(options: argparse.Namespace) -> Workers:
    return Processes(options.workers) if options.scheduler is None else Scheduler(options.scheduler)

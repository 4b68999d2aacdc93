"""``depl bench``: run cases and suites of benchmarks, and look after their records and files."""

import argparse
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from depl.benchmarks.runner.provenance import here
from depl.benchmarks.sweep.attempt import Attempt
from depl.benchmarks.sweep.cluster import Cluster
from depl.benchmarks.sweep.imports import suites_with
from depl.benchmarks.sweep.request import GRACE, Job, Request, jobs_of
from depl.benchmarks.sweep.run import OneWorker, Swept, Workers, sweep
from depl.benchmarks.sweep.store import Store
from depl.benchmarks.sweep.transport import Tls
from depl.commands import bench_behaviour, bench_cases, bench_files, bench_report
from depl.commands.answer import Answer, ExitCode, as_json
from depl.commands.options import (
    add_imports,
    add_json,
    positive_count,
    positive_seconds,
    require_outputs,
    sources,
)
from depl.commands.progress import Bar
from depl.commands.table import table
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.wording import counted


class Action(NamedTuple):
    """A sentence on what it does, and who declares its options."""

    help: str
    add: Callable[[argparse.ArgumentParser], None]


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the actions."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    for name, action in ACTIONS.items():
        action.add(actions.add_parser(name, help=action.help))


def add_list(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``list``."""
    add_imports(parser)
    add_json(parser, "the suites")
    parser.set_defaults(run=run_list)


def add_run(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``run``."""
    parser.add_argument("suites", metavar="SUITE", nargs="+", help="names of 'depl bench list'")
    parser.add_argument(
        "--out", metavar="FILE", help="a new SQLite file for the attempts; default: SUITE.sqlite"
    )
    parser.add_argument(
        "--methods",
        metavar="A,B",
        help="only these configurations or registered methods; default: the suite's",
    )
    parser.add_argument(
        "--instances", metavar="GLOB", default="*", help="only those of such names; default: all"
    )
    parser.add_argument(
        "--limit", metavar="N", type=positive_count, help="only the first N instances of a suite"
    )
    parser.add_argument(
        "--seconds",
        metavar="S",
        type=positive_seconds,
        help="time limit of every method; default: as the suite says",
    )
    parser.add_argument(
        "--grace",
        metavar="S",
        type=positive_seconds,
        default=GRACE,
        help=f"seconds beyond that for the instance and the verification; default: {GRACE:g}",
    )
    parser.add_argument(
        "--fresh",
        action="store_true",
        help="solve everything in a process of its own, whose peak memory is its own",
    )
    add_imports(parser)
    _add_workers(parser)
    add_json(parser, "what was done")
    parser.set_defaults(run=run_run)


def add_resume(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``resume``."""
    parser.add_argument("file", metavar="FILE", help="the file of a sweep that 'depl bench run' began")
    _add_workers(parser)
    add_json(parser, "what was done")
    parser.set_defaults(run=run_resume)


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


def _add_workers(parser: argparse.ArgumentParser) -> None:
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--workers",
        metavar="N",
        type=positive_count,
        default=1,
        help="solve N at a time, by processes that listen on loopback alone; default: 1",
    )
    where.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        help="of a running dask scheduler, whose workers solve: tls://host:8786, or tcp:// on this machine",
    )
    parser.add_argument(
        "--tls-ca", metavar="FILE", help="PEM file of the authority that scheduler and workers are known by"
    )
    parser.add_argument("--tls-cert", metavar="FILE", help="PEM file of the certificate to be known by")
    parser.add_argument(
        "--tls-key", metavar="FILE", help="PEM file of its key; default: it is in the file of --tls-cert"
    )


def _workers(options: argparse.Namespace) -> Workers:
    tls = _tls(options)
    if options.workers == 1 and options.scheduler is None:
        if tls is not None:
            raise InvalidInputError(
                "a single worker talks to nobody; add --workers or --scheduler", "--tls-cert"
            )
        return OneWorker()
    return Cluster(options.workers, options.scheduler, tls)


def _tls(options: argparse.Namespace) -> Tls | None:
    if options.tls_ca is not None and options.tls_cert is not None:
        return Tls(options.tls_ca, options.tls_cert, options.tls_key)
    if options.tls_ca is None and options.tls_cert is None and options.tls_key is None:
        return None
    missing = "--tls-ca" if options.tls_ca is None else "--tls-cert"
    raise InvalidInputError("is needed too: TLS takes an authority and a certificate", missing)


ACTIONS: Mapping[str, Action] = {
    "list": Action("list the suites", add_list),
    "run": Action("run suites into a new file", add_run),
    "resume": Action("run what a file lacks", add_resume),
    "merge": Action("join files into a new one", bench_files.add_merge),
    "export": Action("write the attempts of a file in compact form", bench_files.add_export),
    "recheck": Action("solve a part of recorded attempts again and compare", bench_files.add_recheck),
    "report": Action(bench_report.HELP, bench_report.add),
    "cases": Action(bench_cases.HELP, bench_cases.add),
    "behaviour": Action(bench_behaviour.HELP, bench_behaviour.add),
}
"""All actions of the command; another one is another line."""

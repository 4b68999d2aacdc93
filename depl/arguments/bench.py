"""``depl bench``: run cases and suites of benchmarks, and look after their records and files."""

import argparse
from collections.abc import Callable, Mapping
from typing import NamedTuple

from depl.arguments import bench_behaviour, bench_cases, bench_files, bench_report
from depl.arguments.shared import add_imports, add_json, positive_count, positive_seconds
from depl.benchmarks.sweep.defaults import GRACE


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
    parser.set_defaults(run="depl.commands.bench:run_list")


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
    parser.set_defaults(run="depl.commands.bench:run_run")


def add_resume(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``resume``."""
    parser.add_argument("file", metavar="FILE", help="the file of a sweep that 'depl bench run' began")
    _add_workers(parser)
    add_json(parser, "what was done")
    parser.set_defaults(run="depl.commands.bench:run_resume")


def _add_workers(parser: argparse.ArgumentParser) -> None:
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--workers",
        metavar="N",
        type=positive_count,
        default=1,
        help="solve N at a time, each in a process of its own; default: 1",
    )
    where.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        help="of a running dask scheduler, whose workers solve: tls://host:8786, with certificates as dask's "
        "configuration names them",
    )


ACTIONS: Mapping[str, Action] = {
    "list": Action("list the suites", add_list),
    "run": Action("run suites into a new file", add_run),
    "resume": Action("run what a file lacks", add_resume),
    "export": Action("write the attempts of a file in compact form", bench_files.add_export),
    "recheck": Action("solve a part of recorded attempts again and compare", bench_files.add_recheck),
    "report": Action(bench_report.HELP, bench_report.add),
    "cases": Action(bench_cases.HELP, bench_cases.add),
    "behaviour": Action(bench_behaviour.HELP, bench_behaviour.add),
}
"""All actions of the command; another one is another line."""

"""Run the benchmarks: ``python -m depl.benchmarks list | run [NAME...] | table``.

Exit codes: 0 answered, whether or not the goals were met (the table tells), and 2 for a usage that is wrong.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from depl.benchmarks.runner.registry import Case, all_cases, select
from depl.benchmarks.runner.results import (
    RESULTS,
    Record,
    measure,
    number,
    read_all,
    table,
    write,
    write_table,
)
from depl.models.foundation.errors import DeplError


def main(arguments: Sequence[str] | None = None, folder: Path = RESULTS) -> int:
    """Answer one command line.

    Parameters
    ----------
    arguments : sequence of str, optional
        The words after the program's name; those of the process by default.
    folder : Path
        Where records are kept.

    Returns
    -------
    int
        The exit code.
    """
    options = _parser().parse_args(arguments)
    try:
        if options.command == "table":
            print(table(read_all(options.out or folder)), end="")
        elif options.command == "list":
            _list(all_cases())
        else:
            _run(select(options.names, all_cases()), options.smoke, options.out or folder)
    except DeplError as error:
        print(f"depl.benchmarks: {error}", file=sys.stderr)
        return error.exit_code
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m depl.benchmarks", description="Measure depl.")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="name every case and its goals")
    run = commands.add_parser("run", help="run cases and write their records")
    run.add_argument("names", nargs="*", metavar="NAME", help="cases to run; all of them by default")
    run.add_argument("--smoke", action="store_true", help="run as small as possible and write nothing")
    show = commands.add_parser("table", help="render the records as a Markdown table")
    for command in (run, show):
        command.add_argument("--out", type=Path, metavar="DIR", help="folder of the records")
    return parser


def _list(cases: dict[str, Case]) -> None:
    for case in cases.values():
        print(f"{case.name}: {case.summary}")
        for goal in case.goals:
            print(f"  {goal.name} {goal.comparison} {number(goal.threshold)}: {goal.sentence}")


def _run(cases: Sequence[Case], smoke: bool, folder: Path) -> None:
    for case in cases:
        print(f"{case.name}: {case.summary}", flush=True)
        record = measure(case, smoke=smoke)
        _report(record)
        if not smoke:
            print(f"  written to {write(record, folder).name}")
            write_table(folder)


def _report(record: Record) -> None:
    for goal in record.goals:
        asked = f"goal {goal.comparison} {number(goal.threshold)}"
        print(f"  {goal.name} = {number(goal.measured)}, {asked}: {'met' if goal.met else 'NOT MET'}")
    print(f"  {record.wall_seconds:.2f} s, {record.cpu_seconds:.2f} s CPU")


if __name__ == "__main__":
    sys.exit(main())

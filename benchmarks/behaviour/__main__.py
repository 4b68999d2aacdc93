"""Record what every method answers, or compare: ``python -m depl.benchmarks.behaviour record|compare FILE``.

``compare OLD`` asks again what OLD holds, ``compare OLD NEW`` compares two files. Exit codes: 0 recorded, or
no difference; 1 differences, which are printed; 2 for a file or a usage that is wrong.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

import msgspec

from depl.benchmarks.behaviour.comparing import differences
from depl.benchmarks.behaviour.problems import problems
from depl.benchmarks.behaviour.record import Answer, Record, read, write
from depl.benchmarks.behaviour.recording import recorded
from depl.models.foundation.errors import DeplError, InvalidInputError


def main(arguments: Sequence[str] | None = None) -> int:
    """Answer one command line; returns the exit code."""
    options = _parser().parse_args(arguments)
    try:
        if options.command == "record":
            write(_asked(options.problems, options.settings), options.file)
            return 0
        return _compare(options)
    except DeplError as error:
        sys.stderr.write(f"depl.benchmarks.behaviour: {error}\n")
        return error.exit_code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m depl.benchmarks.behaviour", description="What every method answers, then and now."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    record = commands.add_parser("record", help="ask all questions, and write the answers to FILE")
    record.add_argument("file", type=Path, metavar="FILE")
    compare = commands.add_parser("compare", help="print what differs from the answers in FILE")
    compare.add_argument("file", type=Path, metavar="FILE")
    compare.add_argument("new", type=Path, nargs="?", metavar="NEW", help="another record, instead of asking")
    for command in (record, compare):
        command.add_argument("--problems", default="*", metavar="PATTERN", help="these alone, as 'small-*'")
        command.add_argument("--settings", default="*", metavar="PATTERN", help="these alone, as 'depl*'")
    return parser


def _asked(problem_pattern: str, setting_pattern: str) -> Record:
    """The answers to the questions that both patterns match."""

    def wanted(problem: str, setting: str) -> bool:
        return fnmatchcase(problem, problem_pattern) and fnmatchcase(setting, setting_pattern)

    record = recorded(problems(), wanted, _tell)
    if not record.answers:
        raise InvalidInputError(f"no question matches {problem_pattern!r} and {setting_pattern!r}")
    return record


def _compare(options: argparse.Namespace) -> int:
    old = _restricted(read(options.file), options.problems, options.settings)
    if options.new is None:
        new = _asked(options.problems, options.settings)
    else:
        new = _restricted(read(options.new), options.problems, options.settings)
    found = list(differences(old, new))
    for item in found:
        sys.stdout.write(f"{item}\n")
    count = sum(len(row) for row in old.answers.values())
    sys.stdout.write(f"{count} answers, {len(found)} differences\n")
    return 1 if found else 0


def _restricted(record: Record, problem_pattern: str, setting_pattern: str) -> Record:
    """The part of a record that both patterns match."""

    def rows() -> Iterator[tuple[str, dict[str, Answer]]]:
        for problem, answers in record.answers.items():
            kept = {name: item for name, item in answers.items() if fnmatchcase(name, setting_pattern)}
            if kept and fnmatchcase(problem, problem_pattern):
                yield problem, kept

    return msgspec.structs.replace(record, answers=dict(rows()))


def _tell(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main())

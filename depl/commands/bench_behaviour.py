"""What ``depl bench behaviour`` does; `depl.arguments.bench_behaviour` declares its options."""

import argparse
from collections.abc import Iterator
from fnmatch import fnmatchcase

import msgspec

from depl.benchmarks.behaviour.record import Answer as Recorded
from depl.benchmarks.behaviour.record import Record, read, updated, write
from depl.commands.answer import Answer, ExitCode
from depl.commands.json_text import as_json
from depl.commands.progress import Bar
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.wording import counted


def run_record(options: argparse.Namespace) -> Answer:
    """Ask, and keep the answers."""
    older = read(options.file) if options.update else None
    record = _asked(options)
    content = {"file": str(options.file), "problems": len(record.answers), "answers": _size(record)}
    told = f"{counted(_size(record), 'answer')} on {counted(len(record.answers), 'problem')}"
    write(record if older is None else updated(older, record), options.file)
    return Answer(f"{told} in {options.file}", json=as_json(content))


def run_compare(options: argparse.Namespace) -> Answer:
    """Every difference; exit code 3 if there is one."""
    from depl.benchmarks.behaviour.comparing import differences

    old = _restricted(read(options.file), options)
    new = _asked(options) if options.new is None else _restricted(read(options.new), options)
    found = list(differences(old, new))
    told = f"{counted(_size(old), 'answer')}, {counted(len(found), 'difference')}"
    content = {"answers": _size(old), "differences": [item._asdict() for item in found]}
    code = ExitCode.INFEASIBLE if found else ExitCode.ANSWERED
    return Answer("\n".join([*map(str, found), told]), code, as_json(content))


def _asked(options: argparse.Namespace) -> Record:
    """The answers to the questions that both patterns match."""
    # What is asked is drawn from many rooms, and no other command should wait for them.
    from depl.benchmarks.behaviour.problems import problems
    from depl.benchmarks.behaviour.recording import recorded

    def wanted(problem: str, setting: str) -> bool:
        return fnmatchcase(problem, options.problems) and fnmatchcase(setting, options.settings)

    asked = [problem for problem in problems() if fnmatchcase(problem.name, options.problems)]
    patterns = [
        f" --{name} {value!r}"
        for name, value in (("problems", options.problems), ("settings", options.settings))
        if value != "*"
    ]
    with Bar("behaviour", len(asked)) as bar:
        record = recorded(asked, wanted, bar.step, f"depl bench behaviour record FILE{''.join(patterns)}")
    if not record.answers:
        raise InvalidInputError(f"no question matches {options.problems!r} and {options.settings!r}")
    return record


def _restricted(record: Record, options: argparse.Namespace) -> Record:
    """The part of a record that both patterns match."""

    def rows() -> Iterator[tuple[str, dict[str, Recorded]]]:
        for problem, answers in record.answers.items():
            kept = {name: item for name, item in answers.items() if fnmatchcase(name, options.settings)}
            if kept and fnmatchcase(problem, options.problems):
                yield problem, kept

    return msgspec.structs.replace(record, answers=dict(rows()))


def _size(record: Record) -> int:
    return sum(len(row) for row in record.answers.values())

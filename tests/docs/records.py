"""The tables of the page on the protocol, ``docs/records.txt``: which records exist, and what repeats each.

``python -m tests.docs.records`` makes them again from the committed records and attempts, where the figures
themselves are; a test fails where the file is not what they make. The table of goals is another one,
``benchmarks/results/README.md``, which every run of a case writes.
"""

import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from depl.benchmarks.measure.attempt import Attempt
from depl.benchmarks.measure.provenance import Provenance
from depl.benchmarks.measure.results import COMMAND, Record, number, read_all
from depl.benchmarks.measure.store import RECORDED, files_of, read_attempts
from depl.models.foundation.documents import write_text

PAGE = Path(__file__).resolve().parents[2] / "docs" / "records.txt"
LETTERS = 8
"""Of a commit that are shown; all are in the record."""


def records_text() -> str:
    """Everything that the page includes."""
    cases = read_all()
    suites = [read_attempts(file) for file in files_of(RECORDED)]
    kept = read_attempts("behaviour")
    parts = [
        "Made by ``python -m tests.docs.records``; commit, versions and machine are whole in each record.",
        table("Records of cases", CASE_COLUMNS, map(case_row, cases)),
        table("Attempts of suites", SUITE_COLUMNS, map(suite_row, suites)),
        f"The study ``behaviour`` has {len(kept)} answers, of {every(row.started[:10] for row in kept)}, "
        f"{every(map(short, kept))}, {kept[0].machine_words}: {len({row.task.instance for row in kept})} "
        f"problems, {kept[0].settings['looks']} looks at the clock at most.",
        "\n".join(software([*cases, *(attempt for suite in suites for attempt in suite), *kept])),
    ]
    return "\n\n".join(parts) + "\n"


def every(words: Iterable[str]) -> str:
    """Each of them once."""
    return ", ".join(sorted(set(words)))


CASE_COLUMNS = ("repeated by", "date", "commit", "seed", "CPU s", "goals met", "machine")


def case_row(record: Record) -> tuple[str, ...]:
    """One record of a case; its command is that of today, also where the record names the older spelling."""
    again = "" if record.earlier is None else f" --seed {record.seed}"
    met = sum(goal.met for goal in record.goals)
    parts = record.former or (record,)
    days = sorted({part.date for part in parts})
    return (
        f"``{COMMAND} {record.case}{again}``",
        days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}",
        ", ".join(sorted({short(part) for part in parts})),
        "of its own" if record.earlier is None else "drawn anew",
        f"{record.cpu_seconds:.0f}",
        f"{met} of {len(record.goals)}",
        "; ".join(sorted({part.machine_words for part in parts})),
    )


SUITE_COLUMNS = ("repeated by", "dates", "commits", "attempts", "limit [s]", "machines")


def suite_row(attempts: Sequence[Attempt]) -> tuple[str, ...]:
    """One file of attempts."""
    suite = attempts[0].task.suite
    days = sorted({attempt.started[:10] for attempt in attempts})
    limits = sorted({attempt.settings["time_limit"] for attempt in attempts})
    return (
        f"``depl bench run {suite}``",
        days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}",
        ", ".join(sorted({short(attempt) for attempt in attempts})),
        str(len(attempts)),
        ", ".join(map(number, limits)),
        "; ".join(sorted({attempt.machine_words for attempt in attempts})),
    )


def software(records: Iterable[Provenance]) -> Iterator[str]:
    """A line on each combination of Python and libraries, and on each system."""
    records = list(records)
    for python, versions in sorted({(item.python, told(item)) for item in records}):
        yield f"- {python} with {versions}"
    systems = sorted({item.machine.system for item in records if item.machine is not None})
    yield f"- on {'; '.join(systems)}"


def told(record: Provenance) -> str:
    """The libraries of a record with their versions; depl itself is told by the commit."""
    return ", ".join(f"{name} {text}" for name, text in sorted(record.versions.items()) if name != "depl")


def short(record: Provenance) -> str:
    """The beginning of a commit, with a ``+`` where the code differed from it."""
    commit = record.commit
    return "unknown" if commit is None else commit.id[:LETTERS] + ("+" if commit.dirty else "")


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A list-table of the pages."""
    lines = [f".. list-table:: {title}", "   :header-rows: 1", ""]
    for row in (columns, *rows):
        lines += [f"   {'* -' if column == 0 else '  -'} {cell}" for column, cell in enumerate(row)]
    return "\n".join(lines)


if __name__ == "__main__":
    write_text(PAGE, records_text())
    sys.stdout.write(f"{PAGE.name} written\n")

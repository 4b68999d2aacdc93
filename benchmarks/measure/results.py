"""Records of benchmark runs: measured, written whole or not at all, read back, and shown as a table.

The committed records lie beside this file in ``results/``, one for each case; the figures that the README
quotes are made from them and from nothing else.
"""

import re
import secrets
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from depl.benchmarks.measure.attempt import Attempt, Job
from depl.benchmarks.measure.catalogue import all_studies
from depl.benchmarks.measure.outcome import cpu_seconds
from depl.benchmarks.measure.provenance import Provenance, here, now, place_of
from depl.benchmarks.measure.registry import Goal, Study, as_number, plain
from depl.benchmarks.measure.store import COMPRESSED, latest, write_attempts
from depl.benchmarks.measure.store import RESULTS as RESULTS
from depl.models.foundation.documents import decode, read_bytes, write_bytes, write_text
from depl.models.foundation.errors import InvalidInputError

_COLUMNS = ("Benchmark", "What is promised", "Goal", "Measured", "Met")

COMMAND = "depl bench run"
"""What runs a study; records from before say ``depl bench cases run``, or ``python -m depl.benchmarks run``,
which is the same."""

_HEADING = f"""\
# Measured

Written by `{COMMAND}`, from the records in this folder. Times were taken on machines
that did other work, too."""


class MeasuredGoal(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A goal beside what was measured; ``measured`` is None where no finite number came out."""

    name: str
    sentence: str
    comparison: str
    threshold: float
    measured: float | None
    met: bool


class Earlier(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What an earlier recording measured of the goals of a study that draws anew; none is left out."""

    seed: int
    date: str
    commit: str | None
    measured: dict[str, float | None]


class Former(Provenance, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where and how a record was made; of a joined record, each of those that it consists of."""

    case: str
    command: str
    seed: int
    date: str
    wall_seconds: float
    cpu_seconds: float


class Record(Former, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One run of one study, with all that is needed to repeat it and to judge it.

    ``earlier`` lists the recordings before it, oldest first, of a study that draws anew; None for others.
    ``former`` lists the records that it was joined of, nothing measured anew, when studies became one; its
    own provenance is then that of the newest of them, and its times are their sums.
    """

    summary: str
    smoke: bool
    goals: tuple[MeasuredGoal, ...]
    values: dict[str, Any]
    earlier: tuple[Earlier, ...] | None = None
    former: tuple[Former, ...] | None = None


def measure(case: Study, smoke: bool = False, seed: int | None = None) -> Record:
    """Run a study in this process and record what it shows.

    A smoke run is as small as the study can, to see that it works. ``seed`` is that of the recording to
    repeat, of a study that draws anew. Infinite values and NaN among the measured ones are None.

    Raises
    ------
    InvalidInputError
        If the study does not return the figure of one of its goals, or something JSON cannot hold, or a seed
        is given for a study that has its own.
    """
    used = seed_of(case, seed, smoke)
    place = here()  # before the run, which may take long enough for the tree to change
    cpu, wall = cpu_seconds(), time.perf_counter()
    measured = case.values(np.random.default_rng(used), smoke)
    return _record(case, measured, used, place, (time.perf_counter() - wall, cpu_seconds() - cpu), smoke)


def record_of(case: Study, attempts: Sequence[Attempt], seed: int) -> Record:
    """The record of a study whose tasks have all been run, by the attempts in the order of the tasks.

    Its seconds are the sums of theirs, and its commit is theirs.

    Raises
    ------
    InvalidInputError
        If attempts are of different commits.
    """
    if case.figures is None:
        raise InvalidInputError(f"study {case.name!r} makes no figures of attempts")
    if len({row.source for row in attempts}) > 1:
        raise InvalidInputError(f"attempts of {case.name!r} are of different commits; begin another file")
    told = ("ending", "reason", "peak_gibibytes")
    rows = [{**{name: getattr(row, name) for name in told}, **row.labels, **row.answer} for row in attempts]
    seconds = sum(row.total_seconds for row in attempts), sum(row.cpu_seconds or 0.0 for row in attempts)
    return _record(case, case.figures(rows), seed, attempts[0] if attempts else here(), seconds)


def write(record: Record, folder: Path = RESULTS) -> Path:
    """Write a record to ``folder/STUDY.json``, replacing an older one only by a finished file.

    That of a study that draws anew goes on listing what the replaced one and those before it measured.
    """
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / f"{record.case}.json"
    if record.earlier is not None and target.exists():
        old = read(target)
        measured = {goal.name: goal.measured for goal in old.goals}
        commit = None if old.commit is None else old.commit.id
        last = Earlier(old.seed, old.date, commit, measured)
        record = msgspec.structs.replace(record, earlier=(*(old.earlier or ()), last))
    write_bytes(target, msgspec.json.format(msgspec.json.encode(record), indent=2) + b"\n")
    return target


def write_recorded(case: Study, attempts: Iterable[Attempt], jobs: Sequence[Job], path: Path) -> Record:
    """Write the record of a study beside the file of its attempts, which is compressed then."""
    known, request = {row.task: row for row in latest(attempts)}, jobs[0].request
    rows = [known[job.task] for job in jobs]
    record = record_of(case, rows, request.draw or 0)
    write_attempts(path.parent / f"{case.name}{COMPRESSED}", rows, request)
    write(record, path.parent)
    write_table(path.parent)
    path.unlink()
    return record


def write_table(folder: Path = RESULTS) -> Path:
    """Write the table of all records of a folder beside them, as ``README.md``."""
    target = folder / "README.md"
    write_text(target, f"{_HEADING}\n\n{table(read_all(folder))}")
    return target


def read(path: Path) -> Record:
    """Read a record."""
    try:
        return decode(read_bytes(path), Record)
    except InvalidInputError as error:
        message = f"{path.name} is not a benchmark record ({error}); run the study again"
        raise InvalidInputError(message) from error


def read_all(folder: Path = RESULTS) -> list[Record]:
    """Read the records of a folder, in the order of their names; none if there is no such folder."""
    return [read(path) for path in sorted(folder.glob("[!.]*.json"))]


def table(records: Iterable[Record]) -> str:
    """Render records as a Markdown table, a row for each goal, and the runs that they come from below it.

    A goal that a study still has, with the same threshold, is told in the words that the study has now.
    """
    now = {
        (name, goal.name, goal.comparison, float(goal.threshold)): goal.sentence
        for name, study in all_studies().items()
        for goal in study.goals
    }
    records = list(records)
    rows = ["| " + " | ".join(_COLUMNS) + " |", "| --- | --- | ---: | ---: | --- |"]
    for record in records:
        for goal in record.goals:
            key = record.case, goal.name, goal.comparison, goal.threshold
            asked = f"{goal.comparison} {number(goal.threshold)}"
            met = "yes" if goal.met else "**no**"
            cells = (record.case, now.get(key, goal.sentence), asked, number(goal.measured))
            # The sign < before a letter opens a tag in Markdown, and | ends a cell.
            safe = [re.sub(r"<(?=[A-Za-z/!?])", "&lt;", cell.replace("|", "\\|")) for cell in cells]
            rows.append("| " + " | ".join([*safe, met]) + " |")
    return "\n".join([*rows, "", *map(_provenance, records)]).rstrip() + "\n"


def number(value: float | None) -> str:
    """Format a figure for people: four significant digits, and a dash where there is none."""
    return "–" if value is None else f"{value:.4g}"


def seed_of(case: Study, given: int | None = None, smoke: bool = False) -> int:
    """What a study draws by: its own seed, for which none may be given, or one that is drawn here."""
    if case.seed is None:
        return given if given is not None else 0 if smoke else secrets.randbits(32)
    if given is not None:
        raise InvalidInputError(f"benchmark {case.name!r} always takes the seed {case.seed}; leave it out")
    return case.seed


def _record(
    case: Study,
    measured: Mapping[str, object],
    seed: int,
    place: Provenance,
    seconds: tuple[float, float],
    smoke: bool = False,
) -> Record:
    again = "" if case.seed is not None or smoke else f" --seed {seed}"
    return Record(
        case=case.name,
        summary=case.summary,
        command=f"{COMMAND} {case.name}" + (" --smoke" if smoke else again),
        smoke=smoke,
        seed=seed,
        date=now()[:10],
        wall_seconds=round(seconds[0], 6),
        cpu_seconds=round(seconds[1], 6),
        goals=tuple(_judged(case, goal, measured) for goal in case.goals),
        values=plain(case.name, measured),
        earlier=() if case.seed is None else None,
        **place_of(place),
    )


def _judged(case: Study, goal: Goal, measured: Mapping[str, object]) -> MeasuredGoal:
    if goal.name not in measured:
        raise InvalidInputError(
            f"benchmark {case.name!r} returned no value for its goal {goal.name!r}, "
            f"only {', '.join(measured) or 'nothing'}; return it or drop the goal"
        )
    value = as_number(measured[goal.name])
    return MeasuredGoal(
        **goal._replace(threshold=float(goal.threshold))._asdict(),
        measured=value if value is not None and np.isfinite(value) else None,
        met=goal.met_by(measured[goal.name]),
    )


def _provenance(record: Record) -> str:
    run = f"- {record.case}{' (smoke run)' if record.smoke else ''}: {_made(record)}"
    lines = [run, *(f"  - of {part.case}: {_made(part)}" for part in record.former or ())]
    for old in record.earlier or ():
        measured = ", ".join(f"{name} {number(value)}" for name, value in old.measured.items())
        commit = "" if old.commit is None else f", commit {old.commit[:10]}"
        lines.append(f"  - before: {old.date}{commit}, seed {old.seed}: {measured}")
    return "\n".join(lines)


def _made(record: Former) -> str:
    return (
        f"{record.date}, {record.source_words}, "
        f"{record.wall_seconds:.1f} s ({record.cpu_seconds:.1f} s CPU), seed {record.seed}, "
        f"{record.python}, {record.machine_words}. `{record.command}`"
    )

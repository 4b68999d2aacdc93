"""Where the numbers come from: suites, commits, machines, dates, commands, endings, assumed values."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from depl.benchmarks.analysis.table import Cell, Table, table_of
from depl.benchmarks.measure.attempt import Attempt
from depl.benchmarks.measure.provenance import Provenance
from depl.benchmarks.measure.results import Record
from depl.benchmarks.report.evidence import Evidence
from depl.benchmarks.suites.catalogue import all_suites
from depl.instances.library import describe, load

ENDINGS = (
    "optimal",
    "gap_reached",
    "infeasible",
    "time_limit",
    "exhausted",
    "stuck",
    "interrupted",
    "refused",
    "rejected",
    "error",
    "failed",
    "hung",
    "crashed",
)
"""Every ending that an attempt can have, in the order of the table; others follow."""


def suites_table(evidence: Evidence) -> Table:
    """A line for each suite: what it asks, its version, size, dates, processor time, and how to run it."""
    known = all_suites()
    rows: list[dict[str, Cell]] = []
    for name in evidence.suites():
        own = evidence.suite(name)
        dates = sorted(attempt.started[:10] for attempt in own)
        rows.append(
            {
                "suite": name,
                "asks": known[name].summary
                if name in known
                else "not known here: a suite of your own, or an older one",
                "version": own[0].task.version,
                "instances": len({attempt.task.instance for attempt in own}),
                "configurations": len({attempt.task.configuration for attempt in own}),
                "attempts": len(own),
                "from": dates[0],
                "to": dates[-1],
                "total minutes": sum(attempt.total_seconds for attempt in own) / 60,
                "command": f"depl bench run {name}",
            }
        )
    return table_of(rows, ("suite", "asks", "version", "instances", "configurations", "attempts"))


def endings_table(evidence: Evidence) -> Table:
    """How many attempts of each configuration ended how; every attempt is counted once."""
    present = Counter(attempt.ending for attempt in evidence.attempts)
    columns = [ending for ending in ENDINGS if present[ending]] + sorted(set(present) - set(ENDINGS))
    rows: list[tuple[Cell, ...]] = []
    for suite in evidence.suites():
        own = evidence.suite(suite)
        for name in dict.fromkeys(attempt.task.configuration for attempt in own):
            ended = Counter(attempt.ending for attempt in own if attempt.task.configuration == name)
            rows.append((suite, name, ended.total(), *(ended[ending] for ending in columns)))
    return Table(("suite", "configuration", "attempts", *columns), tuple(rows))


def sources_table(evidence: Evidence) -> Table:
    """Commits, machines and versions, each with the number of attempts made there."""
    rows: list[tuple[str, str, int]] = []
    for kind, text in _SOURCES.items():
        counted = Counter(text(attempt) for attempt in evidence.attempts)
        rows += [(kind, name, number) for name, number in sorted(counted.items())]
    return Table(("what", "which", "attempts"), tuple(rows))


def settings_table(evidence: Evidence) -> Table:
    """How each configuration of each suite was run."""
    seen: dict[tuple[str, str], Attempt] = {}
    for attempt in evidence.attempts:
        seen.setdefault((attempt.task.suite, attempt.task.configuration), attempt)
    rows = [
        (
            *key,
            attempt.method,
            attempt.meaning,
            attempt.settings.get("time_limit"),
            attempt.settings.get("gap"),
            attempt.settings.get("scenarios"),
            ", ".join(f"{name} = {value}" for name, value in attempt.settings.get("options", {}).items()),
        )
        for key, attempt in seen.items()
    ]
    columns = ("suite", "configuration", "method", "meaning", "time limit [s]", "gap", "scenarios", "options")
    return Table(columns, tuple(rows))


def assumed_table() -> Table:
    """The values of the paper's instances that the paper does not print, as the instances flag them."""
    places: dict[tuple[str, str], list[str]] = {}
    for entry in describe():
        if entry.name.startswith("paper-"):
            for row in load(entry.name, entry.targets[0]).provenance:
                if row.source == "assumed":
                    places.setdefault((row.path, row.note), []).append(entry.name)
    rows = [(path, ", ".join(names), note) for (path, note), names in places.items()]
    return Table(("value", "instances", "assumption"), tuple(rows))


def records_table(records: Iterable[Record]) -> Table:
    """Goals of the cases, what was measured, and whether they are met."""
    rows = [
        (
            record.case,
            goal.name,
            goal.sentence,
            f"{goal.comparison} {goal.threshold:.4g}",
            goal.measured,
            goal.met,
        )
        for record in records
        for goal in record.goals
    ]
    return Table(("case", "figure", "meaning", "goal", "measured", "met"), tuple(rows))


def runs_table(records: Iterable[Record]) -> Table:
    """Where the records of cases come from."""
    rows = [
        (record.case, record.date, _commit(record), record.seed, record.cpu_seconds, record.command)
        for record in records
    ]
    return Table(("case", "date", "commit", "seed", "processor seconds", "command"), tuple(rows))


def dirty(attempts: Sequence[Attempt]) -> int:
    """How many attempts were made by code with changes that no commit has."""
    return sum(attempt.commit is not None and attempt.commit.dirty for attempt in attempts)


def _commit(record: Provenance) -> str:
    return record.source_words.removeprefix("commit ")


def _machine(record: Provenance) -> str:
    return record.machine_words + ("" if record.machine is None else f", {record.machine.system}")


_SOURCES: dict[str, Callable[[Attempt], str]] = {
    "commit": _commit,
    "machine": _machine,
    "Python": lambda attempt: attempt.python,
    "libraries": lambda attempt: ", ".join(f"{name} {number}" for name, number in attempt.versions.items()),
}

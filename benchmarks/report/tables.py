"""The tables of the report, each under the name of its CSV file, and where the numbers come from."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from depl.benchmarks.analysis.growth import growth_table, growths
from depl.benchmarks.analysis.limits import broken_table, judged, limits_table
from depl.benchmarks.analysis.ratio_table import ratio_table, reference_table, tally
from depl.benchmarks.analysis.reference import pd
from depl.benchmarks.analysis.table import Table, cell
from depl.benchmarks.measure.attempt import Attempt
from depl.benchmarks.measure.catalogue import all_suites
from depl.benchmarks.report.evidence import RANDOM, SHIPPED, Evidence
from depl.benchmarks.report.predicates import SIZES
from depl.benchmarks.report.verdicts import Verdict
from depl.models.solving.methods import Meaning

_WITHOUT_PLAN = ("missed", "timed_out", "rejected", "failed", "hung", "crashed")
"""Fates of attempts that end without a plan on an instance that may have one."""
_SAME = 1e-9
"""What is within this of the exact stage loses nothing."""


class Shown(NamedTuple):
    """A table of the report with its caption."""

    caption: str
    table: Table


def report_tables(evidence: Evidence, verdicts: Sequence[Verdict]) -> dict[str, Shown]:
    """All tables of the report but those of the reader's own methods; all but the headline have rows."""
    kept = judged(evidence.attempts)
    sizes = growths(evidence.attempts, SIZES)
    steps = printed_steps_table(evidence.attempts)
    found = {
        "headline": Shown("Mean cost of verified plans over the proved optimum", headline_table(evidence)),
        "claims": Shown("The claims of the paper, and what the results say", claims_table(verdicts)),
        "readings": Shown("Every reading that is measured", readings_table(verdicts)),
        "ratios": Shown("Cost over the proved optimum, and fates", ratio_table(evidence.attempts)),
        "references": Shown("What is known of every instance", reference_table(evidence.attempts)),
        "printed-steps": Shown("What the printed steps lose: data over the least K̂T̂, placements", steps),
        "growth": Shown("Exponents of time against size, beside Property 2", growth_table(sizes)),
        "limits": Shown("Attempts that kept their limit of time", limits_table(kept)),
        "limits-broken": Shown("Attempts that broke it", broken_table(kept)),
        "goals": Shown("Goals of the studies, set before they were run", goals_table(evidence)),
        "suites": Shown("Suites, and the command that runs each again", suites_table(evidence)),
        "settings": Shown("How the methods were run", settings_table(evidence)),
        "sources": Shown("Commits, machines and versions", sources_table(evidence)),
    }
    return {name: shown for name, shown in found.items() if shown.table.rows or name == "headline"}


def headline_table(evidence: Evidence) -> Table:
    """A line for each method, a column for each family of the paper and for the random instances.

    Without these two suites there is a column for each suite. Means of cost over proved optimum; the largest
    ratio anywhere; how many plans were compared; attempts without a plan, and refused ones. Only methods that
    mean the law.
    """
    rows, suites = evidence.trials, evidence.suites()
    chosen = [name for name in (SHIPPED, RANDOM) if name in suites] or suites
    rows = rows[rows["suite"].isin(chosen) & (rows["meaning"] == Meaning.LAW.value)]
    families = rows["labels"].map(lambda own: own.get("family", SHIPPED))
    rows = rows.assign(group=families.where(rows["suite"] == SHIPPED, rows["suite"]))
    groups, told = list(rows["group"].unique()), []
    for method, own in rows.groupby("configuration", sort=False):
        every, means = tally(own), own.groupby("group")["ratio"].mean()
        without = sum(int(every[name] or 0) for name in _WITHOUT_PLAN)
        row = (method, *(cell(means.get(group)) for group in groups))
        told.append((*row, every["largest"], every["compared"], without, every["refused"]))
    return Table(("method", *groups, "largest", "compared", "no plan", "not covered"), tuple(told))


def claims_table(verdicts: Sequence[Verdict]) -> Table:
    """A row for every claim: the verdict of its main reading, how many others agree, the figure, and why."""
    columns = ("number", "claim", "verdict", "other readings", "figure", "main reading")
    rows = [
        (item.number, item.claim.key, item.ruling.value, item.agreement, item.figure) for item in verdicts
    ]
    reasons = [item.claim.main.statement for item in verdicts]
    return Table(columns, tuple((*row, why) for row, why in zip(rows, reasons, strict=True)))


def readings_table(verdicts: Sequence[Verdict]) -> Table:
    """A row for every reading that was measured: what is printed, the verdict, and the numbers behind it."""
    rows = [
        (item.claim.text, item.claim.where, item.words, reading.statement, *found[:3])
        for item in verdicts
        for reading, found in item.found
        if found.cases
    ]
    return Table(("printed", "where", "here", "reading", "shown", "cases", "measured"), tuple(rows))


def printed_steps_table(attempts: Iterable[Attempt]) -> Table:
    """What the printed steps of ``depl-paper`` lose, from the measures of its attempts.

    ``data_*`` is K^ T^ of the first set over the least, ``placement_*`` the cost of plans over that of the
    cheapest placement of their models and data; ``*_missed`` counts what is above 1, ``placements_late`` the
    paths given up in stage 3.
    """
    names = ("data_over_best", "placement_over_best", "placements_late")
    rows = [
        (item.task.suite, item.task.configuration, *map(item.measures.get, names))
        for item in attempts
        if names[0] in item.measures
    ]
    frame = pd.DataFrame(rows, columns=["suite", "configuration", *names]).astype(dict.fromkeys(names, float))
    kinds = {
        "compared": "count",
        "mean": "mean",
        "largest": "max",
        "missed": lambda own: (own > 1 + _SAME).sum(),
    }
    told = {
        **{f"data_{kind}": (names[0], how) for kind, how in kinds.items()},
        **{f"placement{'s' * (kind == 'compared')}_{kind}": (names[1], how) for kind, how in kinds.items()},
        "placements_late": (names[2], lambda own: int(own.sum())),
    }
    return Table.of(frame.groupby(["suite", "configuration"], sort=False).agg(**told).reset_index())


def goals_table(evidence: Evidence) -> Table:
    """Goals that were set before studies were run, what was measured, and where the record comes from."""
    rows = [
        (
            *(name, goal.name, goal.sentence, f"{goal.comparison} {goal.threshold:.4g}", goal.measured),
            *(goal.met, record.date, record.source_words.removeprefix("commit "), record.command),
        )
        for name, record in sorted(evidence.records.items())
        for goal in record.goals
    ]
    columns = ("study", "figure", "meaning", "goal", "measured", "met", "date", "commit", "command")
    return Table(columns, tuple(rows))


def suites_table(evidence: Evidence) -> Table:
    """A line for each suite: what it asks, its version, size, dates, processor time, and how to run it."""
    rows = evidence.trials.assign(day=lambda rows: rows["started"].str[:10])
    found = rows.groupby("suite", as_index=False).agg(
        version=("version", "first"),
        instances=("instance", "nunique"),
        configurations=("configuration", "nunique"),
        attempts=("attempt", "size"),
        first=("day", "min"),
        last=("day", "max"),
        minutes=("total_seconds", lambda own: own.sum() / 60),
    )
    unknown = "not known here: a suite of your own, or an older one"
    asks = [all_suites()[name].summary if name in all_suites() else unknown for name in found["suite"]]
    found.insert(1, "asks", asks)
    found["command"] = "depl bench run " + found["suite"]
    return Table.of(found.rename(columns={"first": "from", "last": "to", "minutes": "total minutes"}))


def settings_table(evidence: Evidence) -> Table:
    """How each configuration of each suite was run."""
    rows = []
    for item in evidence.trials.drop_duplicates(["suite", "configuration"])["attempt"]:
        settings = [item.settings.get(name) for name in ("time_limit", "gap", "scenarios")]
        options = ", ".join(f"{name} = {value}" for name, value in item.settings.get("options", {}).items())
        rows.append((item.task.suite, item.task.configuration, item.method, item.meaning, *settings, options))
    columns = ("suite", "configuration", "method", "meaning", "time limit [s]", "gap", "scenarios", "options")
    return Table(columns, tuple(rows))


def sources_table(evidence: Evidence) -> Table:
    """Commits, machines and versions, each with the number of attempts made there."""
    found = Counter(
        (place, kind, text)
        for item in evidence.attempts
        for place, (kind, text) in enumerate(
            {
                "commit": item.source_words.removeprefix("commit "),
                "machine": item.machine_words + (f", {item.machine.system}" if item.machine else ""),
                "Python": item.python,
                "libraries": ", ".join(f"{name} {number}" for name, number in item.versions.items()),
            }.items()
        )
    )
    return Table(("what", "which", "attempts"), tuple((*key[1:], found[key]) for key in sorted(found)))

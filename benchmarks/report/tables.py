"""The tables of the report, each under the name of its CSV file, and where the numbers come from."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from depl.benchmarks.analysis.growth import growth_table, growths
from depl.benchmarks.analysis.limits import broken_table, judged, limits_table
from depl.benchmarks.analysis.ratio_table import Trial, ratio_table, reference_table, tally, trials
from depl.benchmarks.analysis.table import Cell, Table
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
    lines: dict[str, dict[str, list[Trial]]] = {}
    for suite in [name for name in (SHIPPED, RANDOM) if name in evidence.suites()] or evidence.suites():
        for item, trial in trials(evidence.suite(suite)):
            if item.meaning == Meaning.LAW.value:
                group = str(item.labels.get("family", suite)) if suite == SHIPPED else suite
                lines.setdefault(item.task.configuration, {}).setdefault(group, []).append(trial)
    groups = list(dict.fromkeys(group for own in lines.values() for group in own))
    rows = []
    for method, own in lines.items():
        every = tally([trial for group in own.values() for trial in group])
        means = [tally(own.get(group, ()))["mean"] for group in groups]
        without = sum(int(every[name] or 0) for name in _WITHOUT_PLAN)
        rows.append((method, *means, every["largest"], every["compared"], without, every["refused"]))
    return Table(("method", *groups, "largest", "compared", "no plan", "not covered"), tuple(rows))


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


def printed_steps_table(attempts: Sequence[Attempt]) -> Table:
    """What the printed steps of ``depl-paper`` lose, from the measures of its attempts.

    ``data_*`` is K^ T^ of the first set over the least, ``placement_*`` the cost of plans over that of the
    cheapest placement of their models and data; ``*_missed`` counts what is above 1, ``placements_late`` the
    paths given up in stage 3.
    """
    groups: dict[tuple[str, str], list[Mapping[str, float | None]]] = {}
    for attempt in attempts:
        if "data_over_best" in attempt.measures:
            key = (attempt.task.suite, attempt.task.configuration)
            groups.setdefault(key, []).append(attempt.measures)
    rows = []
    for key, own in groups.items():
        cells: list[Cell] = []
        for name in ("data_over_best", "placement_over_best"):
            known = [value for measures in own if (value := measures.get(name)) is not None]
            spread = (float(np.mean(known)), max(known)) if known else (None, None)
            cells += [len(known), *spread, sum(value > 1 + _SAME for value in known)]
        rows.append((*key, *cells, int(sum(measures.get("placements_late") or 0 for measures in own))))
    parts = ("compared", "mean", "largest", "missed")
    columns = [f"data_{part}" for part in parts] + [
        "placements_compared",
        *(f"placement_{part}" for part in parts[1:]),
    ]
    return Table(("suite", "configuration", *columns, "placements_late"), tuple(rows))


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
    rows = []
    for name in evidence.suites():
        own, known = evidence.suite(name), all_suites().get(name)
        asks = "not known here: a suite of your own, or an older one" if known is None else known.summary
        sizes = (len({item.task.instance for item in own}), len({item.task.configuration for item in own}))
        dates = sorted(item.started[:10] for item in own)
        minutes = sum(item.total_seconds for item in own) / 60
        version = own[0].task.version
        rows.append(
            (name, asks, version, *sizes, len(own), dates[0], dates[-1], minutes, f"depl bench run {name}")
        )
    columns = ("suite", "asks", "version", "instances", "configurations", "attempts", "from", "to")
    return Table((*columns, "total minutes", "command"), tuple(rows))


def settings_table(evidence: Evidence) -> Table:
    """How each configuration of each suite was run."""
    rows: dict[tuple[str, str], tuple[Cell, ...]] = {}
    for item in evidence.attempts:
        settings = [item.settings.get(name) for name in ("time_limit", "gap", "scenarios")]
        options = ", ".join(f"{name} = {value}" for name, value in item.settings.get("options", {}).items())
        key = (item.task.suite, item.task.configuration)
        rows.setdefault(key, (*key, item.method, item.meaning, *settings, options))
    columns = ("suite", "configuration", "method", "meaning", "time limit [s]", "gap", "scenarios", "options")
    return Table(columns, tuple(rows.values()))


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

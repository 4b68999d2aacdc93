"""The first screen: what was measured in a sentence, and cost over the optimum by method as a table."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from depl.benchmarks.analysis.ratio_table import trials
from depl.benchmarks.analysis.table import Table
from depl.benchmarks.analysis.tally import Fate, Spread, Tally, Trial, tally
from depl.benchmarks.report.evidence import Evidence
from depl.benchmarks.report.grid import ShownTable, grid
from depl.models.foundation.wording import counted
from depl.models.solving.methods import Meaning

HEADLINE = ("paper", "random")
"""Suites that the headline is of, where they were run; otherwise it is of all."""
_NAMED = ("depl", "depl-paper")
"""Methods that the sentence names where no others are asked for."""


@dataclass(frozen=True)
class Summary:
    """The sentence, and the table if anything can be compared."""

    sentence: str
    table: ShownTable | None


def summary(evidence: Evidence, own: Collection[str] = ()) -> Summary:
    """What the first screen says.

    Parameters
    ----------
    own : collection of str
        Configurations of the reader's own methods.
    """
    suites = [name for name in HEADLINE if name in evidence.suites()] or list(evidence.suites())
    groups: dict[str, list[Trial]] = {}
    for attempt, trial in trials([item for name in suites for item in evidence.suite(name)]):
        if attempt.meaning == Meaning.LAW.value:
            groups.setdefault(attempt.task.configuration, []).append(trial)
    tallies = {name: tally(own_trials) for name, own_trials in groups.items()}
    optimum = any(found.ratios for found in tallies.values())
    spreads = {name: found.ratios if optimum else found.ratios_to_bound for name, found in tallies.items()}
    known = {name: spread for name, spread in spreads.items() if spread and math.isfinite(spread.largest)}
    table = _table(known, tallies, suites, optimum) if known else None
    return Summary(_measured(evidence) + _compared(known, tallies, optimum, own), table)


def _measured(evidence: Evidence) -> str:
    tasks = [attempt.task for attempt in evidence.attempts]
    problems = len({(task.suite, task.instance) for task in tasks})
    methods = len({attempt.method for attempt in evidence.attempts})
    suites = counted(len(evidence.suites()), "suite")
    return (
        f"{counted(methods, 'method')} on {counted(problems, 'problem')} of {suites}, in "
        f"{counted(len(tasks), 'attempt')}; a plan counts only if the independent verifier accepted it."
    )


def _compared(
    known: Mapping[str, Spread], tallies: Mapping[str, Tally], optimum: bool, own: Collection[str]
) -> str:
    """The second half of the sentence: what plans of one or two methods cost."""
    if not known:
        return " No optimum and no positive lower bound is proved, so that no cost is compared with one."
    named = [name for name in (own or _NAMED) if name in known][:2] or list(known)[:2]
    over = "the proved optimum" if optimum else "the best certified lower bound"
    costs = [
        f"{_times(known[name].mean)} with {name} (at most {_times(known[name].largest)}"
        f"{_on(known[name], tallies[name])})"
        for name in named
    ]
    return f" The mean cost over {over} is {' and '.join(costs)}."


def _on(spread: Spread, found: Tally) -> str:
    """On how many attempts, where not all of them could be compared."""
    tried = _tried(found)
    return "" if spread.count == tried else f", on {spread.count} of {tried} attempts"


def _tried(found: Tally) -> int:
    """Attempts but for refusals."""
    return found.trials - found.fates[Fate.REFUSED]


def _times(value: float) -> str:
    return f"{value:.3f}" if value < 10 else f"{value:.3g}"


def _table(
    known: Mapping[str, Spread], tallies: Mapping[str, Tally], suites: Sequence[str], optimum: bool
) -> ShownTable:
    """A row for each method, in the order of the suites' configurations."""
    over = "the proved optimum" if optimum else "the best certified lower bound, as no optimum is proved"
    where = f"{'suite' if len(suites) == 1 else 'suites'} {' and '.join(suites)}"
    caption = (
        f"Cost of verified plans over {over}, {where}; “no plan” counts instances for which another method "
        "found one."
    )
    rows = tuple(
        (name, spread.mean, spread.largest, spread.count, _tried(tallies[name]), tallies[name].unserved)
        for name, spread in known.items()
    )
    content = Table(("method", "mean", "largest", "compared", "tried", "no plan"), rows)
    return grid(content, caption, "summary-table", fold=False)

"""A method of the reader's own: its cost over the best that is known, where it loses, its worst instances."""

import glob
import math
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from depl.benchmarks.analysis.order import ordered
from depl.benchmarks.analysis.ratio_table import trials
from depl.benchmarks.analysis.reference import Question, Reference, question_of
from depl.benchmarks.analysis.table import Cell, Table
from depl.benchmarks.analysis.tally import EXACTLY, Fate, Trial, ratio, tally
from depl.benchmarks.measure.attempt import Attempt
from depl.benchmarks.report.disputes import contradicted
from depl.benchmarks.report.evidence import Evidence
from depl.benchmarks.suites.catalogue import all_suites
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.names import advice
from depl.models.foundation.wording import counted, percentage
from depl.models.solving.methods import registered

WORST, GROUPS = 10, 15
"""Instances and groups that are listed."""
_VALUES = range(2, 13)
"""How many values a label may have to form groups: one says nothing, and many are names."""


@dataclass(frozen=True)
class OwnMethod:
    """What the page says of one method.

    Attributes
    ----------
    name : str
        Of the configuration.
    sentence : str
    against, groups, worst : Table
        Against every other method, by labels of the instances, and the worst instances with the commands that
        solve them again.
    """

    name: str
    sentence: str
    against: Table
    groups: Table
    worst: Table


def own_names(evidence: Evidence, named: Sequence[str] = ()) -> tuple[str, ...]:
    """The configurations that are marked, or else those of methods that are not built in.

    Raises
    ------
    InvalidInputError
        If there is no attempt of a name, be it of a configuration or of a method.
    """
    methods = {item.task.configuration: item.method for item in evidence.attempts}
    if not named:
        shipped = {item.name for item in registered()}
        shipped |= {item.label for suite in all_suites().values() for item in suite.configurations}
        return tuple(name for name, method in methods.items() if not {name, method} & shipped)
    found: list[str] = []
    for wanted in named:
        of_method = [name for name, method in methods.items() if wanted == method]
        if wanted not in methods and not of_method:
            raise InvalidInputError(f"no attempt of a method {wanted!r}; {advice(wanted, sorted(methods))}")
        found += [wanted] if wanted in methods else of_method
    return tuple(dict.fromkeys(found))


def own_methods(evidence: Evidence, names: Sequence[str]) -> list[OwnMethod]:
    """The figures of each configuration of these names."""
    return [_own(evidence, name) for name in names]


def _own(evidence: Evidence, name: str) -> OwnMethod:
    attempts = [item for item in ordered(evidence.attempts) if item.task.configuration == name]
    questions = {question_of(item) for item in attempts}
    beside = [item for item in evidence.attempts if question_of(item) in questions]
    found = [(item, trial) for item, trial in trials(beside) if item.task.configuration == name]
    cheapest = _cheapest(beside)
    return OwnMethod(
        name,
        _sentence(name, [trial for _, trial in found]),
        Table(_AGAINST, tuple(_against(name, attempts, cheapest))),
        Table(_GROUPS, tuple(_groups(found)[:GROUPS])),
        Table(_WORST, tuple(_line(item, trial, cheapest) for item, trial in _worst(found))),
    )


def _sentence(name: str, own: Sequence[Trial]) -> str:
    found = tally(own)
    parts = [f"{name} was tried {counted(found.trials, 'time')} on {counted(found.instances, 'instance')}"]
    if found.ratios is not None:
        share = found.optimal_share or 0.0
        parts.append(
            f"over the proved optimum its plans cost {found.ratios.mean:.3f} on average and "
            f"{found.ratios.largest:.3f} at most ({found.ratios.count} compared, "
            f"{percentage(share, 2)} optimal)"
        )
    if found.ratios_to_bound is not None:
        parts.append(
            "where only a lower bound is proved, they cost at most "
            f"{found.ratios_to_bound.mean:.3f} times the optimum on average "
            f"({counted(found.ratios_to_bound.count, 'plan')})"
        )
    if found.ratios is None and found.ratios_to_bound is None:
        parts.append("no optimum and no positive lower bound is proved, so that no ratio is formed")
    missed = f"{counted(found.unserved, 'attempt')} ended without a plan where some method found one"
    parts.append(missed if found.unserved else "it found a plan wherever some method did")
    wrong, claims = contradicted(own)
    if wrong:
        parts.append(f"claims of proof contradicted by cheaper plans: {wrong} of {claims}")
    refused = found.fates[Fate.REFUSED]
    if refused:
        parts.append(f"it refused {counted(refused, 'instance')}")
    return "; ".join(parts) + "."


_Cheapest = dict[Question, dict[str, float]]


def _cheapest(attempts: Sequence[Attempt]) -> _Cheapest:
    """The least cost by question and configuration; infinite where it was tried and found no plan."""
    found: _Cheapest = {}
    for item in attempts:
        if item.ending != "refused":
            by_name = found.setdefault(question_of(item), {})
            cost = math.inf if item.cost is None else item.cost
            name = item.task.configuration
            by_name[name] = min(cost, by_name.get(name, math.inf))
    return found


_AGAINST = (
    *("against", "tried by both", "cheaper", "equal", "more expensive", "other without plan"),
    *("itself without plan", "mean cost over the other's"),
)


def _against(name: str, attempts: Sequence[Attempt], cheapest: _Cheapest) -> Iterator[tuple[Cell, ...]]:
    questions = list(dict.fromkeys(question_of(item) for item in attempts))
    pairs: dict[str, list[tuple[float, float]]] = {}
    for question in questions:
        costs = cheapest.get(question, {})
        if name in costs:
            for other in costs.keys() - {name}:
                pairs.setdefault(other, []).append((costs[name], costs[other]))
    for other, compared in sorted(pairs.items()):
        both = [ratio(mine, its) for mine, its in compared if mine < math.inf and its < math.inf]
        cheaper, dearer = sum(one < 1 - EXACTLY for one in both), sum(one > 1 + EXACTLY for one in both)
        alone = sum(mine < math.inf == its for mine, its in compared)
        lost = sum(its < math.inf == mine for mine, its in compared)
        mean = float(np.mean(both)) if both else None
        yield (other, len(compared), cheaper, len(both) - cheaper - dearer, dearer, alone, lost, mean)


_GROUPS = ("label", "value", "attempts", "compared", "mean", "largest", "no plan")


def _groups(found: Sequence[tuple[Attempt, Trial]]) -> list[tuple[Cell, ...]]:
    """By every label that has several values: ratios, the worst mean first."""
    rows: list[tuple[Cell, ...]] = []
    for label in dict.fromkeys(label for item, _ in found for label in item.labels):
        by_value: dict[str, list[Trial]] = {}
        for item, trial in found:
            if label in item.labels:
                by_value.setdefault(str(item.labels[label]), []).append(trial)
        if len(by_value) in _VALUES:
            for value, own in by_value.items():
                known = [over for trial in own if (over := _over(trial)) is not None]
                missed = tally(own).unserved
                mean, largest = (float(np.mean(known)), max(known)) if known else (None, None)
                rows.append((label, value, len(own), len(known), mean, largest, missed))
    return sorted(rows, key=lambda row: -float(row[4] or 0))


def _over(trial: Trial) -> float | None:
    """Cost over the proved optimum, or over the best certified bound."""
    return trial.ratio if trial.ratio is not None else trial.ratio_to_bound


def _worst(found: Sequence[tuple[Attempt, Trial]]) -> list[tuple[Attempt, Trial]]:
    """Some without a plan where there is one, half of the list at most, and those that cost most."""

    def loss(trial: Trial) -> float:
        if trial.claim.cost == math.inf:
            return math.inf
        known = (_over(trial), ratio(trial.claim.cost, trial.reference.cheapest))
        return max(value for value in known if value is not None)

    lost = [
        (item, trial)
        for item, trial in found
        if trial.fate is not Fate.REFUSED and trial.reference.feasible and loss(trial) > 1 + EXACTLY
    ]
    missed = [pair for pair in lost if loss(pair[1]) == math.inf]
    costly = sorted((pair for pair in lost if loss(pair[1]) < math.inf), key=lambda pair: -loss(pair[1]))
    room = max(WORST // 2, WORST - len(costly))
    return [*missed[:room], *costly][:WORST]


_WORST = (
    *("instance", "suite", "seed", "ended", "cost", "best known cost", "found by", "lower bound"),
    *("over best known", "over the optimum at most", "to run it again"),
)


def _line(item: Attempt, trial: Trial, cheapest: _Cheapest) -> tuple[Cell, ...]:
    known: Reference = trial.reference
    costs = cheapest.get(question_of(item), {})
    by = min(costs, key=lambda name: costs[name]) if costs else None
    return (
        item.task.instance,
        item.task.suite,
        item.task.seed,
        item.ending,
        item.cost,
        known.cheapest,
        by,
        known.bound if known.bound > 0 else None,
        None if item.cost is None else ratio(item.cost, known.cheapest),
        _over(trial),
        _command(item),
    )


def _command(item: Attempt) -> str:
    words = ["depl", "bench", "run", item.task.suite, "--instances", glob.escape(item.task.instance)]
    words += ["--methods", item.task.configuration, "--out", "again.sqlite"]
    suite, known = all_suites().get(item.task.suite), {known.name for known in registered()}
    shipped = suite is not None and item.method in known | {own.method for own in suite.configurations}
    return shlex.join(words if shipped else [*words, "--import", "FILE.py"])

"""A method of the reader's own: its cost over the best that is known, where it loses, its worst instances."""

import glob
import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from depl.benchmarks.analysis.ratio_table import EXACTLY, Fate, Trial, ratio, tally, trials
from depl.benchmarks.analysis.reference import Question, question_of
from depl.benchmarks.analysis.table import Cell, Table
from depl.benchmarks.measure.attempt import Attempt
from depl.benchmarks.measure.catalogue import all_suites
from depl.benchmarks.report.evidence import Evidence
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.names import advice
from depl.models.foundation.wording import counted, percentage
from depl.models.solving.methods import registered

WORST, GROUPS = 10, 15
"""Instances and groups that are listed."""
_VALUES = range(2, 13)
"""How many values a label may have to form groups: one says nothing, and many are names."""
_Tried = list[tuple[Attempt, Trial]]
_Cheapest = Mapping[Question, Mapping[str, float]]
"""The least cost by question and configuration; infinite where it was tried and found no plan."""


@dataclass(frozen=True)
class OwnMethod:
    """A configuration in a sentence, and its tables by name: ``against``, ``groups`` and ``worst``."""

    name: str
    sentence: str
    tables: Mapping[str, Table]


def own_names(evidence: Evidence, named: Sequence[str] = ()) -> tuple[str, ...]:
    """The configurations or methods that are named, or else those of methods that are not built in."""
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


def own_method(evidence: Evidence, name: str) -> OwnMethod:
    """A configuration against the other methods on the same questions, by groups, and where it loses most."""
    questions = {question_of(item) for item in evidence.attempts if item.task.configuration == name}
    beside = [item for item in evidence.attempts if question_of(item) in questions]
    own = [(item, trial) for item, trial in trials(beside) if item.task.configuration == name]
    cheapest: dict[Question, dict[str, float]] = {}
    for item in beside:
        if item.ending != "refused":
            known, label = cheapest.setdefault(question_of(item), {}), item.task.configuration
            known[label] = min(math.inf if item.cost is None else item.cost, known.get(label, math.inf))
    tables = {"against": _against(name, cheapest), "groups": _groups(own), "worst": _worst(own, cheapest)}
    return OwnMethod(name, _sentence(name, [trial for _, trial in own]), tables)


def _sentence(name: str, own: Sequence[Trial]) -> str:
    found = tally(own)
    number = {key: int(found[key] or 0) for key in ("instances", "bounded", "unserved", "refused")}
    said = [item for item in own if item.claim.optimal or item.claim.infeasible or item.claim.lower_bound > 0]
    wrong = sum(trial.wrong_bound or trial.fate is Fate.FALSE_INFEASIBLE for trial in said)
    parts = [f"{name} was tried {counted(len(own), 'time')} on {counted(number['instances'], 'instance')}"]
    if found["mean"] is not None:
        optimal = percentage(float(found["optimal_share"] or 0), 2)
        parts.append(
            f"over the proved optimum its plans cost {found['mean']:.3f} on average and "
            f"{found['largest']:.3f} at most ({found['compared']} compared, {optimal} optimal)"
        )
    if found["bound_mean"] is not None:
        parts.append(
            f"where only a lower bound is proved, they cost at most {found['bound_mean']:.3f} times the "
            f"optimum on average ({counted(number['bounded'], 'plan')})"
        )
    if found["mean"] is found["bound_mean"] is None:
        parts.append("no optimum and no positive lower bound is proved, so that no ratio is formed")
    missed = f"{counted(number['unserved'], 'attempt')} ended without a plan where some method found one"
    parts.append(missed if number["unserved"] else "it found a plan wherever some method did")
    if wrong:
        parts.append(f"claims of proof contradicted by cheaper plans: {wrong} of {len(said)}")
    if number["refused"]:
        parts.append(f"it refused {counted(number['refused'], 'instance')}")
    return "; ".join(parts) + "."


def _against(name: str, cheapest: _Cheapest) -> Table:
    tried = [costs for costs in cheapest.values() if name in costs]
    rows = []
    for other in sorted({other for costs in tried for other in costs} - {name}):
        pairs = [(costs[name], costs[other]) for costs in tried if other in costs]
        both = [ratio(mine, its) for mine, its in pairs if mine < math.inf and its < math.inf]
        cheaper, costlier = sum(one < 1 - EXACTLY for one in both), sum(one > 1 + EXACTLY for one in both)
        alone, lost = (sum(pair[at] < math.inf == pair[1 - at] for pair in pairs) for at in (0, 1))
        mean = float(np.mean(both)) if both else None
        rows.append((other, len(pairs), cheaper, len(both) - cheaper - costlier, costlier, alone, lost, mean))
    columns = ("against", "tried by both", "cheaper", "equal", "more expensive", "other without plan")
    return Table((*columns, "itself without plan", "mean cost over the other's"), tuple(rows))


def _groups(own: _Tried) -> Table:
    """By every label that has several values: ratios, the worst mean first."""
    rows: list[tuple[Cell, ...]] = []
    for label in dict.fromkeys(label for item, _ in own for label in item.labels):
        by_value: dict[str, list[Trial]] = {}
        for item, trial in own:
            if label in item.labels:
                by_value.setdefault(str(item.labels[label]).removesuffix(".0"), []).append(trial)
        for value, group in by_value.items() if len(by_value) in _VALUES else ():
            known = [over for trial in group if (over := _over(trial)) is not None]
            mean, largest = (float(np.mean(known)), max(known)) if known else (None, None)
            missed = sum(trial.unserved for trial in group)
            rows.append((label, value, len(group), len(known), mean, largest, missed))
    rows.sort(key=lambda row: -float(row[4] or 0))
    columns = ("label", "value", "attempts", "compared", "mean", "largest", "no plan")
    return Table(columns, tuple(rows[:GROUPS]))


def _over(trial: Trial) -> float | None:
    """Cost over the proved optimum, or over the best certified bound."""
    return trial.ratio if trial.ratio is not None else trial.ratio_to_bound


def _worst(own: _Tried, cheapest: _Cheapest) -> Table:
    """Some without a plan where there is one, half of the list at most, and those that cost most."""

    def loss(pair: tuple[Attempt, Trial]) -> float:
        known = (_over(pair[1]), ratio(pair[1].claim.cost, pair[1].reference.cheapest))
        return max(value for value in known if value is not None)

    able = [pair for pair in own if pair[1].fate is not Fate.REFUSED and pair[1].reference.feasible]
    missed = [pair for pair in able if pair[1].claim.cost == math.inf]
    costly = [pair for pair in able if pair[1].claim.cost < math.inf and loss(pair) > 1 + EXACTLY]
    costly.sort(key=lambda pair: -loss(pair))
    rows: list[tuple[Cell, ...]] = []
    for item, trial in [*missed[: max(WORST // 2, WORST - len(costly))], *costly][:WORST]:
        known, task, costs = trial.reference, item.task, cheapest.get(question_of(item), {})
        by = min(costs, key=lambda name: costs[name]) if costs else None
        excess = None if item.cost is None else ratio(item.cost, known.cheapest)
        held = (item.ending, item.cost, known.cheapest, by, known.bound if known.bound > 0 else None)
        rows.append((task.instance, task.suite, task.seed, *held, excess, _over(trial), _command(item)))
    columns = ("instance", "suite", "seed", "ended", "cost", "best known cost", "found by", "lower bound")
    return Table((*columns, "over best known", "over the optimum at most", "to run it again"), tuple(rows))


def _command(item: Attempt) -> str:
    words = ["depl", "bench", "run", item.task.suite, "--instances", glob.escape(item.task.instance)]
    words += ["--methods", item.task.configuration, "--out", "again.jsonl"]
    suite, known = all_suites().get(item.task.suite), {known.name for known in registered()}
    shipped = suite is not None and item.method in known | {own.method for own in suite.configurations}
    return shlex.join(words if shipped else [*words, "--import", "FILE.py"])

"""Compares two behaviour records, answer by answer."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from depl.benchmarks.behaviour.record import Answer, Record
from depl.benchmarks.measure.comparing import equal

_NOT_COMPARED = ("seconds",)

_RENAMED = ("exhausted", "stuck")
"""What is *stuck* is *exhausted* in older records."""


class Difference(NamedTuple):
    """One value that differs; None where a record has none."""

    problem: str
    setting: str
    what: str
    old: Any
    new: Any

    def __str__(self) -> str:
        return f"{self.problem}, {self.setting}: {self.what} was {_shown(self.old)}, is {_shown(self.new)}"


def differences(old: Record, new: Record) -> Iterator[Difference]:
    """Every value that differs, by problem and setting in the order of their names."""
    for name in ("seed", "scenarios", "looks"):
        if getattr(old, name) != getattr(new, name):
            yield Difference("all problems", "all settings", name, getattr(old, name), getattr(new, name))
    for problem in sorted(old.answers.keys() | new.answers.keys()):
        before, after = old.instances.get(problem), new.instances.get(problem)
        if before != after:
            yield Difference(problem, "all settings", "instance", before, after)
        rows = old.answers.get(problem, {}), new.answers.get(problem, {})
        for setting in sorted(rows[0].keys() | rows[1].keys()):
            pair = rows[0].get(setting), rows[1].get(setting)
            for what, was, now in _answers_differ(old, new, *pair):
                yield Difference(problem, setting, what, was, now)


def _answers_differ(
    old: Record, new: Record, was: Answer | None, now: Answer | None
) -> Iterator[tuple[str, Any, Any]]:
    """What differs, with both values; one line alone where only one record has the answer."""
    if was is None or now is None:
        yield "answer", _summary(was), _summary(now)
        return
    for item in msgspec.structs.fields(Answer):
        values = getattr(was, item.name), getattr(now, item.name)
        if item.name in _NOT_COMPARED or equal(*values) or values == _RENAMED:
            continue
        if item.name == "findings":
            values = old.findings.get(values[0], values[0]), new.findings.get(values[1], values[1])
        yield item.name, *values


def _summary(answer: Answer | None) -> str | None:
    if answer is None:
        return None
    return answer.refused or f"{answer.termination} at cost {answer.cost}"


def _shown(value: Any) -> str:
    return "missing" if value is None else str(value)

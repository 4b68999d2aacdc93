"""The settings that the behaviour record asks: every registered method, and variants that the pages name."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from depl.benchmarks.behaviour.problems import Problem
from depl.models.solving.methods import registered

SCENARIOS = 20
"""S of methods that count, where the problem has no scenarios of its own: few, so that programs are small."""

LOOKS = 10_000
"""Looks at the clock after which a method's time is over: some seconds, and enough for nearly all solves."""

_SLOW = {"random": {"draws": 200}}
"""A method that spends all of a given effort takes less of it, and the default only on leading problems."""


@dataclass(frozen=True)
class Setting:
    """A method with options, by the label that it has in the record.

    ``everywhere`` is False for those that are asked on leading problems alone.
    """

    label: str
    method: str
    options: Mapping[str, object] = field(default_factory=dict)
    everywhere: bool = True


@dataclass(frozen=True)
class LeftOut:
    """What is not asked, by patterns of label and problem, and why."""

    settings: str
    problems: str
    reason: str


_CLOCK = "HiGHS looks at its own clock only, and may take more than 20 s"
_EXPENSIVE = "4 to 20 s each; the middle target stands for them"

LEFT_OUT: tuple[LeftOut, ...] = (
    LeftOut("auto", "*", "it lets methods take turns that are recorded by their own names"),
    LeftOut("milp*", "random-*", _CLOCK),
    LeftOut("milp*", "paper-alexnet-deadline-[57]", _EXPENSIVE),
    LeftOut("milp*", "paper-alexnet-deadline-1[13]", _EXPENSIVE),
    LeftOut("milp*", "paper-alexnet-deadline-normal-[57]", _EXPENSIVE),
    LeftOut("milp*", "paper-alexnet-deadline-normal-1[13]", _EXPENSIVE),
)


def settings() -> Iterator[Setting]:
    """All settings; each label once."""
    for method in registered():
        yield Setting(method.name, method.name, everywhere=method.name not in _SLOW)
    for name, options in _SLOW.items():
        yield Setting(f"{name}-{next(iter(options.values()))}", name, options)
    for label in ("entropic", "normal", "expected"):
        yield Setting(f"depl-paper-{label}", "depl-paper", {"label": label}, everywhere=False)


def why_left_out(setting: Setting, problem: Problem) -> str | None:
    """The reason why a question is not asked; None if it is."""
    for row in LEFT_OUT:
        if fnmatchcase(setting.label, row.settings) and fnmatchcase(problem.name, row.problems):
            return row.reason
    return None


def questions(problem: Problem) -> Iterator[Setting]:
    """The settings that are asked on a problem, in the order of the record."""
    for setting in settings():
        if (setting.everywhere or problem.leading) and why_left_out(setting, problem) is None:
            yield setting

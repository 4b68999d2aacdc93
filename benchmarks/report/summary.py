"""The first screen: what was measured in a sentence, and cost over the optimum by method as a picture."""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from depl.benchmarks.analysis.ratio_table import trials
from depl.benchmarks.analysis.tally import Fate, Tally, Trial, tally
from depl.benchmarks.report.evidence import Evidence
from depl.models.foundation.wording import counted
from depl.models.solving.methods import Meaning

HEADLINE = ("paper", "random")
"""Suites that the headline is of, where they were run; otherwise it is of all."""
_NAMED = ("depl", "depl-paper")
"""Methods that the sentence names where no others are asked for."""
_MOST = 16
"""Methods in the picture; the tables have all."""
_TICKS = (1, 1.1, 1.2, 1.5, 2, 5, 10, 20, 50, 100, 1000, 10_000)
_FEWEST_TICKS, _MOST_TICKS = 2, 6
_LEFT, _RIGHT = 3.0, 97.0
"""Percent of the picture's width where the axis begins and ends, so that no mark is cut."""


@dataclass(frozen=True)
class Bar:
    """A method in the picture.

    Attributes
    ----------
    method : str
    mean, largest : float
        Cost over the reference; 1 is the least possible over a proved optimum.
    compared, tried, unserved, refused : int
        Plans that are compared; attempts but for refusals; those of them without a plan where there is one;
        refusals.
    start, middle, end : float
        Places of 1, of the mean and of the largest [% of the width].
    own : bool
        Whether the method is marked as the reader's own.
    """

    method: str
    mean: float
    largest: float
    compared: int
    tried: int
    unserved: int
    refused: int
    start: float
    middle: float
    end: float
    own: bool


@dataclass(frozen=True)
class Picture:
    """Cost over the reference by method, on an axis of logarithms.

    Attributes
    ----------
    caption : str
    bars : tuple of Bar
        In the order of the suites' configurations.
    ticks : tuple of (float, str)
        Places [% of the width] and values.
    left_out : int
        Methods that are not in the picture, as there are too many.
    """

    caption: str
    bars: tuple[Bar, ...]
    ticks: tuple[tuple[float, str], ...]
    left_out: int


@dataclass(frozen=True)
class Summary:
    """The sentence, and the picture if anything can be compared."""

    sentence: str
    picture: Picture | None


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
    picture = _picture(tallies, suites, optimum, own)
    return Summary(_measured(evidence) + _compared(picture, optimum, own), picture)


def _measured(evidence: Evidence) -> str:
    tasks = [attempt.task for attempt in evidence.attempts]
    problems = len({(task.suite, task.instance) for task in tasks})
    methods = len({attempt.method for attempt in evidence.attempts})
    suites = counted(len(evidence.suites()), "suite")
    return (
        f"{counted(methods, 'method')} on {counted(problems, 'problem')} of {suites}, in "
        f"{counted(len(tasks), 'attempt')}; a plan counts only if the independent verifier accepted it."
    )


def _compared(picture: Picture | None, optimum: bool, own: Collection[str]) -> str:
    """The second half of the sentence: what plans of one or two methods cost."""
    if picture is None:
        return " No optimum and no positive lower bound is proved, so that no cost is compared with one."
    bars = {bar.method: bar for bar in picture.bars}
    named = [bars[name] for name in (own or _NAMED) if name in bars][:2] or list(picture.bars[:2])
    over = "the proved optimum" if optimum else "the best certified lower bound"
    costs = [
        f"{_times(bar.mean)} with {bar.method} (at most {_times(bar.largest)}{_on(bar)})" for bar in named
    ]
    return f" The mean cost over {over} is {' and '.join(costs)}."


def _on(bar: Bar) -> str:
    """On how many attempts, where not all of them could be compared."""
    return "" if bar.compared == bar.tried else f", on {bar.compared} of {bar.tried} attempts"


def _times(value: float) -> str:
    return f"{value:.3f}" if value < 10 else f"{value:.3g}"


def _picture(
    tallies: dict[str, Tally], suites: Sequence[str], optimum: bool, own: Collection[str]
) -> Picture | None:
    spreads = {name: found.ratios if optimum else found.ratios_to_bound for name, found in tallies.items()}
    known = {name: spread for name, spread in spreads.items() if spread and math.isfinite(spread.largest)}
    if not known:
        return None
    chosen = sorted(known, key=lambda name: name not in own)[:_MOST]
    drawn = [name for name in known if name in chosen]
    most = max(known[name].largest for name in drawn)
    axis = _Axis(most)
    bars = tuple(
        Bar(
            method=name,
            mean=known[name].mean,
            largest=known[name].largest,
            compared=known[name].count,
            tried=tallies[name].trials - tallies[name].fates[Fate.REFUSED],
            unserved=tallies[name].unserved,
            refused=tallies[name].fates[Fate.REFUSED],
            start=axis.place(1),
            middle=axis.place(known[name].mean),
            end=axis.place(known[name].largest),
            own=name in own,
        )
        for name in drawn
    )
    over = "the proved optimum" if optimum else "the best certified lower bound, as no optimum is proved"
    where = f"{'suite' if len(suites) == 1 else 'suites'} {' and '.join(suites)}"
    caption = f"Cost of verified plans over {over}, {where}: a dot is the mean, a line ends at the largest."
    return Picture(caption, bars, axis.ticks(), len(known) - len(drawn))


class _Axis:
    """Places of ratios from 1 to the largest, by their logarithms."""

    def __init__(self, most: float) -> None:
        self._most = most
        self._width = math.log(max(most, 1.01))

    def place(self, value: float) -> float:
        share = math.log(max(value, 1.0)) / self._width
        return round(_LEFT + (_RIGHT - _LEFT) * min(share, 1.0), 2)

    def ticks(self) -> tuple[tuple[float, str], ...]:
        """Round values; those that would crowd are left out, from the fine ones on."""
        inside = [value for value in _TICKS if value <= self._most * (1 + 1e-9)]
        if len(inside) < _FEWEST_TICKS:
            return ((self.place(1), "1"), (self.place(self._most), f"{self._most:.3g}"))
        kept = [
            value
            for value in inside
            if self._most < _TICKS[4] or value in (1, 2, 5, 10, 20, 50) or value >= 100
        ]
        return tuple((self.place(value), f"{value:g}") for value in kept[:: -(-len(kept) // _MOST_TICKS)])

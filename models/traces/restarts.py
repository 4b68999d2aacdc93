"""Epochs that a log holds twice: what was trained again after a restart, and what was only logged again.

Lines count in the order of writing. Among lines with a loss, one whose epoch occurred before begins a new
*branch* there: later epochs of the old branch go, as nothing was trained on them. One that goes back to the
first epoch begins a second *training*. Without repeats any order is right. So what is read is always one
branch, and never a run that nobody trained.
"""

import math
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple


@dataclass(frozen=True)
class Line:
    """One epoch of one run: where it stands, and its loss (NaN with ``empty`` for an empty cell)."""

    epoch: int
    row: int
    column: str
    loss: float
    empty: bool
    model: str = ""
    cluster: str = ""
    metrics: Mapping[str, float] = field(default_factory=dict)
    unread: Mapping[str, float | str] = field(default_factory=dict)

    @property
    def missing(self) -> bool:
        """Whether there is no loss to plan with."""
        return not math.isfinite(self.loss)


class Repeat(NamedTuple):
    """A line whose epoch occurred before, the one that has it, and the least and greatest epoch then."""

    line: Line
    there: Line
    begun: int
    reached: int

    @property
    def in_place(self) -> bool:
        """Whether the epoch is the one that was reached: evaluated again, or trained again."""
        return self.line.epoch == self.reached

    @property
    def begins_again(self) -> bool:
        """Whether it goes back to the first epoch, so that nothing of this training is in what follows.

        The first epoch in place is evaluated again, unless its loss was none: then training began again.
        """
        return self.line.epoch == self.begun and (not self.in_place or self.there.missing)


@dataclass
class Training:
    """One training, as its lines are added one by one.

    ``follows`` began it, where another training stands before it. ``branch`` holds the lines of the last
    branch, also those without a loss in epochs that have none; ``first_branch`` those before anything was
    repeated. ``beyond`` is the first line after a repeat whose epoch the first branch does not reach.
    """

    follows: Repeat | None = None
    branch: dict[int, Line] = field(default_factory=dict)
    first_branch: dict[int, Line] | None = None
    lines: list[Line] = field(default_factory=list)
    repeats: list[Repeat] = field(default_factory=list)
    beyond: Line | None = None
    _begun: int = sys.maxsize
    _reached: int = -1
    _greatest: int = -1
    """The least and the greatest epoch with a loss, and the greatest one at all."""
    _empty: dict[int, Line] = field(default_factory=dict)
    """Lines without a loss since the last one with a loss that lead to the next one: their epochs ascend."""

    def repeat(self, line: Line) -> Repeat | None:
        """What a line repeats, if anything."""
        there = self.branch.get(line.epoch)
        if line.empty or there is None or there.empty:
            return None
        return Repeat(line, there, self._begun, self._reached)

    def add(self, line: Line) -> None:
        """Add the next line."""
        self.lines.append(line)
        again, epoch = self.repeat(line), line.epoch
        if again is not None:
            self._go_back(again)
        elif not line.empty and self.beyond is None and self.repeats and epoch > self.repeats[0].reached:
            self.beyond = line
        self._greatest = max(self._greatest, epoch)
        if line.empty:
            self._drop_empty_from(epoch)
            self._empty[epoch] = line
            self.branch.setdefault(epoch, line)
            return
        self.branch[epoch] = line
        self._begun, self._reached = min(self._begun, epoch), max(self._reached, epoch)
        self._empty = {}

    def _drop_empty_from(self, epoch: int) -> None:
        while self._empty and next(reversed(self._empty)) >= epoch:
            self._empty.popitem()

    def _go_back(self, again: Repeat) -> None:
        """Drop the old branch from this epoch on, or from those without a loss that led to it."""
        if self.first_branch is None:
            self.first_branch = dict(self.branch)
        self.repeats.append(again)
        epoch = again.line.epoch
        self._drop_empty_from(epoch)
        start = next(iter(self._empty), epoch)
        at_end = start == self._greatest
        for place in [start] if at_end else [place for place in self.branch if place >= start]:
            del self.branch[place]
        self.branch |= self._empty
        self._reached = self._greatest = epoch


def trainings(lines: Iterable[Line]) -> list[Training]:
    """The trainings of a run one after the other, from its lines in the order of writing."""
    found = [Training()]
    for line in lines:
        again = found[-1].repeat(line)
        if again is not None and again.begins_again:
            found.append(Training(again))
        found[-1].add(line)
    return found

"""Which runs of one table are the same training: copies, beginnings of others, and forks.

A *copy* has the losses of another run in every epoch, a *beginning* those of the first epochs of a longer
one; both train what that one trains, whatever they are called. All but one run are left out. *Forks* share
their first epochs and then differ, or train different things: they were continued from one checkpoint, or
begun with one seed. They stay, and have one *origin*. What is too short, coarse or flat to be told from a
copy is counted as it is, and named. docs/estimation.rst says why.
"""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.wording import counted
from depl.models.traces.fingerprints import UNITS_PER_SPREAD, fingerprints
from depl.models.traces.lost import ENDED, ledger
from depl.models.traces.table import Numbers, Traces

SAME = "the same run"
"""Entry of the provenance of traces where readers have left runs out that are there twice."""

BY_CHANCE = 1e-5
"""Most probability that two different runs are told to be the same: then one is not counted, and named. None
of 3.6 million pairs of different recorded runs is, with 5, 4, 3 or 2 decimals."""

LEAST = 2
"""Fewest epochs that are evidence: networks that died agree in the first one, and do not move."""

_SINGLE = 2.0**-23
"""Relative precision of single precision; files keep at least that."""

_HALF = 0.551
"""Half of the last decimal, and half of one that was rounded before."""

_CAREFUL = 10
"""Times as often as by the spread alone may runs agree that agreed before: smooth losses do."""

_DIGITS = 8
"""Decimals, or significant digits, from which on a loss is as good as written in full."""

_UNTOLD = "not told"

_SAMPLE = 300
"""Runs, from the first on, that tell how often different ones agree: set by hand."""


class Shared(NamedTuple):
    """A run that shares its first ``epochs`` epochs with ``other``."""

    run: str
    other: str
    epochs: int


@dataclass(frozen=True, eq=False)
class ToldApart:
    """The runs of a table, each once."""

    traces: Traces  # without copies and beginnings of other runs
    repeats: tuple[Shared, ...]  # those, in the order of the table, each with the run that it is
    forks: tuple[Shared, ...]  # runs of ``traces`` that share their first epochs with an earlier one
    origins: tuple[int | None, ...]  # per run of ``traces``: those that share first epochs have one number
    untold: tuple[str, ...]  # runs that would not be told from a copy

    @cached_property
    def once_per_schedule(self) -> Traces:
        """Of the runs of one schedule that share first epochs the first alone."""
        pairs = list(zip(self.origins, self.traces.schedules, strict=True))
        kept = [pair[0] is None or pairs.index(pair) == place for place, pair in enumerate(pairs)]
        return self.traces if all(kept) else self.traces.select(kept)

    def said(self) -> list[tuple[str, str]]:
        """What was found, in words; empty if every run is one of its own and would be told from a copy."""
        before = self.traces.provenance.get(SAME)
        found = [] if before is None else [(SAME, before)]
        if self.repeats:
            found.append((SAME, f"{_listed(self.repeats)}; counted once"))
        if self.forks:
            found.append(("dependent runs", f"{_listed(self.forks)}; of a plan or stage they count as one"))
        if self.untold:
            few = counted(len(self.untold), "run")
            found.append((_UNTOLD, f"{few} too short, coarse or flat to be told from copies; counted"))
        return found

    @contextmanager
    def in_refusals(self) -> Iterator[None]:
        """What is refused within may be so because runs count once: then it says so."""
        try:
            yield
        except InvalidInputError as error:
            why = "; ".join(f"{what}: {words}" for what, words in self.said() if what != _UNTOLD)
            if not why:
                raise
            raise InvalidInputError(f"{error.message} ({why})", error.path) from error


def told_apart(traces: Traces) -> ToldApart:
    """Every run once, with those that share their first epochs.

    Of runs that are the same the longest stays, of these one that diverged, then one that was evaluated
    before training, then the one with most decimals, then the first.

    *When runs share their first epochs.* Every loss is known to the last decimal, or significant digit, that
    its run is written with, and to single precision. Two runs agree in an epoch if they do to within half of
    the coarser of the two. From the first epoch on, as long as they agree, an epoch is evidence of log(1 /
    p): p, the probability that different runs agree, is taken to be ten times the tolerance over the spread
    between runs of one schedule or over what the run moved in that epoch, whichever is less; and at least
    twice the share of epochs in which runs agree that did not before. So plateaus are no evidence. At least
    `LEAST` epochs must be, and together make p at most `BY_CHANCE`. Losses before training do not count: they
    are those of one network.

    Runs that are altered by noise, or in an early epoch, or are an epoch off, are not found. Where runs
    certify a plan they are looked for, too (`depl.models.traces.fingerprints.compare`).
    """
    table = _Table(traces)
    runs, repeats, forks = len(traces.runs), dict[int, Shared](), dict[int, Shared]()
    groups: dict[int, set[int]] = {}
    for run in range(runs):
        group = {run}.union(*(groups[other] for other in table.same_as(run)))
        groups |= dict.fromkeys(group, group)
    origins: dict[int, int] = {}
    for group in {min(group): group for group in groups.values()}.values():
        kept = table.kept(group, repeats)
        forks |= {run: table.fork(run, kept[:place]) for place, run in enumerate(kept) if place}
        if len(kept) > 1:
            origins |= dict.fromkeys(kept, len(set(origins.values())))
    left = [run for run in range(runs) if run not in repeats]
    return ToldApart(
        traces=traces.select(left) if repeats else traces,
        repeats=tuple(repeats[run] for run in sorted(repeats)),
        forks=tuple(forks[run] for run in sorted(forks)),
        origins=tuple(origins.get(run) for run in left),
        untold=tuple(traces.runs[run] for run in left if not table.can_be_told(run)),
    )


class _Table:
    """Losses from epoch 1 on, one row per run, and what they are known to."""

    def __init__(self, traces: Traces) -> None:
        whole = traces.matrix()
        self.names, self.schedules = traces.runs, traces.schedules
        self.losses, self.lengths = whole[:, 1:], traces.last_epochs
        self.evaluated = ~np.isnan(whole[:, 0])
        ended = ledger(traces.provenance, ENDED)
        self.diverged = [ended.get(name, "").startswith("diverged") for name in traces.runs]
        self.last = _last_digits(self.losses)
        self.spread = UNITS_PER_SPREAD * fingerprints(traces).unit
        self.moves = np.abs(np.diff(self.losses, axis=1, prepend=np.inf))
        self.chance = self._chance()

    def same_as(self, run: int) -> list[int]:
        """The earlier runs that share its first epochs."""
        near = np.flatnonzero(self._agreeing(run, np.arange(run), slice(1)).any(axis=1)).tolist()
        return [other for other in near if self._enough(run, other, self._shared(run, other))]

    def kept(self, group: set[int], repeats: dict[int, Shared]) -> list[int]:
        """Of runs that are the same those that are none of another one; the others become repeats."""
        kept: list[int] = []
        for run in sorted(group, key=self._rank):
            same = next((other for other in kept if self._is_beginning(run, other)), None)
            if same is None:
                kept.append(run)
            else:
                repeats[run] = Shared(self.names[run], self.names[same], len(self.schedules[run]))
        return sorted(kept)

    def fork(self, run: int, earlier: list[int]) -> Shared:
        """With which of some runs one shares most epochs."""
        epochs, other = max((self._shared(run, other), -other) for other in earlier)
        return Shared(self.names[run], self.names[-other], epochs)

    def can_be_told(self, run: int) -> bool:
        """Whether a copy of the run would be told to be one."""
        return self._enough(run, run, self.losses.shape[1])

    def _shared(self, run: int, other: int) -> int:
        """The first epochs in which two runs agree."""
        agreeing = self._agreeing(run, np.array([other]))[0]
        return int(np.logical_and.accumulate(agreeing).sum())

    def _is_beginning(self, run: int, other: int) -> bool:
        """Whether the whole run is what another one begins with, its schedule included.

        One that diverged is none of a run that did not: it was trained again, and counts as lost.
        """
        if self.diverged[run] and not self.diverged[other]:
            return False
        length = len(self.schedules[run])
        return self.schedules[run] == self.schedules[other][:length] and self._shared(run, other) == length

    def _rank(self, run: int) -> tuple[int, bool, bool, float, int]:
        """Of runs that are the same the least in rank is kept."""
        finest = float(np.nanmax(self.last[run], initial=0.0))
        return -int(self.lengths[run]), not self.diverged[run], not self.evaluated[run], finest, run

    def _tolerance(self, run: int, others: NDArray[np.int64], epochs: slice = slice(None)) -> Numbers:
        coarser = np.maximum(self.last[run, epochs], self.last[others, epochs])
        return np.asarray(_HALF * coarser + _SINGLE * np.abs(self.losses[run, epochs]))

    def _agreeing(
        self, run: int, others: NDArray[np.int64], epochs: slice = slice(None)
    ) -> NDArray[np.bool_]:
        apart = np.abs(self.losses[others, epochs] - self.losses[run, epochs])
        return np.asarray(apart <= self._tolerance(run, others, epochs))

    def _enough(self, run: int, other: int, epochs: int) -> bool:
        """Whether agreement in so many first epochs is no chance."""
        tolerance = self._tolerance(run, np.array([other]), slice(epochs))[0]
        scale = np.minimum(self.spread, self.moves[run, :epochs])
        likely = np.maximum(_CAREFUL * tolerance, 2 * self.chance * scale)
        telling = 2 * likely < scale  # false for NaN, and where nothing moves
        logarithms = np.log(np.maximum(likely[telling] / scale[telling], np.finfo(float).tiny))
        return int(telling.sum()) >= LEAST and float(logarithms.sum()) <= math.log(BY_CHANCE)

    def _chance(self) -> float:
        """How often runs agree in the epochs after the first in which they did not."""
        agreeing = differing = 0
        for run in range(1, min(len(self.losses), _SAMPLE)):
            others = np.arange(run)
            near = self._agreeing(run, others)
            parted = ~near & ~np.isnan(self.losses[others] + self.losses[run])
            later = np.logical_or.accumulate(parted, axis=1)
            moved = self.moves[run] > 2 * self._tolerance(run, others)
            agreeing += int((near & later & moved).sum())
            differing += int(parted[:, 1:][later[:, :-1]].sum())
        return agreeing / (agreeing + differing) if agreeing else 0.0


def _last_digits(losses: Numbers) -> Numbers:
    """What each loss is known to by how its run is written: 0 in full, NaN where there is none [loss]."""
    exponent = np.floor(np.log10(np.where(losses == 0, np.nan, np.abs(losses))))
    by_decimals, by_digits = np.zeros(losses.shape), np.zeros(losses.shape)
    for number in reversed(range(_DIGITS)):
        for found, last in (
            (by_decimals, np.full(losses.shape, 10.0**-number)),
            (by_digits, np.where(np.isnan(exponent), 0.0, 10.0 ** (exponent - number))),
        ):
            nearest = np.round(losses / np.where(last == 0, 1.0, last)) * last
            written = (np.abs(losses - nearest) <= _SINGLE * np.abs(losses)) | np.isnan(losses)
            rows = written.all(axis=1)
            found[rows] = last[rows]
    return np.where(np.isnan(losses), np.nan, np.maximum(by_decimals, by_digits))


def _listed(found: Sequence[Shared]) -> str:
    first = f"{found[0].run!r} shares {counted(found[0].epochs, 'first epoch')} with {found[0].other!r}"
    return first + (f", and {counted(len(found) - 1, 'other')} likewise" if len(found) > 1 else "")

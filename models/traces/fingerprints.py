"""Fingerprints of runs: whether a run is one that was seen before, under whatever name.

An instance keeps the losses of its runs in short, each as a whole number of units, and runs that claim to be
fresh are compared with them and with one another. Of the epochs that two runs both have one counts 1 where
the losses agree to within ``half_width`` units, -1 where they do not, and nothing where they agree but the
loss has not moved since the epoch recorded before. The runs are the same where this sum ever reaches
`Comparison.needed`, as they stand or counted one epoch off. Why, and what is not found: docs/estimation.rst.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from depl.models.foundation.documents import Checked
from depl.models.traces.table import Numbers, Traces

FALSE_MATCH = 1e-9
"""Most probability that two different runs match, where epochs agree by chance as seldom as supposed."""

WIDTHS_PER_AGREEMENT = 100
"""An epoch is taken to agree by chance with probability ``half_width`` over this, twenty times as often as in
the recorded runs: where losses are smooth and agree once, they agree more often in the next epochs."""

UNITS_PER_SPREAD = 1000
"""So that four decimals, which most loggers keep, are about a unit where runs differ in the second one."""

_NOISE = 1
"""Units by which losses may be altered, as another machine or another format does."""

_DENSE = 16
"""Epochs up to which each is held; from there on 8 in each doubling."""

_TELLING = 8
"""Different losses that say to which decimal they are known; any eight lie on a grid once in 10**11 times."""
_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_PERIOD = len(_ALPHABET) ** 2
"""Codes of two letters: losses count modulo so many units."""

_MOST_DECIMALS = 12
"""Decimals that rounding is looked for in, from 0 on."""

_SINGLE = 2.0**-23
"""Relative precision of single precision; files keep at least that."""
_OFF_GRID = 0.02
"""Share of the last decimal by which rounded losses may miss it: a trace of noise does not hide rounding."""
_SPREAD_OF_COPIES = 4
"""Runs closer together than a quarter of their own movement may be copies, which do not tell the spread."""
_QUIET = 0.1
"""Share of the epochs that may have less spread than the unit is made for."""

Truths = NDArray[np.bool_]
Counts = NDArray[np.int64]
Codes = NDArray[np.float32]


class RunFingerprint(Checked, frozen=True, kw_only=True):
    """What is kept of one run: its name, for messages, and its losses in short."""

    name: str
    losses: Annotated[
        str,
        Meta(
            pattern=r"^([A-Za-z0-9+/]{2})*(?![\s\S])",
            description="units in the loss modulo 4096 after epochs 1 to 16, 18, ..., 32, 36, ...",
        ),
    ]


class RunFingerprints(Checked, frozen=True, kw_only=True):
    """What is kept of runs to know them again; a ``resolution`` of 0 says that losses were not rounded."""

    unit: Annotated[float, Meta(gt=0, description="what losses are counted in [loss]")]
    resolution: Annotated[float, Meta(ge=0, description="last decimal known [loss]")] = 0.0
    runs: tuple[RunFingerprint, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Of the runs."""
        return tuple(run.name for run in self.runs)


class Repeat(NamedTuple):
    """A run (by its number) that was seen before, as the one called ``known``.

    That one is in the same file (``among_fresh``) or of those that were known; so many epochs agree, of those
    compared, which both have.
    """

    run: int
    known: str
    among_fresh: bool
    agreeing: int
    compared: int


@dataclass(frozen=True, eq=False)
class Comparison:
    """Runs that claim to be fresh, against known ones and each other."""

    repeats: tuple[Repeat, ...]  # at most one for each run, the most alike
    needed: int | None  # more epochs that must agree than differ; None where losses are too coarse for any
    countable: Counts  # how many epochs of each run would count for it if it were repeated
    untold: tuple[str, ...]  # known runs with fewer epochs that count than needed
    resolution: float  # the last decimal that the fresh losses are known to; 0 where not rounded [loss]


def recorded_epochs(last: int) -> list[int]:
    """The epochs up to ``last`` that a fingerprint holds: 1 to 16, 18, ..., 32, 36, ..., 64, 72, ..."""
    return [
        epoch for epoch in range(1, last + 1) if not epoch % max(1, 2 ** (epoch - 1).bit_length() // _DENSE)
    ]


def fingerprints(traces: Traces, like: RunFingerprints | None = None) -> RunFingerprints:
    """The fingerprints of all runs of a table, in its order.

    Parameters
    ----------
    like : RunFingerprints, optional
        Whose unit they share; by default it is made of the traces.
    """
    table = traces.matrix()
    losses = table[:, recorded_epochs(table.shape[1] - 1)]
    unit = _unit(traces, losses) if like is None else like.unit
    runs = zip(traces.runs, np.rint(losses / unit) % _PERIOD, strict=True)
    written = (RunFingerprint(name=name, losses=_written(row[~np.isnan(row)])) for name, row in runs)
    return RunFingerprints(unit=unit, resolution=resolution(traces), runs=tuple(written))


def resolution(traces: Traces) -> float:
    """The last decimal that the losses are known to, such as 0.001; that of single precision at the finest.

    Of the run that is known least, if some are rounded more than others; runs of few losses do not tell.
    """
    return max(_last_decimal(losses) for losses in np.split(traces.loss, traces.bounds[1:-1]))


def compare(fresh: Traces, known: RunFingerprints | None = None) -> Comparison:
    """Which of the runs are known, or in the table twice.

    Parameters
    ----------
    known : RunFingerprints, optional
        By default the runs are compared with one another alone.
    """
    own = fingerprints(fresh, known)
    used = RunFingerprints(unit=own.unit) if known is None else known
    half_width = 0.5 + _NOISE + (own.resolution + used.resolution) / (2 * own.unit)
    epochs = np.array(recorded_epochs(int(fresh.last_epochs.max())), dtype=np.int64)
    tables = [_table(prints, len(epochs)) for prints in (own, used)]
    moved = [_moved(codes, half_width) for codes in tables]
    needed = _needed(half_width)
    enough = math.inf if needed is None else needed
    countable = [np.sum(where & ~np.isnan(codes), axis=1) for codes, where in zip(tables, moved, strict=True)]
    repeats = []
    wide = np.pad(fresh.matrix() / own.unit % _PERIOD, ((0, 0), (0, 1)), constant_values=np.nan)
    for run, losses in enumerate(wide.astype(np.float32)):
        ways = np.stack([losses[epochs], losses[epochs - 1], losses[epochs + 1]])
        for place, names in ((1, used.names), (0, own.names[:run])):
            codes, where = tables[place][: len(names)], moved[place][: len(names)]
            found = _most_alike(ways, codes, where, half_width, enough)
            if found is not None:
                known_run, agreeing, compared = found
                repeats.append(Repeat(run, names[known_run], place == 0, agreeing, compared))
                break
    untold = tuple(np.array(used.names, dtype=object)[countable[1] < enough].tolist())
    return Comparison(tuple(repeats), needed, countable[0], untold, own.resolution)


def _most_alike(
    ways: Codes, codes: Codes, moved: Truths, half_width: float, enough: float
) -> tuple[int, int, int] | None:
    """Which of the runs with these codes one is, and how many epochs agree of how many; None if none is it.

    ``ways`` are its losses in units as they stand, one epoch earlier and one later.
    """
    distance = _distance(ways[:, None, :], codes)
    near = distance <= half_width
    found = []
    for way, run in zip(*np.nonzero(np.count_nonzero(near & moved, axis=2) >= enough), strict=True):
        both = ~np.isnan(distance[way, run])
        steps = np.where(near[way, run], moved[run], -1) * both
        found.append((int(steps.cumsum().max()), int(near[way, run].sum()), int(both.sum()), -int(run)))
    lead, agreeing, compared, run = max(found, default=(-1, 0, 0, 0))
    return (-run, agreeing, compared) if lead >= enough else None


def _needed(half_width: float) -> int | None:
    """The least lead that chance reaches with probability `FALSE_MATCH` at most; None if there is none."""
    likely = half_width / WIDTHS_PER_AGREEMENT
    if likely >= 1 / 2:
        return None
    return math.ceil(math.log(FALSE_MATCH) / math.log(likely / (1 - likely)))


def _moved(codes: Codes, half_width: float) -> Truths:
    """Where losses are not what they were, to within the tolerance, at the epoch recorded before."""
    moved = np.ones(codes.shape, dtype=np.bool_)
    moved[:, 1:] = ~(_distance(codes[:, 1:], codes[:, :-1]) <= 2 * half_width)
    return moved


def _distance(left: Codes, right: Codes) -> Codes:
    """Between codes, along their circle."""
    apart = np.abs(left - right)
    return np.asarray(np.minimum(apart, _PERIOD - apart))


def _last_decimal(losses: Numbers) -> float:
    """0 where none is: a run that hardly moves lies on a coarse grid by chance, and tells no decimal."""
    for decimals in range(_MOST_DECIMALS):
        rounded = np.round(losses, decimals)
        on_grid = np.abs(losses - rounded) <= _OFF_GRID * 10.0**-decimals + _SINGLE * np.abs(losses)
        if on_grid.all() and len(np.unique(rounded)) >= _TELLING:
            return float(f"1e-{decimals}")
    return 0.0


def _unit(traces: Traces, losses: Numbers) -> float:
    """A thousandth of the spread between runs of one schedule, to one digit; 1 where no loss ever moves."""
    moves = _quiet([np.abs(column) for column in np.diff(losses, axis=1).T])
    spread = _quiet(list(_deviations(traces, losses))) or moves
    finest = float(np.median(np.abs(traces.loss))) * _SINGLE
    unit = max(max(spread, moves / _SPREAD_OF_COPIES) / UNITS_PER_SPREAD, finest)
    return float(f"{unit:.0e}") if unit > 0 else 1.0


def _deviations(traces: Traces, losses: Numbers) -> Iterator[Numbers]:
    """For every epoch recorded, how far runs are from the median of those of the same schedule so far."""
    for column, epoch in enumerate(recorded_epochs(int(traces.last_epochs.max()))):
        groups: dict[object, list[int]] = {}
        for run, schedule in enumerate(traces.schedules):
            if len(schedule) >= epoch:
                groups.setdefault(schedule[:epoch], []).append(run)
        found = [losses[group, column] for group in groups.values() if len(group) > 1]
        yield np.concatenate([np.abs(group - np.median(group)) for group in found] or [np.empty(0)])


def _quiet(by_epoch: Sequence[Numbers]) -> float:
    """What an epoch with little of something has of it, in most runs; epochs without any do not count."""
    typical = [float(np.median(held)) for column in by_epoch if (held := column[~np.isnan(column)]).size]
    found = [value for value in typical if value > 0]
    return float(np.quantile(found, _QUIET, method="lower")) if found else 0.0


def _table(prints: RunFingerprints, width: int) -> Codes:
    """The codes (runs, epochs), the first ``width`` of each run; NaN after its end."""
    table = np.full((len(prints.runs), width), np.nan, dtype=np.float32)
    for row, run in enumerate(prints.runs):
        digits = [_ALPHABET.index(character) for character in run.losses[: 2 * width]]
        table[row, : len(digits) // 2] = np.dot(np.reshape(digits, (-1, 2)), (len(_ALPHABET), 1))
    return table


def _written(codes: Numbers) -> str:
    pairs = (divmod(int(code), len(_ALPHABET)) for code in codes)
    return "".join(_ALPHABET[high] + _ALPHABET[low] for high, low in pairs)

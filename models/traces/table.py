"""The table of training traces: one row per run and epoch, in columns (docs/traces.rst).

A *run* is one training with one seed. Epoch 0 is the evaluation before any training; its model and cluster
are those of the first epoch, whose model is the one evaluated. A run begins at epoch 0, or at epoch 1 where
the first evaluation was not kept, and has every epoch up to its last; runs may end at different epochs.
Row ``k`` of a run says which model was trained where in epoch ``k``, and the loss ``l(k)`` after it; metrics
``start_...`` are those at the start of the epoch, after the switch to its model, NaN where not evaluated.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.names import advice
from depl.models.foundation.showing import Shown
from depl.models.foundation.wording import counted
from depl.models.traces.lost import LEDGERS, ledger, lost_among, with_ledgers
from depl.models.traces.metrics import METRICS, TARGETS

Numbers = NDArray[np.float64]
Texts = NDArray[np.str_]
Array = TypeVar("Array", bound=NDArray[Any])
Schedule = tuple[tuple[str, str], ...]
"""Model and cluster of epochs 1, 2, ..."""

COLUMNS = ("run", "epoch", "model", "cluster", "loss")
LARGEST = 1e100
"""Losses beyond this are refused, as in instances: their square must stay a number."""

LEFT_OUT = (
    "leave a run that diverged out, and count it: depl fit --diverged N, or depl certify --diverged NAME"
)
"""What to do with a run whose losses end in NaN, in words."""


@dataclass(frozen=True, eq=False, repr=False)
class Traces(Shown):
    """Training traces as columns of equal length, runs one after the other, epochs ascending by one.

    The arrays are copied and cannot be written to. What is wrong is reported with its column and row.

    Attributes
    ----------
    run : array of str, shape (rows,)
        Name of the run, usually its seed.
    epoch : array of int, shape (rows,)
    model, cluster : array of str, shape (rows,)
        What was trained in the epoch, and where.
    loss : array of float, shape (rows,)
        Held-out loss after the epoch [loss]; any finite number.
    metrics : mapping of str to array of float, shape (rows,)
        Some of `METRICS`.
    provenance : mapping of str to str
        Where the traces come from.

    Raises
    ------
    InvalidInputError
        If the columns do not make a table as described above; the path is ``.column[row]``.
    """

    run: Texts
    epoch: NDArray[np.int64]
    model: Texts
    cluster: Texts
    loss: Numbers
    metrics: Mapping[str, Numbers] = field(default_factory=dict)
    provenance: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Convert, freeze and check every column."""
        metrics = {name: _column(values, name) for name, values in self.metrics.items()}
        for name in COLUMNS:
            object.__setattr__(self, name, _column(getattr(self, name), name))
        object.__setattr__(self, "metrics", MappingProxyType(metrics))
        object.__setattr__(self, "provenance", MappingProxyType(dict(self.provenance)))
        if not self.rows:
            raise InvalidInputError("holds no row; a table has at least one", ".run")
        for name, column in ({name: getattr(self, name) for name in COLUMNS} | metrics).items():
            if len(column) != self.rows:
                message = f"has {counted(len(column), 'row')} where run has {self.rows}"
                raise InvalidInputError(message, f".{name}")
        for name, wrong, message_of in _rules(self):
            if wrong.any():
                row = int(np.argmax(wrong))
                raise InvalidInputError(message_of(row), f".{name}[{row}]")

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.run)

    @cached_property
    def bounds(self) -> NDArray[np.int64]:
        """First row of every run and, last, the number of rows; shape (runs + 1,)."""
        return _frozen(np.append(_run_starts(self.run), self.rows).astype(np.int64))

    @cached_property
    def runs(self) -> tuple[str, ...]:
        """Names of the runs, in the order of the table."""
        return tuple(str(name) for name in self.run[self.bounds[:-1]])

    @property
    def last_epochs(self) -> NDArray[np.int64]:
        """Last epoch of every run, shape (runs,)."""
        return np.asarray(self.epoch[self.bounds[1:] - 1])

    @cached_property
    def schedules(self) -> tuple[Schedule, ...]:
        """Model and cluster of epochs 1, 2, ... of every run."""
        pairs = list(zip(self.model.tolist(), self.cluster.tolist(), strict=True))
        ends = zip(self.bounds[:-1].tolist(), self.bounds[1:].tolist(), strict=True)
        return tuple(tuple(pairs[start + int(self.epoch[start] == 0) : stop]) for start, stop in ends)

    def by_schedule(self) -> dict[Schedule, NDArray[np.int64]]:
        """Indices of the runs of every schedule that occurs, in the order of the table."""
        found: dict[Schedule, list[int]] = {}
        for index, schedule in enumerate(self.schedules):
            found.setdefault(schedule, []).append(index)
        return {schedule: np.array(indices, dtype=np.int64) for schedule, indices in found.items()}

    @cached_property
    def lost(self) -> dict[str, str]:
        """Names of the runs that count as misses, here or not, and why (`depl.models.traces.lost`).

        Raises
        ------
        InvalidInputError
            If the provenance tells them in another form.
        """
        return lost_among(self.provenance, self.runs, self.schedules)

    def target(self, metric: str = "loss") -> Numbers:
        """The column that plans are to bound: ``loss``, or ``error_rate`` in the place of the loss.

        An error rate that was not kept is one minus the accuracy.

        Raises
        ------
        InvalidInputError
            If the metric is none of `TARGETS`, or the traces do not hold it.
        """
        return self._target(metric, "")

    def start(self, metric: str = "loss") -> Numbers:
        """The same metric at the start of every epoch, after the switch; NaN where it was not evaluated.

        Without a switch of the model the value at the start is that at the end of the epoch before, and is
        given as such.

        Raises
        ------
        InvalidInputError
            As `target`.
        """
        end = self.target(metric)
        earlier = np.full(self.rows, np.nan)
        same = (self.run[1:] == self.run[:-1]) & (self.model[1:] == self.model[:-1])
        earlier[1:][same] = end[:-1][same]
        try:
            known = self._target(metric, "start_")
        except InvalidInputError:
            return earlier
        return np.where(np.isnan(known), earlier, known)

    def matrix(self, metric: str = "loss") -> Numbers:
        """The target column with one row per run and one column per epoch, from 0 to the greatest.

        Returns
        -------
        array of float, shape (runs, greatest epoch + 1)
            NaN after the end of a run, and at epoch 0 where it was not evaluated.
        """
        table = np.full((len(self.runs), int(self.epoch.max()) + 1), np.nan)
        table[np.repeat(np.arange(len(self.runs)), np.diff(self.bounds)), self.epoch] = self.target(metric)
        return table

    def select(self, runs: ArrayLike) -> "Traces":
        """The traces of some runs, given by their indices (or one truth value per run).

        Raises
        ------
        InvalidInputError
            If there is no such run.
        """
        chosen, count = np.asarray(runs), len(self.runs)
        indices = np.flatnonzero(chosen) if chosen.dtype == bool and chosen.shape == (count,) else chosen
        inside = indices.ndim == 1 and indices.size and indices.dtype.kind in "iu"
        if not inside or not 0 <= indices.min() <= indices.max() < count:
            message = (
                f"needs indices of runs, 0 to {count - 1}, or a truth value for each of {count}; some run"
            )
            raise InvalidInputError(message, ".runs")
        rows = np.concatenate([np.arange(self.bounds[index], self.bounds[index + 1]) for index in indices])
        metrics = {name: column[rows] for name, column in self.metrics.items()}
        return replace(self, **{name: getattr(self, name)[rows] for name in COLUMNS}, metrics=metrics)

    def with_provenance(self, provenance: Mapping[str, str]) -> "Traces":
        """The same rows from elsewhere."""
        return replace(self, provenance=provenance)

    def _target(self, metric: str, prefix: str) -> Numbers:
        if metric not in TARGETS:
            raise InvalidInputError(f"must be one of {', '.join(TARGETS)}, not {metric!r}", ".metric")
        held = {"loss": self.loss, **self.metrics}
        if prefix + metric in held:
            return held[prefix + metric]
        if metric == "error_rate" and f"{prefix}accuracy" in held:
            return 1.0 - held[f"{prefix}accuracy"]
        raise InvalidInputError(f"the traces hold no {prefix}{metric} and no {prefix}accuracy", ".metric")


def joined(parts: Sequence[Traces], provenance: Mapping[str, str] | None = None) -> Traces:
    """Several tables one below the other; all hold the same metrics and no run twice.

    Raises
    ------
    InvalidInputError
        If there is no table, a run occurs twice, or the metrics differ.
    """
    if not parts:
        raise InvalidInputError("there is nothing to join")
    kinds = {tuple(sorted(part.metrics)) for part in parts}
    if len(kinds) > 1:
        raise InvalidInputError(f"the tables hold different metrics: {sorted(kinds)}", ".metrics")
    names = [run for part in parts for run in part.runs]
    if len(set(names)) < len(names):
        twice = next(run for index, run in enumerate(names) if run in names[:index])
        raise InvalidInputError(f"run {twice!r} is in two of the tables; rename one", ".run")
    columns = {name: np.concatenate([getattr(part, name) for part in parts]) for name in COLUMNS}
    metrics = {name: np.concatenate([part.metrics[name] for part in parts]) for name in parts[0].metrics}
    source = dict(parts[0].provenance)
    for part in parts[1:]:
        source = with_ledgers(source, {key: ledger(part.provenance, key) for key in LEDGERS})
    return Traces(**columns, metrics=metrics, provenance=source if provenance is None else provenance)


def place_of(error: InvalidInputError) -> tuple[str, int | None]:
    """Column and row of what `Traces` refuses; no row where it is about the column."""
    column, _, row = error.path.removeprefix(".").partition("[")
    return column, int(row.removesuffix("]")) if row else None


_KINDS: dict[str, tuple[str, str, Any]] = {
    **dict.fromkeys(("run", "model", "cluster"), ("Uiu", "names", np.str_)),
    "epoch": ("iu", "whole numbers", np.int64),
}


def _column(values: ArrayLike, name: str) -> NDArray[Any]:
    """A column of its own that cannot be written to, in the kind of its numbers, or of names."""
    column = np.asarray(values)
    kinds, what, kind = _KINDS.get(name, ("fiu", "numbers", np.float64))
    if column.dtype.kind not in kinds and column.size:
        raise InvalidInputError(f"holds {column.dtype}, not {what}", f".{name}")
    if column.ndim != 1:
        raise InvalidInputError(f"needs one dimension, not {column.ndim}", f".{name}")
    if name == "epoch" and column.dtype.kind == "u" and column.size and column.max() > np.iinfo(np.int64).max:
        raise InvalidInputError("holds a number beyond 64 bits", ".epoch")
    with np.errstate(over="ignore"):  # a wider number that double precision cannot hold is no finite one
        return _frozen(column.astype(kind))


def _frozen(column: Array) -> Array:
    column.flags.writeable = False
    return column


_Rule = tuple[str, NDArray[np.bool_], Callable[[int], str]]
"""A column, where it is wrong, and what to say of a row."""


def _rules(traces: Traces) -> Iterator[_Rule]:
    run, epoch = traces.run, traces.epoch
    before = "; the evaluation before training, epoch 0, names the {} of the first epoch"
    for name in ("run", "model", "cluster"):
        column = getattr(traces, name)
        wrong = [
            text for text in np.unique(column).tolist() if text != text.strip() or not text.isprintable()
        ]

        def told(row: int, also: str = "" if name == "run" else before.format(name)) -> str:
            return f"must be a name: printable, without outer blanks{'' if epoch[row] else also}"

        yield name, np.isin(column, ["", *wrong]), told
    starts = _run_starts(run)
    first = np.unique(run[starts], return_index=True)[1]
    again, begins = np.zeros((2, len(run)), dtype=bool)
    again[np.delete(starts, first)] = begins[starts] = True
    yield "run", again, lambda row: f"{str(run[row])!r} begins again after another run"
    outside = begins & ((epoch < 0) | (epoch > 1))
    yield "epoch", outside, lambda row: f"a run begins at epoch 0, or 1 without it, not at {epoch[row]}"
    broken = ~begins & (np.diff(epoch, prepend=epoch[0]) != 1)
    follows = "{} follows on {}; a run has every epoch once, ascending"
    yield "epoch", broken, lambda row: follows.format(epoch[row], epoch[row - 1])
    infinite = f"must be a finite number, not {{}}; {LEFT_OUT}"
    yield "loss", ~(np.abs(traces.loss) <= LARGEST), lambda row: infinite.format(traces.loss[row])
    for name, column in traces.metrics.items():
        yield _rule_of_metric(name, column)


def _rule_of_metric(name: str, column: Numbers) -> _Rule:
    if name not in METRICS:
        raise InvalidInputError(f"unknown metric; {advice(name, METRICS)}", f".{name}[0]")
    value = np.where(np.isnan(column), 0.0, column) if name.startswith("start_") else column
    if name == "start_loss":
        return name, ~(np.abs(value) <= LARGEST), lambda row: f"must be a finite number, not {column[row]}"
    return name, ~((value >= 0) & (value <= 1)), lambda row: f"must be a share in [0, 1], not {column[row]}"


def _run_starts(run: Texts) -> NDArray[np.int64]:
    return np.flatnonzero(np.append(np.ones(min(len(run), 1), dtype=bool), run[1:] != run[:-1]))

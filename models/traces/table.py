"""The table of training traces: one row per run and epoch, in columns.

A *run* is one training with one seed. Epoch 0 is the evaluation before any training; its model and cluster
are those of the first epoch, whose model is the one evaluated. A run begins at epoch 0, or at epoch 1 where
the first evaluation was not kept, and has every epoch up to its last; runs may end at different epochs.
Row ``k`` of a run says which model was trained where in epoch ``k``, and the loss ``l(k)`` after it.

Besides ``loss`` a table may hold other metrics:

``accuracy``, ``error_rate``
    share of held-out examples that are classified rightly or wrongly, in [0, 1];
``start_loss``, ``start_accuracy``, ``start_error_rate``
    the same at the start of the epoch: after the switch to the epoch's model and before it is trained. The
    jump of a switch, l^sw of Eq. (2), is ``start_loss`` of the epoch minus ``loss`` of the one before. NaN
    where it was not evaluated.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.names import advice
from depl.models.foundation.wording import counted
from depl.models.traces.lost import lost_among, united
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


class Offence(NamedTuple):
    """The first thing that is wrong with a table."""

    column: str
    row: int
    message: str


@dataclass(frozen=True, eq=False)
class Traces:
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
        for name in ("run", "model", "cluster"):
            object.__setattr__(self, name, _frozen(_texts(getattr(self, name), name)))
        object.__setattr__(self, "epoch", _frozen(_whole_numbers(self.epoch)))
        object.__setattr__(self, "loss", _frozen(_numbers(self.loss, "loss")))
        metrics = {name: _frozen(_numbers(column, name)) for name, column in self.metrics.items()}
        object.__setattr__(self, "metrics", MappingProxyType(metrics))
        object.__setattr__(self, "provenance", MappingProxyType(dict(self.provenance)))
        _require_shapes(self)
        offence = first_offence(self.run, self.epoch, self.model, self.cluster, self.loss, self.metrics)
        if offence is not None:
            raise InvalidInputError(offence.message, f".{offence.column}[{offence.row}]")

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
        chosen = np.asarray(runs)
        if chosen.dtype == bool and chosen.shape != (len(self.runs),):
            raise InvalidInputError(f"needs one truth value for each of {len(self.runs)} runs", ".runs")
        if chosen.dtype != bool and chosen.size and not (chosen.dtype.kind in "iu" and chosen.ndim == 1):
            raise InvalidInputError("needs indices of runs, or one truth value per run", ".runs")
        if chosen.dtype != bool and chosen.size and not 0 <= chosen.min() <= chosen.max() < len(self.runs):
            raise InvalidInputError(f"there are runs 0 to {len(self.runs) - 1} only", ".runs")
        indices = np.arange(len(self.runs))[chosen] if chosen.size else np.array([], dtype=np.int64)
        if not len(indices):
            raise InvalidInputError("names no run; a table has at least one", ".runs")
        return self._rows(
            np.concatenate([np.arange(self.bounds[index], self.bounds[index + 1]) for index in indices])
        )

    def with_provenance(self, provenance: Mapping[str, str]) -> "Traces":
        """The same rows from elsewhere."""
        return replace(self, provenance=provenance)

    def _rows(self, rows: NDArray[np.int64]) -> "Traces":
        names = (self.run[rows], self.epoch[rows], self.model[rows], self.cluster[rows])
        metrics = {name: column[rows] for name, column in self.metrics.items()}
        return Traces(*names, self.loss[rows], metrics, self.provenance)

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
    source = united([part.provenance for part in parts]) if provenance is None else provenance
    return Traces(**columns, metrics=metrics, provenance=source)


def first_offence(
    run: Texts,
    epoch: NDArray[np.int64],
    model: Texts,
    cluster: Texts,
    loss: Numbers,
    metrics: Mapping[str, Numbers],
) -> Offence | None:
    """What is wrong with columns of one length, or None; the first column, and in it the first row."""
    for name, column in (("run", run), ("model", model), ("cluster", cluster)):
        wrong = [text for text in np.unique(column).tolist() if not _is_name(text)]
        if (found := _first(np.isin(column, wrong))) is not None:
            return Offence(
                name, found, f"must be a name: printable, without outer blanks{_at_start(name, found, epoch)}"
            )
    if (offence := _epoch_offence(run, epoch)) is not None:
        return offence
    if (found := _first(~(np.abs(loss) <= LARGEST))) is not None:
        return Offence("loss", found, f"must be a finite number, not {loss[found]}; {LEFT_OUT}")
    return next(filter(None, (_metric_offence(name, column) for name, column in metrics.items())), None)


def _at_start(column: str, row: int, epoch: NDArray[np.int64]) -> str:
    """What epoch 0, where nothing has been trained yet, is to hold."""
    if column == "run" or epoch[row] != 0:
        return ""
    return f"; the evaluation before training, epoch 0, names the {column} of the first epoch"


def _is_name(text: str) -> bool:
    return text != "" and text == text.strip() and text.isprintable()


def _epoch_offence(run: Texts, epoch: NDArray[np.int64]) -> Offence | None:
    starts = _run_starts(run)
    names, first = np.unique(run[starts], return_index=True)
    if len(names) < len(starts):
        again = sorted(set(range(len(starts))) - set(first.tolist()))[0]
        row = int(starts[again])
        return Offence("run", row, f"{str(run[row])!r} begins again after another run")
    begins = np.zeros(len(run), dtype=bool)
    begins[starts] = True
    if (found := _first(begins & ((epoch < 0) | (epoch > 1)))) is not None:
        return Offence("epoch", found, f"a run begins at epoch 0, or 1 without it, not at {epoch[found]}")
    broken = np.zeros(len(run), dtype=bool)
    broken[1:] = ~begins[1:] & (epoch[1:] != epoch[:-1] + 1)
    if (found := _first(broken)) is not None:
        message = f"{epoch[found]} follows on {epoch[found - 1]}; a run has every epoch once, ascending"
        return Offence("epoch", found, message)
    return None


def _metric_offence(name: str, column: Numbers) -> Offence | None:
    if name not in METRICS:
        return Offence(name, 0, f"unknown metric; {advice(name, METRICS)}")
    value = np.where(np.isnan(column), 0.0, column) if name.startswith("start_") else column
    wrong = ~(np.abs(value) <= LARGEST) if name == "start_loss" else ~((value >= 0) & (value <= 1))
    if (found := _first(wrong)) is None:
        return None
    wanted = "a finite number" if name == "start_loss" else "a share in [0, 1]"
    return Offence(name, found, f"must be {wanted}, not {column[found]}")


def _run_starts(run: Texts) -> NDArray[np.int64]:
    changes = np.flatnonzero(run[1:] != run[:-1]) + 1
    return np.concatenate((np.zeros(min(len(run), 1), dtype=np.int64), changes)).astype(np.int64)


def _first(wrong: NDArray[np.bool_]) -> int | None:
    return int(np.argmax(wrong)) if wrong.any() else None


def _require_shapes(traces: Traces) -> None:
    if not traces.run.size:
        raise InvalidInputError("holds no row; a table has at least one", ".run")
    columns = {name: getattr(traces, name) for name in COLUMNS} | dict(traces.metrics)
    for name, column in columns.items():
        if column.ndim != 1:
            raise InvalidInputError(f"needs one dimension, not {column.ndim}", f".{name}")
        if len(column) != traces.rows:
            raise InvalidInputError(
                f"has {counted(len(column), 'row')} where run has {traces.rows}", f".{name}"
            )


def _texts(values: Iterable[object] | Texts, name: str) -> Texts:
    column = np.asarray(values)
    if column.dtype.kind not in "Uiu" and column.size:
        raise InvalidInputError(f"holds {column.dtype}, not names", f".{name}")
    return column.astype(np.str_)


def _whole_numbers(values: ArrayLike) -> NDArray[np.int64]:
    column = np.asarray(values)
    if column.dtype.kind not in "iu" and column.size:
        raise InvalidInputError(f"holds {column.dtype}, not whole numbers", ".epoch")
    if column.dtype.kind == "u" and column.size and column.max() > np.iinfo(np.int64).max:
        raise InvalidInputError("holds a number beyond 64 bits", ".epoch")
    return column.astype(np.int64)


def _numbers(values: ArrayLike, name: str) -> Numbers:
    column = np.asarray(values)
    if column.dtype.kind not in "fiu" and column.size:
        raise InvalidInputError(f"holds {column.dtype}, not numbers", f".{name}")
    with np.errstate(over="ignore"):  # a wider number that double precision cannot hold is no finite one
        return column.astype(np.float64)


def _frozen(column: Array) -> Array:
    copy = column.copy()
    copy.flags.writeable = False
    return copy

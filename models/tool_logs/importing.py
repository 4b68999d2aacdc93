"""Traces from the logs of a tool: losses, epochs and stages of every run, by what the caller says of them.

Which values are the loss and where models were trained has to be told; everything else is recognised, and
what was decided stands in `Imported.facts`. The rules for losses that are missing and epochs that occur twice
are those of `depl.models.traces.log_rules`.
"""

import math
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, get_args

from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.names import advice
from depl.models.foundation.wording import counted
from depl.models.tool_logs.epochs import (
    EPOCH_KEYS,
    ROW,
    STEP_KEYS,
    clock_key,
    first_called,
    from_steps,
    numbers_of,
    steps_of_epoch,
    with_rows,
)
from depl.models.tool_logs.finding import read_logs
from depl.models.tool_logs.points import LoggedRun, Point, ToolLog, figure_of, shown
from depl.models.tool_logs.stages import HINT, SETTING, Stages, stages_by_pattern, stages_of
from depl.models.traces.files import assembled
from depl.models.traces.log_rules import (
    Note,
    OnMissing,
    OnRepeated,
    What,
    counted_as_lost,
    cut_at_random,
    kept_lines,
    ledgers,
    matching,
    require_used,
)
from depl.models.traces.lost import (
    DIVERGED,
    ENDED,
    LEAVE_OUT,
    LEFT_OUT,
    LOST,
    WHOLE,
    ledger,
    listed,
    shorter,
    with_ledgers,
)
from depl.models.traces.restarts import Line
from depl.models.traces.same_runs import SAME, Shared, told_apart
from depl.models.traces.table import Traces, joined

_CLIENT = re.compile(r"(client|partition|node)([_-]?id)?|cid|rank|worker", re.IGNORECASE)
"""Keys of those who train one model together."""
HPARAMS = "hparams"
"""Where ``--stages-from`` may find the stages."""


@dataclass(frozen=True)
class Choices:
    """What is said of logs.

    Attributes
    ----------
    loss : str
        The key of the loss; or the end of a longer one, such as ``loss`` of ``centralized/loss``, where it is
        the only one that ends so.
    tool : str, optional
        As `depl.models.tool_logs.finding.read_logs`.
    run, epoch : str, optional
        Keys of the names of runs, and of epochs or global steps.
    first : int, optional
        What is called the first epoch.
    steps_per_epoch : int, optional
        Where global steps tell the epoch.
    every : int, optional
        The loss stands at every so manyth epoch alone, which is then an epoch of the traces.
    stages : sequence of str
        As `depl.models.tool_logs.stages.stages_by_pattern`.
    stages_from : str, optional
        `HPARAMS`.
    model, cluster : str, optional
        Keys of model and cluster of each epoch, or hyperparameters; ``model`` and ``cluster`` unless given.
    cluster_name : str, optional
        The one machine that all runs trained on, in the place of a key.
    where : mapping of str to str
        Only points with these values.
    accuracy : str, optional
        The key of an accuracy to keep.
    percent : bool
        Whether that is in per cent.
    on_missing, on_repeated : str
        As `depl.models.traces.log_rules.Rules`.
    leave_out : sequence of str
        Patterns of files, folders and runs that are not to count.
    diverged : sequence of str
        Patterns of runs, and of files that cannot be read, that are to count as misses.
    cut_at_random : sequence of str
        Patterns of runs that ended early for reasons unlike their losses.
    """

    loss: str
    tool: str | None = None
    run: str | None = None
    epoch: str | None = None
    first: int | None = None
    steps_per_epoch: int | None = None
    every: int | None = None
    stages: Sequence[str] = ()
    stages_from: str | None = None
    model: str | None = None
    cluster: str | None = None
    cluster_name: str | None = None
    where: Mapping[str, str] = field(default_factory=dict)
    accuracy: str | None = None
    percent: bool = False
    on_missing: OnMissing = "refuse"
    on_repeated: OnRepeated = "refuse"
    leave_out: Sequence[str] = ()
    diverged: Sequence[str] = ()
    cut_at_random: Sequence[str] = ()


@dataclass(frozen=True)
class Imported:
    """Traces, and how they were read.

    Attributes
    ----------
    log : ToolLog
    traces : Traces
        Of all runs.
    notes : tuple of Note
        Everything that is not in the traces as it stood in a file.
    facts : tuple of (str, str)
        What was decided, in words.
    repeats : tuple of Shared
        Runs that are left out as others have their losses.
    """

    log: ToolLog
    traces: Traces
    notes: tuple[Note, ...]
    facts: tuple[tuple[str, str], ...]
    repeats: tuple[Shared, ...] = ()

    @property
    def diverged(self) -> tuple[str, ...]:
        """Names of the runs whose loss became NaN or infinite: they miss every target."""
        return tuple(dict.fromkeys(note.run for note in self.notes if note.diverged))

    @property
    def dropped(self) -> tuple[str, ...]:
        """Names of the runs that the traces do not hold."""
        return tuple(note.run for note in self.notes if note.what is What.DROPPED)


def import_logs(paths: Sequence[str], choices: Choices) -> Imported:
    """Read the logs of a tool into traces.

    Parameters
    ----------
    paths : sequence of str
        Files and folders.

    Raises
    ------
    InvalidInputError
        With the place, and the option that would help.
    """
    _require_sense(choices)
    log = read_logs(paths, choices.tool, choices.loss, choices.leave_out)
    runs = [part for run in log.runs for part in _told_apart(_only(run, choices.where), choices.run)]
    if choices.epoch == ROW:
        began = (log.first if log.first is not None else 1) if choices.first is None else 0
        runs = [run if ROW in run.logged_keys() else with_rows(run, choices.loss, began) for run in runs]
    _require_names(runs)
    left_out = _left_out(log, runs, choices.leave_out)
    runs = [run for run in runs if run.name not in left_out]
    reader = _Reader(log, choices, stages_by_pattern(choices.stages))
    kept = [run for run in runs if reader.has_loss(run)]
    if not kept:
        raise InvalidInputError(_no_loss(runs, choices.loss), ", ".join(paths))
    lost = _counted(log, [run for run in runs if run not in kept], choices)
    notes: list[Note] = []
    tables = [table for run in kept for table in _tables(reader, run, notes, lost)]
    if not tables:
        raise InvalidInputError("no run is left; see the rules for missing losses", ", ".join(paths))
    provenance = {"imported": f"{log.tool}, {counted(len(kept), 'run')}, loss {choices.loss}"}
    for entries in (ledgers(notes), {LOST: lost, LEFT_OUT: left_out}):
        provenance = with_ledgers(provenance, entries)
    apart = told_apart(joined(tables, provenance))
    provenance |= {what: words for what, words in apart.said() if what == SAME}
    traces = reader.as_planned(apart.traces.with_provenance(provenance))
    others = [name for name in choices.diverged if not matching([name], *_names(lost)) and name != "*"]
    traces = cut_at_random(counted_as_lost(traces, others), choices.cut_at_random)
    facts = (*reader.facts(kept, traces), *apart.said())
    return Imported(log, traces, tuple(notes), facts, apart.repeats)


def _tables(reader: "_Reader", run: LoggedRun, notes: list[Note], lost: dict[str, str]) -> list[Traces]:
    """The tables of the trainings of a run; none if it is dropped, or is lost as was told."""
    try:
        return reader.read(run, notes)
    except InvalidInputError as error:
        if run.name not in reader.choices.diverged:
            raise
        lost[run.name] = str(error.message)
        return []


def _table(path: str, run: str, lines: Sequence[Line]) -> Traces:
    known = ("epoch", "model", "cluster", "loss")
    columns: dict[str, list[Any]] = {name: [getattr(line, name) for line in lines] for name in known}
    columns |= {name: [line.metrics[name] for line in lines] for name in lines[0].metrics}
    columns["run"] = [run] * len(lines)
    return assembled(path, [line.row for line in lines], columns, {})


def _require_sense(choices: Choices) -> None:
    """Refuse choices that cannot be meant, whatever the logs hold."""
    for name, known in (("on_missing", get_args(OnMissing)), ("on_repeated", get_args(OnRepeated))):
        if getattr(choices, name) not in known:
            message = f"must be one of {', '.join(known)}, not {getattr(choices, name)!r}"
            raise InvalidInputError(message, f".{name}")
    if choices.run == choices.loss:
        raise InvalidInputError("names runs by their loss: give the key that tells them apart", "--run")
    if choices.run is not None and _CLIENT.fullmatch(choices.run):
        message = (
            f"the losses by {choices.run!r} are of parts of one training and no independent runs: read one "
            f"of them, --where {choices.run}=..., or their mean"
        )
        raise InvalidInputError(message, "--run")
    told = {"--cluster": choices.cluster, "--stages": choices.stages, "--stages-from": choices.stages_from}
    other = next((option for option, value in told.items() if value), None)
    if choices.cluster_name is not None and other:
        raise InvalidInputError(
            f"names the one cluster, and {other} another: give one of them", "--cluster-name"
        )


def _left_out(log: ToolLog, runs: Sequence[LoggedRun], patterns: Sequence[str]) -> dict[str, str]:
    """Files and runs that are left out, with the pattern; all patterns must have one."""
    found = dict(log.left_out)
    found |= {run.name: f"{LEAVE_OUT} {text}" for run in runs if (text := matching(patterns, run.name))}
    used = {why.removeprefix(f"{LEAVE_OUT} ") for why in found.values()}
    names = [run.name for run in runs]
    require_used([text for text in patterns if text not in used], names, LEAVE_OUT)
    return found


def _counted(log: ToolLog, without: Sequence[LoggedRun], choices: Choices) -> dict[str, str]:
    """Runs of which nothing is read, if all are counted; those whose losses are all null are dropped ones.

    Raises
    ------
    InvalidInputError
        With those that are not.
    """
    empty = {run.name: f"has no value of {choices.loss!r}" for run in without if run.keys_of(choices.loss)}
    lost = {**log.lost, **{run.name: f"holds no {choices.loss!r}" for run in without}, **empty}
    counted_so = empty if choices.on_missing != "refuse" else {}
    left = {
        name: why
        for name, why in lost.items()
        if name not in counted_so and not matching(choices.diverged, *_names([name]))
    }
    if left:
        name = shlex.quote(Path(next(iter(left))).name)
        raise InvalidInputError(
            f"{counted(len(left), 'run')} went wrong: {listed(left)}. Count such a run as a miss, "
            f"{DIVERGED} {name}, or leave it out, {LEAVE_OUT} {name}",
            choices.loss if len(left) > 1 else next(iter(left)),
        )
    return lost


def _names(paths: Iterable[str]) -> list[str]:
    """What runs of which nothing is read may be called: their paths, files, and these without suffix."""
    return [name for path in paths for name in (path, Path(path).name, Path(path).stem)]


def _only(run: LoggedRun, where: Mapping[str, str]) -> LoggedRun:
    """The points that hold these values."""
    if not where:
        return run
    points = [
        p for p in run.points if all(shown(p.values.get(key, "")) == value for key, value in where.items())
    ]
    return replace(run, points=tuple(points))


def _told_apart(run: LoggedRun, key: str | None) -> list[LoggedRun]:
    """The runs of a file, by a key that names them: the one given, or ``run`` where it is logged."""
    if key is None and all("run" in point.values for point in run.points):
        key = "run"
    if key is None:
        return [run]
    found: dict[str, list[Point]] = {}
    for point in run.points:
        if key not in point.values:
            raise InvalidInputError(
                f"has no {key!r}, which names runs: choose one of {', '.join(run.logged_keys())} with --run",
                f"{run.path}, row {point.row}",
            )
        found.setdefault(shown(point.values[key]), []).append(point)
    return [LoggedRun(name, run.path, tuple(points), run.settings) for name, points in found.items()]


def _require_names(runs: Sequence[LoggedRun]) -> None:
    paths: dict[str, str] = {}
    for run in runs:
        if run.name in paths:
            message = f"run {run.name!r} is also in {paths[run.name]}: name runs by --run, or leave one out"
            raise InvalidInputError(message, run.path)
        paths[run.name] = run.path


def _no_loss(runs: Sequence[LoggedRun], loss: str) -> str:
    keys = list(dict.fromkeys(key for run in runs for key in run.logged_keys()))
    if not keys:
        return "hold nothing that was logged, or nothing that --where lets through"
    return f"nothing is logged under {loss!r}; {advice(loss, keys)}: choose with --loss"


class _Reader:
    """Runs read one by one, with what was decided on the way."""

    def __init__(self, log: ToolLog, choices: Choices, stages: Mapping[str, Stages]) -> None:
        self.log, self.choices, self.stages = log, choices, stages
        self.clocks: dict[str, int] = {}
        self.sources: dict[str, int] = {}
        self.losses: dict[str, int] = {}
        self.keys: set[str] = set()
        self.planned: dict[str, int] = {}
        self.of_run: dict[str, tuple[str, str, int | None]] = {}
        self.accuracies: dict[str, str] = {}

    def has_loss(self, run: LoggedRun) -> bool:
        """Whether anything is logged under the key of the loss."""
        return self._key(run, self.choices.loss) is not None

    def read(self, run: LoggedRun, notes: list[Note]) -> list[Traces]:
        """The tables of the trainings of one run; none if it is dropped."""
        loss = self._key(run, self.choices.loss) or self.choices.loss
        self.losses[loss] = self.losses.get(loss, 0) + 1
        points = self._with_missing(run, loss)
        epochs = self._epochs(run, points, loss)
        points, epochs = self._every_so_many(run, points, epochs, loss)
        stages = self._stages(run)
        places = [("", "")] * len(points) if stages is not None else self._by_keys(run, points, epochs, loss)
        accuracy = None if self.choices.accuracy is None else self._accuracy(run, self.choices.accuracy)
        known = {loss, accuracy, *self.keys}
        lines = [
            Line(
                epoch,
                point.row,
                loss,
                math.nan if loss in point.missing else self._figure(run, point, loss),
                empty=loss in point.missing,
                model=place[0],
                cluster=place[1],
                metrics={} if loss in point.missing else self._metrics(run, point, accuracy),
                unread={key: value for key, value in point.values.items() if key not in known},
            )
            for point, epoch, place in zip(points, epochs, places, strict=True)
        ]
        if max(epochs) == 0:  # it ended in its first epoch, which has no loss then
            lines.append(replace(lines[-1], epoch=1, loss=math.nan, empty=True))
        choices = self.choices
        found = kept_lines(run.path, run.name, lines, notes, choices.on_missing, choices.on_repeated)
        for name, kept in found.items():
            _require_every(run, [line.epoch for line in kept])
            found[name] = kept if stages is None else _staged(run, kept, stages)
            if stages is not None and stages.epochs is not None:
                self.planned[name] = stages.epochs
        return [_table(run.path, name, kept) for name, kept in found.items()]

    def as_planned(self, traces: Traces) -> Traces:
        """The traces, with what is known of runs that end before others: as was planned, or too early."""
        ends = dict(zip(traces.runs, traces.last_epochs.tolist(), strict=True))
        longest, known = max(ends.values()), ledger(traces.provenance, ENDED)
        plans = {name: plan for name, plan in self.planned.items() if name in ends}
        early = {
            name: f"ends at epoch {ends[name]} of {plan} planned"
            for name, plan in plans.items()
            if ends[name] < min(plan, longest) and name not in known
        }
        short = shorter(traces.runs, traces.schedules)
        whole = {name: "as planned" for name, plan in plans.items() if name in short and ends[name] == plan}
        return traces.with_provenance(with_ledgers(traces.provenance, {ENDED: early, WHOLE: whole}))

    def facts(self, runs: Sequence[LoggedRun], traces: Traces) -> list[tuple[str, str]]:
        """What was decided for all runs."""
        found = [("loss", _listed(self.losses)), ("epochs told by", _listed(self.clocks))]
        if self.choices.every is not None:
            found.append(
                ("an epoch", f"here is {self.choices.every} of the logs, as the loss stands at each of these")
            )
        found.append(("stages told by", _listed(self.sources)))
        keys = {key for run in runs for key in run.logged_keys()} - self.losses.keys()
        unread = sorted(keys - {self.choices.run, self.choices.accuracy, "run"} - self.keys)
        if unread:
            shown = ", ".join(unread[:6]) + (", ..." if len(unread) > 6 else "")
            found.append(("not read", f"{counted(len(unread), 'key')}: {shown}"))
        if self.log.passed_over:
            shown = ", ".join(self.log.passed_over[:3]) + (", ..." if len(self.log.passed_over) > 3 else "")
            found.append(("no runs", f"{counted(len(self.log.passed_over), 'column')}: {shown}"))
        left_out = ledger(traces.provenance, LEFT_OUT)
        for what, entries, most in (("left out", left_out, 5), ("files not read", self.log.unread, 10)):
            if entries:
                found.append((what, f"{len(entries)}: {listed(entries, most)}"))
        return found

    def _with_missing(self, run: LoggedRun, loss: str) -> list[Point]:
        """The points with a loss, and those where it is missing and no other point of their epoch has it.

        Points of training that stand between evaluations, and share no figure with these, are passed over.
        """
        points = [point for point in run.points if loss in point.values]
        key = self._clock(run, points)
        numbers = numbers_of(run, points, key)
        by_tool = key in EPOCH_KEYS and self.choices.steps_per_epoch is None
        steps = None if by_tool else steps_of_epoch(run, numbers, self.choices.steps_per_epoch)
        together = {name for point in points for name in _figures(point, loss)}

        def evaluated(point: Point) -> bool:
            number = figure_of(point.values.get(key))
            if number is None or not number.is_integer() or number in there:
                return False
            figures = _figures(point, loss)
            at_end = steps is None or not number or number % steps in (0, steps - 1)
            return at_end and (not figures or not figures.isdisjoint(together))

        there = set(numbers)
        if len(there) < len(numbers):  # of which branch it lacks the loss is for the rules to say
            there = set()
        return [p for p in run.points if loss in p.values or (loss in p.missing and evaluated(p))]

    def _key(self, run: LoggedRun, name: str) -> str | None:
        """The key of that name, or the only one that ends with it."""
        keys = run.logged_keys()
        if name in keys:
            return name
        ending = [key for key in keys if key.endswith(f"/{name}")]
        if len(ending) > 1:
            message = f"{name!r} may be {' or '.join(map(repr, ending))}: say which by --loss"
            raise InvalidInputError(message, run.path)
        return ending[0] if ending else None

    def _accuracy(self, run: LoggedRun, name: str) -> str:
        """The key of the accuracy, one for all runs."""
        found = self._key(run, name)
        if found is None:
            raise InvalidInputError(
                f"nothing is logged under {name!r}; {advice(name, list(run.logged_keys()))}", run.path
            )
        self.accuracies.setdefault(found, run.name)
        (other, first), *_ = self.accuracies.items()
        if other != found:
            raise InvalidInputError(
                f"the accuracy: {found!r} here, {other!r} in run {first!r}. Say with --accuracy KEY, one key "
                "for all, or leave one out",
                run.path,
            )
        return found

    def _figure(self, run: LoggedRun, point: Point, key: str) -> float:
        told = point.values.get(key)
        value = figure_of(told) if told is not None else None
        if value is not None:
            return value
        message = f"must be a number, not {told!r}" if told is not None else "must be logged with every loss"
        raise InvalidInputError(message, f"{run.path}, row {point.row}, {key}")

    def _metrics(self, run: LoggedRun, point: Point, accuracy: str | None) -> dict[str, float]:
        if accuracy is None:
            return {}
        value = self._figure(run, point, accuracy)
        return {"accuracy": value / 100 if self.choices.percent else value}

    def _clock(self, run: LoggedRun, points: Sequence[Point]) -> str:
        """The key that tells the epoch; that of global steps where it is told how many make one."""
        if self.choices.epoch is None and self.choices.steps_per_epoch is not None:
            return clock_key(run, points, None, STEP_KEYS)
        return clock_key(run, points, self.choices.epoch)

    def _epochs(self, run: LoggedRun, points: Sequence[Point], loss: str) -> list[int]:
        choices = self.choices
        key = self._clock(run, points)
        self.keys.add(key)
        numbers = numbers_of(run, points, key)
        counted_by_tool = key in EPOCH_KEYS and choices.steps_per_epoch is None
        steps = None if counted_by_tool else steps_of_epoch(run, numbers, choices.steps_per_epoch)
        self._require_alike(run, loss, key, steps)
        if steps is not None:
            self._count(self.clocks, f"{key}, {steps} steps an epoch")
            return from_steps(run, numbers, steps)
        first = first_called(run, min(numbers), choices.first, self.log.first)
        begins = "" if first == 1 else f", the first of which is called {first}"
        self._count(self.clocks, f"{key}{begins}")
        return _before_training(points, [number - first + 1 for number in numbers])

    def _require_alike(self, run: LoggedRun, loss: str, key: str, steps: int | None) -> None:
        """Refuse a run whose loss, or whose epochs, are told by something else than those of another one."""
        other, told = next(iter(self.of_run.items()), (run.name, (loss, key, steps)))
        self.of_run[run.name] = (loss, key, steps)
        for mine, its, what, way in (
            (loss, told[0], "the loss", "--loss KEY, one key for all"),
            (key, told[1], "the epoch", "--epoch KEY, one key for all"),
            (steps, told[2], "steps of an epoch", "--epoch KEY, a key that counts epochs"),
        ):
            if mine != its:
                here, there = (
                    "none that can be told" if item is None else f"{item!r}" for item in (mine, its)
                )
                raise InvalidInputError(
                    f"{what}: {here} here, {there} in run {other!r}. Say with {way}, or leave one out",
                    run.path,
                )

    def _every_so_many(
        self, run: LoggedRun, points: list[Point], epochs: list[int], loss: str
    ) -> tuple[list[Point], list[int]]:
        """Points and epochs of the traces, where the loss stands at every so manyth epoch alone."""
        every = self.choices.every
        if self.log.tool == "keras" and ".json" in Path(run.path).suffixes:  # lists, which tell no epoch
            there = sum(loss in point.values or loss in point.missing for point in run.points)
            keys = run.logged_keys().keys() - {"epoch"}
            alone = every is not None and all(key.startswith("val_") for key in keys)  # no list of training
            if not alone and there != len(run.points) // (every or 1):
                raise InvalidInputError(_short_list(loss, there, len(run.points), every), run.path)
        elif every is not None:
            wrong = next(
                (k for k, point in zip(epochs, points, strict=True) if k % every and loss in point.values), 0
            )
            if wrong:
                message = (
                    f"has a loss of epoch {wrong}, which is none of every {every}: say another --every N"
                )
                raise InvalidInputError(message, run.path)
            kept = [place for place, epoch in enumerate(epochs) if epoch % every == 0]
            points, epochs = [points[place] for place in kept], [epochs[place] // every for place in kept]
        if min(epochs) > 1:
            raise InvalidInputError(
                f"its first loss is of epoch {min(epochs)}: every epoch is needed, from the first on; say "
                "with --first what it is called, with --epoch which key tells it, or with --every N that it "
                "stands at every Nth alone",
                run.path,
            )
        return points, epochs

    def _by_keys(
        self, run: LoggedRun, points: Sequence[Point], epochs: Sequence[int], loss: str
    ) -> list[tuple[str, str]]:
        """Model and cluster of each point by their keys; where a loss is missing these may be, too."""
        keys = self.choices.model or "model", self.choices.cluster or "cluster"
        logged, one = run.logged_keys().keys(), self.choices.cluster_name
        needed = keys[:1] if one is not None else keys
        if not all(key in logged or key in run.settings for key in needed):
            raise InvalidInputError(f"does not say which model was trained where: {HINT}", run.path)
        self._count(self.sources, " and ".join(self._told_by(key, logged) for key in needed))
        self.keys.update(needed)
        told = list(points)
        for place, (point, after) in enumerate(pairwise(points)):
            if epochs[place] == 0 and not any(key in point.values for key in needed):
                told[place] = after  # before training nothing has been trained: the first model will be
        return [
            ("", "")
            if loss in point.missing
            else (
                self._name(run, point, keys[0]),
                one if one is not None else self._name(run, point, keys[1]),
            )
            for point in told
        ]

    def _stages(self, run: LoggedRun) -> Stages | None:
        """The stages of a run where they are told, and not by keys that are logged with every epoch."""
        found = stages_of(run.name, self.stages)
        if found is not None:
            self._require_one_source(run, "--stages")
            self._count(self.sources, "--stages")
            return found
        given = self.choices.stages_from
        if given is not None:
            self._require_one_source(run, "--stages-from")
        choices = self.choices
        told = (choices.model, choices.cluster, choices.cluster_name)
        asked = not choices.stages and all(name is None for name in told)
        if SETTING in run.settings and (given is not None or asked):
            self._count(self.sources, f"the hyperparameter {SETTING!r}")
            return Stages.of(run.settings[SETTING], f"{run.path}, hyperparameter {SETTING}")
        if given is not None:
            there = ", ".join(run.settings) or "none"
            message = f"run {run.name!r} has no hyperparameter {SETTING!r}; there are {there}: use --stages"
            raise InvalidInputError(message, run.path)
        return None

    def _require_one_source(self, run: LoggedRun, source: str) -> None:
        """Refuse stages of a run whose model or cluster keys are to tell, too."""
        given = {"--model": self.choices.model, "--cluster": self.choices.cluster}
        given["--cluster-name"] = self.choices.cluster_name
        also = [option for option, key in given.items() if key is not None]
        if also:
            message = (
                f"run {run.name!r} has its stages by {source} and is to be told by {' and '.join(also)}, too"
            )
            way = ", or narrow the pattern" if source == "--stages" else ""
            raise InvalidInputError(f"{message}: give one of them{way}", source)

    @staticmethod
    def _told_by(key: str, logged: Iterable[str]) -> str:
        return f"key {key}" if key in logged else f"the hyperparameter {key!r}"

    def _name(self, run: LoggedRun, point: Point, key: str) -> str:
        if key not in point.values and key in run.settings and key not in run.logged_keys():
            return run.settings[key]
        if key not in point.values:
            raise InvalidInputError("must be logged with every loss", f"{run.path}, row {point.row}, {key}")
        return shown(point.values[key])

    @staticmethod
    def _count(counts: dict[str, int], what: str) -> None:
        counts[what] = counts.get(what, 0) + 1


def _figures(point: Point, loss: str) -> set[str]:
    """The keys of numbers that are neither the loss nor tell the time."""
    clocks = {loss, *EPOCH_KEYS, *STEP_KEYS}
    return {key for key, value in point.values.items() if key not in clocks and figure_of(value) is not None}


def _short_list(loss: str, there: int, longest: int, every: int | None) -> str:
    """That a list of losses does not have one for each epoch, or for every so manyth."""
    if every is None:
        return (
            f"{loss!r} has {there} values where other lists have {longest}, and lists tell no epoch: say by "
            "--every N that it stands at every Nth epoch (validation_freq of Keras), or leave the run out"
        )
    return f"{loss!r} has {there} values for {longest} epochs, not one for every {every}: correct --every"


def _require_every(run: LoggedRun, epochs: Sequence[int]) -> None:
    """Refuse epochs, ascending, that begin before 0 or leave one out."""
    if epochs[0] < 0:
        raise InvalidInputError(
            f"has a loss of epoch {epochs[0]}, and epoch 0 is before training: say with --first what the "
            "first epoch is called, or with --epoch which key tells it",
            run.path,
        )
    missing = next((before + 1 for before, after in pairwise(epochs) if after > before + 1), None)
    if missing is not None:
        raise InvalidInputError(
            f"has no loss of epoch {missing}, but of later ones: every epoch is needed; say with --epoch "
            "which key tells it, or leave the run out",
            run.path,
        )


def _staged(run: LoggedRun, lines: Sequence[Line], stages: Stages) -> list[Line]:
    """Lines, ascending and of every epoch, with the model and cluster of their stage."""
    last = lines[-1].epoch
    schedule = stages.schedule(max(last, 1))
    if len(schedule) < last:
        message = f"has {last} epochs, its stages {len(schedule)}: give the rest by --stages"
        raise InvalidInputError(message, run.path)
    places = [schedule[max(line.epoch, 1) - 1] for line in lines]
    return [
        replace(line, model=model, cluster=cluster)
        for line, (model, cluster) in zip(lines, places, strict=True)
    ]


def _before_training(points: Sequence[Point], epochs: list[int]) -> list[int]:
    """Epochs, 0 for an evaluation that stands at step 0 of the first epoch, before another one of it."""
    firsts = [place for place, epoch in enumerate(epochs) if epoch == 1]
    begins = [place for place in firsts if figure_of(points[place].values.get("step")) == 0.0]
    if len(firsts) > 1 and len(begins) == 1:
        epochs[begins[0]] = 0
    return epochs


def _listed(counts: Mapping[str, int]) -> str:
    if len(counts) == 1:
        return next(iter(counts))
    return "; ".join(f"{what} ({counted(number, 'run')})" for what, number in counts.items())

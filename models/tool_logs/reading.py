"""One logged run read into tables: its loss, epochs, model and cluster, by what the caller says of them."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.names import advice
from depl.models.foundation.wording import counted
from depl.models.tool_logs.epochs import EPOCH_KEYS, STEP_KEYS, Clock, clock_of, epochs_of
from depl.models.tool_logs.finding import ToolLog
from depl.models.tool_logs.points import LoggedRun, Point, figure_of, shown
from depl.models.traces.files import assembled
from depl.models.traces.log_rules import (
    Line,
    Note,
    OnMissing,
    OnRepeated,
    kept_lines,
)
from depl.models.traces.lost import (
    ENDED,
    LEFT_OUT,
    WHOLE,
    ledger,
    listed,
    shorter,
    with_ledgers,
)
from depl.models.traces.stages import (
    HINT,
    SETTING,
    Stages,
    place_in,
    read_stages,
    stages_by_pattern,
    stages_for,
)
from depl.models.traces.table import Traces

_LISTED = 12
"""Keys that a refusal lists at most, so that what to do is still seen: set by hand."""


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
        As `depl.models.traces.stages.stages_by_pattern`.
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
        What to do where an epoch is missing or stands twice; see `depl.models.traces.log_rules`.
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


def key_of(run: LoggedRun, name: str) -> str | None:
    """The key of that name, or the only one that ends with it."""
    keys = run.logged_keys()
    if name in keys:
        return name
    ending = [key for key in keys if key.endswith(f"/{name}")]
    if len(ending) > 1:
        message = f"{name!r} may be {' or '.join(map(repr, ending))}: say which by --loss"
        raise InvalidInputError(message, run.path)
    return ending[0] if ending else None


class RunReader:
    """Runs read one by one, with what was decided on the way."""

    def __init__(self, log: ToolLog, choices: Choices) -> None:
        self.log, self.choices, self.by_pattern = log, choices, stages_by_pattern(choices.stages)
        self.decided = {what: Counter[str]() for what in ("loss", "epochs told by", "stages told by")}
        self.first: dict[str, tuple[object, str]] = {}
        self.keys: set[str] = set()
        self.planned: dict[str, int] = {}

    def read(self, run: LoggedRun, notes: list[Note]) -> list[Traces]:
        """The tables of the trainings of one run; none if it is dropped."""
        choices, loss = self.choices, self._key(run, self.choices.loss, "loss")
        self.decided["loss"][loss] += 1
        points, epochs = self._every_so_many(run, *self._epochs(run, loss), loss)
        stages = self._stages(run)
        if stages is None:
            places = self._by_keys(run, points, epochs, loss)
        else:
            places = [place_in(stages, max(epoch, 1)) for epoch in epochs]
        accuracy = None if choices.accuracy is None else self._key(run, choices.accuracy, "accuracy")
        known = {loss, accuracy, *self.keys}
        lines = []
        for point, epoch, place in zip(points, epochs, places, strict=True):
            empty, metrics = loss in point.missing, dict[str, float]()
            value = math.nan if empty else _figure(run, point, loss)
            if accuracy is not None and not empty:
                metrics["accuracy"] = _figure(run, point, accuracy) / (100 if choices.percent else 1)
            unread = {key: value for key, value in point.values.items() if key not in known}
            lines.append(Line(epoch, point.row, loss, value, empty, *place, metrics, unread))
        if max(epochs) == 0:  # it ended in its first epoch, which has no loss then
            lines.append(replace(lines[-1], epoch=1, loss=math.nan, empty=True))
        found = kept_lines(run.path, run.name, lines, notes, choices.on_missing, choices.on_repeated)
        return [self._table(run, name, kept, stages) for name, kept in found.items()]

    def _table(self, run: LoggedRun, name: str, lines: Sequence[Line], stages: Stages | None) -> Traces:
        """The table of one training, its lines in the order of epochs."""
        epochs = [line.epoch for line in lines]
        _require_every(run, epochs)
        counts = [count for *_, count in stages or () if count is not None]
        if stages and len(counts) == len(stages):
            if sum(counts) < epochs[-1]:
                message = f"has {epochs[-1]} epochs, its stages {sum(counts)}: give the rest by --stages"
                raise InvalidInputError(message, run.path)
            self.planned[name] = sum(counts)
        columns: dict[str, list[Any]] = {"run": [name] * len(lines), "epoch": epochs}
        columns |= {key: [getattr(line, key) for line in lines] for key in ("loss", "model", "cluster")}
        columns |= {metric: [line.metrics[metric] for line in lines] for metric in lines[0].metrics}
        return assembled(run.path, [line.row for line in lines], columns, {})

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
        found = []
        for what, counts in self.decided.items():
            many = "; ".join(f"{words} ({counted(number, 'run')})" for words, number in counts.items())
            found.append((what, many if len(counts) != 1 else next(iter(counts))))
        if self.choices.every is not None:
            words = f"here is {self.choices.every} of the logs, as the loss stands at each of these"
            found.insert(2, ("an epoch", words))
        keys = {key for run in runs for key in run.logged_keys()} - self.decided["loss"].keys()
        unread = sorted(keys - {self.choices.run, self.choices.accuracy, "run"} - self.keys)
        passed = self.log.passed_over
        for what, noun, names, most in (("not read", "key", unread, 6), ("no runs", "column", passed, 3)):
            if names:
                words = ", ".join([*names[:most], *["..."][: len(names) - most]])
                found.append((what, f"{counted(len(names), noun)}: {words}"))
        left_out = ledger(traces.provenance, LEFT_OUT)
        for what, entries, most in (("left out", left_out, 5), ("files not read", self.log.unread, 10)):
            if entries:
                found.append((what, f"{len(entries)}: {listed(entries, most)}"))
        return found

    def _epochs(self, run: LoggedRun, loss: str) -> tuple[list[Point], list[int]]:
        """The points that count, and their epochs."""
        told = self.choices.epoch, self.choices.steps_per_epoch
        points = [point for point in run.points if loss in point.values]
        clock = clock_of(run, points, *told)
        points = _with_missing(run, loss, points, clock)
        clock = clock_of(run, points, *told)
        self.keys.add(clock.key)
        self._require_alike(run, "the epoch", clock.key, "--epoch KEY, one key for all")
        way = "--epoch KEY, a key that counts epochs"
        self._require_alike(run, "steps of an epoch", clock.steps, way)
        first = self.log.first if self.choices.first is None else self.choices.first
        epochs, words = epochs_of(run, points, clock, first)
        self.decided["epochs told by"][words] += 1
        return points, epochs

    def _require_alike(self, run: LoggedRun, what: str, mine: object, way: str) -> None:
        """Refuse a run in which something is told by something else than in the first one."""
        its, other = self.first.setdefault(what, (mine, run.name))
        if mine != its:
            here, there = ("none that can be told" if item is None else f"{item!r}" for item in (mine, its))
            message = f"{what}: {here} here, {there} in run {other!r}. Say with {way}, or leave one out"
            raise InvalidInputError(message, run.path)

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
            pairs = list(zip(points, epochs, strict=True))
            wrong = next((k for point, k in pairs if k % every and loss in point.values), 0)
            if wrong:
                message = f"has a loss of epoch {wrong}, which is none of every {every}"
                raise InvalidInputError(f"{message}: say another --every N", run.path)
            points = [point for point, epoch in pairs if epoch % every == 0]
            epochs = [epoch // every for epoch in epochs if epoch % every == 0]
        if min(epochs) > 1:
            raise InvalidInputError(
                f"its first loss is of epoch {min(epochs)}: every epoch is needed, from the first on; say "
                "with --first what it is called, with --epoch which key tells it, or with --every N that it "
                "stands at every Nth alone",
                run.path,
            )
        return points, epochs

    def _key(self, run: LoggedRun, name: str, what: str) -> str:
        """The key of the loss or of an accuracy, one for all runs."""
        found = key_of(run, name)
        if found is None:
            message = f"nothing is logged under {name!r}; {advice(name, list(run.logged_keys()))}"
            raise InvalidInputError(message, run.path)
        self._require_alike(run, f"the {what}", found, f"--{what} KEY, one key for all")
        return found

    def _by_keys(
        self, run: LoggedRun, points: Sequence[Point], epochs: Sequence[int], loss: str
    ) -> list[tuple[str, str]]:
        """Model and cluster of each point by their keys; where a loss is missing these may be, too."""
        keys = [self.choices.model or "model", self.choices.cluster or "cluster"]
        logged, one = run.logged_keys().keys(), self.choices.cluster_name
        needed = keys[:1] if one is not None else keys
        if not all(key in logged or key in run.settings for key in needed):
            known = ", ".join([*run.logged_keys(), *run.settings][:_LISTED])
            how = f"{HINT}; or --model KEY and --cluster KEY name keys that tell it, of {known}"
            raise InvalidInputError(f"does not say which model was trained where: {how}", run.path)
        words = (f"key {key}" if key in logged else f"the hyperparameter {key!r}" for key in needed)
        self.decided["stages told by"][" and ".join(words)] += 1
        self.keys.update(needed)
        told = list(points)
        for place, (point, after) in enumerate(pairwise(points)):
            if epochs[place] == 0 and not any(key in point.values for key in needed):
                told[place] = after  # before training nothing has been trained: the first model will be

        def name(point: Point, key: str) -> str:
            if key in point.values:
                return shown(point.values[key])
            if key in logged or key not in run.settings:
                place = f"{run.path}, row {point.row}, {key}"
                raise InvalidInputError("must be logged with every loss", place)
            return run.settings[key]

        return [
            ("", "") if loss in point.missing else (name(point, keys[0]), one or name(point, keys[1]))
            for point in told
        ]

    def _stages(self, run: LoggedRun) -> Stages | None:
        """The stages of a run where they are told, and not by keys that are logged with every epoch."""
        choices, found = self.choices, stages_for(run.name, self.by_pattern)
        keys = {
            "--model": choices.model,
            "--cluster": choices.cluster,
            "--cluster-name": choices.cluster_name,
        }
        also = " and ".join(option for option, key in keys.items() if key is not None)
        if found is not None and also:
            message = (
                f"run {run.name!r} has its stages by --stages and is to be told by {also}, too: give one of "
                "them, or narrow the pattern"
            )
            raise InvalidInputError(message, "--stages")
        if found is not None:
            self.decided["stages told by"]["--stages"] += 1
        elif SETTING in run.settings and not also:
            self.decided["stages told by"][f"the hyperparameter {SETTING!r}"] += 1
            found = read_stages(run.settings[SETTING], f"{run.path}, hyperparameter {SETTING}")
        return found


def _with_missing(run: LoggedRun, loss: str, points: Sequence[Point], clock: Clock) -> list[Point]:
    """The points with a loss, and those where it is missing and no other point of their epoch has it.

    Points of training that stand between evaluations, and share no figure with these, are passed over.
    """
    together = {name for point in points for name in _figures(point, loss)}
    there = set(clock.numbers)
    if len(there) < len(clock.numbers):  # of which branch it lacks the loss is for the rules to say
        there = set()

    def evaluated(point: Point) -> bool:
        number, steps = figure_of(point.values.get(clock.key)), clock.steps
        if number is None or not number.is_integer() or number in there:
            return False
        figures = _figures(point, loss)
        at_end = steps is None or not number or number % steps in (0, steps - 1)
        return at_end and (not figures or not figures.isdisjoint(together))

    return [p for p in run.points if loss in p.values or (loss in p.missing and evaluated(p))]


def _figures(point: Point, loss: str) -> set[str]:
    """The keys of numbers that are neither the loss nor tell the time."""
    clocks = {loss, *EPOCH_KEYS, *STEP_KEYS}
    return {key for key, value in point.values.items() if key not in clocks and figure_of(value) is not None}


def _figure(run: LoggedRun, point: Point, key: str) -> float:
    told = point.values.get(key)
    value = figure_of(told)
    if value is not None:
        return value
    message = f"must be a number, not {told!r}" if told is not None else "must be logged with every loss"
    raise InvalidInputError(message, f"{run.path}, row {point.row}, {key}")


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

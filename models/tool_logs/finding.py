"""Files and folders of logs: which tool wrote them, which runs are there, and how these are called."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.names import advice
from depl.models.foundation.wording import counted
from depl.models.tool_logs.epochs import EPOCH_KEYS, STEP_KEYS
from depl.models.tool_logs.folders import files_within
from depl.models.tool_logs.json_files import read_json
from depl.models.tool_logs.json_lines import holds_lines, objects_of, run_of
from depl.models.tool_logs.mlflow import DELETED, SQLITE, is_deleted, is_run, read_database, read_store
from depl.models.tool_logs.plain_yaml import read_flat
from depl.models.tool_logs.points import TOOLS, LoggedRun, ToolLog, shown
from depl.models.tool_logs.reading import reader
from depl.models.tool_logs.tables import charts, run_of_table, runs_of_charts
from depl.models.tool_logs.tensorboard import SHUT, read_events
from depl.models.tool_logs.transformers import STATE, read_states, run_folder
from depl.models.tool_logs.unread import LostRuns, alike
from depl.models.tool_logs.wandb import MAGIC, inspected, read_offline
from depl.models.traces.log_rules import matching
from depl.models.traces.lost import LEAVE_OUT
from depl.models.traces.sheets import read_sheet
from depl.models.traces.text_files import first_bytes, require_end, unpacked

_EVENTS = ".tfevents."
_LINES, _TABLES = (".jsonl", ".ndjson"), (".csv", ".tsv")
_CLOCKS = ("_step", "_runtime", "_timestamp")
"""Columns that Weights & Biases adds."""
_FIRST = {"lightning": 0, "keras": 0, "flower": 1, "transformers": 1}
"""What a tool calls the first epoch, where it counts them itself; 0 is before training at the last two."""

_SETTINGS_OF_LIGHTNING = "hparams.yaml"
_RUNS_ALONE = (".wandb", ".db", ".sqlite")
"""Files that hold runs and nothing else."""

_Found = tuple[str, str, list[LoggedRun], list[str]]
"""Tool, by what it was recognised, runs, and what is passed over."""


def read_logs(
    paths: Sequence[str | Path], tool: str | None = None, loss: str = "", leave_out: Sequence[str] = ()
) -> ToolLog:
    """Read what a tool has logged.

    Parameters
    ----------
    paths : sequence of str or Path
        Files and folders; folders are searched.
    tool : str, optional
        One of `TOOLS`; recognised by what the files hold unless given.
    loss : str, optional
        The key of the loss, by which the logs of a folder are told from other files.
    leave_out : sequence of str
        Patterns of files and folders that are not opened.

    Raises
    ------
    InvalidInputError
        If there is nothing of that tool, or of several; or as the reader of a file that was named.
    """
    if tool is not None and tool not in TOOLS:
        raise InvalidInputError(f"there is no tool {tool!r}; {advice(tool, TOOLS)}", "--from")
    search = _Search(tool, loss, leave_out)
    for path in map(Path, paths):
        require_end(path)
        if path.is_dir():
            search.look_into(path)
        elif not search.leaves_out(path, path.parent):
            search.found.append(_in_file(path, tool, unpacked(path).stem))
    return search.log(", ".join(map(str, paths)))


def _first_epoch(tool: str, runs: Sequence[LoggedRun]) -> int | None:
    if tool == "tensorboard" and all(
        set(SHUT) & {key.split("/")[0] for key in run.logged_keys()} for run in runs
    ):
        return 0  # Keras
    return _FIRST.get(tool)


class _Search:
    """What was found in files and folders, and what of it is a log, a lost run, or something else."""

    def __init__(self, tool: str | None, loss: str, leave_out: Sequence[str]) -> None:
        self.tool, self.loss, self.patterns = tool, loss, leave_out
        self.found: list[_Found] = []
        self.failed: dict[Path, str] = {}
        self.lost: dict[str, str] = {}
        self.unread: dict[str, str] = {}
        self.left_out: dict[str, str] = {}
        self.folders: list[Path] = []

    def leaves_out(self, path: Path, folder: Path) -> bool:
        """Whether a file is to be left out, by its name or that of a folder that it is in."""
        within = path.relative_to(folder)
        names = [str(path), unpacked(path).stem, *(part for part in within.parts)]
        names += [part.as_posix() for part in (within, *within.parents)]
        pattern = matching(self.patterns, *names)
        if pattern is not None:
            self.left_out[str(path)] = f"{LEAVE_OUT} {pattern}"
        return pattern is not None

    def look_into(self, folder: Path) -> None:
        """Read what is in a folder and those within; event files and file stores by the folder of a run."""
        files, unread, folders = files_within(folder)
        self.unread |= {str(path): why for path, why in unread.items()}
        files = [path for path in files if not self.leaves_out(path, folder)]
        self.folders += [path for path in folders if not self.leaves_out(path, folder)]
        events = [path for path in files if _EVENTS in path.name]
        self._events(folder, events)
        states = [path for path in files if path.name == STATE]
        for run, own in _by_run(states).items():
            self._try(
                "transformers", run, partial(_of_states, run, own, f"{counted(len(states), 'file')} {STATE}")
            )
        stores = [path.parent for path in files if path.name == "meta.yaml" and is_run(path.parent)]
        for store in stores:
            if is_deleted(store):
                self.unread[str(store)] = DELETED
            else:
                self._try("mlflow", store, partial(_of_store, store))
        within = set(stores)
        for path in files:
            if _EVENTS not in path.name and path.name != STATE and within.isdisjoint(path.parents):
                self._one(path)

    def _events(self, folder: Path, files: Sequence[Path]) -> None:
        """Read event files, a run a folder; folders within those of a run may be parts of it."""
        why = f"{counted(len(files), 'event file')}, such as {files[0].name}" if files else ""
        by_folder = _event_runs(folder, files)
        alone = {run: _readable(run, own) for run, own in by_folder.items()}
        parts: dict[Path, list[Path]] = {run: [] for run in by_folder}
        for run in sorted(by_folder, key=lambda path: len(path.parts), reverse=True):
            around = next((path for path in run.parents if path in by_folder), None)
            if around is not None and _is_part(alone[run], alone[around], self.loss):
                by_folder[around] += by_folder.pop(run)
                parts[around] += [run, *parts.pop(run)]
        for run, own in by_folder.items():
            found = alone[run]
            above = any(run in other.parents for other in by_folder)
            if above and not parts[run] and found is not None and not found.keys_of(self.loss):
                self.unread[str(run)] = f"event files without {self.loss!r}, above the folders of runs"
                continue
            self._try("tensorboard", run, partial(_run_of_events, run, own, parts[run], why))

    def _one(self, path: Path) -> None:
        """Read a file if it may be a log."""
        kind = _kind(path)
        if path.name == _SETTINGS_OF_LIGHTNING:
            return  # it is read with the log beside it
        if not kind:
            self.failed[path] = _UNKNOWN.get(path.suffix.lower(), "is of no kind that is read")
        elif self.tool is not None and self.tool not in kind:
            self.unread[str(path)] = f"is no log of {self.tool}"
        else:
            self._try(None, path, partial(_in_file, path, self.tool, unpacked(path).stem))

    def _try(self, tool: str | None, path: Path, read: Callable[[], _Found]) -> None:
        """Read, or keep why that cannot be; a run of event files or of a store is lost then."""
        if tool is not None and self.tool not in (None, tool):
            self.unread[str(path)] = f"is no log of {self.tool}"
            return
        try:
            self.found.append(read())
        except InvalidInputError as error:
            if tool is not None or path.suffix.lower() == ".wandb":
                self.lost[str(path)] = str(error)
            else:
                self.failed[path] = str(error).removeprefix(f"{path}: ")

    def log(self, place: str) -> ToolLog:
        """All that was found, if it is of one tool."""
        holding = [item for item in self.found if any(self._has_loss(run) for run in item[2])] or self.found
        self._judge([Path(run.path) for item in holding for run in item[2]])
        if not holding:
            if self.lost:
                name, why = next(iter(self.lost.items()))
                raise InvalidInputError(why, name)
            wanted = f"of {self.tool}" if self.tool else f"of {', '.join(TOOLS)}"
            told = "".join(f"; {name}: {why}" for name, why in list(self.unread.items())[:1])
            raise InvalidInputError(f"holds no log {wanted}{told}", place)
        tools = list(dict.fromkeys(item[0] for item in holding))
        if len(tools) > 1:
            message = (
                f"are of several tools ({', '.join(tools)}): name the files of one, or say which by --from"
            )
            raise InvalidInputError(message, place)
        others = [item for item in self.found if item not in holding]
        for item in self.found:
            for run in item[2]:
                self.unread |= run.remarks
        runs = _renamed([run for item in holding for run in item[2]])
        self._without_loss(tools[0], runs, [(item[0], run) for item in others for run in item[2]])
        self._without_log(runs)
        passed = tuple(dict.fromkeys(text for item in holding for text in item[3]))
        why = "" if self.tool else holding[0][1]
        first = _first_epoch(tools[0], runs)
        return ToolLog(tools[0], why, tuple(runs), first, passed, self.lost, self.unread, self.left_out)

    def _has_loss(self, run: LoggedRun) -> bool:
        return bool(run.keys_of(self.loss)) if self.loss else True

    def _judge(self, logs: Sequence[Path]) -> None:
        """Tell lost runs from other files, where something was not read."""
        lost_runs = LostRuns(logs, self.loss)
        for path, why in self.failed.items():
            lost = lost_runs.why(path)
            if lost:
                self.lost[str(path)] = f"{lost}, but {why}"
            else:  # what would make a log of it does not matter
                self.unread[str(path)] = why.partition(": ")[0]

    def _without_loss(
        self, tool: str, runs: Sequence[LoggedRun], others: Sequence[tuple[str, LoggedRun]]
    ) -> None:
        """A log of the same tool that has keys of the others, but no loss, is that of a lost run."""
        names = {alike(Path(run.path).name) for run in runs}
        known = {key for run in runs for key in run.logged_keys()} | {*EPOCH_KEYS, *STEP_KEYS}
        for other, run in others:
            path = Path(run.path)
            keys = run.logged_keys().keys() - ({"epoch"} if path.suffix.lower() == ".json" else set())
            alone = path.is_dir() or path.suffix.lower() in _RUNS_ALONE
            same = other == tool if alone else tool in _kind(path) and bool(keys & known)
            lost = same or alike(path.name) in names
            place = run.path if path.stem == run.name else f"{run.path}, {run.name}"
            (self.lost if lost else self.unread)[place] = f"holds no {self.loss!r}"

    def _without_log(self, runs: Sequence[LoggedRun]) -> None:
        """A folder without a log that is named like those of single runs is that of a lost one."""
        logs = {Path(run.path) for run in runs}
        within = Counter(folder for log in logs for folder in (log, *log.parents))
        of_runs = {(folder.parent, alike(folder.name)) for folder, count in within.items() if count == 1}
        known = {Path(name) for name in (*self.lost, *self.left_out)}
        full = {folder for path in known for folder in (path, *path.parents)} | within.keys()
        for folder in self.folders:
            if folder not in full and (folder.parent, alike(folder.name)) in of_runs:
                self.lost[str(folder)] = "is named like the folders of runs, but holds no log"


_UNKNOWN = dict.fromkeys(
    (".pkl", ".pickle", ".pt"), "is a pickle, which may run any program when it is read: write JSON instead"
)


def _kind(path: Path) -> tuple[str, ...]:
    """Which tools may have written a file, by its name and how it begins; none for other files."""
    suffix = unpacked(path).suffix.lower()
    if suffix in _TABLES:
        return ("lightning", "keras", "wandb", "csv")
    if suffix in _LINES:
        return ("jsonl", "wandb")
    if suffix == ".json":
        return ("keras", "flower", "transformers", "jsonl", "wandb")
    if suffix == ".wandb":
        return ("wandb",)
    if suffix in (".db", ".sqlite"):
        return ("mlflow",) if _begins(path, SQLITE) else ()
    return ("jsonl", "wandb") if holds_lines(path) else ()


def _begins(path: Path, start: bytes) -> bool:
    return first_bytes(path, len(start)) == start


def _in_file(path: Path, tool: str | None, name: str) -> _Found:
    if _EVENTS in path.name:
        return "tensorboard", path.name, [read_events(path.parent, [path], path.parent.name)], []
    if unpacked(path).suffix.lower() in (".pkl", ".pickle", ".pt"):
        raise InvalidInputError(
            "is a pickle, which may run any program when it is read: write JSON instead, such as "
            "json.dumps(vars(history)) of a History of Flower",
            str(path),
        )
    for starts, read in _BY_START:
        if _begins(path, starts):
            return read(path)
    if unpacked(path).suffix.lower() in (".db", ".sqlite"):
        raise InvalidInputError("is no database of SQLite, as mlflow keeps its runs in", str(path))
    if unpacked(path).suffix.lower() in _LINES or holds_lines(path):
        return _lines(path, tool, name)
    if unpacked(path).suffix.lower() == ".json":
        found, run = read_json(path, path.parent.name if path.name == STATE else name)
        return found, path.name, [run], []
    return _table(path, tool, name)


def _database(path: Path) -> _Found:
    return "mlflow", f"{path.name}, a SQLite store", read_database(path), []


def _offline(path: Path) -> _Found:
    return "wandb", path.name, [read_offline(path)], []


_BY_START: tuple[tuple[bytes, Callable[[Path], _Found]], ...] = ((SQLITE, _database), (MAGIC, _offline))


def _lines(path: Path, tool: str | None, name: str) -> _Found:
    objects = objects_of(path)
    if {"type", "num"} <= objects[0][1].keys():
        return "wandb", f"{path.name}: records of wandb", [inspected(path, name, objects)], []
    run = run_of(path, name, objects)
    if tool == "wandb" or (tool is None and set(_CLOCKS) & run.logged_keys().keys()):
        return "wandb", f"{path.name}: key {_clock(run)}", [run], []
    return "jsonl", path.name, [_with_settings(run)], []


def _clock(run: LoggedRun) -> str:
    return next((key for key in _CLOCKS if key in run.logged_keys()), _CLOCKS[0])


def _with_settings(run: LoggedRun) -> LoggedRun:
    """A line whose keys lie below one, such as ``{"hparams": {...}}``, tells the settings of the run."""
    settings, points = dict(run.settings), []
    for point in run.points:
        heads = {key.partition("/")[0] for key in point.values if "/" in key}
        if len(heads) == 1 and heads <= set(_SETTINGS) and all("/" in key for key in point.values):
            settings |= {key.partition("/")[2]: shown(value) for key, value in point.values.items()}
        else:
            points.append(point)
    return LoggedRun(run.name, run.path, tuple(points), settings)


_SETTINGS = ("hparams", "hyperparameters", "config", "params", "settings")


@reader
def _table(path: Path, tool: str | None, name: str) -> _Found:
    """A CSV file: its columns say who wrote it."""
    sheet = read_sheet(path)
    header = sheet.header
    if tool == "wandb" or tool is None:
        if charts(sheet) and any(column.endswith("__MIN") for column in header):
            runs, passed = runs_of_charts(sheet)
            return "wandb", f"{path.name}: columns RUN - METRIC", runs, passed
        if tool == "wandb" or set(_CLOCKS) & set(header):
            return "wandb", f"{path.name}: column {_CLOCKS[0]}", [run_of_table(sheet, name)], []
    settings = path.with_name(_SETTINGS_OF_LIGHTNING)
    if tool == "lightning" or (tool is None and {"epoch", "step"} <= set(header)):
        told = read_flat(settings) if settings.is_file() else {}
        run = replace(run_of_table(sheet, name), settings=told)
        return "lightning", f"{path.name}: columns epoch and step", [run], []
    if tool in (None, "keras") and {"loss", "val_loss"} <= set(header) and header[0] in ("", "epoch"):
        index = "" if "epoch" in header else "epoch"  # of pandas, from 0 as epochs are
        why = f"{path.name}: columns epoch, loss and val_loss"
        return "keras", why, [run_of_table(sheet, name, index)], []
    if tool == "keras":
        return "keras", path.name, [run_of_table(sheet, name)], []
    return "csv", path.name, [run_of_table(sheet, name)], []


def _event_runs(folder: Path, files: Sequence[Path]) -> dict[Path, list[Path]]:
    """Event files by the folder that they are in, those of Keras by the folder of both its parts."""
    found: dict[Path, list[Path]] = {}
    for path in files:
        run = path.parent
        while run.name in SHUT and run != folder:
            run = run.parent
        found.setdefault(run, []).append(path)
    return found


def _run_of_events(run: Path, files: Sequence[Path], parts: Sequence[Path], why: str) -> _Found:
    named = {*SHUT, *(part.relative_to(run).as_posix() for part in parts)}
    return "tensorboard", why, [_with_flat_settings(read_events(run, files, run.name, named))], []


def _readable(run: Path, files: Sequence[Path]) -> LoggedRun | None:
    """What is logged in a folder by itself; None where that cannot be read."""
    try:
        return read_events(run, files, run.name)
    except InvalidInputError:
        return None


def _is_part(inner: LoggedRun | None, around: LoggedRun | None, loss: str) -> bool:
    """Whether what is logged in a folder within that of a run belongs to this one.

    ``add_scalars`` makes a folder for each line of a plot, which begins with the name of the plot, and
    ``add_hparams`` one within that of a run with the losses of its end at most. Other folders are those of
    runs, also of such that were lost before their first loss.

    Raises
    ------
    InvalidInputError
        If both log the loss, and so may be two runs, or training and evaluation of one.
    """
    if inner is None or around is None:
        return False
    name = Path(inner.path).relative_to(around.path).as_posix()
    asked = loss.startswith(f"{name}/") and inner.keys_of(loss.removeprefix(f"{name}/"))
    plots = tuple(key.replace("/", "_") + "_" for key in inner.logged_keys())
    if not loss or asked or Path(inner.path).name.startswith(plots):
        return True
    of_loss = inner.keys_of(loss)
    at_end = bool(inner.settings) and all(inner.logged_keys().get(key, 0) <= 1 for key in of_loss)
    if not around.keys_of(loss) or not of_loss or at_end:
        return bool(around.keys_of(loss))
    raise InvalidInputError(
        f"logs {loss!r}, as {around.path} around it does: if it is a part of that run, as its evaluation is, "
        f"say --loss {name}/{loss}; if both are runs, leave one out, --leave-out {name}, and read it alone",
        inner.path,
    )


def _with_flat_settings(run: LoggedRun) -> LoggedRun:
    """A run with the hyperparameters that Lightning writes beside its logs, too."""
    path = Path(run.path, _SETTINGS_OF_LIGHTNING)
    return replace(run, settings={**read_flat(path), **run.settings}) if path.is_file() else run


def _by_run(states: Sequence[Path]) -> dict[Path, list[Path]]:
    """States by the folder of their run."""
    found: dict[Path, list[Path]] = {}
    for path in states:
        found.setdefault(run_folder(path), []).append(path)
    return found


def _of_states(run: Path, files: list[Path], why: str) -> _Found:
    return "transformers", why, [read_states(run, files, run.name)], []


def _of_store(store: Path) -> _Found:
    return "mlflow", f"{store.name}/metrics and meta.yaml, a file store", [read_store(store)], []


def _renamed(runs: Sequence[LoggedRun]) -> list[LoggedRun]:
    """Runs with names of their own: those of folders where files share theirs, numbers as the last resort."""
    names = [run.name for run in runs]
    if len(set(names)) < len(names) and all(unpacked(Path(run.path)).stem == run.name for run in runs):
        names = _by_folders([Path(run.path) for run in runs])
    seen: dict[str, int] = {}
    found = []
    for run, name in zip(runs, names, strict=True):
        seen[name] = seen.get(name, 0) + 1
        own = name if seen[name] == 1 else f"{name} ({seen[name]})"
        found.append(LoggedRun(own, run.path, run.points, run.settings))
    return found


def _by_folders(paths: Sequence[Path]) -> list[str]:
    """The folders in which files of the same name differ."""
    parts = [path.parent.parts for path in paths]
    least = min(map(len, parts))
    common = next((i for i in range(least) if len({part[i] for part in parts}) > 1), max(least - 1, 0))
    return ["/".join(part[common:]) or path.stem for part, path in zip(parts, paths, strict=True)]

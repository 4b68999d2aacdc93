"""Files and folders of logs: which tool wrote them, which runs are there, and how these are called."""

import contextlib
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.names import advice
from depl.models.foundation.wording import counted
from depl.models.tool_logs.binary_logs import MAGIC, SHUT, read_events, read_offline
from depl.models.tool_logs.epochs import EPOCH_KEYS, STEP_KEYS
from depl.models.tool_logs.folders import PICKLES, LostRuns, alike, inside, suffix_of
from depl.models.tool_logs.mlflow import DELETED, SQLITE, read_database, read_store, stage_of
from depl.models.tool_logs.points import SETTINGS, TOOLS, LoggedRun, Reader, runs_of
from depl.models.tool_logs.text_logs import (
    STATE,
    folder_of,
    holds_lines,
    read_json,
    read_lines,
    read_states,
    read_table,
)
from depl.models.traces.log_rules import matching
from depl.models.traces.lost import LEAVE_OUT
from depl.models.traces.sheets import first_bytes, require_end, unpacked

_EVENTS = ".tfevents."
_FIRST = {"lightning": 0, "keras": 0, "flower": 1, "transformers": 1}
"""What a tool calls the first epoch, where it counts them itself; 0 is before training at the last two."""
_STORES = (".db", ".sqlite")
_PICKLE = "is a pickle, which may run any program when it is read: write JSON instead"


class Kind(NamedTuple):
    """Files of one form: how they begin or end, which tools write them, and what reads them."""

    start: bytes
    suffixes: tuple[str, ...]
    tools: tuple[str, ...]
    read: Callable[..., Iterator[LoggedRun]]  # of a path, and the tool that was named


_LINES = Kind(b"", (".jsonl", ".ndjson"), ("jsonl", "wandb"), read_lines)
_TABLE = Kind(b"", (".csv", ".tsv"), ("lightning", "keras", "wandb", "csv"), read_table)
KINDS = (
    Kind(SQLITE, (), ("mlflow",), read_database),
    Kind(MAGIC, (".wandb",), ("wandb",), read_offline),
    _LINES,
    Kind(b"", (".json",), ("keras", "flower", "transformers", "jsonl", "wandb"), read_json),
    _TABLE,
)


@dataclass(frozen=True)
class ToolLog:
    """What one tool has logged; names of runs and files that are not read come with why."""

    tool: str  # one of `depl.models.tool_logs.points.TOOLS`
    why: str  # by what it was recognised; empty where it was told
    runs: tuple[LoggedRun, ...]
    first: int | None = None  # what the tool calls the first epoch; None where its users decide
    passed_over: tuple[str, ...] = ()  # what is not read and no run, such as columns of extremes
    lost: Mapping[str, str] = field(default_factory=dict)  # logs that cannot be read, or lack the loss
    unread: Mapping[str, str] = field(default_factory=dict)  # files that are no logs
    left_out: Mapping[str, str] = field(default_factory=dict)  # files that were to be, and by which pattern


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
            search.found += runs_of(partial(_in_file, tool=tool), path)
    return search.log(", ".join(map(str, paths)))


def kind_of(path: Path) -> Kind | None:
    """The kind of a file by how it begins and what it is called; None where it is none that is known."""
    start, suffix = first_bytes(path, len(SQLITE)), suffix_of(path)
    by_start = next((kind for kind in KINDS if kind.start and start.startswith(kind.start)), None)
    if by_start is not None:
        return by_start
    by_suffix = next((kind for kind in KINDS if suffix in kind.suffixes), None)
    if by_suffix not in (_LINES, _TABLE) and holds_lines(path):
        return (by_suffix or _LINES)._replace(read=read_lines)
    return by_suffix


def _in_file(path: Path, tool: str | None) -> Iterator[LoggedRun]:
    """The runs of a file that was named, which is a table where nothing tells what it is."""
    if _EVENTS in path.name:
        return read_events(path.parent, [path], path.name)
    kind, suffix = kind_of(path), suffix_of(path)
    if kind is None and suffix in PICKLES:
        message = f"{_PICKLE}, such as json.dumps(vars(history)) of a History of Flower"
        raise InvalidInputError(message, str(path))
    if kind is None and suffix in _STORES:
        raise InvalidInputError("is no database of SQLite, as mlflow keeps its runs in", str(path))
    return (kind or _TABLE).read(path, tool)


class _Search:
    """What was found in files and folders, and what of it is a log, a lost run, or something else."""

    def __init__(self, tool: str | None, loss: str, leave_out: Sequence[str]) -> None:
        self.tool, self.loss, self.patterns = tool, loss, leave_out
        self.found: list[LoggedRun] = []
        self.failed: dict[Path, str] = {}
        self.lost: dict[str, str] = {}
        self.unread: dict[str, str] = {}
        self.left_out: dict[str, str] = {}
        self.folders: list[Path] = []

    def leaves_out(self, path: Path, folder: Path) -> bool:
        """Whether a file is to be left out, by its name or that of a folder that it is in.

        Folders above that which was named count only for patterns that are paths: a digit in the name of a
        home is not to match ``*1*``.
        """
        within = path.relative_to(folder)
        names = [unpacked(path).stem, *within.parts]
        names += [part.as_posix() for part in (within, *within.parents)]
        paths = [text for text in self.patterns if "/" in text or os.sep in text]
        pattern = matching(self.patterns, *names) or matching(paths, str(path))
        if pattern is not None:
            self.left_out[str(path)] = f"{LEAVE_OUT} {pattern}"
        return pattern is not None

    def look_into(self, folder: Path) -> None:
        """Read what a folder and those within hold: events, states and file stores by the folder of a run."""
        held = inside(folder)
        self.unread |= {str(path): why for path, why in held.unread.items()}
        files = [path for path in held.files if not self.leaves_out(path, folder)]
        self.folders += [path for path in held.folders if not self.leaves_out(path, folder)]
        self._events(folder, [path for path in files if _EVENTS in path.name])
        states = [path for path in files if path.name == STATE]
        why = f"{counted(len(states), 'file')} {STATE}"
        for run in dict.fromkeys(map(folder_of, states)):
            own = [path for path in states if folder_of(path) == run]
            self._read(run, ("transformers",), partial(read_states, files=own, why=why))
        found = ((path.parent, stage_of(path.parent)) for path in files if path.name == "meta.yaml")
        stores = {store: stage for store, stage in found if stage is not None}
        for store, stage in stores.items():
            if stage == "active":
                self._read(store, ("mlflow",), read_store)
            else:
                self.unread[str(store)] = DELETED
        for path in files:
            elsewhere = _EVENTS in path.name or path.name in (STATE, SETTINGS)
            if elsewhere or not stores.keys().isdisjoint(path.parents):
                continue
            if kind := kind_of(path):
                whole = path.suffix.lower() == ".wandb"
                self._read(path, kind.tools, partial(kind.read, tool=self.tool), whole)
            else:
                pickle = path.suffix.lower() in PICKLES
                self.failed[path] = _PICKLE if pickle else "is of no kind that is read"

    def _read(self, path: Path, tools: Sequence[str], read: Reader, whole: bool = True) -> None:
        """Read what these tools write; where that cannot be, a ``whole`` run is lost."""
        if self.tool is not None and self.tool not in tools:
            self.unread[str(path)] = f"is no log of {self.tool}"
            return
        try:
            self.found += runs_of(read, path)
        except InvalidInputError as error:
            if whole:
                self.lost[str(path)] = str(error)
            else:
                self.failed[path] = str(error).removeprefix(f"{path}: ")

    def _events(self, folder: Path, files: Sequence[Path]) -> None:
        """Read event files, a run a folder; folders within those of a run may be parts of it."""
        why = f"{counted(len(files), 'event file')}, such as {files[0].name}" if files else ""
        own: dict[Path, list[Path]] = {}
        for path in files:
            run = path.parent
            while run.name in SHUT and run != folder:  # at Keras the folder around both of its parts
                run = run.parent
            own.setdefault(run, []).append(path)
        alone: dict[Path, LoggedRun] = {}
        for run in own:
            with contextlib.suppress(InvalidInputError):
                (alone[run],) = runs_of(partial(read_events, files=own[run]), run)
        parts: dict[Path, list[Path]] = {run: [] for run in own}
        for run in sorted(own, key=lambda path: len(path.parts), reverse=True):
            around = next((path for path in run.parents if path in own), None)
            both = run in alone and around in alone
            if around is not None and both and _is_part(alone[run], alone[around], self.loss):
                own[around] += own.pop(run)
                parts[around] += [run, *parts.pop(run)]
        for run in own:
            above = any(run in other.parents for other in own)
            if above and not parts[run] and run in alone and not alone[run].keys_of(self.loss):
                self.unread[str(run)] = f"event files without {self.loss!r}, above the folders of runs"
                continue
            named = {*SHUT, *(part.relative_to(run).as_posix() for part in parts[run])}
            read = partial(read_events, files=own[run], why=why, named=named, beside=True)
            self._read(run, ("tensorboard",), read)

    def log(self, place: str) -> ToolLog:
        """All that was found, if it is of one tool."""
        with_loss = {run.path for run in self.found if not self.loss or run.keys_of(self.loss)}
        holding = [run for run in self.found if run.path in with_loss] or self.found
        lost_runs = LostRuns([Path(run.path) for run in holding], self.loss)
        for path, why in self.failed.items():
            if lost := lost_runs.why(path):
                self.lost[str(path)] = f"{lost}, but {why}"
            else:  # what would make a log of it does not matter
                self.unread[str(path)] = why.partition(": ")[0]
        tools = list(dict.fromkeys(run.tool for run in holding))
        if not holding:
            if self.lost:
                name, why = next(iter(self.lost.items()))
                raise InvalidInputError(why, name)
            wanted = self.tool or ", ".join(TOOLS)
            told = "".join(f"; {name}: {why}" for name, why in list(self.unread.items())[:1])
            raise InvalidInputError(f"holds no log of {wanted}{told}", place)
        if len(tools) > 1:
            message = (
                f"are of several tools ({', '.join(tools)}): name the files of one, or say which by --from"
            )
            raise InvalidInputError(message, place)
        for run in self.found:
            self.unread |= run.remarks
        runs = _renamed(holding)
        self._without_loss(runs, [run for run in self.found if with_loss and run.path not in with_loss])
        self._without_log({Path(run.path) for run in runs})
        first = _FIRST.get(tools[0])
        if tools[0] == "tensorboard" and all(
            {*SHUT} & {key.partition("/")[0] for key in run.logged_keys()} for run in runs
        ):
            first = 0  # Keras
        passed = tuple(dict.fromkeys(text for run in holding for text in run.passed_over))
        why = "" if self.tool else holding[0].why
        return ToolLog(tools[0], why, tuple(runs), first, passed, self.lost, self.unread, self.left_out)

    def _without_loss(self, runs: Sequence[LoggedRun], others: Sequence[LoggedRun]) -> None:
        """A log of the same tool that has keys of the others, but no loss, is that of a lost run."""
        names = {alike(Path(run.path).name) for run in runs}
        known = {key for run in runs for key in run.logged_keys()} | {*EPOCH_KEYS, *STEP_KEYS}
        for run in others:
            path, suffix = Path(run.path), Path(run.path).suffix.lower()
            keys = run.logged_keys().keys() - ({"epoch"} if suffix == ".json" else set())
            if path.is_dir() or suffix in (".wandb", *_STORES):  # which hold runs and nothing else
                same = run.tool == runs[0].tool
            else:
                kind = kind_of(path)
                same = kind is not None and runs[0].tool in kind.tools and bool(keys & known)
            lost = same or alike(path.name) in names
            place = run.path if path.stem == run.name else f"{run.path}, {run.name}"
            (self.lost if lost else self.unread)[place] = f"holds no {self.loss!r}"

    def _without_log(self, logs: set[Path]) -> None:
        """A folder without a log that is named like those of single runs is that of a lost one."""
        within = Counter(folder for log in logs for folder in (log, *log.parents))
        of_runs = {(folder.parent, alike(folder.name)) for folder, count in within.items() if count == 1}
        known = {Path(name) for name in (*self.lost, *self.left_out)}
        full = {folder for path in known for folder in (path, *path.parents)} | within.keys()
        for folder in self.folders:
            if folder not in full and (folder.parent, alike(folder.name)) in of_runs:
                self.lost[str(folder)] = "is named like the folders of runs, but holds no log"


def _is_part(inner: LoggedRun, around: LoggedRun, loss: str) -> bool:
    """Whether what is logged in a folder within that of a run belongs to this one.

    ``add_scalars`` makes a folder for each line of a plot, which begins with the name of the plot, and
    ``add_hparams`` one within that of a run with the losses of its end at most. Other folders are those of
    runs, also of such that were lost before their first loss.

    Raises
    ------
    InvalidInputError
        If both log the loss, and so may be two runs, or training and evaluation of one.
    """
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


def _renamed(runs: Sequence[LoggedRun]) -> list[LoggedRun]:
    """Runs with names of their own: those of folders where files share theirs, numbers as the last resort."""
    names, paths = [run.name for run in runs], [Path(os.path.abspath(run.path)) for run in runs]
    if len(set(names)) < len(names) and names == [unpacked(path).stem for path in paths]:
        common = os.path.commonpath([path.parent for path in paths])
        within = [path.parent.relative_to(common).as_posix() for path in paths]
        names = [name if folder == "." else folder for name, folder in zip(names, within, strict=True)]
    seen = Counter[str]()
    found = []
    for run, name in zip(runs, names, strict=True):
        seen[name] += 1
        found.append(replace(run, name=name if seen[name] == 1 else f"{name} ({seen[name]})"))
    return found

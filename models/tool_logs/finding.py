"""Files and folders of logs: which tool wrote them, which runs are there, and how these are called."""

from collections.abc import Callable, Sequence
from itertools import groupby
from pathlib import Path

from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.names import advice
from depl.models.foundation.wording import counted
from depl.models.tool_logs.json_files import read_json
from depl.models.tool_logs.json_lines import objects_of, run_of
from depl.models.tool_logs.mlflow import SQLITE, is_run, read_database, read_store
from depl.models.tool_logs.plain_yaml import read_flat
from depl.models.tool_logs.points import TOOLS, LoggedRun, ToolLog, shown
from depl.models.tool_logs.tables import charts, read_charts, read_table
from depl.models.tool_logs.tensorboard import SHUT, read_events
from depl.models.tool_logs.wandb import MAGIC, inspected, read_offline
from depl.models.traces.csv_files import read_sheet
from depl.models.traces.text_files import require_end

_EVENTS = ".tfevents."
_LINES = (".jsonl", ".ndjson")
_CLOCKS = ("_step", "_runtime", "_timestamp")
"""Columns that Weights & Biases adds."""
_FIRST = {"lightning": 0, "keras": 0, "flower": 1}
"""What a tool calls the first epoch, where it counts them itself; Flower's round 0 is before training."""

_Found = tuple[str, str, list[LoggedRun], list[str]]
"""Tool, by what it was recognised, runs, and what is passed over."""


def read_logs(paths: Sequence[str | Path], tool: str | None = None) -> ToolLog:
    """Read what a tool has logged.

    Parameters
    ----------
    paths : sequence of str or Path
        Files and folders; folders are searched.
    tool : str, optional
        One of `TOOLS`; recognised by what the files hold unless given.

    Raises
    ------
    InvalidInputError
        If there is nothing of that tool, or of several; or as the reader of a file.
    """
    if tool is not None and tool not in TOOLS:
        raise InvalidInputError(f"there is no tool {tool!r}; {advice(tool, TOOLS)}", "--from")
    found: list[_Found] = []
    for path in map(Path, paths):
        require_end(path)
        found += _in_folder(path, tool) if path.is_dir() else [_in_file(path, tool, path.stem)]
    if not found:
        wanted = f"of {tool}" if tool else f"of {', '.join(TOOLS)}"
        raise InvalidInputError(
            f"holds no log {wanted}; say with --from who wrote it", ", ".join(map(str, paths))
        )
    tools = list(dict.fromkeys(item[0] for item in found))
    if len(tools) > 1:
        message = f"are of several tools ({', '.join(tools)}): name the files of one, or say which by --from"
        raise InvalidInputError(message, ", ".join(map(str, paths)))
    runs = _renamed([run for item in found for run in item[2]])
    passed = tuple(dict.fromkeys(text for item in found for text in item[3]))
    return ToolLog(tools[0], "" if tool else found[0][1], tuple(runs), _first_epoch(tools[0], runs), passed)


def _first_epoch(tool: str, runs: Sequence[LoggedRun]) -> int | None:
    if tool == "tensorboard" and all(
        set(SHUT) & {key.split("/")[0] for key in run.logged_keys()} for run in runs
    ):
        return 0  # Keras
    return _FIRST.get(tool)


def _in_folder(folder: Path, tool: str | None) -> list[_Found]:
    """What is in a folder and those within, tool by tool; event files by the folder of their run."""
    found = _event_runs(folder) if tool in (None, "tensorboard") else []
    stores = sorted({meta.parent for meta in folder.rglob("meta.yaml") if is_run(meta.parent)})
    if stores and tool in (None, "mlflow"):
        why = f"{stores[0].name}/metrics and meta.yaml, a file store"
        found.append(("mlflow", why, [read_store(path) for path in stores if ".trash" not in path.parts], []))
    inner = [path for path in sorted(folder.rglob("*"), key=_natural) if path.is_file()]
    inner = [path for path in inner if not any(store in path.parents for store in stores)]
    for path in inner:
        kind = _kind(path)
        if kind and (tool is None or tool in kind):
            found.append(_in_file(path, tool, path.stem))
    return found


def _natural(path: Path) -> list[tuple[int, str]]:
    """The order of names in which version_2 stands before version_10."""
    parts = ["".join(part) for _, part in groupby(path.as_posix(), key=str.isdecimal)]
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]


def _kind(path: Path) -> tuple[str, ...]:
    """Which tools may have written a file, by its name and how it begins; none for other files."""
    suffix = path.suffix.lower()
    if suffix == ".csv":
        return ("lightning", "keras", "wandb", "csv")
    if suffix in _LINES:
        return ("jsonl", "wandb")
    if suffix == ".json":
        return ("keras", "flower", "jsonl") if _may_be_log(path) else ()
    if suffix == ".wandb":
        return ("wandb",)
    return ("mlflow",) if suffix in (".db", ".sqlite") and _begins(path, SQLITE) else ()


def _may_be_log(path: Path) -> bool:
    """Whether a JSON file is one of logs, and not, say, one of settings beside them."""
    try:
        read_json(path, path.stem)
    except InvalidInputError:
        return False
    return True


def _begins(path: Path, start: bytes) -> bool:
    with path.open("rb") as file:
        return file.read(len(start)) == start


def _in_file(path: Path, tool: str | None, name: str) -> _Found:
    if _EVENTS in path.name:
        return "tensorboard", path.name, [read_events(path.parent, [path], path.parent.name)], []
    if path.suffix.lower() in (".pkl", ".pickle", ".pt"):
        raise InvalidInputError(
            "is a pickle, which may run any program when it is read: write JSON instead, such as "
            "json.dumps(vars(history)) of a History of Flower",
            str(path),
        )
    for starts, read in _BY_START:
        if _begins(path, starts):
            return read(path)
    if path.suffix.lower() in _LINES:
        return _lines(path, tool, name)
    if path.suffix.lower() == ".json":
        found, run = read_json(path, name)
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


def _table(path: Path, tool: str | None, name: str) -> _Found:
    """A CSV file: its columns say who wrote it."""
    header = read_sheet(path).header
    if tool == "wandb" or tool is None:
        if charts(read_sheet(path)) and any(column.endswith("__MIN") for column in header):
            runs, passed = read_charts(path)
            return "wandb", f"{path.name}: columns RUN - METRIC", runs, passed
        if tool == "wandb" or set(_CLOCKS) & set(header):
            return "wandb", f"{path.name}: column {_CLOCKS[0]}", [read_table(path, name)], []
    settings = path.with_name("hparams.yaml")
    if tool == "lightning" or (tool is None and {"epoch", "step"} <= set(header)):
        run = read_table(path, name)
        told = read_flat(settings) if settings.is_file() else {}
        return (
            "lightning",
            f"{path.name}: columns epoch and step",
            [LoggedRun(name, run.path, run.points, told)],
            [],
        )
    if tool == "keras" or (tool is None and header[:1] == ["epoch"] and {"loss", "val_loss"} <= set(header)):
        return "keras", f"{path.name}: columns epoch, loss and val_loss", [read_table(path, name)], []
    return "csv", path.name, [read_table(path, name)], []


def _event_runs(folder: Path) -> list[_Found]:
    by_run: dict[Path, list[Path]] = {}
    files = sorted((path for path in folder.rglob(f"*{_EVENTS}*") if path.is_file()), key=_natural)
    holding = {path.parent for path in files}
    for path in files:
        run = path.parent
        while run.parent in holding or (run.name in SHUT and run != folder):
            run = run.parent
        by_run.setdefault(run, []).append(path)
    if not by_run:
        return []
    why = f"{counted(len(files), 'event file')}, such as {files[0].name}"
    return [("tensorboard", why, [read_events(run, own, run.name) for run, own in by_run.items()], [])]


def _renamed(runs: Sequence[LoggedRun]) -> list[LoggedRun]:
    """Runs with names of their own: those of folders where files share theirs, numbers as the last resort."""
    names = [run.name for run in runs]
    if len(set(names)) < len(names) and all(Path(run.path).stem == run.name for run in runs):
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

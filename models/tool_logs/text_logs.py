"""Logs that are text: JSON of Keras, Flower and the Trainer of transformers, JSON Lines, tables, W&B charts.

Each reader takes the tool that was named, if one was, and says which one wrote the file. A state of the
Trainer (``trainer_state.json``) holds all rows that were logged so far, each with the epoch, which is a
fraction of one in between, and the step: training losses, evaluations, after the training a summary. What is
evaluated after that is the model that was kept, and no epoch.
"""

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from depl.models.foundation.errors import InvalidInputError
from depl.models.tool_logs.points import (
    EMPTY,
    LoggedRun,
    Point,
    Value,
    figure_of,
    flat_settings,
    leaves,
    load_json,
    merged,
    point_of,
    settings_of,
    shown,
    value_of,
)
from depl.models.traces.sheets import (
    MOST_COLUMNS,
    Sheet,
    at,
    encoding_of,
    first_bytes,
    log_text,
    number,
    read_sheet,
    unpacked,
)

_HEADS = ("hparams", "hyperparameters", "config", "params", "settings")
"""A line whose keys lie below one of these tells the settings of the run."""
_CLOCKS = ("_step", "_runtime", "_timestamp")
"""Keys that Weights & Biases adds."""
_EXTREMES = ("__MIN", "__MAX")
"""Ends of the names of columns that hold the ends of an interval around another column."""
_LOOKED_AT = 2**20
"""Bytes of a file that are looked at to tell what it holds."""
_HISTORY = {
    "losses_distributed": "distributed/",
    "losses_centralized": "centralized/",
    "metrics_distributed_fit": "fit/",
    "metrics_distributed": "distributed/",
    "metrics_centralized": "centralized/",
}
_RESULT = {
    "train_metrics_clientapp": "train/",
    "evaluate_metrics_clientapp": "distributed/",
    "evaluate_metrics_serverapp": "centralized/",
}
"""Fields of Flower's ``History`` and ``Result``, and what goes before the names of their metrics."""
_MOST_ROUNDS = 2**53

STATE = "trainer_state.json"
"""What the file of a state is called."""
_ROWS = "log_history"
"""Where its rows are."""
_CHECKPOINT = re.compile(r"checkpoint-[0-9]+")
_SUMMARY, _EVALUATION = "train_runtime", "eval"
_PART = 0.02
"""Of an epoch, by which the end of one may be off: epochs were rounded to hundredths once, and batches that
fill no step are left out of some. Set by hand."""

Objects = Sequence[tuple[int, dict[str, Any]]]
"""The objects of a file with their lines."""


def holds_lines(path: Path) -> bool:
    """Whether a file begins with two objects, each on a line of its own."""
    content = first_bytes(path, _LOOKED_AT)
    text = content.decode(encoding_of(content), errors="ignore").replace("\r", "\n")
    lines = [line for line in text.split("\n") if line.strip()][:2]
    if len(lines) < 2 or not all(line.lstrip().startswith("{") for line in lines):
        return False
    try:
        return isinstance(load_json(lines[0], path), dict)
    except InvalidInputError:
        return False


def read_lines(path: Path, tool: str | None = None) -> Iterator[LoggedRun]:
    """The run of a file of JSON Lines, one object per line, as plain loops and many tools write."""
    name, objects = unpacked(path).stem, list[tuple[int, dict[str, Any]]]()
    for row, line in enumerate(log_text(path).split("\n"), start=1):
        if line.strip():
            content = load_json(line, path, row)
            if not isinstance(content, dict):
                message = f"must be a JSON object, not {type(content).__name__}"
                raise InvalidInputError(message, at(path, row))
            objects.append((row, content))
    if not objects:
        raise InvalidInputError("holds no line; one JSON object per line is needed", str(path))
    if {"type", "num"} <= objects[0][1].keys():
        yield run_of_records(path, name, objects)
        return
    points = _points(path, objects)
    logged = {key for point in points for key in point.values}
    if tool == "wandb" or (tool is None and logged & {*_CLOCKS}):
        clock = next((key for key in _CLOCKS if key in logged), _CLOCKS[0])
        yield LoggedRun("wandb", f"{path.name}: key {clock}", name, str(path), points)
        return
    settings, kept = dict[str, str](), list[Point]()
    for point in points:
        heads = {key.partition("/")[::2] for key in point.values}
        if len({head for head, _ in heads}) == 1 and all(head in _HEADS and rest for head, rest in heads):
            settings |= {key.partition("/")[2]: shown(value) for key, value in point.values.items()}
        else:
            kept.append(point)
    yield LoggedRun("jsonl", path.name, name, str(path), tuple(kept), settings)


def read_json(path: Path, tool: str | None = None) -> Iterator[LoggedRun]:
    """The run of a JSON file."""
    content = load_json(log_text(path), path)
    name, place, settings = unpacked(path).stem, str(path), dict[str, str]()
    if isinstance(content, list) and content and all(isinstance(item, dict) for item in content):
        tool, points = "jsonl", _points(path, list(enumerate(content, start=1)))
    elif is_state(content):
        yield run_of_state(path, path.parent.name if path.name == STATE else name, content, path.name)
        return
    elif isinstance(content, dict) and content.keys() & {*_HISTORY, *_RESULT}:
        tool, points = "flower", _rounds(content, place)
    else:
        lists, rest = _lists(content)
        if not lists:
            raise InvalidInputError(
                "is no log that is known: write json.dumps(history.history) at Keras, "
                "json.dumps(vars(history)) or the metrics of a Result at Flower, or one object per line",
                place,
            )
        tool, points, settings = "keras", _epochs(lists, place), settings_of(rest)
    yield LoggedRun(tool, path.name, name, place, points, settings)


def read_table(path: Path, tool: str | None = None) -> Iterator[LoggedRun]:
    """The runs of a CSV file: its columns say who wrote it."""
    sheet, name, index = read_sheet(path), unpacked(path).stem, ""
    header, settings = sheet.header, dict[str, str]()
    if tool in (None, "wandb") and any(column.endswith(_EXTREMES[0]) for column in header) and _charts(sheet):
        yield from _runs_of_charts(sheet, f"{path.name}: columns RUN - METRIC")
        return
    if tool == "wandb" or (tool is None and {*_CLOCKS} & {*header}):
        tool, why = "wandb", f"{path.name}: column {_CLOCKS[0]}"
    elif tool == "lightning" or (tool is None and {"epoch", "step"} <= {*header}):
        tool, why = "lightning", f"{path.name}: columns epoch and step"
        settings = flat_settings(path.parent)
    elif tool in (None, "keras") and {"loss", "val_loss"} <= {*header} and header[0] in ("", "epoch"):
        index = "" if "epoch" in header else "epoch"  # of pandas, from 0 as epochs are
        tool, why = "keras", f"{path.name}: columns epoch, loss and val_loss"
    else:
        tool, why = "keras" if tool == "keras" else "csv", path.name
    named = [key or index for key in header]
    points = tuple(
        point_of(row.number, ((k, v) for k, v in _values(named, row.cells) if k)) for row in sheet.rows
    )
    yield LoggedRun(tool, why, name, str(path), points, settings)


def _points(path: Path, objects: Objects) -> tuple[Point, ...]:
    for row, content in objects:
        if len(content) > MOST_COLUMNS:
            message = f"has {len(content)} keys; at most {MOST_COLUMNS} are read"
            raise InvalidInputError(message, at(path, row))
    return tuple(point_of(row, leaves(content)) for row, content in objects)


def _values(header: Iterable[str], cells: Iterable[str]) -> Iterator[tuple[str, Value | None]]:
    """The cells of a line by the names of their columns, None where one is empty."""
    for key, cell in zip(header, cells, strict=True):
        value = number(cell)
        yield key, None if cell.lower() in EMPTY else cell if value is None else value


def _charts(sheet: Sheet) -> dict[str, tuple[str, str]]:
    """Columns "RUN - METRIC" of a chart: run and metric by column; extremes are not among them."""
    names, found = set(sheet.header), {}
    for column in sheet.header:
        run, dash, metric = column.rpartition(" - ")
        if dash and not (metric.endswith(_EXTREMES) and column[: -len(_EXTREMES[0])] in names):
            found[column] = run, metric
    return found


def _runs_of_charts(sheet: Sheet, why: str) -> Iterator[LoggedRun]:
    """The runs of a chart that Weights & Biases exported, a column each; other columns are passed over."""
    columns, header = _charts(sheet), sheet.header
    shared = [place for place, column in enumerate(header) if column not in columns and " - " not in column]
    passed = tuple(column for column in header if column not in columns and " - " in column)
    for name in dict.fromkeys(run for run, _ in columns.values()):
        own = [place for place, column in enumerate(header) if columns.get(column, (None,))[0] == name]
        metrics = [columns[header[place]][1] for place in own]
        points = []
        for row, cells in sheet.rows:
            values = dict(_values(metrics, [cells[place] for place in own]))
            if any(value is not None for value in values.values()):
                told = dict(_values([header[place] for place in shared], [cells[place] for place in shared]))
                points.append(point_of(row, (told | values).items()))
        yield LoggedRun("wandb", why, name, sheet.path, tuple(points), passed_over=passed)


def _lists(content: Any) -> tuple[dict[str, list[Any]], dict[str, Any]]:
    """The lists of a Keras history, and what was written beside them; none of any other content.

    The history is the object itself, or what it calls ``history``, as ``vars(history)`` does. Beside other
    content lists are one only where one of them is a loss: settings hold lists, too.
    """
    if not isinstance(content, dict):
        return {}, {}
    inner = content.get("history")
    if isinstance(inner, dict):
        rest = {key: value for key, value in content.items() if key != "history"}
        told = {"epoch": rest["epoch"]} if isinstance(rest.get("epoch"), list) else {}
        return {**told, **_lists(inner)[0]}, rest.get("params") or rest
    lists = {key: value for key, value in content.items() if isinstance(value, list)}
    rest = {key: value for key, value in content.items() if key not in lists}
    return ({}, {}) if rest and not any(key.endswith("loss") for key in lists) else (lists, rest)


def _epochs(content: Mapping[str, list[Any]], path: str) -> tuple[Point, ...]:
    """Lists with one number per epoch, as a Keras history has them; epochs count from 0."""
    found = []
    for epoch in range(max(map(len, content.values()))):
        values: dict[str, Value | None] = {"epoch": float(epoch)}
        for key, column in content.items():
            if epoch < len(column):
                values[key] = value_of(column[epoch])
                wrong = values[key] is not None and figure_of(values[key]) is None
                if wrong or isinstance(column[epoch], dict):
                    message = f"{key} must hold numbers, not {str(column[epoch])[:40]!r}"
                    raise InvalidInputError(message, path)
        found.append(point_of(epoch + 1, values.items()))
    return tuple(found)


def _rounds(content: dict[str, Any], path: str) -> tuple[Point, ...]:
    """What was logged in every round; round 0 is before training."""
    found: list[tuple[int, float, str, Value | None]] = []
    for field, prefix in {**_HISTORY, **_RESULT}.items():
        pairs = (_history_pairs if field in _HISTORY else _result_pairs)(content.get(field) or {}, field)
        for told, key, item in pairs:
            called = value_of(told)
            place = figure_of(called)
            if place is None or not place.is_integer() or not 0 <= place < _MOST_ROUNDS:
                what = str(told) if called is None else shown(called)
                message = f"a round must be a whole number from 0 on, not {what[:40]!r}"
                raise InvalidInputError(message, f"{path}, {field}")
            found.append((int(place), place, prefix + key, value_of(item)))
    return merged(found, "round")


def _history_pairs(told: Any, field: str) -> Iterator[tuple[Any, str, Any]]:
    """Of ``[[round, loss], ...]``, or of the same by the names of metrics."""
    for key, rows in (told if isinstance(told, dict) else {"loss": told}).items():
        for row in rows if isinstance(rows, list) else (rows,):
            if not isinstance(row, list) or len(row) != 2:
                raise InvalidInputError(
                    f"{field}, {key}: must be pairs [round, value], not {str(row)[:40]!r}"
                )
            yield row[0], key, row[1]


def _result_pairs(told: Any, field: str) -> Iterator[tuple[Any, str, Any]]:
    """Of ``{round: {metric: value}}``, the keys being texts in JSON."""
    for key, metrics in (told if isinstance(told, dict) else {field: told}).items():
        if not isinstance(metrics, dict):
            raise InvalidInputError(f"{field}, {key}: must be metrics by name, not {str(metrics)[:40]!r}")
        for name, value in metrics.items():
            yield key, name, value


def folder_of(state: Path) -> Path:
    """The folder of the run of a state: that around a checkpoint."""
    return state.parent.parent if _CHECKPOINT.fullmatch(state.parent.name) else state.parent


def read_states(folder: Path, files: Sequence[Path], why: str) -> Iterator[LoggedRun]:
    """The run of a folder by its longest state, of which all others are beginnings."""
    states = {path: load_json(log_text(path), path) for path in files}
    for path, state in states.items():
        if not is_state(state):
            raise InvalidInputError(f"is no state of a trainer: it holds no list {_ROWS!r}", str(path))
    texts = {path: [json.dumps(row, sort_keys=True) for row in states[path][_ROWS]] for path in states}
    longest = max(states, key=lambda path: len(texts[path]))
    for path, rows in texts.items():
        if rows != texts[longest][: len(rows)]:
            raise InvalidInputError(
                f"is no beginning of {longest}: it is of another training; remove it or read {longest} alone",
                str(path),
            )
    yield run_of_state(folder, folder.name, states[longest], why)


def is_state(content: Any) -> bool:
    """Whether a document is a state."""
    rows = content.get(_ROWS) if isinstance(content, dict) else None
    return isinstance(rows, list) and all(isinstance(row, dict) for row in rows)


def run_of_state(path: Path, name: str, state: dict[str, Any], why: str) -> LoggedRun:
    """The run of one state, without evaluations after the training, where there were any during it."""
    told = settings_of({key: value for key, value in state.items() if key != _ROWS})
    settings = {key.removeprefix("trial_params/"): value for key, value in told.items()}
    points = [point_of(row, leaves(content)) for row, content in enumerate(state[_ROWS], start=1)]
    end = next((place for place, point in enumerate(points) if _SUMMARY in point.values), len(points))
    known = {key for point in points[:end] for key in _evaluated(point)}
    trained = points[:end] + [point for point in points[end:] if known.isdisjoint(_evaluated(point))]
    return LoggedRun("transformers", why, name, str(path), _whole(trained), settings)


def _evaluated(point: Point) -> list[str]:
    return [key for key in (*point.values, *point.missing) if key.startswith(_EVALUATION)]


def _whole(points: list[Point]) -> tuple[Point, ...]:
    """The points with whole epochs of evaluations; with steps alone where some are within an epoch."""
    epochs = [figure_of(point.values.get("epoch")) for point in points if _evaluated(point)]
    told = [epoch for epoch in epochs if epoch is not None and math.isfinite(epoch)]
    whole = len(told) == len(epochs) and all(abs(epoch - round(epoch)) <= _PART for epoch in told)
    found = []
    for point in points:
        values = dict(point.values)
        if _evaluated(point) and whole:
            values["epoch"] = float(round(figure_of(values["epoch"]) or 0.0))
        elif _evaluated(point) and "step" in values:
            values.pop("epoch", None)
        found.append(point._replace(values=values))
    return tuple(found)


def run_of_records(path: Path, name: str, lines: Sequence[tuple[int, dict[str, Any]]]) -> LoggedRun:
    """The run of a file that ``wandb leet inspect --json`` has made."""
    points, settings = [], dict[str, str]()
    for row, line in lines:
        kind = str(line.get("type"))
        content = line.get(kind)
        if not isinstance(content, dict):
            continue
        if kind == "history":
            points.append(point_of(row, leaves(content.get("item"))))
        elif kind in ("run", "config"):
            config = content if kind == "config" else content.get("config")
            settings |= settings_of(config.get("update") if isinstance(config, dict) else None)
            name = str(content.get("display_name") or name)
    return LoggedRun("wandb", f"{path.name}: records of wandb", name, str(path), tuple(points), settings)

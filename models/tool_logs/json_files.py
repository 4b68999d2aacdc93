"""JSON files: Keras' ``history.history``, Flower's ``History`` and ``Result``, and plain lists of objects."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from depl.models.foundation.errors import InvalidInputError
from depl.models.tool_logs.json_lines import flat, load_json, run_of
from depl.models.tool_logs.points import LoggedRun, Point, Value, figure_of, merged, point_of, shown, value_of
from depl.models.tool_logs.reading import reader
from depl.models.tool_logs.transformers import is_state, run_of_state
from depl.models.traces.text_files import log_text

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


@reader
def read_json(path: Path, name: str) -> tuple[str, LoggedRun]:
    """The tool that wrote a JSON file, and its run.

    Raises
    ------
    InvalidInputError
        If the file is nothing that is known.
    """
    content = load_json(log_text(path), str(path))
    if isinstance(content, list) and content and all(isinstance(item, dict) for item in content):
        return "jsonl", run_of(path, name, list(enumerate(content, start=1)))
    if is_state(content):
        return "transformers", run_of_state(path, name, content)
    if isinstance(content, dict) and content.keys() & {*_HISTORY, *_RESULT}:
        return "flower", LoggedRun(name, str(path), _rounds(content, str(path)))
    lists, rest = _lists(content)
    if lists:
        settings = {key: shown(value) for key, value in flat(rest).items()}
        return "keras", LoggedRun(name, str(path), _epochs(lists, str(path)), settings)
    raise InvalidInputError(
        "is no log that is known: write json.dumps(history.history) at Keras, json.dumps(vars(history)) or "
        "the metrics of a Result at Flower, or one object per line",
        str(path),
    )


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

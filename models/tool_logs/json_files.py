"""JSON files: Keras' ``history.history``, Flower's ``History`` and ``Result``, and plain lists of objects."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from depl.models.foundation.documents import read_text
from depl.models.foundation.errors import InvalidInputError
from depl.models.tool_logs.json_lines import NOT_FINITE, flat, load_json
from depl.models.tool_logs.points import LoggedRun, Point, merged
from depl.models.traces.csv_files import number

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


def read_json(path: Path, name: str) -> tuple[str, LoggedRun]:
    """The tool that wrote a JSON file, and its run.

    Raises
    ------
    InvalidInputError
        If the file is nothing that is known.
    """
    content = load_json(read_text(path), str(path))
    if isinstance(content, list) and content and all(isinstance(item, dict) for item in content):
        points = tuple(Point(row, flat(item)) for row, item in enumerate(content, start=1))
        return "jsonl", LoggedRun(name, str(path), points)
    if isinstance(content, dict) and content.keys() & {*_HISTORY, *_RESULT}:
        return "flower", LoggedRun(name, str(path), _rounds(content, str(path)))
    lists = isinstance(content, dict) and bool(content) and all(isinstance(v, list) for v in content.values())
    if lists:
        return "keras", LoggedRun(name, str(path), _epochs(content, str(path)))
    raise InvalidInputError(
        "is no log that is known: write json.dumps(history.history) at Keras, json.dumps(vars(history)) or "
        "the metrics of a Result at Flower, or one object per line",
        str(path),
    )


def _figure(value: Any, path: str, key: str) -> float:
    if isinstance(value, str) and value.lower() in NOT_FINITE:
        value = number(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidInputError(f"{key} must hold numbers, not {str(value)[:40]!r}", path)
    return float(value)


def _epochs(content: dict[str, list[Any]], path: str) -> tuple[Point, ...]:
    """Lists with one number per epoch, as a Keras history has them; epochs count from 0."""
    longest = max(map(len, content.values()))
    found = []
    for epoch in range(longest):
        figures = {
            key: _figure(values[epoch], path, key)
            for key, values in content.items()
            if epoch < len(values) and not isinstance(values[epoch], list)
        }
        found.append(Point(epoch + 1, {"epoch": float(epoch), **figures}))
    return tuple(found)


def _rounds(content: dict[str, Any], path: str) -> tuple[Point, ...]:
    """What was logged in every round; round 0 is before training."""
    found = []
    for field, prefix in {**_HISTORY, **_RESULT}.items():
        told = content.get(field) or {}
        pairs = _history_pairs(told) if field in _HISTORY else _result_pairs(told)
        for number_of_round, key, value in pairs:
            if not isinstance(value, bool) and isinstance(value, int | float | str):
                figure = _figure(value, path, key)
                found.append((number_of_round, float(number_of_round), prefix + key, figure))
    return merged(sorted(found, key=lambda item: item[1]), "round")


def _history_pairs(told: Any) -> Iterator[tuple[int, str, Any]]:
    """Of ``[[round, loss], ...]``, or of the same by the names of metrics."""
    by_key = told if isinstance(told, dict) else {"loss": told}
    for key, rows in by_key.items():
        for row in rows if isinstance(rows, list) else ():
            if isinstance(row, list) and len(row) == 2 and isinstance(row[0], int):
                yield row[0], key, row[1]


def _result_pairs(told: Any) -> Iterator[tuple[int, str, Any]]:
    """Of ``{round: {metric: value}}``, the keys being texts in JSON."""
    for key, metrics in told.items() if isinstance(told, dict) else ():
        if str(key).isdigit() and isinstance(metrics, dict):
            for name, value in metrics.items():
                yield int(key), name, value

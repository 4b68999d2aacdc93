"""States of the Trainer of Hugging Face's transformers: ``trainer_state.json`` of a run and its checkpoints.

A state holds all rows that were logged so far (``log_history``), each with the epoch, which is a fraction of
one in between, and the step: training losses, evaluations (keys that begin with ``eval``), after the training
a summary with ``train_runtime``. What is evaluated after that is the model that was kept, and no epoch.
"""

import json
import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from depl.models.foundation.errors import InvalidInputError
from depl.models.tool_logs.json_text import leaves, load_json, settings_of
from depl.models.tool_logs.points import LoggedRun, Point, figure_of, point_of
from depl.models.traces.text_files import log_text

STATE = "trainer_state.json"
"""What the file of a state is called."""
_ROWS = "log_history"
"""Where its rows are."""
_CHECKPOINT = re.compile(r"checkpoint-[0-9]+")
_SUMMARY, _EVALUATION = "train_runtime", "eval"
_PART = 0.02
"""Of an epoch, by which the end of one may be off: epochs were rounded to hundredths once, and batches that
fill no step are left out of some. Set by hand."""


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

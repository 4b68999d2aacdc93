"""Logs that nobody's tool would write, or only on a bad day: each is read or refused in words, soon.

A case makes its files in a folder and returns what ``depl traces import`` is given, with its choices.
"""

import json
import os
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

HUGE = "1" * 400
"""A whole number that no floating-point number holds."""
DEEP = 20_000


class Hostile(NamedTuple):
    """How to make a log, what is said of it, and how the answer begins or what is in it.

    ``answer`` is a part of the refusal, or the losses that are read.
    """

    make: Callable[[Path], Path]
    answer: str | list[float]
    choices: Mapping[str, object] = {}


def named(name: str, content: str | bytes) -> Callable[[Path], Path]:
    """A file."""

    def make(folder: Path) -> Path:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content.encode("utf-8") if isinstance(content, str) else content)
        return folder / name

    return make


def as_json(text: str) -> Callable[[Path], Path]:
    """A JSON file."""
    return named("a.json", text)


def as_lines(text: str) -> Callable[[Path], Path]:
    """A file of JSON Lines."""
    return named("a.jsonl", text)


def inspected(**more: object) -> str:
    """A record that ``wandb leet inspect --json`` shows."""
    return json.dumps({"num": 1, **more}, ensure_ascii=False) + "\n"


def store(
    metrics: Sequence[tuple[object, ...]] = ((1, "loss", 0.5, 0),),
    name: object = "a",
    params: Sequence[tuple[object, object]] = (),
    more: str = "",
) -> Callable[[Path], Path]:
    """A store of mlflow with one run: rows (step, key, value, is_nan)."""

    def make(folder: Path) -> Path:
        with sqlite3.connect(folder / "mlflow.db") as base:
            base.execute("CREATE TABLE runs (run_uuid, name, start_time, lifecycle_stage)")
            base.execute("CREATE TABLE metrics (run_uuid, step, key, value, is_nan, timestamp)")
            base.execute("CREATE TABLE params (run_uuid, key, value)")
            base.execute("INSERT INTO runs VALUES ('r', ?, 1, 'active')", (name,))
            base.executemany("INSERT INTO metrics VALUES ('r', ?, ?, ?, ?, 1)", metrics)
            base.executemany("INSERT INTO params VALUES ('r', ?, ?)", params)
            base.executescript(more)
        base.close()
        return folder / "mlflow.db"

    return make


def pipe(folder: Path) -> Path:
    """A pipe to which nobody writes."""
    os.mkfifo(folder / "log.csv")
    return folder / "log.csv"


def many() -> list[str]:
    """A million names."""
    return [f"c{k}" for k in range(10**6)]


ROWS = '{"epoch": 1, "loss": 1}\n{"epoch": 2, "loss": 0.5}\n'
HISTORY, ITEM = {"type": "history"}, {"epoch": 1, "loss": 0.5}
NO_LOSS = "has no loss in epoch"
NOTHING = "hold nothing that was logged"
ROUND = "a round must be a whole number from 0 on, not"
METRIC = "metric 1 of run r must be a number at a step, not step"
ENDLESS = (
    "DROP TABLE runs; CREATE VIEW runs AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
    "SELECT i AS run_uuid, 'a' AS name, i AS start_time, 'active' AS lifecycle_stage FROM n;"
)

CASES: dict[str, Hostile] = {
    "a number of 400 digits in JSON Lines": Hostile(as_lines(f'{{"epoch":1,"loss":{HUGE}}}'), NO_LOSS),
    "a number of 400 digits in a list": Hostile(as_json(f'[{{"epoch":1,"loss":{HUGE}}}]'), NO_LOSS),
    "an epoch of 400 digits": Hostile(as_lines(f'{{"epoch":{HUGE},"loss":1}}'), "not inf"),
    "a number of 400 digits at Keras": Hostile(as_json(f'{{"loss":[1,{HUGE}]}}'), NO_LOSS),
    "a number of 400 digits at Flower": Hostile(as_json(f'{{"losses_centralized":[[1,{HUGE}]]}}'), NO_LOSS),
    "a round of 400 digits": Hostile(as_json(f'{{"losses_centralized":[[{HUGE},1]]}}'), f"{ROUND} 'inf'"),
    "a key of 400 digits": Hostile(
        as_json(f'{{"evaluate_metrics_serverapp":{{"{HUGE}":{{"loss":1}}}}}}'), f"{ROUND} '1111"
    ),
    "a round ²": Hostile(as_json('{"evaluate_metrics_serverapp":{"²":{"loss":1}}}'), f"{ROUND} '²'"),
    "a key -5": Hostile(as_json('{"evaluate_metrics_serverapp":{"-5":{"loss":1}}}'), f"{ROUND} '-5'"),
    "a round -5": Hostile(as_json('{"losses_centralized":[[-5,1]]}'), f"{ROUND} '-5'"),
    "a round 1.5": Hostile(as_json('{"losses_centralized":[[1.5,1]]}'), f"{ROUND} '1.5'"),
    "a round 1.0": Hostile(as_json('{"losses_centralized":[[1.0,1],[2.0,0.5]]}'), [1, 0.5]),
    "rounds that are no pairs": Hostile(as_json('{"losses_centralized":[[1,1,1]]}'), "must be pairs [round"),
    "rounds that are one number": Hostile(as_json('{"losses_centralized":5}'), "must be pairs [round"),
    "a round without metrics": Hostile(
        as_json('{"evaluate_metrics_serverapp":{"1":[1]}}'), "must be metrics by name"
    ),
    "a list in a history": Hostile(as_json('{"loss":[1,[0.5]]}'), NO_LOSS),
    "null in a history": Hostile(as_json('{"loss":[1,null]}'), NO_LOSS),
    "all of a Keras History": Hostile(
        as_json('{"history":{"loss":[1,0.5]},"epoch":[0,1],"params":{"epochs":2}}'), [1, 0.5]
    ),
    "a history with a figure beside": Hostile(as_json('{"loss":[1,0.5],"best":3}'), [1, 0.5]),
    "a history of no epochs": Hostile(as_json('{"loss":[]}'), NOTHING),
    "a file called x²": Hostile(
        lambda folder: named("d/x².csv", "epoch,loss\n1,0.5\n")(folder).parent, [0.5]
    ),
    "a folder called x²": Hostile(
        lambda folder: named("d/x²/a.tfevents.1", b"")(folder).parent.parent, NOTHING
    ),
    "a run that is named by its loss": Hostile(as_lines(ROWS), "names runs by their loss", {"run": "loss"}),
    "a run of an evaluation before training": Hostile(
        as_lines('{"epoch":0,"loss":1}'), f"{NO_LOSS} 1", {"first": 1}
    ),
    "a round before training": Hostile(as_json('{"losses_centralized":[[0,1]]}'), f"{NO_LOSS} 1"),
    "epochs below 0": Hostile(as_lines('{"epoch":-3,"loss":1}'), "has a loss of epoch -3", {"first": 1}),
    "a W&B run whose config is a list": Hostile(
        as_lines(inspected(type="run", run={"config": [1]})), NOTHING
    ),
    "a W&B run whose config is null": Hostile(as_lines(inspected(type="run", run={"config": None})), NOTHING),
    "a W&B config that is updated by null": Hostile(
        as_lines(inspected(type="config", config={"update": None})), NOTHING
    ),
    "a W&B config that is updated by a list": Hostile(
        as_lines(inspected(type="config", config={"update": [1]})), NOTHING
    ),
    "a W&B history that is null": Hostile(as_lines(inspected(**HISTORY, history={"item": None})), NOTHING),
    "a W&B history that is a list": Hostile(as_lines(inspected(**HISTORY, history={"item": [1]})), NOTHING),
    "W&B records after a byte order mark": Hostile(
        as_lines("\ufeff" + inspected(**HISTORY, history={"item": ITEM})), [0.5]
    ),
    "W&B records with a line separator": Hostile(
        as_lines(inspected(**HISTORY, history={"item": {**ITEM, "note": "a\u2028b"}})), [0.5]
    ),
    "JSON Lines with a line separator": Hostile(
        named(
            "a.jsonl", '{"epoch":1,"loss":0.5,"note":"a\u2028b\x0b\x0c\x1c\x85"}'.replace("\x0b\x0c\x1c", "")
        ),
        [0.5],
    ),
    "a list 20,000 deep": Hostile(as_json("[" * DEEP + "]" * DEEP), "too deeply"),
    "objects 20,000 deep": Hostile(as_lines('{"a":' * DEEP + "1" + "}" * DEEP), "too deeply"),
    "objects 970 deep": Hostile(as_lines('{"a":' * 970 + "1" + "}" * 970), "too deeply"),
    "an mlflow step that is null": Hostile(store([(None, "loss", 0.5, 0)]), f"{METRIC} None"),
    "an mlflow step that is text": Hostile(store([("one", "loss", 0.5, 0)]), f"{METRIC} 'one'"),
    "an mlflow value that is null": Hostile(store([(1, "loss", None, 0)]), NO_LOSS),
    "an mlflow value that is text": Hostile(store([(1, "loss", "high", 0)]), METRIC),
    "an mlflow value that is bytes": Hostile(store([(1, "loss", b"x", 0)]), METRIC),
    "an mlflow value that is infinite": Hostile(store([(1, "loss", 1.7976931348623157e308, 0)]), NO_LOSS),
    "an mlflow key that is null": Hostile(store([(1, None, 0.5, 0)]), METRIC),
    "an mlflow key that is bytes": Hostile(store([(1, b"loss", 0.5, 0)]), METRIC),
    "an mlflow run called by bytes": Hostile(store(name=b"a"), [0.5]),
    "an mlflow run called by a number": Hostile(store(name=5), [0.5]),
    "an mlflow parameter of bytes": Hostile(
        store(params=[(b"k", b"v")]),
        "has no hyperparameter 'stages'",
        {"stages": (), "stages_from": "hparams"},
    ),
    "an mlflow view without end": Hostile(store(more=ENDLESS), "must be tables"),
    "stages of 10^20 epochs": Hostile(
        as_lines(ROWS), "has more than 1000000 epochs", {"stages": ("a@b:99999999999999999999",)}
    ),
    "stages of 5000 digits": Hostile(
        as_lines(ROWS), "has more than 1000000 epochs", {"stages": ("a@b:" + "9" * 5000,)}
    ),
    "a hyperparameter of 3,000,000,000 epochs": Hostile(
        as_lines('{"hparams":{"stages":"a@b:3000000000"}}\n' + ROWS),
        "has more than 1000000 epochs",
        {"stages": ()},
    ),
    "a name that is too long": Hostile(
        lambda folder: folder / ("a" * 5000), "cannot be read (File name too long)"
    ),
    "a name with a null byte": Hostile(lambda folder: folder / "a\0b", "cannot be read (embedded null byte)"),
    "a pipe": Hostile(pipe, "is no file but a pipe or a device"),
    "/dev/zero": Hostile(lambda folder: Path("/dev/zero"), "is no file but a pipe or a device"),
    "10^6 columns": Hostile(
        lambda folder: named("a.csv", ",".join(many()) + "\n" + ",".join(many()) + "\n")(folder),
        "has 1000000 columns; at most 100000 are read",
    ),
    "10^6 keys": Hostile(
        lambda folder: as_lines(json.dumps(dict.fromkeys(many(), 1)))(folder),
        "has 1000000 keys; at most 100000",
    ),
}

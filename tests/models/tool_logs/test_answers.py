"""What is read from logs of every shape, and what is refused with the option that helps: one table.

A row holds files and what comes of them under some choices: the losses of every run, by epoch or from epoch 1
on, or the words of a refusal. Files that a reader may trip over (`tests.cases.hostile_logs`) are rows, too.
"""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from depl.models.foundation.errors import InvalidInputError
from depl.models.tool_logs.importing import Choices, Imported, import_logs
from depl.models.tool_logs.points import LoggedRun, TrippedError, runs_of
from tests.cases.hostile_logs import CASES as HOSTILE
from tests.cases.hostile_logs import store

NAN = float("nan")


def jsonl(keys: str, *rows: tuple[Any, ...]) -> str:
    """Lines of objects, without the keys whose value is ``...``."""
    told = (zip(keys.split(), row, strict=True) for row in rows)
    objects = ({key: value for key, value in row if value is not ...} for row in told)
    return "".join(json.dumps(row) + "\n" for row in objects)


def csv(*rows: str) -> str:
    return "\n".join(rows) + "\n"


def at(steps: list[int], key: str = "step") -> dict[str, str]:
    return {"a.jsonl": jsonl(f"{key} loss", *((step, 1.0) for step in steps))}


STEPS = {
    f"global steps {steps}": (at(steps), ({}, {"a": dict.fromkeys(epochs, 1)}))
    for steps, epochs in (
        ([100, 200, 300], [1, 2, 3]),
        ([99, 199, 299], [1, 2, 3]),
        ([0, 100, 200, 300], [0, 1, 2, 3]),
        ([0, 99, 199], [0, 1, 2]),
        ([2, 4], [1, 2]),
    )
}
BARE = {"stages": ()}
TEXTS = jsonl("Zeit loss half", (1, 1, 0.5), (2, 1, 1.0))
MOVED = jsonl("epoch host loss", (1, "x", 0.3), (2, "x", 0.2), (2, "y", 0.1), (3, "y", 0.0))
METRICS = [(1, "train", 6), (1, "val", 4), (2, "train", 5.5), (2, "val", 3.5)]
BEST = json.dumps([{"epoch": k, "eval_loss": x} for k, x in ((1, 0.9), (2, 0.6), (3, 0.7), (3, 0.6))])
GOOD_AND_BAD = {
    "a.jsonl": jsonl("epoch loss", (1, 1.0), (2, 1.0), (3, 1.0)),
    "b.jsonl": jsonl("epoch loss", (1, 2.0), (2, NAN)),
}
TWO_KEYS = {"a.jsonl": '{"epoch": 1, "val": {"loss": 1.0}, "test": {"loss": 2.0, "f1": 0.5}}\n'}
VALUES = {"a.jsonl": jsonl("epoch key value", *((k, key, k / 2) for k in (1, 2) for key in ("train", "val")))}
CHART = '"Step","a - loss","a - loss__MIN","a - loss__MAX","b - loss","b - loss__MIN","b - loss__MAX"'
SEVERAL = {"a.jsonl": jsonl("Name epoch loss", *((name, k, 1.0) for name in "xy" for k in (1, 2)))}
THREE = {"a.jsonl": jsonl("epoch loss", (1, 1.0), (2, 1.0), (3, 1.0))}
NETS = jsonl("epoch loss net site", (1, 1, "p50", "edge"), (2, 1, "p50", ...), (3, 1, "p75", "edge"))
KEYS = {"stages": (), "model": "net", "cluster": "site"}
CONTROLLER = jsonl("epoch loss model cluster", (0, 3, ..., ...), (1, 2, "m1", "c"), (2, 1, "m2", "c"))
BACK = [(k, k / 10, "m", "c") for k in range(1, 8)] + [(5, 0.05, "m", "c"), (6, 0.06, "m", "c")]
AGAIN = {"a": [0.1, 0.2, 0.3, 0.4, 0.05, 0.06]}
TRAINED_TWICE = [*zip(range(1, 6), (2.0, 1.5, 1.0, 0.8, 0.7), strict=True), (1, 2.9), (2, 2.8), (3, 2.7)]
HISTORY = {"h.json": '{"loss": [1, 0.9, 0.8, 0.7], "val_loss": [0.95, 0.75]}'}
VAL = {"loss": "val_loss"}
EVERY_FIFTH = {"a.jsonl": jsonl("epoch loss", *((k, 1 / k if k % 5 == 0 else ...) for k in range(1, 16)))}
CLOCKS = {
    f"{name}.jsonl": jsonl(f"{key} loss", *((width * k, 1 / k) for k in (1, 2, 3)))
    for name, key, width in (("a", "step", 100), ("b", "step", 50), ("c", "epoch", 1))
}
WIDTHS = {f"{w}.jsonl": jsonl("epoch width loss", (1, w, 1), (2, w, 0.5)) for w in (64, 128)}
SET = '{"hparams": {"stages": "w@here"}}\n' + WIDTHS["64.jsonl"]
FLOWER = [*enumerate([1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4], start=1), (5, 0.65), (6, 0.55)]
LOST = {"log.jsonl": jsonl("run epoch loss other", ("a", 1, 1.0, ...), ("b", 1, ..., 1.0))}
HALF = {"a": [0.5, 0.25]}
SEMICOLONS = "epoch;loss\n1;0,5\n2;0,25\n"
UTF_16 = b"\xfe\xff" + SEMICOLONS.encode("utf-16-be")
TABLES: dict[str, str | bytes] = {
    "semicolons and decimal commas": SEMICOLONS,
    "semicolons and points": SEMICOLONS.replace(",", "."),
    "tabs": SEMICOLONS.replace(";", "\t"),
    "quoted numbers": '"epoch","loss"\n"1","0.5"\n"2","0.25"\n',
    "names with the other separator": '"epoch","loss","a;b;c"\n1,0.5,x\n2,0.25,y\n',
    "UTF-16": SEMICOLONS.encode("utf-16"),
    "UTF-16, the other way": UTF_16,
    "UTF-8 with its mark": SEMICOLONS.encode("utf-8-sig"),
    "gzip": gzip.compress(SEMICOLONS.encode("utf-8")),
    "gzip of UTF-16": gzip.compress(SEMICOLONS.encode("utf-16")),
}
LINES = '{"epoch": 1, "loss": 0.5}\n{"epoch": 2, "loss": "0.25"}\n'
BESIDE = {"train.log.old": "starting\nloss 3\n", "args.txt": '{"lr": 0.1, "epochs": 3}\n'}
ROWS = {
    "a.csv": "loss,val_loss\n1,0.9\n0.8,0.7\n",
    "a.json": '{"loss": [1, 0.8], "val_loss": [0.9, 0.7]}',
    "a.jsonl": '{"val_loss": 0.9}\n{"other": 3}\n{"val_loss": 0.7}\n',
}
ROW = {"loss": "val_loss", "epoch": "row"}
LOGGER = """\
seed,epoch,val/loss,acc,time
a,0,2.5,10,1
a,1,1.5,50,2
a,2,1.25,75,3
b,0,2.25,12.5,1
b,1,1.75,50,2
"""
SEEDS = {"loss": "val/loss", "run": "seed", "first": 1}
EXACT = SEEDS | {"accuracy": "acc", "percent": True}
BOTH = {"a": {0: 2.5, 1: 1.5, 2: 1.25}, "b": {0: 2.25, 1: 1.75}}
STOPPED = {"log.csv": LOGGER.replace("a,2,1.25", "a,2,")}
DIVERGED = {"log.csv": LOGGER.replace("a,1,1.5", "a,1,inf").replace("a,2,1.25", "a,2,NaN")}
GAP = {"log.csv": LOGGER.replace("a,1,1.5", "a,1,nan")}
END, DROP = {**SEEDS, "on_missing": "end"}, {**SEEDS, "on_missing": "drop"}
ONLY_B = {"b": BOTH["b"]}
MISSING = "run 'a' has no loss in epoch {}; --on-missing (on_missing) may be {}"
LAST = {"on_repeated": "last"}


def wrong(old: str, new: str, message: str, place: str) -> tuple[Any, ...]:
    return {"log.csv": LOGGER.replace(old, new)}, (EXACT, (message, f"log.csv, {place}: "))


ANSWERS: dict[str, tuple[Any, ...]] = STEPS | {
    # epochs
    "uneven steps": (
        at([100, 200, 350]),
        ({}, "not evenly apart: say with --steps-per-epoch"),
        ({"steps_per_epoch": 100}, "step 350 is not the end of an epoch of 100 steps"),
    ),
    "one step": (at([500]), ({}, "say --steps-per-epoch N"), ({"steps_per_epoch": 500}, {"a": [1]})),
    "epochs from 0": (
        at([0, 1, 2], "epoch"),
        ({}, "say --first 0 if that is the first trained epoch, or --first 1"),
        ({"first": 0}, {"a": [1, 1, 1]}),
        ({"first": 1}, {"a": {0: 1, 1: 1, 2: 1}}),
    ),
    "a late beginning": (at([3, 4], "epoch"), ({}, "its first loss is of epoch 3")),
    "a gap": (at([1, 2, 4], "epoch"), ({}, "has no loss of epoch 3, but of later ones")),
    "a wide gap": (at([1, 10**15], "epoch"), ({}, "has no loss of epoch 2")),
    "another key of epochs": (
        {"a.jsonl": TEXTS},
        ({}, "no key tells the epoch"),
        ({"epoch": "Zeit"}, {"a": [1, 1]}),
        ({"epoch": "zeit"}, "'zeit' is not logged; logged are Zeit, half, loss"),
        ({"epoch": "half"}, "must be a whole number below 2^53, not 0.5"),
    ),
    "the log of a controller, which names no model before training": (
        {"run.jsonl": CONTROLLER},
        ({"first": 1, **BARE}, {"run": {0: 3, 1: 2, 2: 1}}),
    ),
    "no model in epoch 1": (
        {"run.jsonl": CONTROLLER.replace('"model": "m1", ', "")},
        ({"first": 1, **BARE}, "must be logged with every loss"),
    ),
    "Lightning that was evaluated before it fitted": (
        {
            "version_0/metrics.csv": csv(
                "epoch,step,train_loss,val_loss", "0,0,,3", "0,9,2.5,", "0,9,,2", "1,19,,1.5"
            )
        },
        (VAL, {"metrics": {0: 3, 1: 2, 2: 1.5}}),
    ),
    "a list of losses that is shorter than others": (
        HISTORY,
        (VAL, "'val_loss' has 2 values where other lists have 4"),
        (VAL | {"steps_per_epoch": 2}, "no key of global steps"),
        (VAL | {"every": 2}, {"h": [0.95, 0.75]}),
        (VAL | {"every": 3}, "2 values for 4 epochs, not one for every 3"),
    ),
    "lists of an evaluation alone": (
        {"h.json": '{"val_loss": [0.95, 0.75], "val_accuracy": [0.1, 0.2]}'},
        (VAL | {"every": 2}, {"h": [0.95, 0.75]}),
    ),
    "an odd number of epochs": (
        {"h.json": '{"loss": [1, 0.9, 0.8, 0.7, 0.6], "val_loss": [0.95, 0.75]}'},
        (VAL | {"every": 2}, {"h": [0.95, 0.75]}),
    ),
    "every fifth epoch": (
        EVERY_FIFTH,
        ({}, "--every N"),
        ({"every": 5}, {"a": [1 / 5, 1 / 10, 1 / 15]}),
        ({"every": 4}, "has a loss of epoch 5, which is none of every 4"),
    ),
    "the index of pandas": ({"a.csv": ",loss,val_loss\n0,1,0.9\n1,0.8,0.7\n"}, (VAL, {"a": [0.9, 0.7]})),
    "an index that may count batches": ({"b.csv": ",loss\n0,1\n1,0.8\n"}, ({}, "no key tells the epoch")),
    "mlflow without steps": (
        store([(0, "loss", value, 0) for value in (0.9, 0.8, 0.7)]),
        ({}, "all 3 losses were logged at step 0, which tells no epochs: --epoch row counts them"),
        ({"epoch": "row"}, {"a": [0.9, 0.8, 0.7]}),
    ),
    # epochs that are logged again
    "an epoch again": (
        {"a.jsonl": jsonl("epoch loss", (1, 3.0), (2, 2.0), (2, 1.5), (3, 1.0))},
        ({}, ("--on-repeated last", "a.jsonl, row 3: ")),
        (LAST, {"a": [3, 1.5, 1]}),
    ),
    "a restart, which drops what was not trained on it": (
        {"a.jsonl": jsonl("epoch loss model cluster", *BACK)},
        ({}, "a restart, which went back to it from epoch 7"),
        ({**LAST, "stages": ("net@edge:6",)}, AGAIN),
        ({**LAST, **BARE}, AGAIN),
    ),
    "rounds of Flower after a restart": (
        {"a.json": json.dumps({"losses_centralized": FLOWER})},
        ({}, "a restart, which went back to it from epoch 7"),
        (LAST, {"a": [1.0, 0.9, 0.8, 0.7, 0.65, 0.55]}),
    ),
    "a second training": (
        {"a.jsonl": jsonl("epoch loss", *TRAINED_TWICE)},
        (LAST, {"a": [2, 1.5, 1, 0.8, 0.7], "a (training 2)": [2.9, 2.8, 2.7]}),
    ),
    "the best model, evaluated at the end": (
        {"a.json": BEST},
        ({"loss": "eval_loss"}, "a repeat; --on-repeated first keeps the earlier one"),
        ({"loss": "eval_loss", "on_repeated": "first"}, {"a": [0.9, 0.6, 0.7]}),
    ),
    "one line per metric in turn": (
        {"a.jsonl": jsonl("epoch key loss", *METRICS)},
        (LAST, "say which lines are meant (--where key="),
    ),
    "one metric after the other": (
        {"a.jsonl": jsonl("epoch key loss", *METRICS[::2], *METRICS[1::2])},
        (LAST, "say which lines are meant (--where key="),
    ),
    "a run that went on elsewhere": ({"b.jsonl": MOVED}, (LAST, {"b": [0.3, 0.1, 0]})),
    **{
        f"no loss in epoch {epoch} after a restart": (
            {"a.jsonl": jsonl("epoch loss", (1, 1.0), (2, 0.9), (3, 0.8), (4, 0.7), *after)},
            (LAST, f"has no loss in epoch {epoch}"),
        )
        for after, epoch in (
            ([(2, None), (3, 0.5), (4, 0.4)], 2),
            ([(2, 0.75), (3, None)], 3),
            ([(1, 2.5), (2, None)], 2),
        )
    },
    # losses
    "a run that diverged": (
        GOOD_AND_BAD,
        ({}, ("--on-missing (on_missing) may be end or drop", "it then counts as a miss")),
        ({"on_missing": "end"}, {"a": [1, 1, 1], "b": [2]}),
        ({"on_missing": "drop"}, {"a": [1, 1, 1]}),
    ),
    "a key by its end": (
        TWO_KEYS,
        ({}, "'loss' may be 'val/loss' or 'test/loss': say which by --loss"),
        ({"loss": "val/loss"}, {"a": [1]}),
        ({"loss": "f1"}, {"a": [0.5]}),
        ({"loss": "val_loss"}, ("nothing is logged under 'val_loss'", "choose with --loss")),
    ),
    "values of several metrics": (
        VALUES,
        ({"loss": "value"}, "--where KEY=VALUE"),
        ({"loss": "value", "where": {"key": "val"}}, {"a": [0.5, 1]}),
        ({"loss": "value", "where": {"key": "v"}}, "nothing that --where lets through"),
    ),
    "an accuracy that is none": (
        {"b.jsonl": jsonl("epoch loss acc", (1, 1.0, "high"))},
        ({"accuracy": "acc"}, "must be a number, not 'high'"),
        ({"accuracy": "accuracy"}, "nothing is logged under 'accuracy'"),
    ),
    "a chart with extremes": (
        {"one.csv": csv(CHART, "1,3,3,3,6,6,6", "2,2,1,3,5,5,5")},
        ({}, {"a": [3, 2], "b": [6, 5]}),
    ),
    "a chart of two metrics": (
        {"two.csv": csv('"Step","a - loss","a - loss__MIN","a - acc"', "1,3,3,0.5", "2,2,1,0.6")},
        ({}, {"a": [3, 2]}),
        ({"loss": "acc"}, {"a": [0.5, 0.6]}),
    ),
    "one key of the loss for all": (
        {
            "a.jsonl": jsonl("epoch val/loss", (1, 1.0), (2, 0.5)),
            "b.jsonl": jsonl("epoch train/loss", (1, 1.0), (2, 0.1)),
        },
        ({}, ("'train/loss' here, 'val/loss' in run 'a'", "b.jsonl: ")),
    ),
    "one key of the accuracy for all": (
        {
            f"{key}.jsonl": jsonl(f"epoch loss {key}/acc", (1, 1, 0.5), (2, 1, 0.5))
            for key in ("train", "val")
        },
        ({"accuracy": "acc"}, "'val/acc' here, 'train/acc' in run 'train'"),
    ),
    "steps of other lengths": (
        {name: CLOCKS[name] for name in ("a.jsonl", "b.jsonl")},
        ({}, "steps of an epoch: 50 here, 100 in run 'a'"),
        ({"steps_per_epoch": 50, "leave_out": ("a",)}, {"b": [1, 1 / 2, 1 / 3]}),
    ),
    "epochs and steps": (
        {name: CLOCKS[name] for name in ("a.jsonl", "c.jsonl")},
        ({}, "the epoch: 'epoch' here, 'step' in run 'a'"),
    ),
    # runs
    "files of one name": (
        {f"logs/seed{seed}/out/log.jsonl": jsonl("epoch loss", (1, seed)) for seed in (2, 10)},
        ({}, {"seed2/out": [2], "seed10/out": [10]}),
    ),
    "runs by a key": (
        SEVERAL,
        ({}, "--run KEY tells them apart"),
        ({"run": "Name"}, {"x": [1, 1], "y": [1, 1]}),
        ({"run": "name"}, "choose one of Name, epoch, loss with --run"),
    ),
    "a run in two files": (
        {f"{name}.jsonl": jsonl("run epoch loss", ("x", 1, 1.0)) for name in "ab"},
        ({}, "run 'x' is also in"),
    ),
    "a run without the loss": (LOST, ({}, "b (holds no 'loss')"), ({"diverged": ("b",)}, {"a": [1]})),
    # stages
    "stages that leave something open": (
        THREE,
        ({"stages": ("a@e:2",)}, "has 3 epochs, its stages 2"),
        (BARE, '--stages "p50@edge:17,p75@far-edge" says'),
        ({"stages": ("a*=x@e", "*a=y@e")}, "matches 'a*' and '*a'"),
        ({"stages": ("x@e", "y@e")}, "for all runs twice"),
        ({**BARE, "stages_from": "hparams"}, "has no hyperparameter 'stages'; there are none"),
    ),
    "a cluster that is not always logged": ({"b.jsonl": NETS}, (KEYS, "must be logged with every loss")),
    "stages, and keys of them": (
        WIDTHS,
        (
            {"stages": ("*=w@here",), "model": "width"},
            "has its stages by --stages and is to be told by --model, too",
        ),
    ),
    "stages of hyperparameters, and keys of them": (
        {"c.jsonl": SET},
        (
            {"stages": (), "stages_from": "hparams", "model": "width", "cluster": "width"},
            "has its stages by --stages-from and is to be told by --model and --cluster, too",
        ),
    ),
    "choices that cannot be meant": (
        {"a.jsonl": LINES},
        ({"run": "client_id"}, "are of parts of one training and no independent runs"),
        ({"run": "cid"}, "--where cid=..."),
        ({"cluster_name": "gpu"}, "and --stages another"),
        ({"cluster_name": "gpu", "stages": (), "cluster": "site"}, "and --cluster another"),
        ({"on_missing": "guess"}, "must be one of refuse, end, drop, not 'guess'"),
        ({"on_repeated": "guess"}, "must be one of refuse, last, first, not 'guess'"),
    ),
    # text of all kinds
    **{
        what: ({"a.csv.gz" if content[:2] == b"\x1f\x8b" else "a.csv": content}, ({}, HALF))
        for what, content in TABLES.items()
    },
    "points elsewhere": ({"a.csv": "epoch;loss;lr\n1;1,234;0.1\n"}, ({}, "must be a number, not '1,234'")),
    "commas between cells": ({"a.csv": 'epoch,loss\n1,"1,234"\n'}, ({}, "must be a number, not '1,234'")),
    "points and commas": ({"a.csv": "epoch;loss\n1;1.234,5\n"}, ({}, "must be a number, not '1.234,5'")),
    "no header": ({"a.csv": "loss\n1,2\n"}, ({}, "has 2 cells where the header has 1")),
    "a cut gzip file": ({"a.csv": gzip.compress(b"epoch,loss\n1,2\n")[:-6]}, ({}, "is a broken gzip file")),
    **{
        f"JSON Lines called {name}, beside {len(more)} files": (
            {name: gzip.compress(LINES.encode()) if name.endswith("gz") else LINES, **more},
            ({}, HALF),
        )
        for name in ("a.log", "a.txt", "a.json", "a", "a.jsonl.gz", "a.ndjson")
        for more in ({}, BESIDE)
    },
    **{
        f"rows of {name}": (
            {name: text},
            *([] if name == "a.json" else [(VAL, "--epoch row if there is one row an epoch")]),
            (ROW, {"a": [0.9, 0.7]}),
            (ROW | {"first": 0}, {"a": [0.9, 0.7]}),
            (ROW | {"first": 1}, {"a": {0: 0.9, 1: 0.7}}),
        )
        for name, text in ROWS.items()
    },
    "an offline file that is none": (
        {"x.wandb": "epoch,loss\n1,2\n"},
        ({}, "wandb leet inspect --json FILE"),
    ),
    # a file of runs, as loggers write it
    "runs by their columns": ({"log.csv": LOGGER}, (SEEDS, BOTH)),
    "a run that stopped": (
        STOPPED,
        (SEEDS, (MISSING.format(2, "end or drop"), "log.csv, row 4, column val/loss: ")),
        (END, BOTH | {"a": {0: 2.5, 1: 1.5}}),
        (DROP, ONLY_B),
    ),
    "a run that became infinite": (
        DIVERGED,
        (SEEDS, (MISSING.format(1, "end or drop"), "log.csv, row 3, column val/loss: ")),
        (END, BOTH | {"a": {0: 2.5}}),
        (DROP, ONLY_B),
    ),
    "a loss that is missing in the middle": (
        GAP,
        (SEEDS, (MISSING.format(1, "drop alone; "), "log.csv, row 3, column val/loss: ")),
        (END, "a gap cannot be guessed"),
        (DROP, ONLY_B),
    ),
    "no loss at all": ({"log.csv": csv("seed,epoch,val/loss", "a,1,nan")}, (DROP, "no run is left")),
    "lines of training": (
        {"log.csv": csv("seed,epoch,val/loss,train", "a,1,,3", "a,1,2,", "a,2,1,", "a,2,,4")},
        (SEEDS, {"a": [2, 1]}),
    ),
    "a loss that is no number": wrong("1.25", "low", "must be a number, not 'low'", "row 4, val/loss"),
    "an epoch that is no number": wrong("a,1,", "a,x,", "must be a whole number", "row 3, epoch"),
    "no accuracy": wrong("1.5,50", "1.5,", "must be logged with every loss", "row 3, acc"),
    "an accuracy of 750 per cent": wrong(
        "a,2,1.25,75", "a,2,1.25,750", "share in [0, 1], not 7.5", "row 4, column accuracy"
    ),
}


def put(folder: Path, files: Any) -> Path:
    """What is to be read: the file, or the folder where there are several."""
    if callable(files):
        return Path(files(folder))
    path = folder
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder if len(files) > 1 else path


def read(*paths: Path, **choices: Any) -> Imported:
    told = Choices(**{"loss": "loss", "stages": ("net@edge",)} | choices)
    return import_logs([str(path) for path in paths], told)


def refusal(*paths: Path, **choices: Any) -> str:
    with pytest.raises(InvalidInputError) as caught:
        read(*paths, **choices)
    assert type(caught.value) is InvalidInputError
    return str(caught.value)


def losses_of(found: Imported) -> dict[str, dict[int, float]]:
    traces = found.traces
    losses: dict[str, dict[int, float]] = {run: {} for run in traces.runs}
    for run, epoch, loss in zip(
        traces.run.tolist(), traces.epoch.tolist(), traces.loss.tolist(), strict=True
    ):
        losses[run][epoch] = loss
    return losses


ANSWERS |= {name: (case.make, (case.choices, case.answer)) for name, case in HOSTILE.items()}


@pytest.mark.parametrize("name", ANSWERS)
def test_logs_are_read_or_refused_with_what_helps(name, tmp_path):
    files, *asked = ANSWERS[name]
    path = put(tmp_path, files)
    for choices, answer in asked:
        if isinstance(answer, dict):
            found = losses_of(read(path, **choices))
            wanted = {
                run: losses if isinstance(losses, dict) else dict(enumerate(losses, start=1))
                for run, losses in answer.items()
            }
            assert (found, list(found)) == (wanted, list(wanted))
        elif isinstance(answer, list):
            assert read(path, **choices).traces.loss.tolist() == answer
        else:
            refused = refusal(path, **choices)
            assert all(words in refused for words in ((answer,) if isinstance(answer, str) else answer))


@pytest.mark.parametrize(
    ("error", "message", "kind"),
    [
        (KeyError("x"), "cannot be read as a log (KeyError: 'x'); leave it out", TrippedError),
        (OSError(5, "Input/output error"), "cannot be read (Input/output error)", InvalidInputError),
        (RecursionError(), "is nested too deeply", InvalidInputError),
        (MemoryError(), "does not fit into the memory", InvalidInputError),
        (InvalidInputError("is odd"), "is odd", InvalidInputError),
    ],
)
def test_whatever_a_reader_trips_over_becomes_a_refusal_with_the_file(error, message, kind):
    def trips(path: Path) -> Iterator[LoggedRun]:
        raise error

    with pytest.raises(InvalidInputError) as caught:
        runs_of(trips, Path("a.json"))
    assert (type(caught.value), caught.value.path) == (kind, "a.json")
    assert message in caught.value.message

"""What is read from logs of every shape, and what is refused with the option that helps: one table.

A line names a case and its files, with choices and what comes of them; lines that begin with a bar ask the
same files with other choices. Files are ``NAME TEXT``, apart by ``&``, or of `MADE`; ``:keys / values`` tells
objects of JSON Lines. Answers are ``=`` the losses of all runs, from epoch 0 on after ``@0``, ``~`` a
fact and how it begins, or words of a refusal.
"""

import gzip
import json
import os
from pathlib import Path

import pytest

from depl.models.foundation.errors import InvalidInputError
from depl.models.tool_logs.points import TrippedError, runs_of
from depl.models.traces.log_rules import What
from tests import problems
from tests.cases.tool_log_cases import losses_of, put, read, refusal
from tests.cases.written_logs import inspected, store

HUGE = "1" * 400
"""A whole number that no floating-point number holds."""
TABLE = r"""
uneven steps | :step loss / 100 1 / 200 1 / 350 1 | | not evenly apart: say with --steps-per-epoch
| steps_per_epoch=100 | step 350 is not the end of an epoch of 100 steps
steps from 100 | :step loss / 100 1 / 200 1 / 300 1 | | = a: 1 1 1
steps from 99 | :step loss / 99 1 / 199 1 / 299 1 | | = a: 1 1 1
steps from 0 | :step loss / 0 1 / 100 1 / 200 1 / 300 1 | | = a@0: 1 1 1 1
steps of 10 | :step loss / 9 1 / 19 1 | | ~ epochs told by: step, 10 steps an epoch
one step | :step loss / 500 1 | | say --steps-per-epoch N
| steps_per_epoch=500 | = a: 1
epochs from 0 | :epoch loss / 0 1 / 1 1 / 2 1 | | say --first 0 if that is
| first=0 | = a: 1 1 1
| first=1 | = a@0: 1 1 1
a late beginning | :epoch loss / 3 1 / 4 1 | | its first loss is of epoch 3
a gap | :epoch loss / 1 1 / 2 1 / 4 1 | | has no loss of epoch 3, but of later ones
a wide gap | :epoch loss / 1 1 / 1000000000000000 1 | | has no loss of epoch 2
another key of epochs | :Zeit loss half / 1 1 0.5 / 2 1 1.0 | | no key tells the epoch
| epoch=Zeit | = a: 1 1
| epoch=zeit | 'zeit' is not logged; logged are Zeit, half, loss
| epoch=half | must be a whole number below 2^53, not 0.5
no model before training | :epoch loss model cluster / 0 3 / 1 2 m c / 2 1 m c
| first=1 stages= | = a@0: 3 2 1
no model in epoch 1 | :epoch loss model cluster / 1 2 ... c / 2 1 m c
| first=1 stages= | must be logged with every
evaluated before it fitted | metrics.csv epoch,step,loss\n0,0,3\n0,9,2\n1,19,1.5\n | | = metrics@0: 3 2 1.5
a shorter list | h.json {"l": [1, 2, 3, 4], "loss": [2, 1]} | | 'loss' has 2 values where other lists have 4
| steps_per_epoch=2 | no key of global steps
| every=2 | = h: 2 1
| every=3 | 2 values for 4 epochs, not one for every 3
lists of an evaluation alone | h.json {"val_loss": [2, 1], "val_accuracy": [0.1, 0.2]}
| every=2 loss=val_loss | = h: 2 1
every of a list | h.json {"loss": [1, 2, 3, 4]} | every=1 | ~ an epoch: here is 1 of the logs
every fifth epoch | :epoch loss / 4 ... / 5 3 / 10 2 / 14 ... / 15 1 | | --every N
| every=5 | = a: 3 2 1
| every=4 | has a loss of epoch 5, which is none of every 4
the index of pandas | a.csv ,loss,val_loss\n0,1,0.9\n1,0.8,0.7\n | loss=val_loss | = a: 0.9 0.7
an index that may count batches | b.csv ,loss\n0,1\n1,0.8\n | | no key tells the epoch
mlflow without steps | | | all 3 losses were logged at step 0, which tells no epochs: --epoch row counts them
| epoch=row | = a: 0.9 0.8 0.7
an epoch again | :epoch loss / 1 3 / 2 2 / 2 1.5 / 3 1 | | --on-repeated last ... a.jsonl, row 3:
| on_repeated=last | = a: 3 1.5 1
a restart with stages | | | a restart, which went back to it from epoch 7
| on_repeated=last stages=net@edge:6 | = a: 1 2 3 4 0.5 0.6
| on_repeated=last stages= | = a: 1 2 3 4 0.5 0.6
rounds after a restart | | | a restart, which went back to it from epoch 7
| on_repeated=last | = a: 1 2 3 4 0.5 0.6
a second training | :epoch loss / 1 4 / 2 3 / 3 2 / 4 1 / 1 6 / 2 5
| on_repeated=last | = a: 4 3 2 1, a (training 2): 6 5
the best model at the end | a.json [{"epoch": 1, "loss": 2}, {"epoch": 2, "loss": 3}, {"epoch": 2, "loss": 2}]
| | a repeat; --on-repeated first keeps the earlier one
| on_repeated=first | = a: 2 3
metrics in turn | :epoch key loss / 1 t 6 / 1 v 4 / 2 t 5 / 2 v 3
| on_repeated=last | which lines are meant (--where key=
metrics one by one | :epoch key loss / 1 t 6 / 2 t 5 / 1 v 4 / 2 v 3
| on_repeated=last | lines are meant (--where key=
a run that went on elsewhere | :epoch host loss / 1 x 4 / 2 x 3 / 2 y 2 / 3 y 1
| on_repeated=last | = a: 4 2 1
no loss at the restart | :epoch loss / 1 4 / 2 3 / 3 2 / 2 null / 3 1
| on_repeated=last | has no loss in epoch 2
no loss after a restart | :epoch loss / 1 4 / 2 3 / 3 2 / 2 1 / 3 null
| on_repeated=last | has no loss in epoch 3
a key that is not read | :epoch loss lr / 1 1 3 / 1 1 3 | on_repeated=last | ~ not read: 1 key: lr
a run that diverged | a.jsonl :epoch loss / 1 1 / 2 1 & b.jsonl :epoch loss / 1 2 / 2 NaN
| | may be end or drop ... it then counts as a miss
| on_missing=end | = a: 1 1, b: 2
| on_missing=drop | = a: 1 1
a key by its end | a.jsonl {"epoch": 1, "val": {"loss": 1}, "test": {"loss": 2, "f1": 0.5}}
| | 'loss' may be 'val/loss' or 'test/loss': say which by --loss
| loss=val/loss | = a: 1
| loss=f1 | = a: 0.5
| loss=val_loss | nothing is logged under 'val_loss' ... choose with --loss
values of several metrics | :epoch key value / 1 t 5 / 1 v 0.5 / 2 t 4 / 2 v 1
| loss=value | --where KEY=VALUE
| loss=value where=key:v | = a: 0.5 1
| loss=value where=key:w | nothing that --where lets through
a run without such points | a.jsonl :epoch split loss / 1 v 2 & b.jsonl :epoch split loss / 1 t 1
| where=split:v | ~ left out: 1: b (--where split=v)
the same in one file | runs.csv run,epoch,split,loss\na,1,v,2\nb,1,t,1\n
| where=split:v | ~ left out: 1: b (--where split=v)
an accuracy that is none | :epoch loss acc / 1 1 high | accuracy=acc | must be a number, not 'high'
| accuracy=accuracy | nothing is logged under 'accuracy'
a chart with extremes | one.csv Step,a - loss,a - loss__MIN,b - loss\n1,3,3,6\n2,2,1,5\n | | = a: 3 2, b: 6 5
| | ~ no runs: 1 column: a - loss__MIN
a chart of two metrics | two.csv Step,a - loss,a - loss__MIN,a - acc\n1,3,3,0.5\n2,2,1,0.6\n | | = a: 3 2
| loss=acc | = a: 0.5 0.6
one key of the loss | a.jsonl :epoch v/loss / 1 1 & b.jsonl :epoch t/loss / 1 1
| | 't/loss' here, 'v/loss' in run 'a' ... b.jsonl:
one key of the accuracy | a.jsonl :epoch loss t/acc / 1 1 1 & b.jsonl :epoch loss v/acc / 1 1 1
| accuracy=acc | 'v/acc' here, 't/acc'
steps of other lengths | a.jsonl :step loss / 100 2 / 200 1 & b.jsonl :step loss / 50 4 / 100 3
| | an epoch: 50 here, 100 in run 'a'
| steps_per_epoch=50 leave_out=a | = b: 4 3
epochs and steps | a.jsonl :step loss / 100 2 / 200 1 & c.jsonl :epoch loss / 1 4
| | the epoch: 'epoch' here, 'step' in run 'a'
files of one name | logs/seed2/out/a.jsonl :epoch loss / 1 2 & logs/seed10/out/a.jsonl :epoch loss / 1 10
| | = seed2/out: 2, seed10/out: 10
runs by a key | :Name epoch loss / x 1 1 / x 2 1 / y 1 1 / y 2 1 | | --run KEY tells them apart
| run=Name | = x: 1 1, y: 1 1
| run=name | choose one of Name, epoch, loss with --run
a run in two files | a.jsonl :run epoch loss / x 1 1 & b.jsonl :run epoch loss / x 1 1 | | run 'x' is also in
a run without the loss | :run epoch loss other / a 1 1 / b 1 ... 1 | | b (holds no 'loss')
| diverged=b | = a: 1
stages of all and of some | :run epoch loss / other 1 1 / seed12 1 1 / seed12 2 1 / seed13 1 1
| stages=a@e:1,b@f;seed1*=a@e:1,b@f:3;seed13=c@g | = other: 1, seed12: 1 1, seed13: 1
stages that leave something open | :epoch loss / 1 1 / 2 1 / 3 1 | stages=a@e:2 | has 3 epochs, its stages 2
| stages= | --stages "p50@edge:17,p75@far-edge" says
| stages=a*=x@e;*a=y@e | matches 'a*' and '*a'
| stages=x@e;y@e | for all runs twice
| stages=a | must be MODEL@CLUSTER:EPOCHS,MODEL@CLUSTER, not 'a'
| stages=a@e,b@f | needs its number of epochs, as another stage follows: a@e:10
| stages=a@e:0 | must be MODEL@CLUSTER
| stages=a@e:1000000 | = a: 1 1 1
| stages=a@e:1000001 | has more than 1000000 epochs
| stages=a@b:HUGE | has more than 1000000 epochs
| run=client_id | are of parts of one training and no independent runs
| run=cid | --where cid=...
| run=loss | names runs by their loss
| cluster_name=gpu | and --stages another
| cluster_name=gpu stages= cluster=site | and --cluster another
| on_missing=guess | must be one of refuse, end, drop, not 'guess'
| on_repeated=guess | must be one of refuse, last, first, not 'guess'
a cluster not always logged | :epoch loss net site / 1 1 p e / 2 1 p
| stages= model=net cluster=site | must be logged with every loss
stages, and keys of them | :epoch loss net / 1 1 a
| model=net | has its stages by --stages and is to be told by --model, too
stages of hyperparameters | a.jsonl {"hparams": {"stages": "w@e"}}\n{"epoch": 1, "loss": 1, "w": 2}
| stages= | = a: 1
too many of hyperparameters | a.jsonl {"hparams":{"stages":"a@b:3000000000"}}\n{"epoch":1,"loss":1}
| stages= | has more than 1000000 epochs
semicolons and points | a.csv epoch;loss\n1;0.5\n2;0.25\n | | = a: 0.5 0.25
tabs | a.csv epoch\tloss\n1\t0,5\n2\t0,25\n | | = a: 0.5 0.25
names with the other separator | a.csv "epoch","loss","a;b;c"\n1,0.5,x\n2,0.25,y\n | | = a: 0.5 0.25
points elsewhere | a.csv epoch;loss;lr\n1;1,234;0.1\n | | must be a number, not '1,234'
commas between cells | a.csv epoch,loss\n1,"1,234"\n | | must be a number, not '1,234'
points and commas | a.csv epoch;loss\n1;1.234,5\n | | must be a number, not '1.234,5'
no header | a.csv loss\n1,2\n | | has 2 cells where the header has 1
a cut gzip file | | | is a broken gzip file
rows of a table | a.csv l,loss\n1,0.9\n0.8,0.7\n | | --epoch row if there is one row an epoch
| epoch=row | = a: 0.9 0.7
| epoch=row first=0 | = a: 0.9 0.7
| epoch=row first=1 | = a@0: 0.9 0.7
| epoch=row | ~ epochs told by: row
rows of lines | a.jsonl {"loss": 0.9}\n{"other": 3}\n{"loss": 0.7}\n
| | --epoch row if there is one row an epoch
| epoch=row | = a: 0.9 0.7
| epoch=row first=1 | = a@0: 0.9 0.7
an offline file that is none | x.wandb epoch,loss\n1,2\n | | wandb leet inspect --json FILE
no line that is an object | a.jsonl {"epoch": 1}\n{\n | | a.jsonl, row 2:
a list in a line | b.jsonl [1]\n | | must be a JSON object, not list
no line | a.jsonl \n | | holds no line
no log | a.json {"a": 1}\n | | json.dumps(history.history) at Keras
text in a history | a.json {"loss": [1, "high"]}\n | | loss must hold numbers, not 'high'
lines of training | log.csv run,epoch,loss,t\na,1,,3\na,1,2,\na,2,1,\na,2,,4\n | | = a: 2 1
a line of training alone | log.csv run,epoch,loss,t\na,1,2,\na,2,1,\na,3,,4\n | | = a: 2 1
no loss at all | log.csv run,epoch,loss\na,1,nan\n | on_missing=drop | no run is left
runs by their columns | | first=1 | = a@0: 2.5 1.5 1.25, b@0: 2.25 1.75
a run that stopped | | first=1 | has no loss in epoch 2 ... may be end or drop ... row 4, column loss:
| first=1 on_missing=end | = a@0: 2.5 1.5, b@0: 2.25 1.75
| first=1 on_missing=drop | = b@0: 2.25 1.75
a run that became infinite | | first=1 | no loss in epoch 1 ... may be end or drop ... row 3, column loss:
| first=1 on_missing=end | = a@0: 2.5, b@0: 2.25 1.75
| first=1 on_missing=drop | = b@0: 2.25 1.75
a loss that is missing in the middle
| first=1 | --on-missing (on_missing) may be drop alone;  ... row 3, column loss:
| first=1 on_missing=end | a gap cannot be guessed
| first=1 on_missing=drop | = b@0: 2.25 1.75
a loss that is no number | | first=1 | must be a number, not 'low' ... log.csv, row 4, loss:
an epoch that is no number | | first=1 | must be a whole number ... log.csv, row 3, epoch:
no accuracy | | first=1 accuracy=acc | must be logged with every loss ... log.csv, row 3, acc:
an accuracy of 750 per cent
| first=1 accuracy=acc percent=1 | share in [0, 1], not 7.5 ... log.csv, row 4, column accuracy:
a number of 400 digits in JSON Lines | :epoch loss / 1 HUGE | | has no loss in epoch
an epoch of 400 digits | :epoch loss / HUGE 1 | | not inf
a round of 400 digits | a.json {"losses_centralized":[[HUGE,1]]} | | whole number from 0 on, not 'inf'
a key of 400 digits | a.json {"evaluate_metrics_serverapp":{"HUGE":{"loss":1}}}
| | whole number from 0 on, not '1111
a round ² | a.json {"evaluate_metrics_serverapp":{"²":{"loss":1}}} | | whole number from 0 on, not '²'
a round -5 | a.json {"losses_centralized":[[-5,1]]} | | whole number from 0 on, not '-5'
a round 1.0 | a.json {"losses_centralized":[[1.0,1],[2.0,0.5]]} | | = a: 1 0.5
rounds that are no pairs | a.json {"losses_centralized":[[1,1,1]]} | | must be pairs [round
a round without metrics | a.json {"evaluate_metrics_serverapp":{"1":[1]}} | | must be metrics by name
a list in a history | a.json {"loss":[1,[0.5]]} | | has no loss in epoch
null in a history | a.json {"loss":[1,null]} | | has no loss in epoch
all of a Keras History | a.json {"history":{"loss":[1,0.5]},"epoch":[0,1],"params":{"epochs":2}}
| | = a: 1 0.5
a history with a figure beside | a.json {"loss":[1,0.5],"best":3} | | = a: 1 0.5
a history of no epochs | a.json {"loss":[]} | | hold nothing
a file called x² | | | = x²: 0.5
a folder called x² | | | hold nothing
an evaluation before training | :epoch loss / 0 1 | first=1 | has no loss in epoch 1
a round before training | a.json {"losses_centralized":[[0,1]]} | | has no loss in epoch 1
epochs below 0 | :epoch loss / -3 1 | first=1 | has a loss of epoch -3
a W&B run whose config is null | a.jsonl {"num": 1, "type": "run", "run": {"config": null}} | | hold nothing
a W&B config updated by null | a.jsonl {"num": 1, "type": "config", "config": {"update": null}}
| | hold nothing
a W&B history that is null | a.jsonl {"num": 1, "type": "history", "history": {"item": null}}
| | hold nothing
W&B records after a byte order mark | | | = a: 0.5
W&B records with a line separator | | | = a: 0.5
JSON Lines with line separators | | | = a: 0.5
a list 20,000 deep | | | too deeply
objects 20,000 deep | | | too deeply
an mlflow step that is null | | | metric 1 of run r must be a number at a step, not step None
an mlflow value that is null | | | has no loss in epoch
an mlflow value that is infinite | | | has no loss in epoch
an mlflow key that is null | | | metric 1 of run r must be a number at a step, not step
an mlflow run called by bytes | | | = b'a': 0.5
an mlflow parameter of bytes | | stages= | does not say which model was trained where
an mlflow view without end | | | must be tables
deleted runs alone in a store | | | holds deleted runs alone (1 run)
a name that is too long | | | cannot be read (File name too long)
a name with a null byte | | | cannot be read ( ... embedded null
a pipe | | | is no file but a pipe or a device
/dev/zero | | | is no file but a pipe or a device
10^6 columns | | | has 1000000 columns; at most 100000 are read
10^6 keys | | | has 1000000 keys; at most 100000
"""


def jsonl(text):
    """Lines of objects by ``:keys / values / ...``, without the keys whose value is ``...``."""
    keys, *rows = (row.split() for row in text.removeprefix(":").split(" / "))
    found = []
    for row in rows:
        told = (f'"{key}": {figure(word)}' for key, word in zip(keys, row, strict=False) if word != "...")
        found.append("{" + ", ".join(told) + "}\n")
    return "".join(found)


def figure(word):
    return word if word[0] in "-0123456789" or word in ("NaN", "null") else json.dumps(word)


def lines(text):
    return {"a.jsonl": text}


def folder_of(folder, name, content=""):
    """The folder of a file that is written there."""
    put(folder, {name: content})
    return folder / name.partition("/")[0]


def pipe(folder):
    """A pipe to which nobody writes."""
    os.mkfifo(folder / "log.csv")
    return folder / "log.csv"


def many():
    return [f"c{k}" for k in range(10**6)]


LOGGER = """\
run,epoch,loss,acc
a,0,2.5,10
a,1,1.5,50
a,2,1.25,75
b,0,2.25,12.5
b,1,1.75,50
"""
STOPPED = (("a,2,1.25", "a,2,"),)
DIVERGED = (("a,1,1.5", "a,1,inf"), ("a,2,1.25", "a,2,NaN"))
GAP = (("a,1,1.5", "a,1,nan"),)


def logger(*changes):
    """A file of runs, as loggers write it, with other cells."""
    text = LOGGER
    for old, new in changes:
        text = text.replace(old, new)
    return {"log.csv": text}


BACK = [*((k, k) for k in range(1, 8)), (5, 0.5), (6, 0.6)]
"""Epochs and losses of a run that went back to epoch 5."""
WANDB = inspected(type="history", history={"item": {"epoch": 1, "loss": 0.5, "note": "a\u2028b"}})
ENDLESS = (
    "DROP TABLE runs; CREATE VIEW runs AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
    "SELECT i AS run_uuid, 'a' AS name, i AS start_time, 'active' AS lifecycle_stage FROM n;"
)
SEMICOLONS = "epoch;loss\n1;0,5\n2;0,25\n"
LINES = '{"epoch": 1, "loss": 0.5}\n{"epoch": 2, "loss": "0.25"}\n'
BESIDE = {"train.log.old": "starting\nloss 3\n", "args.txt": '{"lr": 0.1, "epochs": 3}\n'}
HALVES = {
    "decimal commas": {"a.csv": SEMICOLONS},
    "UTF-16": {"a.csv": SEMICOLONS.encode("utf-16")},
    "UTF-16, the other way": {"a.csv": b"\xfe\xff" + SEMICOLONS.encode("utf-16-be")},
    "UTF-8 with its mark": {"a.csv": SEMICOLONS.encode("utf-8-sig")},
    "gzip": {"a.csv.gz": gzip.compress(SEMICOLONS.encode())},
    "gzip of lines": {"a.jsonl.gz": gzip.compress(LINES.encode())},
    **{name: {name: LINES} for name in ("a.log", "a.txt", "a.json", "a", "a.ndjson")},
    **{f"{name} beside notes": {name: LINES, **BESIDE} for name in ("a.log", "a.txt", "a.json", "a")},
}
"""Text of all kinds, and files of all names, with the losses 0.5 and 0.25 of a run ``a``."""
METRICS = {
    "an mlflow step that is null": (None, "loss", 0.5, 0),
    "an mlflow value that is null": (1, "loss", None, 0),
    "an mlflow value that is infinite": (1, "loss", 1.7976931348623157e308, 0),
    "an mlflow key that is null": (1, None, 0.5, 0),
}
MADE = HALVES | {
    "mlflow without steps": store([(0, "loss", value, 0) for value in (0.9, 0.8, 0.7)]),
    "a restart with stages": lines(
        jsonl(" / ".join([":epoch loss model cluster", *(f"{k} {loss} m c" for k, loss in BACK)]))
    ),
    "rounds after a restart": {"a.json": json.dumps({"losses_centralized": BACK})},
    "a cut gzip file": {"a.csv": gzip.compress(b"epoch,loss\n1,2\n")[:-6]},
    "runs by their columns": logger(),
    "a run that stopped": logger(*STOPPED),
    "a run that became infinite": logger(*DIVERGED),
    "a loss that is missing in the middle": logger(*GAP),
    "a loss that is no number": logger(("1.25", "low")),
    "an epoch that is no number": logger(("a,1,", "a,x,")),
    "no accuracy": logger(("1.5,50", "1.5,")),
    "an accuracy of 750 per cent": logger(("a,2,1.25,75", "a,2,1.25,750")),
    "a file called x²": lambda folder: folder_of(folder, "d/x².csv", "epoch,loss\n1,0.5\n"),
    "a folder called x²": lambda folder: folder_of(folder, "d/x²/a.tfevents.1"),
    "W&B records after a byte order mark": lines("\ufeff" + WANDB.replace("\u2028", "")),
    "W&B records with a line separator": lines(WANDB),
    "JSON Lines with line separators": lines('{"epoch":1,"loss":0.5,"note":"a\u2028b\x85"}'),
    "a list 20,000 deep": {"a.json": "[" * 20_000 + "]" * 20_000},
    "objects 20,000 deep": lines('{"a":' * 20_000 + "1" + "}" * 20_000),
    **{name: store([metric]) for name, metric in METRICS.items()},
    "an mlflow run called by bytes": store(name=b"a"),
    "an mlflow parameter of bytes": store(params=[(b"k", b"v")]),
    "an mlflow view without end": store(more=ENDLESS),
    "deleted runs alone in a store": store(more="UPDATE runs SET lifecycle_stage = 'deleted';"),
    "a name that is too long": lambda folder: folder / ("a" * 5000),
    "a name with a null byte": lambda folder: folder / "a\0b",
    "a pipe": pipe,
    "/dev/zero": lambda _: Path("/dev/zero"),
    "10^6 columns": lambda folder: put(folder, {"a.csv": ",".join(many()) + "\n" + ",".join(many())}),
    "10^6 keys": lambda folder: put(folder, {"a.jsonl": json.dumps(dict.fromkeys(many(), 1))}),
}


def written(folder, case, told):
    """The files of a case."""
    if case in MADE:
        made = MADE[case]
        return made(folder) if callable(made) else put(folder, made)
    files = {}
    for part in told.replace("HUGE", HUGE).split(" & "):
        name, _, text = f"a.jsonl {part}".partition(" ") if part[0] == ":" else part.partition(" ")
        files[name] = jsonl(text) if text[:1] == ":" else text.replace("\\n", "\n").replace("\\t", "\t")
    return put(folder, files)


def choices_of(words):
    found = {}
    for key, _, value in (word.partition("=") for word in words.replace("HUGE", HUGE).split()):
        if key in ("stages", "leave_out", "diverged"):
            found[key] = tuple(filter(None, value.split(";")))
        elif key == "where":
            found[key] = dict([value.split(":")])
        else:
            found[key] = int(value) if value.isdigit() else value
    return found


def told_losses(words):
    found = []
    for part in words.split(", "):
        name, _, losses = part.partition(": ")
        run, zero, _ = name.partition("@0")
        found.append((run, dict(enumerate(map(float, losses.split()), start=0 if zero else 1))))
    return found


CASES = {}
for line in TABLE.strip().splitlines():
    if line[0] != "|":
        CASES[line.partition(" | ")[0]] = asked = []
    asked.append(line)
CASES |= {name: [f"{name} | | | = a: 0.5 0.25"] for name in HALVES}


@pytest.mark.parametrize("case", CASES)
def test_logs_are_read_or_refused_with_what_helps(case, tmp_path):
    first, *rows = ([cell.strip() for cell in line.split("|")] for line in CASES[case])
    path = written(tmp_path, case, "".join(first[1:2]))
    for choices, answer in [*([first[2:]] if first[2:] else []), *(row[1:] for row in rows)]:
        kind, _, said = answer.partition(" ")
        if kind == "=":
            assert list(losses_of(read(path, **choices_of(choices))).items()) == told_losses(said)
        elif kind == "~":
            fact, _, words = said.partition(": ")
            assert dict(read(path, **choices_of(choices)).facts)[fact].startswith(words)
        else:
            refused = refusal(path, **choices_of(choices))
            assert all(words in refused for words in answer.split(" ... "))


@pytest.mark.parametrize(
    ("changes", "way", "note", "diverged"),
    [
        (STOPPED, "end", (What.STOPPED, "a", 4), ()),
        (DIVERGED, "end", (What.DIVERGED, "a", 3), ("a",)),
        (GAP, "drop", (What.DROPPED, "a", 3), ("a",)),
        (STOPPED, "drop", (What.DROPPED, "a", 4), ()),
        (DIVERGED, "drop", (What.DROPPED, "a", 3), ("a",)),
        ((("b,0,2.25", "b,0,nan"), ("b,1,1.75", "b,1,nan")), "end", (What.DROPPED, "b", 5), ("b",)),
    ],
)
def test_a_run_that_is_ended_or_dropped_is_noted(changes, way, note, diverged, tmp_path):
    found = read(put(tmp_path, logger(*changes)), first=1, on_missing=way)
    assert [(item.what, item.run, item.row) for item in found.notes] == [note]
    assert (found.diverged, found.dropped) == (diverged, (note[1],) if note[0] == What.DROPPED else ())


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
    def trips(path):
        raise error

    caught = problems.refusal(runs_of, trips, Path("a.json"))
    assert (type(caught), caught.path) == (kind, "a.json")
    assert message in caught.message

"""``depl traces import``: from the files of every tool to a plan that is proved, by commands alone."""

import itertools
import json
import re
import shlex
import shutil
from pathlib import Path

import numpy as np
import pytest

from tests.cases.fit_cases import SETUP
from tests.cases.tool_log_cases import EVERY, LOGS, SWITCHED, unpacked
from tests.depl.commands.conftest import sessions

CLUSTERS = [
    {"name": "edge", "capacity": 20, "bandwidth": 10, "unit_cost": 2},
    {"name": "far-edge", "capacity": 10, "bandwidth": 2, "unit_cost": 1},
]
PRUNED = [{"name": "p50", "size": 2, "demand": 2}, {"name": "p75", "size": 1, "demand": 1}]


@pytest.fixture
def logged(here):
    """Write the setup that goes with the logs of a tool; returns where these are and how they are read."""

    def write(name):
        log = EVERY[name]
        alone = "dense@edge" in log.options
        models = [{"name": "dense", "size": 2, "demand": 2}] if alone else PRUNED
        target = {"maximum_loss": log.target, "quantile_level": 0.85, "maximum_epochs": 16}
        sites = {"clusters": CLUSTERS[: 1 if alone else 2], "models": models, "transfers": []}
        document = {**SETUP, **sites, "target": target | {"maximum_time": 500}}
        (here / "setup.json").write_text(json.dumps(document), encoding="utf-8")
        return unpacked(log, here / "unpacked"), log.options

    (here / "unpacked").mkdir()
    return write


@pytest.mark.parametrize("name", ["tensorboard", "mlflow", "flower", "jsonl"])
def test_from_the_logs_of_a_tool_to_a_checked_plan_by_commands_alone(ask, logged, name):
    """Those of the other tools are imported alike in the tests of the readers."""
    path, options = logged(name)
    code, text, err = ask("traces", "import", path, *options, "--out", "logs.csv")
    assert (code, err) == (0, "traces written to logs.csv\n")
    assert f"24 runs of {EVERY[name].tool}, recognised by " in text
    assert ask("diagnose", "logs.csv", "--resamples", 9)[0] == 0
    assert ask("fit", "logs.csv", "--template", "setup.json", "--out", "mine.json")[0] == 0
    code, text, _ = ask("solve", "mine.json", "--method", "enumerate", "--out", "plan.json")
    assert (code, "certified under the fitted law" in text) == (0, True)
    assert ask("check", "mine.json", "plan.json")[0] == 0
    if name == "jsonl":  # fit takes the logs themselves, too
        assert ask("fit", path, *options, "--template", "setup.json", "--out", "direct.json")[0] == 0
        laws = (json.loads(Path(file).read_text())["traced_law"] for file in ("mine.json", "direct.json"))
        assert next(laws) == next(laws)


def typed(line):
    """The words of a line that is pasted into a shell, without the program's name."""
    program, *words = shlex.split(line, comments=True)
    assert program == "depl"
    return words


def following(text):
    """The lines under *What comes next*."""
    lines = text.partition("What comes next:\n")[2].splitlines()
    return [typed(line) for line in itertools.takewhile(lambda line: line.startswith("  "), lines)]


def test_the_next_command_of_a_diagnosis_of_logs_can_be_pasted(ask, here, logged):
    """Patterns of runs hold characters of the shell, and the folder a space."""
    unpacked_at, options = logged("wandb")
    path = Path("my logs", unpacked_at.name)
    path.parent.mkdir()
    shutil.copy(unpacked_at, path)
    text = ask("diagnose", path, *options, "--resamples", 9)[1]
    (line,) = re.findall(r"(?m)^next +(depl .*)$", text)
    (details,) = re.findall(r"depl diagnose .* --details", text)
    assert ask(*typed(details))[0] == 0
    assert typed(line)[0] == "fit"
    code, text, err = ask(*typed(line))
    assert code == 0, err
    solving, certifying = following(text)
    assert ask(*solving, "--method", "enumerate")[0] == 0
    code, _, err = ask(*(str(path) if word == "FRESH-LOGS" else word for word in certifying))
    assert (code, "has 16 epochs, its stages 14" in err) == (2, True), err  # these are no runs of the plan


def test_the_next_commands_of_an_import_can_be_pasted(ask, logged):
    path, options = logged("jsonl")
    text = ask("traces", "import", path, *options, "--out", "my runs.csv")[1]
    diagnosing, new_setup, fitting = following(text)
    assert ask(*diagnosing, "--resamples", 9)[0] == 0
    assert new_setup[:3] == ["instances", "new", "--setup"]
    assert ask(*fitting)[0] == 0
    *_, warned, judging = text.splitlines()
    assert "Fresh runs of a plan are not fitted" in warned  # the last line is nothing that spends them
    assert typed(judging)[:2] == ["certify", "my runs.csv"]


TOLD = """
--loss loss --from jsonl --run who --epoch when --first 0 --model net --cluster site --where split=val
--accuracy acc --on-missing end --on-repeated last --leave-out r1 --diverged r2,r3 --percent
"""


def test_every_option_of_logs_is_repeated_and_the_metric_too(ask, here):
    rng = np.random.default_rng(0)
    rows = [
        {"who": f"r{run}", "when": k, "loss": 3 / (k + 1) + rng.uniform(), "acc": 50 + k + rng.uniform()}
        | {"net": "a", "site": "edge", "split": "val"}
        for run in range(12)
        for k in range(5)
    ]
    (here / "log.txt.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    told = TOLD.split()
    code, text, err = ask("diagnose", "log.txt.jsonl", *told, "--metric", "error_rate", "--resamples", 9)
    assert code == 0, err
    (line,) = re.findall(r"(?m)^next +(depl .*)$", text)
    pairs = set(itertools.pairwise(typed(line)))
    assert {*zip(told[::2], told[1::2], strict=False)} <= pairs
    assert "--percent" in typed(line)
    assert ("--metric", "error_rate") in pairs


SESSIONS = f"""
without a file to write the table is shown
$ traces import {LOGS}/csv/runs.csv --loss val_loss {shlex.join(SWITCHED)}
2 schedules, too few for the margin of plans that were never run, which takes 19; fit --care 0 leaves it out
p50@edge:6,p75@far-edge:10 | 12 p50@edge:9,p75@far-edge:7 | 12

logs are not read unless their loss is named
$ fit {LOGS}/csv/runs.csv --template setup.json --out mine.json
= 2
depl traces import runs.csv --loss KEY --out

what was read is one object
> log.jsonl {{"run": "a", "epoch": 1, "loss": 1.0}}
> log.jsonl {{"run": "a", "epoch": 2, "loss": 0.5}}
> log.jsonl {{"run": "a", "epoch": 3, "loss": 0.33}}
> log.jsonl {{"run": "b", "epoch": 1, "loss": 1.0}}
> log.jsonl {{"run": "b", "epoch": 2, "loss": 0.5}}
> log.jsonl {{"run": "b", "epoch": 3, "loss": Infinity}}
$ traces import log.jsonl --loss loss --stages net@edge --on-missing end --out log.csv.gz --json
{{"tool": "jsonl", "runs": 2, "epochs": [1, 3], "shortest": 2, "diverged": ["b"], "dropped": []}}
{{"schedules": [{{"stages": "net@edge:3", "runs": 1}}, {{"stages": "net@edge:2", "runs": 1}}]}}
{{"notes": {{"shorter": 1, "diverged": 1}}}}
{{"lost": {{"b": "diverged and is ended: no loss in epoch 3 (row 6)"}}}}
"""


@pytest.mark.parametrize("lines", sessions(SESSIONS))
def test_what_is_typed_is_answered(follow, lines):
    follow(lines)

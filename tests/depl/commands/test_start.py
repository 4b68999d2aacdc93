"""``depl start``: without a terminal it lists what is missing, at one it asks until answers make sense."""

import fcntl
import os
import pty
import select
import signal
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest

from tests.cases.tool_log_cases import LOGS
from tests.depl.commands.conftest import sessions

ROOT = Path(__file__).resolve().parents[3]
NUMBERS = "--price edge=2 --price far-edge=1 --capacity edge=20 --capacity far-edge=10"
NUMBERS += " --work p50=2 --work p75=1 --maximum-time 500 --omega 0.9"
SESSIONS = f"""
what is missing is listed at once, each with its option and what would be proposed
$ start {LOGS}/jsonl
= 2
--loss KEY the loss on held-out data; logged are train_loss, val_loss [val_loss]
--price far-edge=N far-edge: what one resource costs
--work p75=N
--maximum-time T
--omega P the probability that is to be promised [0.9]
--target L l_max, the loss to be reached; all schedules of 12 runs or more promise 0.488 [0.488]
- cannot be read
$ start {LOGS}/keras/csv --loss val_loss --price edge=1
= 2
--model KEY, or --stages MODEL@CLUSTER
--work MODEL=N
- --loss KEY

a plan with its runs, its files and the commands that judge it; what was written is taken again
$ start {LOGS}/jsonl --loss val_loss {NUMBERS} --target 0.468
24 runs of jsonl, recognised by
Decided here (the setup says otherwise, and depl start takes it as --template): the data are on all clusters
at least 0.9230769, certified under the fitted law; asked 0.9 rests on 12 runs of this plan and one more
for a plan that they did not choose; one that they chose may keep less
files plan/setup.json, plan/runs.csv, plan/instance.json, plan/plan.json, plan/plan.png
depl check plan/instance.json plan/plan.json
depl certify FRESH-LOGS --loss val_loss --plan plan/plan.json --chosen-by plan/instance.json # 29 runs or more
$ check plan/instance.json plan/plan.json
$ start {LOGS}/jsonl --loss val_loss --template plan/setup.json
= 2
plan/setup.json: exists already, and so do 4 of the other files; replace with --force
$ start {LOGS}/jsonl --loss val_loss --template plan/setup.json --force --target 0.467
= 3
what helps --target 0.488, which all schedules of 12 runs or more promise
--out plan --template plan/setup.json --force --target 0.488
$ start {LOGS}/jsonl --loss val_loss --template plan/setup.json --force --omega 0.95 --target 0.5 --json
= 3
{{"termination": "infeasible", "files": ["plan/setup.json", "plan/runs.csv", "plan/instance.json"]}}
{{"read": {{"runs": 24}}}}
$ start {LOGS}/jsonl --loss val_loss --template plan/setup.json --out other --omega 0.95 --target 0.5
= 3
what helps more runs of one schedule what helps --omega 0.9, at which the runs of a plan promise the target
$ start {LOGS}/jsonl --loss val_loss --template plan/setup.json --force --omega 0.9 --maximum-time 1e-3
= 3
what helps more time (--maximum-time) or capacity

a setup for runs
$ traces import {LOGS}/jsonl --loss val_loss --out runs.csv
$ instances new --setup --from runs.csv --out new.json
a target that all schedules reach with 0.9; all else is an example
$ fit runs.csv --template new.json --out mine.json
$ solve mine.json
proved cheapest
"""


@pytest.mark.parametrize("lines", sessions(SESSIONS))
def test_what_is_typed_is_answered(follow, lines):
    follow(lines)


def own_terminal():
    """Let Ctrl-C at it reach the process, also where the tests run in the background."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def ask_at_a_terminal(here, words, answers):
    """Answer each question, by words of it, as a person types at a terminal that is the process's own."""
    master, slave = pty.openpty()
    termios.tcsetwinsize(slave, (50, 400))
    with subprocess.Popen(
        [sys.executable, "-m", "depl", "start", *words],
        cwd=here,
        env=os.environ | {"PYTHONPATH": str(ROOT), "TERM": "dumb"},
        **dict.fromkeys(("stdin", "stdout", "stderr"), slave),
        start_new_session=True,
        preexec_fn=own_terminal,
    ) as process:
        os.close(slave)
        said, shown, key, end = "", 0, b"", time.monotonic() + 100
        while True:
            if not select.select([master], [], [], 1)[0]:
                if time.monotonic() > end:
                    process.kill()
                elif key == b"\x03":  # which Python may miss right before it begins to wait for a line
                    os.write(master, key)
                continue
            try:
                part = os.read(master, 2**16).decode()
            except OSError:  # its end
                break
            said = said + part.replace("\r\n", "\n")
            if answers and answers[0][0] in said[shown:] and said.endswith(": "):
                key, shown = answers.pop(0)[1].encode(), len(said)
                os.write(master, key)
    os.close(master)
    assert not answers, said
    return process.returncode, said


KERAS = [str(LOGS / "keras" / "csv")]
GIVEN = ["--loss", "val_loss", "--stages", "dense@edge", "--price", "edge=2", "--capacity", "edge=20"]
TYPED = {
    "to the end, through answers that make no sense": (
        KERAS,
        [
            ("held-out data", "val_lss\n"),
            ("did you mean 'val_loss'?", "\n"),
            ("the model", "dense\n"),
            ("no key is called 'dense'", "--first\n"),
            ("the model", "dense@edge\n"),
            ("dense@edge:16 |   24", "--first 1\n"),
            ("only Enter goes on", "\n"),
            ("edge: what one resource costs", "two\n"),
            ("'two' is not a valid number", "2\n"),
            ("the most resources", "inf\n"),
            ("inf is nothing to calculate with", "20\n"),
            ("resources x time", "2\n"),
            ("the whole training", "500\n"),
            ("to be promised [0.95]", "95\n"),
            ("not in the range", "0.9\n"),
            ("all schedules of 24 runs or more promise", "0.6\n"),
        ],
        (
            0,
            "rests on 24 runs of this plan",
            {"setup.json", "runs.csv", "instance.json", "plan.json", "plan.png"},
        ),
    ),
    "until the input ends": (
        [*KERAS, *GIVEN],
        [("Enter if", "\n"), ("resources x time", "\x04")],
        (2, "nothing can be asked here, and these are missing", set()),
    ),
    "until Ctrl-C": (
        KERAS,
        [("held-out data", "\x03")],
        (5, "depl: interrupted before there was an answer", set()),
    ),
    "until the runs are refused, and the answers are kept": (
        [
            *KERAS,
            *GIVEN,
            "--work",
            "dense=1",
            "--maximum-time",
            "9",
            "--omega",
            "0.9",
            "--leave-out",
            "*[1-9]*",
        ],
        [("Enter if", "\n"), ("no schedule has the runs that 0.9 takes", "1\n")],
        (2, "too few for the affine law: it takes 6", {"setup.json"}),
    ),
}


@pytest.mark.parametrize("name", TYPED)
def test_at_a_terminal_questions_are_asked(here, name):
    words, answers, (code, wanted, files) = TYPED[name]
    ended, said = ask_at_a_terminal(here, words, list(answers))
    assert (ended, wanted in " ".join(said.split()), "Traceback" in said) == (code, True, False), said
    folder = here / "plan"
    assert {path.name for path in folder.iterdir()} == files if files else not folder.exists()

"""The log of a run: what is on the disk before a decision is known, and how a killed process goes on."""

import fcntl
import json
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from depl.models.foundation.errors import InvalidInputError
from depl.models.policy.controller import Controller
from depl.models.policy.decisions import Stop
from tests.cases.policy_files import LARGE, SMALL, by_hand

ROOT = Path(__file__).resolve().parents[3]
LOSSES = (1.0, 0.82, 0.4, 0.2)


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    path = tmp_path / "policy.json"
    path.write_text(by_hand().to_json(), encoding="utf-8")
    return path


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "run.jsonl"


def lines(log: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]


def begun(policy: Path, log: Path, count: int) -> Controller:
    """A run that has observed so many losses."""
    controller = Controller(policy, log)
    for index, loss in enumerate(LOSSES[:count]):
        controller.observe(loss) if index else controller.start(loss)
    return controller


def test_every_epoch_is_a_line_that_says_what_was_trained_and_what_was_decided(
    policy: Path, log: Path
) -> None:
    controller = begun(policy, log, 4)
    head, *rest = lines(log)
    assert (head["format"], head["version"], head["name"]) == ("depl-run", 1, "by hand")
    assert head["policy"] == controller.fingerprint
    assert rest == list(controller.records)
    assert rest[1] == {
        "epoch": 1,
        "loss": 0.82,
        "model": SMALL[0],
        "cluster": SMALL[1],
        "ledger": 9,
        "cost": 1.0,
        "decision": "switch",
        "next_model": LARGE[0],
        "next_cluster": LARGE[1],
    }
    assert (rest[3]["decision"], rest[3]["reason"]) == ("stop", "reached")


@pytest.mark.parametrize("count", range(5))
def test_a_run_goes_on_from_its_log_to_the_same_decisions(policy: Path, log: Path, count: int) -> None:
    whole = begun(policy, log.with_name("whole"), 4)
    begun(policy, log, count)
    again = Controller.resume(policy, log)
    for index, loss in enumerate(LOSSES[count:], start=count):
        again.observe(loss) if index else again.start(loss)
    assert again.records == whole.records
    assert again.decision == whole.decision == Stop("reached", 3, 0.2)
    assert lines(log)[1:] == list(whole.records)


def test_a_process_that_is_killed_between_epochs_or_while_it_writes_goes_on_as_if_it_had_not_been(
    policy: Path, log: Path
) -> None:
    """The child dies by SIGKILL, which it cannot catch, after half a line of the second epoch."""
    program = (
        "import os, signal, sys, depl\n"
        "controller = depl.Controller(sys.argv[1], log=sys.argv[2])\n"
        "controller.start(1.0)\n"
        "print(controller.observe(0.82), flush=True)\n"
        "if sys.argv[3] == 'half':\n"
        "    with open(sys.argv[2], 'ab', buffering=0) as file:\n"
        '        file.write(b\'{"epoch": 2, "lo\')\n'
        "os.kill(os.getpid(), signal.SIGKILL)\n"
        "print('alive')\n"
    )
    for how in ("between", "half"):
        done = subprocess.run(
            [sys.executable, "-c", program, str(policy), str(log), how],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == -signal.SIGKILL, done.stderr
        again = Controller.resume(policy, log)
        assert done.stdout == f"{again.decision}\n"
        assert [again.observe(loss).kind for loss in LOSSES[2:]] == ["continue", "stop"]
        whole = begun(policy, log.with_name(f"whole-{how}"), 4)
        assert lines(log)[1:] == list(whole.records)
        log.unlink()


@pytest.mark.parametrize("content", [None, b"", b'{"format": "depl-r'])
def test_a_run_that_left_no_whole_line_begins_anew(policy: Path, log: Path, content: bytes | None) -> None:
    if content is not None:
        log.write_bytes(content)
    controller = Controller.resume(policy, log)
    assert controller.decision is None
    controller.start(1.0)
    assert len(lines(log)) == 2


@pytest.mark.parametrize(
    ("name", "words"),
    [("a\0b", "null byte"), ("a\ud800", "surrogates"), (7, "the name of a file"), (b"\0", "null")],
)
def test_a_log_that_is_no_name_of_a_file_is_refused(policy: Path, name: object, words: str) -> None:
    for begin in (Controller, Controller.resume):
        with pytest.raises(InvalidInputError, match=words):
            begin(policy, name)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("line", "old", "new", "words"),
    [
        (0, "depl-run", "depl-plan", "line 1 does not open a 'depl-run' log"),
        (0, '"version": 1', '"version": 2', "version 2 is not known"),
        (2, "0.82", "0.84", None),
        (2, "0.82", "0.2", "line 3 is not what this policy decides: ledger is 9 and would be 2"),
        (2, '"switch"', '"continue"', "line 3 is not what this policy decides: decision is 'continue'"),
        (2, '"loss": 0.82', '"loss": "low"', "line 3: a loss is a number"),
        (2, "{", '{"mine": null, ', "line 3 is not what this policy decides: mine is None and would be"),
        (2, '"cost": 1.0, ', "", "line 3 is not what this policy decides: cost is missing and would be 1.0"),
        (2, "{", "", "line 3 is not JSON"),
        (2, "", "[]", "line 3 is not JSON"),
    ],
)
def test_a_log_that_was_changed_is_refused_with_its_line(policy, log, line, old, new, words) -> None:
    begun(policy, log, 3)
    text = log.read_text(encoding="utf-8").splitlines()
    text[line] = text[line].replace(old, new, 1) if old else new + text[line]
    log.write_text("\n".join(text) + "\n", encoding="utf-8")
    if words is None:  # the loss is in the same cell, and so all is as it was but the next noise
        assert Controller.resume(policy, log).epoch == 2
        return
    with pytest.raises(InvalidInputError) as found:
        Controller.resume(policy, log)
    assert words in str(found.value)


def test_a_second_writer_waits_for_the_first_and_is_then_refused(policy: Path, log: Path) -> None:
    one, two = begun(policy, log, 1), Controller.resume(policy, log)
    writer = threading.Thread(target=one.observe, args=(0.82,))
    with log.open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        writer.start()
        writer.join(0.2)
        assert writer.is_alive()
        assert len(lines(log)) == 2
    writer.join()
    assert len(lines(log)) == 3
    with pytest.raises(InvalidInputError, match="something else has written to it"):
        two.observe(0.82)
    assert two.epoch == 0


def test_where_the_log_cannot_be_written_nothing_is_decided(policy: Path, tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="cannot be written"):
        Controller(policy, tmp_path / "missing" / "run.jsonl")
    log = tmp_path / "run.jsonl"
    controller = begun(policy, log, 1)
    log.unlink()
    log.mkdir()
    with pytest.raises(InvalidInputError, match="cannot be written"):
        controller.observe(0.82)
    assert controller.epoch == 0


def test_a_log_of_another_run_or_with_lines_after_its_end_is_refused(policy: Path, log: Path) -> None:
    begun(policy, log, 4)
    with pytest.raises(InvalidInputError, match=r"run.jsonl: exists already; go on with it by"):
        Controller(policy, log)
    with pytest.raises(InvalidInputError, match=r"is the log of another policy, 'by hand' \(fingerprint"):
        Controller.resume(by_hand(state="observed", name="other"), log)
    with log.open("a", encoding="utf-8") as file:
        file.write('{"epoch": 4, "loss": 0.1}\n')
    with pytest.raises(InvalidInputError, match="line 6 stands after the end of the run"):
        Controller.resume(policy, log)

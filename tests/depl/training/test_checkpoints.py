"""Weights beside the log of a run: which there are after every epoch, and after a process is killed."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from depl.models.foundation.errors import InvalidInputError
from depl.models.policy.controller import Controller
from depl.models.policy.decisions import Stop, Switch
from depl.training.checkpoints import Checkpoints
from tests.cases.fake_frameworks import Network
from tests.cases.policy_files import decided, digits_policy

ROOT = Path(__file__).resolve().parents[3]
LOSSES = [2.3, 2.0, 1.4, 0.97, 0.8, 0.6, 0.5, 0.44, 0.4]


def led(controller, folder, epochs=99):
    """A plain loop."""
    network, weights = Network(LOSSES), Checkpoints(folder, ".json")
    if found := weights.found(controller):
        network.load(found)
        network.name = controller.records[-1]["model"]
    decision = controller.decision or controller.start(network.loss())
    while not isinstance(decision, Stop) and controller.epoch < epochs:
        if isinstance(decision, Switch):
            network.name = decision.model
        network.trained.append(network.name)
        decision = weights.observe(controller, network.loss(), network.save)
    return network


def test_a_plain_loop_keeps_the_weights_of_the_last_epoch_alone(controller, tmp_path):
    for epochs in (1, 3, 7):
        led(controller(), tmp_path / "weights", epochs)
        assert os.listdir(tmp_path / "weights") == [f"epoch-{epochs}.json"]
    assert json.loads((tmp_path / "weights" / "epoch-7.json").read_text()) == decided(LOSSES)
    assert decided(LOSSES) == ["p50"] * 3 + ["p75"] * 4
    assert controller().decision == Stop("reached", 7, 0.44)


KILLED = """
import json, os, signal, sys
from pathlib import Path
from depl.models.policy.controller import Controller
from depl.training import checkpoints
from tests.cases.policy_files import digits_policy
from tests.depl.training import test_checkpoints as case

def train(folder, moment):
    made = Controller.resume(json.dumps(digits_policy()), folder / "run.jsonl")
    case.led(made, folder / "weights", 3)
    kill = lambda *given: os.kill(os.getpid(), signal.SIGKILL)
    place, name = {"weights": (made, "observe"), "line": (checkpoints.os, "remove")}.get(
        moment, (case.Network, "loss")
    )
    setattr(place, name, kill)
    case.led(made, folder / "weights", 4)

for moment in "training", "weights", "line":
    Path(sys.argv[1], moment).mkdir()
    if (child := os.fork()) == 0:
        train(Path(sys.argv[1], moment), moment)
    print(os.waitpid(child, 0)[1] == signal.SIGKILL)
"""


def test_a_process_that_is_killed_goes_on_with_the_weights_of_its_log(tmp_path):
    """While it trains, after its weights are written, and after its line is."""
    done = subprocess.run(
        [sys.executable, "-c", KILLED, tmp_path], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.stdout == "True\n" * 3, done.stderr
    whole = Controller(json.dumps(digits_policy()))
    wanted = led(whole, tmp_path / "whole").trained
    for moment, epoch in (("training", 3), ("weights", 3), ("line", 4)):
        again = Controller.resume(json.dumps(digits_policy()), tmp_path / moment / "run.jsonl")
        assert again.epoch == epoch
        network = led(again, tmp_path / moment / "weights")
        assert network.trained == wanted == decided(LOSSES)
        assert again.records == whole.records
        assert os.listdir(tmp_path / moment / "weights") == ["epoch-7.json"]


def test_weights_of_another_run_are_refused(controller, tmp_path):
    led(controller(), tmp_path / "weights", 2)
    said = r"has no epoch-2.json, and the log of the run holds 2 epochs"
    with pytest.raises(InvalidInputError, match=said):
        Checkpoints(tmp_path / "others", ".json").found(controller())
    assert Checkpoints(tmp_path, ".json").found(Controller(json.dumps(digits_policy()))) is None


def test_a_folder_that_cannot_be_written_leaves_the_run_where_it_was(controller, tmp_path):
    (tmp_path / "file").write_text("")
    made = controller()
    made.start(2.3)
    with pytest.raises(InvalidInputError, match="cannot be written"):
        Checkpoints(tmp_path / "file", ".json").observe(made, 2.0, Network(LOSSES).save)
    assert made.epoch == 0

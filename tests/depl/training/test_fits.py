"""Keras and Lightning with fakes: a fit ends at the decision, with the model of that epoch."""

import json

import pytest

from depl.models.foundation.errors import InvalidInputError
from depl.models.policy.decisions import Stop, Switch
from depl.training.checkpoints import Checkpoints
from tests.cases.fake_frameworks import Network, Trainer
from tests.cases.policy_files import decided

LOSSES = [2.3, 2.0, 1.4, 0.97, 0.8, 0.6, 0.5, 0.44, 0.4]


def convert(network, to):
    network.name = to


def refused(words):
    return pytest.raises(InvalidInputError, match=words)


def test_fit_of_keras_ends_at_a_switch_and_at_the_stop_with_the_model_of_that_epoch(
    adapter, controller, tmp_path
):
    made, network, ends = controller(), Network(LOSSES), []
    follow = adapter("keras").ControllerCallback(made, checkpoints=Checkpoints(tmp_path / "w", ".keras"))
    made.start(network.loss())
    while not isinstance(made.decision, Stop):
        if isinstance(made.decision, Switch):
            network.name = made.decision.model
        network.fit(follow, made.epoch, made.last_epoch)
        ends.append(made.epoch)
    assert (ends, network.trained) == ([3, 7], decided(LOSSES))
    assert json.loads((tmp_path / "w" / "epoch-7.keras").read_text()) == decided(LOSSES)
    with refused("the run has stopped, so do not call fit: stop, reached"):
        network.fit(follow, made.epoch, made.last_epoch)


def test_what_the_controller_does_not_wait_for_is_refused_under_keras(adapter, controller):
    made = controller()
    follow = adapter("keras").ControllerCallback(made)
    with refused(r"call controller\.start"):
        Network(LOSSES).fit(follow, 0, 16)
    made.start(2.3)
    with refused("fit is at epoch 5, and 0 epochs are observed"):
        Network(LOSSES).fit(follow, 5, 16)
    with refused("has no 'val_loss'; it has loss, val_mae"):
        Network(LOSSES).fit(follow, 0, 16, "val_mae")
    with refused(r"suffix='\.keras'"):
        adapter("keras").ControllerCallback(made, checkpoints=Checkpoints("w"))


def test_a_run_whose_first_loss_decides_nothing_begins_without_it(adapter, forgetful):
    network, made = Network(LOSSES), forgetful()
    network.fit(adapter("keras").ControllerCallback(made), 0, made.last_epoch)
    assert (network.trained, made.decision) == (decided(LOSSES)[:3], Switch("p75", "far-edge", 3, 0.97))
    network, made = Network(LOSSES), forgetful()
    Trainer(adapter("lightning").ControllerCallback(made, convert=convert)).fit(network)
    assert (network.trained, made.decision) == (decided(LOSSES), Stop("reached", 7, 0.44))


def test_a_fit_of_lightning_switches_and_stops_with_the_weights_of_that_epoch(adapter, controller, tmp_path):
    made, network = controller(), Network(LOSSES)
    kept = Checkpoints(tmp_path / "w", ".ckpt")
    follow = adapter("lightning").ControllerCallback(made, convert=convert, checkpoints=kept)
    trainer = Trainer(follow)
    trainer.validate(network)
    trainer.fit(network)
    assert made.decision == Stop("reached", 7, 0.44)
    assert (network.trained, trainer.optimizers) == (decided(LOSSES), 1)
    assert json.loads((tmp_path / "w" / "epoch-7.ckpt").read_text()) == decided(LOSSES)
    Trainer(follow).fit(network, ckpt_path=follow.resume_path)
    assert network.trained == decided(LOSSES)  # a run that has stopped is not trained on


@pytest.mark.parametrize("epochs", [1, 3, 5])
def test_a_fit_of_lightning_goes_on_from_the_log_and_the_checkpoint(epochs, adapter, controller, tmp_path):
    lightning, kept = adapter("lightning"), Checkpoints(tmp_path / "w", ".ckpt")
    begun = Trainer(lightning.ControllerCallback(controller(), convert=convert, checkpoints=kept))
    network = Network(LOSSES)
    begun.validate(network)
    network.losses = [*LOSSES[: epochs + 1], "killed"]
    with refused("a loss is a number"):
        begun.fit(network)
    follow = lightning.ControllerCallback(controller(), convert=convert, checkpoints=kept)
    assert follow.controller.epoch == epochs
    with refused(f"fit is at epoch 0, and {epochs} epochs are observed"):
        Trainer(follow).fit(Network(LOSSES))
    again = Network(LOSSES)
    Trainer(follow).fit(again, ckpt_path=follow.resume_path)
    assert again.trained == decided(LOSSES)


OVERRULED = {
    "min_epochs and min_steps of the trainer overrule a stop": {"min_epochs": 2},
    "max_epochs=9 of the trainer ends the run before": {"max_epochs": 9},
    "has 2 processes": {"world_size": 2},
    "no validation at the end of this epoch": {"check_val_every_n_epoch": 2},
}


@pytest.mark.parametrize("words", OVERRULED)
def test_a_trainer_that_would_overrule_the_controller_is_refused(words, adapter, controller):
    callback = adapter("lightning").ControllerCallback(controller(), convert=convert)
    trainer = Trainer(callback, **OVERRULED[words])
    trainer.validate(Network(LOSSES))
    with refused(words):
        trainer.fit(Network(LOSSES))


def test_a_first_loss_a_conversion_and_the_logged_name_are_needed(adapter, controller):
    callback = adapter("lightning").ControllerCallback
    with refused("may switch between 'p50', 'p75'"):
        callback(controller())
    with refused(r"call trainer\.validate\(module, \.\.\.\) before fit"):
        Trainer(callback(controller(), convert=convert)).fit(Network(LOSSES))
    with refused("has no 'loss'; it has val_loss"):
        Trainer(callback(controller(), "loss", convert=convert)).validate(Network(LOSSES))

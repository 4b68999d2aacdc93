"""Lightning with fakes: the fit ends at the decision, switches, resumes, and refuses what overrules it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from depl.models.foundation.errors import InvalidInputError
from depl.models.policy.controller import Controller
from depl.models.policy.decisions import Stop
from depl.training.checkpoints import Checkpoints
from tests.cases.digits_policy import decided
from tests.cases.fake_frameworks import Network, Trainer

LOSSES = [2.3, 2.0, 1.4, 0.97, 0.8, 0.6, 0.5, 0.44, 0.4]


def convert(network: Network, to: str) -> None:
    network.name = to


def test_a_fit_switches_and_stops_with_the_weights_of_that_epoch(
    adapter: Callable[[str], Any], controller: Callable[[], Controller], tmp_path: Path
) -> None:
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
def test_a_fit_goes_on_from_the_log_and_the_checkpoint(
    epochs: int, adapter: Callable[[str], Any], controller: Callable[[], Controller], tmp_path: Path
) -> None:
    lightning, kept = adapter("lightning"), Checkpoints(tmp_path / "w", ".ckpt")
    begun = Trainer(lightning.ControllerCallback(controller(), convert=convert, checkpoints=kept))
    network = Network(LOSSES)
    begun.validate(network)
    broken = [*LOSSES[: epochs + 1], "killed"]
    network.losses = broken  # type: ignore[assignment]
    with pytest.raises(InvalidInputError, match="a loss is a number"):
        begun.fit(network)
    follow = lightning.ControllerCallback(controller(), convert=convert, checkpoints=kept)
    assert follow.controller.epoch == epochs
    with pytest.raises(InvalidInputError, match=f"fit is at epoch 0, and {epochs} epochs are observed"):
        Trainer(follow).fit(Network(LOSSES))
    again = Network(LOSSES)
    Trainer(follow).fit(again, ckpt_path=follow.resume_path)
    assert again.trained == decided(LOSSES)


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ({"min_epochs": 2}, "min_epochs and min_steps of the trainer overrule a stop"),
        ({"max_epochs": 9}, "max_epochs=9 of the trainer ends the run before"),
        ({"world_size": 2}, "has 2 processes"),
        ({"check_val_every_n_epoch": 2}, "no validation at the end of this epoch"),
    ],
)
def test_a_trainer_that_would_overrule_the_controller_is_refused(
    limits: dict[str, int], words: str, adapter: Callable[[str], Any], controller: Callable[[], Controller]
) -> None:
    trainer = Trainer(adapter("lightning").ControllerCallback(controller(), convert=convert), **limits)
    trainer.validate(Network(LOSSES))
    with pytest.raises(InvalidInputError, match=words):
        trainer.fit(Network(LOSSES))


def test_a_first_loss_a_conversion_and_the_logged_name_are_needed(
    adapter: Callable[[str], Any], controller: Callable[[], Controller]
) -> None:
    callback = adapter("lightning").ControllerCallback
    with pytest.raises(InvalidInputError, match="may switch between 'p50', 'p75'"):
        callback(controller())
    with pytest.raises(InvalidInputError, match=r"call trainer\.validate\(module, \.\.\.\) before fit"):
        Trainer(callback(controller(), convert=convert)).fit(Network(LOSSES))
    with pytest.raises(InvalidInputError, match="has no 'loss'; it has val_loss"):
        Trainer(callback(controller(), "loss", convert=convert)).validate(Network(LOSSES))


def test_a_run_whose_first_loss_decides_nothing_begins_without_it(
    adapter: Callable[[str], Any], forgetful: Controller
) -> None:
    network = Network(LOSSES)
    Trainer(adapter("lightning").ControllerCallback(forgetful, convert=convert)).fit(network)
    assert (network.trained, forgetful.decision) == (decided(LOSSES), Stop("reached", 7, 0.44))

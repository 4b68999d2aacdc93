"""Keras with fakes: ``fit`` ends at the decision, with the model of that epoch."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from depl.models.foundation.errors import InvalidInputError
from depl.models.policy.controller import Controller
from depl.models.policy.decisions import Stop, Switch
from depl.training.checkpoints import Checkpoints
from tests.cases.digits_policy import decided
from tests.cases.fake_frameworks import Network

LOSSES = [2.3, 2.0, 1.4, 0.97, 0.8, 0.6, 0.5, 0.44, 0.4]


def test_fit_ends_at_a_switch_and_at_the_stop_with_the_model_of_that_epoch(
    adapter: Callable[[str], Any], controller: Callable[[], Controller], tmp_path: Path
) -> None:
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
    with pytest.raises(InvalidInputError, match="the run has stopped, so do not call fit: stop, reached"):
        network.fit(follow, made.epoch, made.last_epoch)


def test_what_the_controller_does_not_wait_for_is_refused(
    adapter: Callable[[str], Any], controller: Callable[[], Controller]
) -> None:
    made = controller()
    follow = adapter("keras").ControllerCallback(made)
    with pytest.raises(InvalidInputError, match=r"call controller\.start"):
        Network(LOSSES).fit(follow, 0, 16)
    made.start(2.3)
    with pytest.raises(InvalidInputError, match="fit is at epoch 5, and 0 epochs are observed"):
        Network(LOSSES).fit(follow, 5, 16)
    with pytest.raises(InvalidInputError, match="has no 'val_loss'; it has loss, val_mae"):
        Network(LOSSES).fit(follow, 0, 16, "val_mae")
    with pytest.raises(InvalidInputError, match=r"suffix='\.keras'"):
        adapter("keras").ControllerCallback(made, checkpoints=Checkpoints("w"))


def test_a_run_whose_first_loss_decides_nothing_begins_without_it(
    adapter: Callable[[str], Any], forgetful: Controller
) -> None:
    network = Network(LOSSES)
    network.fit(adapter("keras").ControllerCallback(forgetful), 0, forgetful.last_epoch)
    assert (network.trained, forgetful.decision) == (decided(LOSSES)[:3], Switch("p75", "far-edge", 3, 0.97))

"""What people do today, as rules: on losses written by hand."""

from functools import partial

import pytest

from depl.benchmarks.studies.loop.program import Led
from depl.benchmarks.studies.loop.rules import (
    SwitchOnce,
    patience,
    threshold,
    usual_epochs,
    usual_switch,
)
from depl.models.policy.decisions import Stop

FALLING = (9.0, 5.0, 3.0, 6.0, 4.0, 2.0, 1.0, 0.5)
"""Two epochs of the first stage, after which the loss jumps, then five of the second."""


def followed(rule: SwitchOnce, losses=FALLING) -> tuple[list[str], Stop]:
    """The models that a rule trains on these losses, and its last decision."""
    decision, trained = rule.start(losses[0]), []
    for loss in losses[1:]:
        if isinstance(decision, Stop):
            break
        trained.append(decision.model)
        decision = rule.observe(loss)
    assert isinstance(decision, Stop)
    return trained, decision


def test_a_fixed_number_of_epochs_switches_once_and_ends_whatever_the_loss():
    trained, last = followed(SwitchOnce(2, 5, 0.1))
    assert trained == ["pruned-50"] * 2 + ["pruned-75"] * 3
    assert (last.reason, last.epoch, last.loss) == ("deadline", 5, 2.0)
    assert followed(SwitchOnce(2, 5, 2.0))[1].reason == "reached"


def test_a_threshold_stops_at_the_target_but_not_with_the_first_model():
    trained, last = followed(SwitchOnce(2, 7, 4.5, threshold(4.5)))  # epoch 2 is below it, too
    assert len(trained) == 4
    assert (last.reason, last.epoch) == ("reached", 4)
    assert followed(SwitchOnce(2, 7, 0.1, threshold(0.1)))[1].reason == "deadline"


def test_patience_counts_from_the_switch_and_forgives_what_still_falls():
    assert len(followed(SwitchOnce(2, 7, 0.1, partial(patience, last=2)))[0]) == 7
    flat = (9.0, 5.0, 3.0, 6.0, 4.0, 4.5, 4.0, 3.0)
    trained, last = followed(SwitchOnce(2, 7, 4.0, partial(patience, last=2)), flat)
    assert len(trained) == 6
    assert last.reason == "reached"


def led(seed: int, first: int, losses: tuple[float, ...]) -> Led:
    return Led(seed, len(losses) - 1, first, losses)


def test_the_pilots_choose_the_switch_and_the_number_of_epochs_by_hand():
    early = [led(0, 1, (9, 5, 4, 2, 1)), led(1, 1, (9, 5, 4, 3, 2))]
    late = [led(2, 3, (9, 5, 4, 3, 1)), led(3, 3, (9, 5, 4, 3, 3))]
    # they meet 2 after epochs 3, 4, 4 and never
    # switch 1: (1 + 2 * 1, 1 + 3 * 1) in epochs of price 1; switch 3: (3 + 1, 3 + 1 without success)
    assert usual_switch([*early, *late], 2, (1.0, 1.0)) == 1
    assert usual_switch([*early, *late], 2, (0.0, 10.0)) == 3
    assert usual_epochs(early, 1, 2, 0.5) == 3
    assert usual_epochs(early, 1, 2, 1.0) == 4
    assert usual_epochs(late, 3, 2, 1.0) == 4  # never: all of them


@pytest.mark.slow
def test_a_run_that_is_led_is_the_run_that_the_family_trains():
    from depl.benchmarks.studies.loop.program import FAMILY, lead
    from depl.instances.training.families import family
    from depl.instances.training.runs import Epoch, train_run

    found = lead(3, SwitchOnce(2, 4, 0.0))
    chosen = family(FAMILY)
    schedule = [Epoch(0.5, "edge")] * 2 + [Epoch(0.75, "far-edge")] * 2
    assert found.losses == pytest.approx(
        train_run(chosen.task(), schedule, chosen.generator(3)).loss.tolist(), abs=1e-5
    )

"""What people do today, as rules on losses written by hand, and what the pilots choose for them."""

from functools import partial

import pytest

from depl.benchmarks.measure.results import RESULTS, read
from depl.benchmarks.studies import training_loop
from depl.benchmarks.studies.training_loop import (
    STAGES,
    Led,
    lead,
    left,
    patience,
    switching,
    threshold,
    usual_epochs,
    usual_switch,
)
from depl.instances.training.families import family
from depl.instances.training.names import DIGITS_ALEXNET
from depl.instances.training.runs import Epoch, train_run

FALLING = (9.0, 5.0, 3.0, 6.0, 4.0, 2.0, 1.0, 0.5)
"""Two epochs of the first stage, after which the loss jumps, then five of the second."""
FLAT = (9.0, 5.0, 3.0, 6.0, 4.0, 4.5, 4.0, 3.0)


@pytest.mark.parametrize(
    ("losses", "epochs", "enough", "end"),
    [
        (FALLING, 5, (), 5),  # a fixed number of epochs
        # a threshold stops at the target, but not with the first model: epoch 2 is below it, too
        (FALLING, 7, (threshold(4.5),), 4),
        (FALLING, 7, (threshold(0.1),), 7),
        # patience counts from the switch and forgives what still falls
        (FALLING, 7, (partial(patience, last=2),), 7),
        (FLAT, 7, (partial(patience, last=2),), 6),
    ],
)
def test_who_stops_a_run_leaves_its_beginning(losses, epochs, enough, end):
    assert left(led(0, 2, *losses), epochs, *enough) == led(0, 2, *losses[: end + 1])


def test_a_run_switches_once_and_ends():
    following = switching(2, 5)
    assert [following([1.0] * (epoch + 1)) for epoch in range(6)] == [STAGES[0]] * 2 + [STAGES[1]] * 3 + [
        None
    ]


def led(seed, first, *losses):
    return Led(seed, len(losses) - 1, first, losses)


def test_the_pilots_choose_the_switch_and_the_number_of_epochs_by_hand():
    early = [led(0, 1, 9, 5, 4, 2, 1), led(1, 1, 9, 5, 4, 3, 2)]
    late = [led(2, 3, 9, 5, 4, 3, 1), led(3, 3, 9, 5, 4, 3, 3)]
    # they meet 2 after epochs 3, 4, 4 and never
    # switch 1: (1 + 2 * 1, 1 + 3 * 1) in epochs of price 1; switch 3: (3 + 1, 3 + 1 without success)
    assert usual_switch([*early, *late], 2, (1.0, 1.0)) == 1
    assert usual_switch([*early, *late], 2, (0.0, 10.0)) == 3
    assert usual_epochs(early, 1, 2, 0.5) == 3
    assert usual_epochs(early, 1, 2, 1.0) == 4
    assert usual_epochs(late, 3, 2, 1.0) == 4  # never: all of them


@pytest.mark.slow
def test_a_run_that_is_led_is_the_run_that_the_family_trains():
    found = lead(3, switching(2, 4))
    chosen, schedule = family(DIGITS_ALEXNET), [Epoch(0.5, "edge")] * 2 + [Epoch(0.75, "far-edge")] * 2
    trained = train_run(chosen.task(), schedule, chosen.generator(3))
    assert found.losses == pytest.approx(trained.loss.tolist(), abs=1e-5)


def test_the_figures_of_the_record_follow_from_its_rows():
    values = read(RESULTS / "training-loop.json").values
    found = training_loop._figures([values | {"pilots": 30}])
    assert found == {name: values[name] for name in found}

"""Seconds by stage, on a clock that the tests move."""

import pytest

from depl.instances.library import load
from depl.models.solving.decisions import Stage
from depl.models.solving.solve import solve
from depl.models.solving.stage_clock import StageClock


class Hand:
    def __init__(self) -> None:
        self.moment = 100.0

    def __call__(self) -> float:
        return self.moment

    def move(self, seconds: float) -> None:
        self.moment += seconds


@pytest.fixture
def hand() -> Hand:
    return Hand()


def test_what_lies_between_stages_counts_for_none(hand):
    clock = StageClock(hand)
    hand.move(1)
    with clock.during(Stage.DATA):
        hand.move(2)
    hand.move(4)
    with clock.during(Stage.DATA):
        hand.move(8)
    assert clock.seconds == {"data": 10}


def test_a_stage_inside_another_counts_for_itself_alone(hand):
    clock = StageClock(hand)
    with clock.during(Stage.DATA):
        hand.move(1)
        with clock.during(Stage.MODELS):
            hand.move(2)
        hand.move(4)
    assert clock.seconds == {"data": 5, "models": 2}


def test_an_item_counts_for_its_making_not_for_its_use(hand):
    def made():
        for seconds in (1, 2):
            hand.move(seconds)
            yield seconds
        hand.move(4)

    clock = StageClock(hand)
    for _ in clock.items(Stage.MODELS, made()):
        hand.move(8)
    assert clock.seconds == {"models": 7}


def test_a_stage_that_fails_is_counted_and_ended(hand):
    def fails():
        hand.move(1)
        raise ValueError("late")
        yield

    clock = StageClock(hand)
    with pytest.raises(ValueError, match="late"):
        list(clock.items(Stage.RESOURCES, fails()))
    hand.move(2)
    assert clock.seconds == {"resources": 1}


def test_a_running_stage_is_counted_so_far(hand):
    clock = StageClock(hand)
    with clock.during(Stage.DATA):
        hand.move(3)
        assert clock.seconds == {"data": 3}


@pytest.mark.parametrize("method", ["depl-paper", "depl"])
def test_the_loops_tell_the_seconds_of_their_stages(method):
    result = solve(load("paper-alexnet", target=13), method)
    assert set(result.stage_seconds) == {"data", "models", "resources"}
    assert all(seconds > 0 for seconds in result.stage_seconds.values())
    assert sum(result.stage_seconds.values()) <= result.wall_seconds
    assert result.to_dict()["stage_seconds"] == result.stage_seconds


def test_other_methods_have_no_stages():
    assert solve(load("tiny"), "enumerate").stage_seconds == {}

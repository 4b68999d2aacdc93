"""What a method tells of its decisions and the seconds of its stages, from the method to the command line."""

import pytest

import depl
from depl.models.solving.decisions import Decision, Stage, StageClock, told


def test_what_was_taken_back_in_a_row_is_counted_unless_details_are_wanted():
    kept = Decision(Stage.MODELS, "2 full", "kept", cost=28.0)
    tried = [Decision(Stage.DATA, f"d{index}", "nothing below 28", kept=False) for index in range(4)]
    decisions = [kept, *tried, kept, *tried[:2]]
    assert told(decisions).count("went back") == 6
    lines = told(decisions, details=False).splitlines()
    assert lines[1] == "  2. data: 4 choices were tried and taken back, up to decision 5"
    assert lines[2].startswith("  6. models: 2 full")
    assert len(lines) == 5  # two are no longer than a count


class Hand:
    """A clock that the test moves."""

    moment = 100.0

    def __call__(self):
        return self.moment

    def move(self, seconds):
        self.moment += seconds


def test_an_item_counts_for_its_making_not_for_its_use_also_where_it_fails():
    def made():
        for seconds in (1, 2):
            hand.move(seconds)
            yield seconds
        hand.move(4)
        raise ValueError("late")

    hand = Hand()
    clock = StageClock(hand)
    items = clock.items(Stage.MODELS, made())
    for _ in range(2):
        next(items)
        hand.move(8)
    with pytest.raises(ValueError, match="late"):
        next(items)
    hand.move(16)
    assert clock.seconds == {"models": 7}


@pytest.mark.parametrize(("method", "name"), [("depl-paper", "paper-alexnet-13"), ("depl", "tiny")])
def test_the_loops_tell_the_seconds_of_their_stages(method, name):
    result = depl.solve(depl.load(name), method)
    assert set(result.stage_seconds) == {"data", "models", "resources"}
    assert all(seconds > 0 for seconds in result.stage_seconds.values())
    assert sum(result.stage_seconds.values()) <= result.wall_seconds
    assert result.to_dict()["stage_seconds"] == result.stage_seconds
    assert depl.solve(depl.load("tiny"), "enumerate").stage_seconds == {}  # which has none

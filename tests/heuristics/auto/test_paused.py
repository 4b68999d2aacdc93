"""Methods that are paused at a look at the clock: they go on where they were, and end when told to."""

import itertools
import math
import threading

import pytest

from depl.heuristics.auto.paused import Paused
from depl.models.foundation.deadline import OutOfTimeError, keep_time
from depl.models.foundation.errors import NotCoveredError
from depl.models.problem.plan import Plan
from depl.models.solving.limits import Limits, Looks
from depl.models.solving.result import Outcome, Termination


class Counting:
    """A method that counts its looks at the clock up to a number, or until its time is over."""

    def __init__(self, most=100):
        self.most, self.count = most, 0

    def __call__(self, instance, limits):
        while self.count < self.most:
            if limits.expired():
                return Outcome(Termination.TIME_LIMIT, None, float(self.count), "out of time")
            self.count += 1
        return Outcome(Termination.INFEASIBLE, None, float(self.count), "done")


def turns(looks):
    return Limits(looks=Looks(looks))


def test_a_method_goes_on_where_it_was(tiny):
    counting = Counting(25)
    paused = Paused(counting, tiny, Limits())
    assert paused.proceed(turns(10)) is None
    assert counting.count == 10
    assert not paused.ended
    assert paused.proceed(turns(10)) is None
    assert counting.count == 21  # the look at which it waited is granted by the second turn
    found = paused.proceed(turns(10))
    assert (found.termination, found.lower_bound) == (Termination.INFEASIBLE, 25.0)
    assert paused.ended
    assert paused.proceed(turns(10)) is found  # again is no harm


def test_a_method_that_is_stopped_ends_with_what_it_holds(tiny):
    assert Paused(Counting(), tiny, Limits()).stop() is None  # never begun
    counting = Counting()
    paused = Paused(counting, tiny, Limits())
    paused.proceed(turns(5))
    found = paused.stop()
    assert (found.termination, found.lower_bound) == (Termination.TIME_LIMIT, 5.0)
    assert paused.ended
    assert paused._thread not in threading.enumerate()


def test_what_a_method_raises_is_raised_to_who_lets_it_proceed(tiny):
    def refusing(instance, limits):
        limits.expired()
        raise NotCoveredError("not this one")

    paused = Paused(refusing, tiny, Limits())
    assert paused.proceed(turns(0)) is None
    with pytest.raises(NotCoveredError, match="not this one"):
        paused.proceed(turns(3))
    assert paused.ended


def test_time_that_is_over_before_anything_is_held_is_an_answer(tiny):
    def empty(instance, limits):
        if limits.expired():
            raise OutOfTimeError
        raise AssertionError

    paused = Paused(empty, tiny, Limits())
    paused.proceed(turns(0))
    found = paused.stop()
    assert found.termination is Termination.TIME_LIMIT


def test_limits_of_the_whole_do_not_reach_the_method_but_gap_and_seed_do(tiny):
    seen = []

    def curious(instance, limits):
        seen.append((limits.gap, limits.seed, limits.time_limit, limits.part(0.5) is limits))
        return Outcome(Termination.EXHAUSTED, None, 0.0)

    Paused(curious, tiny, Limits(gap=0.25, time_limit=1e-9, seed=7, looks=Looks(0))).proceed(turns(1))
    assert seen == [(0.25, 7, None, True)]


class Late(Limits):
    """Turns that are over at once."""

    def lateness(self):
        return math.inf


@pytest.mark.parametrize("stopped", [False, True])
def test_a_step_that_takes_long_waits_in_its_midst_and_is_broken_off_once_it_is_stopped(tiny, stopped):
    """The method never looks at the clock itself; its turns end inside of its one step, all the same."""
    seen = []

    def method(instance, limits):
        try:
            for number in itertools.count() if stopped else range(3):
                seen.append(number)
                keep_time()
        except OutOfTimeError:
            return Outcome(Termination.TIME_LIMIT, None, 7.0, "broken off")
        return Outcome(Termination.EXHAUSTED, Plan(), 0.0)

    waiting = Paused(method, tiny, Limits())
    assert waiting.proceed(Late()) is None
    assert seen == [0]
    found = waiting.stop() if stopped else waiting.proceed(Limits())
    assert stopped or seen == [0, 1, 2]
    assert found.termination is (Termination.TIME_LIMIT if stopped else Termination.EXHAUSTED)
    assert found.lower_bound == (7.0 if stopped else 0.0)

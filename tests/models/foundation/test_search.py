"""The queue of best-first searches and golden sections: where, how often, what stays."""

import math

import numpy as np
import pytest

from depl.models.foundation.search import GOLDEN, BestFirst, golden_sections


def test_items_come_out_by_bound_and_by_arrival_where_bounds_are_equal():
    rng, queue, waiting = np.random.default_rng(1), BestFirst[int](), []
    for number in range(400):
        if waiting and rng.random() < 0.4:
            expected = min(waiting)  # by bound, then by number
            assert queue.least == expected[0]
            assert queue.pop() == expected
            waiting.remove(expected)
        bound = float(rng.integers(20))
        queue.push(bound, number)
        waiting.append((bound, number))
        assert len(queue) == len(waiting)
    assert sorted(queue) == sorted(number for _, number in waiting)
    queue.clear()
    assert (bool(queue), queue.least) == (False, math.inf)


@pytest.mark.parametrize("peak", [1.0, 1.3, 2.7, 5.999, 6.0])
def test_the_best_point_comes_as_close_as_the_interval_shrinks(peak):
    asked = list(golden_sections(lambda x: -abs(x - peak), 1.0, 6.0, 30, value=float))
    best, value = max(asked, key=lambda pair: pair[1])
    assert abs(best - peak) <= 5 * GOLDEN**30
    assert value == -abs(best - peak)


def test_of_equal_values_the_lower_side_is_kept_and_answers_may_hold_more_than_the_value():
    asked = [point for point, _ in golden_sections(lambda x: 0.0, 0.0, 1.0, 20, value=float)]
    assert min(asked) < 1e-4
    assert asked.count(max(asked)) == 1
    pairs = golden_sections(lambda x: (-abs(x - 2), f"at {x:.1f}"), 0.0, 3.0, 25, value=lambda pair: pair[0])
    assert max(answer for _, answer in pairs)[1] == "at 2.0"

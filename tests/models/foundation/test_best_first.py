"""The queue of best-first searches: the least bound first, in order of arrival where bounds are equal."""

import math

import numpy as np
import pytest

from depl.models.foundation.best_first import BestFirst


def test_items_come_out_by_bound_and_by_arrival_where_bounds_are_equal() -> None:
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


def test_items_need_no_order_of_their_own() -> None:
    queue = BestFirst[object]()
    first, second = object(), object()
    queue.push(1.0, first)
    queue.push(1.0, second)
    assert [queue.pop()[1], queue.pop()[1]] == [first, second]


def test_an_empty_queue_has_no_least_bound_and_gives_nothing() -> None:
    queue = BestFirst[int]()
    queue.push(2.0, 1)
    queue.clear()
    assert not queue
    assert queue.least == math.inf
    with pytest.raises(IndexError):
        queue.pop()

"""Golden-section search: where the maximum is, how often it asks, and what it keeps of equal values."""

import itertools
import math

import pytest

from depl.models.foundation.golden import GOLDEN, golden_sections


@pytest.mark.parametrize("peak", [0.0, 0.3, 1.7, 4.999, 5.0])
def test_the_best_point_comes_as_close_as_the_interval_shrinks(peak: float) -> None:
    asked = list(golden_sections(lambda x: -abs(x - peak), 0.0, 5.0, 30, value=float))
    best, value = max(asked, key=lambda pair: pair[1])
    assert abs(best - peak) <= 5 * GOLDEN**30
    assert value == -abs(best - peak)


def test_every_step_asks_once_and_the_next_only_when_it_is_wanted() -> None:
    calls: list[float] = []

    def function(x: float) -> float:
        calls.append(x)
        return -x * x

    assert len(list(golden_sections(function, -1.0, 2.0, 7, value=float))) == len(calls) == 9
    calls.clear()
    assert len(list(itertools.islice(golden_sections(function, -1.0, 2.0, 7, value=float), 4))) == 4
    assert len(calls) == 4
    assert all(-1 < x < 2 for x in calls)


def test_points_that_serve_again_are_those_of_a_fresh_interval() -> None:
    """Of [0, 1] with a maximum at 0 every right end is left: the left points are powers of the section."""
    asked = [point for point, _ in golden_sections(lambda x: -x, 0.0, 1.0, 5, value=float)]
    assert asked[0] == pytest.approx(1 - GOLDEN)
    assert asked[1] == pytest.approx(GOLDEN)
    assert asked[2:] == pytest.approx([GOLDEN ** (k + 3) for k in range(5)])
    assert math.isclose(GOLDEN**2, 1 - GOLDEN)


def test_of_equal_values_the_lower_side_is_kept() -> None:
    asked = [point for point, _ in golden_sections(lambda x: 0.0, 0.0, 1.0, 20, value=float)]
    assert min(asked) < 1e-4
    assert asked.count(max(asked)) == 1


def test_answers_may_hold_more_than_the_value() -> None:
    asked = golden_sections(lambda x: (-abs(x - 2), f"at {x:.1f}"), 0.0, 3.0, 25, value=lambda pair: pair[0])
    assert max(answer for _, answer in asked)[1] == "at 2.0"

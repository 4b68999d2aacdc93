"""Golden-section search: a maximum of a function of one number, one new value for every step."""

import math
from collections.abc import Callable, Iterator
from typing import TypeVar

GOLDEN = (math.sqrt(5) - 1) / 2
"""Golden section: of two points inside an interval, one serves again after each step."""


_Value = TypeVar("_Value")


def golden_sections(
    function: Callable[[float], _Value],
    lower: float,
    upper: float,
    steps: int,
    value: Callable[[_Value], float],
) -> Iterator[tuple[float, _Value]]:
    """Narrow an interval down on a maximum of a unimodal function.

    Parameters
    ----------
    function : callable
        Asked at the two points inside first, then once for every step.
    lower, upper : float
        The interval; each step leaves 0.618 of it.
    steps : int
        At most; who wants fewer stops asking.
    value : callable
        What of an answer is to be greatest. Of equal ones the lower point is kept.

    Yields
    ------
    (float, answer)
        Every point that was asked, with its answer.
    """
    left, right = upper - GOLDEN * (upper - lower), lower + GOLDEN * (upper - lower)
    at_left, at_right = function(left), function(right)
    yield left, at_left
    yield right, at_right
    for _ in range(steps):
        if value(at_left) >= value(at_right):
            upper, right, at_right = right, left, at_left
            left = upper - GOLDEN * (upper - lower)
            at_left = function(left)
            yield left, at_left
        else:
            lower, left, at_left = left, right, at_right
            right = lower + GOLDEN * (upper - lower)
            at_right = function(right)
            yield right, at_right

"""Judges of answers: numbers, choices of items and functions, each with hints for typical mistakes.

A judge returns None for a right answer and a hint for a wrong one.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from numbers import Integral, Real

Judge = Callable[[object], str | None]
"""None if the answer is right, else a hint."""
Arguments = tuple[object, ...]

PRECISION = 5e-4
"""Relative error that an answer may have: three correct digits are enough."""


def number(truth: float, otherwise: str, *mistakes: tuple[float, str]) -> Judge:
    """A judge of a number; mistakes are wrong numbers to which typical errors lead, with a hint each."""

    def judge(answer: object) -> str | None:
        if isinstance(answer, bool) or not isinstance(answer, Real):
            return f"A number is asked for, not {type(answer).__name__}."
        if _close(answer, truth):
            return None
        return next((hint for wrong, hint in mistakes if _close(answer, wrong)), otherwise)

    return judge


def items(truth: Iterable[int], otherwise: str) -> Judge:
    """A judge of a set of items, given by their places from 0 in any order."""

    def judge(answer: object) -> str | None:
        if not isinstance(answer, list | tuple | set | frozenset) or not all(
            isinstance(place, Integral) for place in answer
        ):
            return "A set of places is asked for, such as {0, 2}."
        return None if set(answer) == set(truth) else otherwise

    return judge


def choice(truth: str, hints: dict[str, str]) -> Judge:
    """A judge of one word of several; every wrong word has a hint."""

    def judge(answer: object) -> str | None:
        if answer == truth:
            return None
        if isinstance(answer, str) and answer in hints:
            return hints[answer]
        return f"One of these words is asked for: {', '.join(sorted([truth, *hints]))}."

    return judge


def function(
    truth: Callable[..., object],
    cases: Sequence[Arguments],
    otherwise: str,
    *mistakes: tuple[Callable[..., object], str],
) -> Judge:
    """A judge of a function, which must agree with ``truth``, a number or truth value, on all ``cases``.

    Mistakes are functions as they are often written, with the hint for an answer that agrees with one.
    """

    def judge(answer: object) -> str | None:
        if not callable(answer):
            return f"A function is asked for, not {type(answer).__name__}."
        try:
            found = [answer(*case) for case in cases]
        except Exception as error:  # noqa: BLE001 - it is the reader's function: whatever it raises is told
            return f"Your function raised {type(error).__name__}: {error}."
        if _agree(found, truth, cases):
            return None
        return next((hint for wrong, hint in mistakes if _agree(found, wrong, cases)), otherwise)

    return judge


def _agree(found: Sequence[object], other: Callable[..., object], cases: Sequence[Arguments]) -> bool:
    return all(_same(value, other(*case)) for value, case in zip(found, cases, strict=True))


def _same(answer: object, truth: object) -> bool:
    if isinstance(truth, bool):
        # numpy's truth values are none of Python's, but equal to them.
        return type(answer).__name__ in ("bool", "bool_") and answer == truth
    return isinstance(truth, Real) and isinstance(answer, Real) and _close(answer, truth)


def _close(answer: Real | float, truth: Real | float) -> bool:
    return math.isclose(float(answer), float(truth), rel_tol=PRECISION, abs_tol=1e-9)

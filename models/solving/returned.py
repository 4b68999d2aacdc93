"""What a method returned, of a known kind and without contradictions."""

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass

import msgspec
import numpy as np

from depl.models.foundation.errors import DeplError, InvalidInputError
from depl.models.problem.plan import Plan
from depl.models.solving.methods import is_shipped
from depl.models.solving.result import Outcome, Result, Termination

_NOTHING = "no plan found: the method returns None"
"""The reason where a method returns None."""


def outcome_of(method: str, returned: object, defect: type[DeplError]) -> Outcome:
    """What a method returned, if it is of a known kind and does not contradict itself.

    If it is not, that is a defect of a method that comes with depl, and an invalid input of any other.
    """
    outcome, wrong = returned, defect if is_shipped(method) else InvalidInputError
    if outcome is None or isinstance(outcome, Plan):
        outcome = Outcome(Termination.EXHAUSTED, outcome, reason=None if outcome else _NOTHING)
    if not isinstance(outcome, Outcome) or isinstance(outcome, Result):
        kind = type(outcome).__name__
        raise wrong(f"method {method!r} returns a {kind}; an Outcome, a Plan or None is needed")
    if not is_shipped(method):
        outcome = _typed(outcome, method)
    stopped = outcome.termination
    if outcome.plan is None and stopped in (Termination.OPTIMAL, Termination.GAP_REACHED):
        raise wrong(f"method {method!r} says {stopped.value!r} without a plan")
    if outcome.plan is not None and stopped is Termination.INFEASIBLE:
        raise wrong(f"method {method!r} says {stopped.value!r} and holds a plan")
    return outcome


def _typed(outcome: Outcome, method: str) -> Outcome:
    """The outcome of a user's method with every field of its declared type; numpy's numbers as plain ones."""
    given = {item.name: _plain(getattr(outcome, item.name)) for item in fields(Outcome)}
    try:
        found = msgspec.convert(given, Outcome)
    except msgspec.ValidationError as error:
        raise InvalidInputError(f"method {method!r} returns a malformed Outcome: {error}") from error
    if math.isnan(found.lower_bound):
        raise InvalidInputError(
            f"method {method!r} returns a malformed Outcome: its lower_bound is no number (nan)"
        )
    return found


def _plain(value: object) -> object:
    """Records as their fields, which msgspec then looks at, and numbers of numpy as plain ones."""
    if isinstance(value, np.generic):
        return value.item()
    if is_dataclass(value) and not isinstance(value, type):
        return {item.name: _plain(getattr(value, item.name)) for item in fields(value)}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return value

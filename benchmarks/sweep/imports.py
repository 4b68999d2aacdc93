"""Suites of modules and files of a user (`depl.models.foundation.users_code`): they enter like ours."""

import dataclasses
import functools
from collections.abc import Sequence

from depl.benchmarks.suites.catalogue import all_suites
from depl.benchmarks.suites.suite import Draw, Suite
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.users_code import import_source


def suites_with(sources: Sequence[str] = ()) -> dict[str, Suite]:
    """The shipped suites, and the ``SUITE`` of each of these modules and files that defines one.

    Raises
    ------
    InvalidInputError
        If one cannot be imported, its ``SUITE`` is none, or the name of its suite is taken.
    """
    suites = all_suites()
    for source in sources:
        suite = getattr(import_source(source), "SUITE", None)
        if suite is None:
            continue
        if not isinstance(suite, Suite):
            raise InvalidInputError("its SUITE must be a depl.benchmarks.suites.suite.Suite", source)
        if suite.name in suites:
            raise InvalidInputError(f"a suite {suite.name!r} exists already; choose another name", source)
        draws = functools.partial(_usable_draws, suite, source)
        suites[suite.name] = dataclasses.replace(suite, draws=draws)
    return suites


def _usable_draws(suite: Suite, source: str) -> Sequence[Draw]:
    """The draws of a user's suite.

    Raises
    ------
    InvalidInputError
        If they cannot be made, or could not be told apart or recorded.
    """
    place = f"{source}: draws of suite {suite.name!r}"
    try:
        draws = list(suite.draws())
    except (Exception, SystemExit) as error:  # a user's code may fail with anything
        raise InvalidInputError(f"cannot be made: {type(error).__name__}: {error}", place) from error
    for draw in draws:
        if not isinstance(draw, Draw):
            raise InvalidInputError(f"must be depl.benchmarks.suites.suite.Draw, not {draw!r}", place)
        for name, value in draw.labels.items():
            if not isinstance(value, str | int | float):
                raise InvalidInputError(
                    f"label {name!r} of {draw.name!r} is {type(value).__name__} instead of text or number",
                    place,
                )
    names = [draw.name for draw in draws]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise InvalidInputError(f"the name {twice[0]!r} is given twice; names tell results apart", place)
    return draws

"""Modules and files of a user that register methods or define suites: they enter like ours."""

import dataclasses
import functools
import hashlib
import importlib
import importlib.util
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from depl.benchmarks.suites.catalogue import all_suites
from depl.benchmarks.suites.suite import Draw, Suite
from depl.models.foundation.errors import DeplError, InvalidInputError

_ENDS = 'it ends the program; leave that to a part that runs only as a script (if __name__ == "__main__")'


def resolved(source: str) -> str:
    """``source`` as it can be imported from another working folder: a file by its absolute path.

    Raises
    ------
    InvalidInputError
        If it ends in ``.py`` and there is no such file.
    """
    path = Path(source)
    if not _is_file_name(source):
        return source
    if not os.path.isfile(path):
        raise InvalidInputError("there is no such file to import", source)
    return str(path.resolve())


def import_source(source: str) -> ModuleType:
    """Import a module by its name, or a file by its path; a second time, the same module.

    Raises
    ------
    InvalidInputError
        If it cannot be imported; the message holds why.
    """
    try:
        return _file(Path(source)) if _is_file_name(source) else importlib.import_module(source)
    except DeplError as error:
        raise InvalidInputError(f"cannot be imported: {error}", source) from error
    except SystemExit as error:
        raise InvalidInputError(f"cannot be imported: {_ENDS} (SystemExit: {error})", source) from error
    except Exception as error:  # a user's code may fail with anything
        raise InvalidInputError(f"cannot be imported: {type(error).__name__}: {error}", source) from error


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


def _is_file_name(source: str) -> bool:
    return source.endswith(".py")


def _file(path: Path) -> ModuleType:
    name = f"depl_imported_{hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:16]}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise InvalidInputError("is not a Python file", str(path))
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module

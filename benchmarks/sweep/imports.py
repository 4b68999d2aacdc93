"""Modules and files of a user that register methods or define suites: they enter like ours."""

import hashlib
import importlib
import importlib.util
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from depl.benchmarks.suites.catalogue import all_suites
from depl.benchmarks.suites.suite import Suite
from depl.models.errors import DeplError, InvalidInputError


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
    if not path.is_file():
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
        suites[suite.name] = suite
    return suites


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

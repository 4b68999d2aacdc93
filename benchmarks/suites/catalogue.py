"""Finds the suites that are shipped."""

import importlib
import pkgutil
from types import ModuleType

import depl.benchmarks.suites.standard
from depl.benchmarks.suites.suite import Suite
from depl.models.errors import InvalidInputError


def all_suites(package: ModuleType = depl.benchmarks.suites.standard) -> dict[str, Suite]:
    """Find the suites: every module of ``package`` gives its ``SUITE``.

    Returns
    -------
    dict of str to Suite
        By name, in alphabetical order.

    Raises
    ------
    InvalidInputError
        If a module defines no suite, or two define suites of one name.
    """
    found: dict[str, Suite] = {}
    for module in pkgutil.iter_modules(package.__path__, prefix=f"{package.__name__}."):
        suite = getattr(importlib.import_module(module.name), "SUITE", None)
        if not isinstance(suite, Suite):
            raise InvalidInputError(
                f"{module.name} defines no SUITE; set SUITE = Suite(...) there or move the file"
            )
        if suite.name in found:
            raise InvalidInputError(
                f"{module.name}: another file already defines the suite {suite.name!r}; rename one"
            )
        found[suite.name] = suite
    return dict(sorted(found.items()))


def find_suite(name: str) -> Suite:
    """The shipped suite of that name.

    Raises
    ------
    InvalidInputError
        If there is none; the message lists the known ones.
    """
    suites = all_suites()
    if name not in suites:
        raise InvalidInputError(f"no suite is called {name!r}; known ones: {', '.join(suites)}")
    return suites[name]

"""Finds the suites that are shipped."""

from types import ModuleType

import depl.benchmarks.suites.standard
from depl.benchmarks.measure.discovery import defined_in
from depl.benchmarks.suites.suite import Suite
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.names import advice


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
    return defined_in(package, "SUITE", Suite)


def find_suite(name: str) -> Suite:
    """The shipped suite of that name.

    Raises
    ------
    InvalidInputError
        If there is none; the message lists the known ones.
    """
    suites = all_suites()
    if name not in suites:
        raise InvalidInputError(f"no suite is called {name!r}; {advice(name, suites)}")
    return suites[name]

"""The versions of what solves, which stand in every result."""

import functools
import importlib.metadata
import platform
from collections.abc import Mapping

_LIBRARIES = ("depl", "numpy", "scipy", "msgspec", "pyomo", "highspy", "numba")


@functools.cache
def versions() -> Mapping[str, str]:
    """Of Python and of what solves, by name; read once, as asking for all takes longer than many a solve."""
    found = {"python": platform.python_version()}
    for library in _LIBRARIES:
        try:
            found[library] = importlib.metadata.version(library)
        except importlib.metadata.PackageNotFoundError:  # run from a source tree that was not installed
            found[library] = "not installed"
    return found

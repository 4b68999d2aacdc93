"""The traces that depl ships: recorded by `depl.instances.training.recording`, one file per family.

Losses and error rates are kept to five decimals. The provenance of each file says by which command, commit
and versions it was made; the runs are named by their seeds.
"""

import os
from importlib import resources
from pathlib import Path

from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.names import advice
from depl.models.traces.files import read_traces
from depl.models.traces.table import Traces

_FOLDER = resources.files("depl.instances") / "data" / "traces"


def recorded_families() -> tuple[str, ...]:
    """Names of the families of which traces are shipped, sorted."""
    return tuple(sorted(path.name.removesuffix(".npz") for path in _FOLDER.iterdir() if _is_trace(path.name)))


def recorded_traces(family: str) -> Traces:
    """The shipped traces of a family.

    Raises
    ------
    InvalidInputError
        If there are none of that name.
    """
    known = recorded_families()
    if family not in known:
        raise InvalidInputError(f"there are no traces of {family!r}; {advice(family, known)}", ".family")
    with resources.as_file(_FOLDER / f"{family}.npz") as path:
        return read_traces(path)


def named_traces(name: str) -> Traces:
    """The traces in a file, or those of a shipped family.

    Raises
    ------
    InvalidInputError
        As `depl.models.traces.files.read_traces` and `recorded_traces`.
    """
    written = Path(name).suffix in (".csv", ".npz") or os.path.exists(name)
    return read_traces(name) if written else recorded_traces(name)


def _is_trace(name: str) -> bool:
    return name.endswith(".npz") and not name.startswith(".")

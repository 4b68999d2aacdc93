"""The traces that depl ships: recorded by ``depl train``, one file per family or set.

Losses and error rates are kept to five decimals. The provenance of each file says by which command, commit
and versions it was made; the runs are named by their seeds.

Of some families there are two *sets* besides, in which runs switch after one of many epochs
(`depl.instances.training.recording`): ``NAME-fitting``, one switch epoch of each seed, to fit laws to,
and ``NAME-judging``, all switch epochs of other seeds, to judge policies by. No seed is in two files.
"""

import os
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.names import advice
from depl.models.traces.counterfactuals import Counterfactuals, read_counterfactuals
from depl.models.traces.files import read_traces
from depl.models.traces.table import Traces

_DATA = resources.files("depl.instances") / "data"
_FAMILIES, _SETS = _DATA / "traces", _DATA / "counterfactuals"
_JUDGING = "-judging"


def recorded_families() -> tuple[str, ...]:
    """Names of the families of which traces are shipped, sorted."""
    return _names(_FAMILIES)


def recorded_names() -> tuple[str, ...]:
    """Names of all traces that are shipped, families and sets, sorted."""
    return tuple(sorted((*_names(_FAMILIES), *_names(_SETS))))


def recorded_traces(name: str) -> Traces:
    """The shipped traces of a family, or a set of them.

    Raises
    ------
    InvalidInputError
        If there are none of that name.
    """
    known = recorded_names()
    if name not in known:
        raise InvalidInputError(f"there are no traces of {name!r}; {advice(name, known)}", ".family")
    folder = _FAMILIES if name in _names(_FAMILIES) else _SETS
    with resources.as_file(folder / f"{name}.npz") as path:
        return read_traces(path)


def recorded_counterfactuals(family: str, metric: str = "loss") -> Counterfactuals:
    """The shipped branches of a family: all switch epochs of its judging set.

    Parameters
    ----------
    family : str
    metric : str
        ``loss`` or ``error_rate``.

    Raises
    ------
    InvalidInputError
        If there are none of that family.
    """
    known = [name.removesuffix(_JUDGING) for name in _names(_SETS) if name.endswith(_JUDGING)]
    if family not in known:
        raise InvalidInputError(f"there are no branches of {family!r}; {advice(family, known)}", ".family")
    return read_counterfactuals(recorded_traces(family + _JUDGING), metric)


def named_traces(name: str) -> Traces:
    """The traces in a file, or shipped ones.

    Raises
    ------
    InvalidInputError
        As `depl.models.traces.files.read_traces` and `recorded_traces`.
    """
    written = Path(name).suffix in (".csv", ".gz", ".npz") or os.path.exists(name)
    return read_traces(name) if written else recorded_traces(name)


def _names(folder: Traversable) -> tuple[str, ...]:
    """Names of the traces in a folder, sorted."""
    return tuple(sorted(path.name.removesuffix(".npz") for path in folder.iterdir() if path.name[0] != "."))

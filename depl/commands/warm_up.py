"""What ``depl warm-up`` does; `depl.arguments.warm_up` declares its options."""

import argparse
import contextlib
import time
from typing import NamedTuple

from depl.arguments.warm_up import METHODS
from depl.commands.answer import Answer
from depl.commands.json_text import as_json
from depl.commands.table import table
from depl.instances.library import load
from depl.models.foundation.compiling import compiled_at_once, compiling_seconds
from depl.models.foundation.errors import NotCoveredError
from depl.models.solving.methods import find
from depl.models.solving.solve import solve

_INSTANCES = ("tiny", "paper-alexnet-9")
"""Laws with atoms and laws with densities: between them they need the kernels of the methods."""

_SECONDS = 20.0
"""For one solve: warm, each takes less than one."""


class _Prepared(NamedTuple):
    """What was spent on one method: on compiling, and in all [s]."""

    method: str
    compiling_seconds: float
    seconds: float


def run(options: argparse.Namespace) -> Answer:
    """Solve small instances by every method, and say what was compiled for it."""
    methods = tuple(dict.fromkeys(options.method or METHODS))
    for name in methods:
        find(name)
    with compiled_at_once():
        rows = [_prepared(name) for name in methods]
    compiled = sum(row.compiling_seconds for row in rows)
    shown = [[row.method, f"{row.compiling_seconds:.1f} s", f"{row.seconds:.1f} s"] for row in rows]
    note = (
        "everything was compiled already"
        if compiled == 0
        else f"kernels compiled in {compiled:.1f} s and kept"
    )
    text = table(("method", "compiling", "in all"), shown, right=("compiling", "in all"))
    return Answer(
        f"{text}\n{note}",
        json=as_json({"methods": [row._asdict() for row in rows], "compiling_seconds": compiled}),
    )


def _prepared(method: str) -> _Prepared:
    started, before = time.perf_counter(), compiling_seconds()
    for name in _INSTANCES:
        with contextlib.suppress(NotCoveredError):  # then the method compiles nothing for such an instance
            solve(load(name), method, time_limit=_SECONDS)
    return _Prepared(method, compiling_seconds() - before, time.perf_counter() - started)

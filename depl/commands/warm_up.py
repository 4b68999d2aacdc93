"""``depl warm-up``: compile the kernels that methods need, and keep them."""

from __future__ import annotations

import contextlib
import time
from typing import NamedTuple

from depl.commands import options as given
from depl.commands.answer import Answer
from depl.commands.options import METHODS, Options, command, option
from depl.commands.printable import as_json, table
from depl.models.foundation.errors import NotCoveredError

_INSTANCES = ("tiny", "paper-alexnet-9")
"""Laws with atoms and laws with densities: between them they need the kernels of the methods."""

_SECONDS = 20.0
"""For one solve: warm, each takes less than one."""


class _Prepared(NamedTuple):
    """What was spent on one method: on compiling, and in all [s]."""

    method: str
    compiling_seconds: float
    seconds: float


@command(
    "warm-up",
    examples="""\
depl warm-up
depl warm-up --method exact
""",
)
@option(
    "--method M",
    "a method to prepare",
    multiple=True,
    default=("exact", "density-greedy", "depl", "scenario-search"),
    shell_complete=METHODS,
)
@given.imports
@given.as_json()
def warm_up(options: Options) -> Answer:
    """Compile the kernels of methods now, and keep them, so that no later solve waits for them."""
    from depl.models.foundation.compiling import compiled_at_once
    from depl.models.solving.methods import find

    methods = tuple(dict.fromkeys(options.method))
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
    from depl.instances.library import load
    from depl.models.foundation.compiling import compiling_seconds
    from depl.models.solving.solve import solve

    started, before = time.perf_counter(), compiling_seconds()
    for name in _INSTANCES:
        with contextlib.suppress(NotCoveredError):  # then the method compiles nothing for such an instance
            solve(load(name), method, time_limit=_SECONDS)
    return _Prepared(method, compiling_seconds() - before, time.perf_counter() - started)

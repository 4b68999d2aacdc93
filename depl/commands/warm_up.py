"""``depl warm-up``: compile the kernels that methods need, and keep them."""

import contextlib
import time

import depl
from depl.commands import options as given
from depl.commands.answer import Answer
from depl.commands.printable import as_json, table

_INSTANCES = ("tiny", "paper-alexnet-9")
"""Laws with atoms and laws with densities: between them they need the kernels of the methods."""

_SECONDS = 300.0
"""For one solve: compiling takes up to 20 s of the processor, and more on a slow or busy machine, where a
kernel that would outlast the limit would be left to a later solve; warm, each takes less than two."""


@given.command("""\
depl warm-up
depl warm-up --method exact
""")
@given.option(
    "--method M",
    "a method to prepare",
    multiple=True,
    default=("exact", "density-greedy", "depl", "scenario-search"),
    shell_complete=given.METHODS,
)
@given.imports
@given.as_json()
def warm_up(options: given.Options) -> Answer:
    """Compile the kernels of methods now, and keep them, so that no later solve waits for them."""
    from depl.models.foundation.compiling import compiled_at_once
    from depl.models.solving.methods import find

    methods = [find(name).name for name in dict.fromkeys(options.method)]
    with compiled_at_once():
        rows = [(name, *_spent(name)) for name in methods]
    compiled = sum(seconds for _, seconds, _ in rows)
    shown = [(name, f"{part:.1f} s", f"{whole:.1f} s") for name, part, whole in rows]
    note = f"kernels compiled in {compiled:.1f} s and kept" if compiled else "everything was compiled already"
    text = table(("method", "compiling", "in all"), shown, right=("compiling", "in all"))
    content = [dict(zip(("method", "compiling_seconds", "seconds"), row, strict=True)) for row in rows]
    return Answer(f"{text}\n{note}", json=as_json({"methods": content, "compiling_seconds": compiled}))


def _spent(method: str) -> tuple[float, float]:
    """What one method takes: for compiling, and in all [s]."""
    from depl.models.foundation.compiling import compiling_seconds

    started, before = time.perf_counter(), compiling_seconds()
    for name in _INSTANCES:
        with contextlib.suppress(depl.NotCoveredError):  # then it compiles nothing for such an instance
            found = depl.solve(depl.load(name), method, time_limit=_SECONDS)
            if found.termination is depl.Termination.INTERRUPTED:  # what a solve holds is of no use here
                raise KeyboardInterrupt
    return compiling_seconds() - before, time.perf_counter() - started

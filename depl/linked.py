"""Whether the folders that make up depl are found; a copy of the sources without symbolic links lacks them.

`depl` imports this before all else: what it would meet otherwise is that there is no module depl.heuristics.
"""

import importlib.util

LAYERS = ("models", "heuristics", "instances", "benchmarks")
WAYS_OUT = (
    "this copy of the sources was made without symbolic links: depl/{layer} does not lead to ../{layer}, and"
    " it cannot be run in place. Either make the links: 'git config core.symlinks true', then 'git "
    "checkout -- depl' (on Windows in developer mode). Or install it: 'python -m pip install .', and run the "
    "command 'depl', or Python in another folder than this one"
)


def missing() -> tuple[str, ...]:
    """The layers that cannot be imported."""
    return tuple(layer for layer in LAYERS if importlib.util.find_spec(f"depl.{layer}") is None)


if found := missing():
    raise ImportError(WAYS_OUT.format(layer=found[0]))

"""How long a first user takes from a clone to a verified plan: every step a command of the README.

Each is run in a folder of its own that is removed in the end: ``git clone`` of this checkout, ``make demo``
(which makes the environment from the package index and compiles the kernels), ``depl instances new``, ``depl
solve`` and ``depl check``. A smoke run leaves out the first two and runs the others with this Python.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from depl.benchmarks.measure.registry import Goal, Study
from depl.models.foundation.errors import InvalidInputError

_ROOT = Path(__file__).resolve().parents[2]
_MOST_SECONDS = 900.0
"""Of one step, after which something hangs: the longest, the demo in a new environment, takes two to three
minutes on two cores."""
_NOT_A_USERS = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")


def _run(rng: np.random.Generator, smoke: bool) -> Mapping[str, object]:
    with tempfile.TemporaryDirectory() as created:
        folder = Path(created)
        here = folder if smoke else folder / "depl"
        seconds: dict[str, float] = {}

        def step(name: str, *command: str, at: Path = here) -> str:
            told, seconds[name] = _timed(name, command, at)
            return told

        depl = (sys.executable, "-m", "depl") if smoke else (str(here / ".venv" / "bin" / "depl"),)
        if not smoke:
            step("clone", "git", "clone", "--quiet", str(_ROOT), str(here), at=folder)
            step("demo", shutil.which("make") or "make", "demo")
        own, plan = str(here / "mine.json"), str(here / "plan.json")
        step("new", *depl, "instances", "new", "--out", own)
        answer = json.loads(step("solve", *depl, "solve", own, "--out", plan, "--json"))
        step("check", *depl, "check", own, plan)
    return {
        "seconds": seconds,
        "seconds_in_all": sum(seconds.values()),
        "seconds_after_demo": sum(seconds[step] for step in ("new", "solve", "check")),
        "proved_cheapest": float(answer["solution"] == "proven_optimal"),
    }


def _timed(name: str, command: Sequence[str], folder: Path) -> tuple[str, float]:
    """What a command prints, and its wall seconds; if it fails, the error ends with what it said."""
    environment = {key: value for key, value in os.environ.items() if key not in _NOT_A_USERS}
    clock = time.perf_counter()
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=_MOST_SECONDS
    )
    if done.returncode:
        said = (done.stderr or done.stdout).strip()[-500:]
        raise InvalidInputError(f"the step {name!r} of a first user fails (exit {done.returncode}): {said}")
    return done.stdout, time.perf_counter() - clock


STUDY = Study(
    name="first-path",
    summary="A first user's path from a clone to a plan with its proof, every step timed.",
    goals=(
        Goal("proved_cheapest", "the template of an instance of one's own is proved cheapest", "==", 1),
        Goal("seconds_in_all", "seconds from the clone to the verified plan", "<=", 300),
        Goal("seconds_after_demo", "seconds of these for the own instance: new, solve, check", "<=", 15),
    ),
    run=_run,
)

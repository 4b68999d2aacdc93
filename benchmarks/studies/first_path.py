"""How long a first user takes from a clone to a verified plan: every step a command of the README.

Each is run in a folder of its own that is removed in the end: ``git clone`` of this checkout, ``make demo``
(which makes the environment from the package index and compiles the kernels), ``depl instances new``,
``depl solve`` and ``depl check``. A smoke run leaves out the first two and runs the others with this
Python.
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
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        steps = _Steps()
        if smoke:
            depl: Sequence[str] = (sys.executable, "-m", "depl")
            here = folder
        else:
            here = folder / "depl"
            steps.take("clone", ["git", "clone", "--quiet", str(_ROOT), str(here)], folder)
            steps.take("demo", [shutil.which("make") or "make", "demo"], here)
            depl = (str(here / ".venv" / "bin" / "depl"),)
        own, plan = here / "mine.json", here / "plan.json"
        steps.take("new", [*depl, "instances", "new", "--out", str(own)], here)
        told = steps.take("solve", [*depl, "solve", str(own), "--out", str(plan), "--json"], here)
        steps.take("check", [*depl, "check", str(own), str(plan)], here)
    answer = json.loads(told)
    return {
        "seconds": steps.seconds,
        "cpu_seconds": steps.cpu_seconds,
        "seconds_in_all": sum(steps.seconds.values()),
        "seconds_after_demo": sum(steps.seconds[step] for step in ("new", "solve", "check")),
        "cost": answer["cost"],
        "proved_cheapest": float(answer["solution"] == "proven_optimal"),
    }


class _Steps:
    """Wall and CPU seconds of commands, by the name of the step."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.cpu_seconds: dict[str, float] = {}

    def take(self, name: str, command: Sequence[str], folder: Path) -> str:
        """Run a command; returns what it prints.

        Raises
        ------
        InvalidInputError
            If it fails; the message ends with what it said.
        """
        environment = {key: value for key, value in os.environ.items() if key not in _NOT_A_USERS}
        before, clock = _of_children(), time.perf_counter()
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, timeout=_MOST_SECONDS
        )
        self.seconds[name] = time.perf_counter() - clock
        self.cpu_seconds[name] = _of_children() - before
        if done.returncode:
            said = (done.stderr or done.stdout).strip()[-500:]
            raise InvalidInputError(
                f"the step {name!r} of a first user fails (exit {done.returncode}): {said}"
            )
        return done.stdout


def _of_children() -> float:
    spent = os.times()
    return spent.children_user + spent.children_system


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

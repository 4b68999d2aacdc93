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
from collections.abc import Sequence
from pathlib import Path

from depl.benchmarks.measure.registry import Goal, Row, Study
from depl.models.foundation.errors import InvalidInputError

_ROOT = Path(__file__).resolve().parents[2]
_MOST_SECONDS = 900.0
"""Of one step, after which something hangs: the longest, the demo in a new environment, takes two to three
minutes on two cores."""
_NOT_A_USERS = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")


def _run(task: Row) -> Row:
    """Every step with its wall seconds; if one fails, the error ends with what it said."""
    seconds: dict[str, float] = {}
    said: dict[str, str] = {}
    environment = {key: value for key, value in os.environ.items() if key not in _NOT_A_USERS}
    with tempfile.TemporaryDirectory() as folder:
        if task["smoke"]:
            steps, depl = {}, [sys.executable, "-m", "depl"]
        else:
            make = shutil.which("make") or "make"
            steps = {"clone": ["git", "clone", "--quiet", str(_ROOT), "."], "demo": [make, "demo"]}
            depl = [f"{folder}/.venv/bin/depl"]
        own, plan = f"{folder}/mine.json", f"{folder}/plan.json"
        steps |= {
            "new": [*depl, "instances", "new", "--out", own],
            "solve": [*depl, "solve", own, "--out", plan, "--json"],
            "check": [*depl, "check", own, plan],
        }
        for name, command in steps.items():
            clock = time.perf_counter()
            done = subprocess.run(
                command, cwd=folder, env=environment, capture_output=True, text=True, timeout=_MOST_SECONDS
            )
            seconds[name], said[name] = time.perf_counter() - clock, done.stdout
            if done.returncode:
                words = (done.stderr or done.stdout).strip()[-500:]
                where = f"the step {name!r} of a first user fails (exit {done.returncode})"
                raise InvalidInputError(f"{where}: {words}")
    return {"seconds": seconds, "solution": json.loads(said["solve"])["solution"]}


def _figures(rows: Sequence[Row]) -> Row:
    seconds = rows[0]["seconds"]
    return {
        "seconds": seconds,
        "seconds_in_all": sum(seconds.values()),
        "seconds_after_demo": sum(seconds[step] for step in ("new", "solve", "check")),
        "proved_cheapest": float(rows[0]["solution"] == "proven_optimal"),
    }


STUDY = Study(
    name="first-path",
    summary="A first user's path from a clone to a plan with its proof, every step timed.",
    goals=(
        Goal("proved_cheapest", "the template of an instance of one's own is proved cheapest", "==", 1),
        Goal("seconds_in_all", "seconds from the clone to the verified plan", "<=", 300),
        Goal("seconds_after_demo", "seconds of these for the own instance: new, solve, check", "<=", 15),
    ),
    tasks=lambda rng, smoke: [{"smoke": smoke}],
    run=_run,
    figures=_figures,
)

"""Whether every command that takes a time limit keeps it: each question in a fresh process.

A question is a command line, answered by `depl.cli.main` on an instance of up to 1000 clusters, 1000
datasets, 50 models and 1000 epochs. It is *late* where it takes more than 1.25 times its limit and 1.2
seconds. Seconds are CPU seconds of the process after its imports, and limits count them, too, so that what
else runs on the machine counts for neither; reading the instance, compiling kernels, certifying and verifying
are within them. A process that has taken six times its limit is ended, and late.
"""

import importlib.util
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from depl.benchmarks.measure.registry import Goal, Row, Study
from depl.benchmarks.studies.scale import FAMILIES
from depl.cli import main
from depl.commands.answer import ExitCode
from depl.models.foundation.deadline import cpu_seconds
from depl.models.solving.methods import registered

_SIZES: Mapping[str, tuple[str, int, int, int, int]] = {
    "switching": ("heterogeneous", 5, 5, 50, 200),
    "long": ("heterogeneous", 3, 3, 3, 1000),
    "alone": ("heterogeneous", 1, 1, 50, 1000),
    "few": ("heterogeneous", 3, 3, 3, 10),
    "sites": ("regions", 1000, 2, 5, 20),
    "data": ("heterogeneous", 2, 1000, 2, 10),
    "middle": ("regions", 200, 200, 20, 200),
    "full": ("heterogeneous", 1000, 1000, 50, 1000),
}
"""Instances: family, |N|, |D|, |M| and K_max."""

_SHARE, _MORE = 1.25, 1.2
"""A question is late that takes more than the first times its limit, and the second in seconds."""
_ENDED = 6.0
"""Times its limit that a question may take before its process is ended."""
_PATIENCE = 20.0
"""Wall seconds that are waited for one CPU second, on a machine that is shared."""
_LIBRARIES = "cvxpy highspy matplotlib.figure matplotlib.backends.backend_svg pyomo.environ scipy.stats"
_COMMANDS = "knapsack plans policy"
_IMPORTED = (
    *_LIBRARIES.split(),
    *(f"depl.commands.{name}" for name in _COMMANDS.split()),
    "depl.models.programs.finished",
)
"""What commands import on their way, with what that imports."""
_CHILD = "from depl.benchmarks.studies.limits import answer_alone; answer_alone()"


_SMOKE = (("solve {few} --method %", 0.2, "auto", ""),)
_QUESTIONS: tuple[tuple[str, float, str, str], ...] = (
    ("solve {switching} --method %", 4, "", "auto depl"),
    ("solve {full} --method %", 10, "", "auto"),
    ("solve {long} --method %", 4, "auto exact depl enumerate milp", "auto exact depl"),
    ("solve {alone} --method %", 4, "enumerate exact expected-cost expected-greedy", "exact"),
    ("solve {middle} --method %", 5, "auto exact scenario-search", "auto"),
    ("solve {sites} --method %", 4, "auto exact milp", ""),
    ("solve {data} --method %", 4, "auto exact milp", ""),
    ("front {switching} --against % --points 5", 4, "loss time probability", ""),
    ("front {full} --against % --points 5", 10, "probability", ""),
    ("front {switching} --against loss --method %", 4, "depl exact density-greedy random", ""),
    ("front {long} --against % --points 5", 4, "loss", ""),
    ("report {%} {%.plan} --out {out}.html", 2, "switching full", ""),
    ("replan {%} {%.plan} {%.state}", 4, "switching", ""),
    ("replan {%} {%.plan} {%.state}", 10, "full", ""),
    ("policy solve {%}", 4, "switching few long full", "few"),
    ("program {switching} --form % --out {out}.nl", 4, "price cone", ""),
    ("program {few} --out {out}.%", 4, "lp", ""),
    ("knapsack knapPI_3_200_1000_1 --via %", 3, "exact milp depl", ""),
)
"""Command lines; the CPU seconds that each solve of them may take, as they are told; what stands for ``%``,
all shipped methods where nothing does; and for which of it they are asked again without compiled kernels.

``{full}`` stands for the file of an instance, ``{full.plan}`` and ``{full.state}`` for those of a plan and of
a state of it, ``{out}`` for a file to write. A limit is that of the whole, but in a report of each of six
solves, of early stopping and of the picture.
"""


def _tasks(rng: np.random.Generator, smoke: bool) -> Iterator[Row]:
    """A smoke run asks ``here``, in this process, in which nothing is ended."""
    seed = int(rng.integers(2**31))
    shipped = " ".join(method.name for method in registered() if method.shipped)
    for line, limit, values, again in _SMOKE if smoke else _QUESTIONS:
        asked = [(value, False) for value in (values or shipped).split()]
        for value, cold in asked + [(value, True) for value in again.split()]:
            told = {"question": line.replace("%", value), "limit": limit, "cold": cold, "here": smoke}
            yield {**told, "seed": seed}


def _run(task: Row) -> Row:
    """CPU seconds (at least), the exit code (None if ended), and if it is late."""
    limit = task["limit"] * (8 if task["question"].startswith("report") else 1)
    late_from = limit * _SHARE + _MORE * limit / task["limit"]
    seconds, code, ending = _ENDED * limit, None, ""
    with tempfile.TemporaryDirectory() as folder:
        files = _written(Path(folder), task["question"], task["seed"])
        words = re.sub(r"\{([\w.]+)\}", lambda found: files[found[1]], task["question"]).split()
        words += ["--time-limit", f"{task['limit']:g}"]
        if task["here"]:
            seconds, code = _taken(words)
        else:
            kept = {**os.environ, **({"NUMBA_CACHE_DIR": folder} if task["cold"] else {})}
            command, most = [sys.executable, "-c", _CHILD, f"{seconds}", *words], _PATIENCE * (seconds + 10)
            told: dict[str, Any] = {"capture_output": True, "text": True, "check": True}
            try:
                done = subprocess.run(command, env=kept, timeout=most, **told)
                seconds, code = json.loads(done.stdout.splitlines()[-1])
            except (subprocess.TimeoutExpired, subprocess.CalledProcessError) as error:
                ending = f"{error} {error.stderr!r}"[-200:]
    late = seconds > late_from or code in (None, ExitCode.INTERNAL)
    return {"cpu_seconds": round(seconds, 2), "exit_code": code, "late": late, "ended": ending}


def _written(folder: Path, line: str, seed: int) -> dict[str, str]:
    """The files of the instance that a line asks about, of a plan and of a state, by what stands for them."""
    files = {"out": str(folder / "out")}
    for name in _SIZES.keys() & set(re.findall(r"\{(\w+)", line)):
        family, *sizes = _SIZES[name]
        named = dict(zip(("clusters", "datasets", "models", "maximum_epochs"), sizes, strict=True))
        rng = np.random.default_rng([seed, list(_SIZES).index(name)])
        instance, plan = FAMILIES[family](rng, **named)
        state = {
            "format": "depl-state",
            "version": 1,
            "epoch": 1,
            "loss": instance.target.initial_loss,
            "model": plan.epochs[0].model,
            "transferred": [msgspec.to_builtins(row) for row in plan.data],
        }
        texts = {"": instance.to_json(), ".plan": plan.to_json(), ".state": json.dumps(state)}
        for kind, text in texts.items():
            path = folder / f"{name}{kind}.json"
            path.write_text(text, encoding="utf-8")
            files[name + kind] = str(path)
    return files


def _taken(words: Sequence[str]) -> tuple[float, int]:
    """CPU seconds in this process, and the exit code."""
    started = time.process_time()
    with cpu_seconds():
        code = main(words)
    return time.process_time() - started, int(code)


def answer_alone() -> None:
    """Called in the other process: prints what a command line takes once everything is imported."""
    for name in _IMPORTED:
        if name != "cvxpy" or importlib.util.find_spec(name):  # an extra
            importlib.import_module(name)
    registered()
    most = int(time.process_time() + float(sys.argv[1])) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (most, most + 5))
    sys.stdout.write("\n" + json.dumps(_taken(sys.argv[2:])))


def _figures(rows: Sequence[Row]) -> Row:
    told = ("question", "cold", "cpu_seconds", "exit_code", "ended")
    late = [{name: row[name] for name in told} for row in rows if row["late"]]
    return {"questions": len(rows), "late": len(late), "rows": late}


STUDY = Study(
    name="command-limits",
    summary="CPU seconds of commands with a time limit, on instances of every size, kernels compiled or not.",
    goals=(
        Goal("late", "questions that take more than 1.25 times their limit and 1.2 CPU seconds", "==", 0),
        Goal("questions", "questions", ">=", 40),
    ),
    tasks=_tasks,
    run=_run,
    figures=_figures,
    seed=20261127,
)

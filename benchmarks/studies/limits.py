"""Whether every command that takes a time limit keeps it: each question in a fresh process.

A question is a command line, answered by `depl.cli.main` on an instance of up to 1000 clusters, 1000
datasets, 50 models and 1000 epochs. It is *late* where it takes more than 1.25 times its limit and 1.2
seconds. Seconds are CPU seconds of the process after its imports, and limits count them, too, so that what
else runs on the machine counts for neither; reading the instance, compiling kernels, certifying and verifying
are within them. A process that has taken six times its limit is ended, and late.
"""

import importlib
import resource
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np

from depl.benchmarks.measure.process import CallError, LoneProcess
from depl.benchmarks.measure.registry import Goal, Study
from depl.benchmarks.studies.scale import FAMILIES
from depl.cli import main
from depl.commands.answer import ExitCode
from depl.models.foundation.clock import cpu_seconds
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
_KNAPSACK = "knapPI_3_200_1000_1"

_LIBRARIES = "cvxpy highspy matplotlib.figure matplotlib.backends.backend_svg pyomo.environ scipy.stats"
_COMMANDS = ("front", "knapsack", "policy", "program", "replan", "report", "solve")
_IMPORTED = (
    *_LIBRARIES.split(),
    *(f"depl.commands.{name}" for name in _COMMANDS),
    "depl.models.programs.finished",
)
"""What commands import on their way, with what that imports."""


class Question(NamedTuple):
    """A command line, and the CPU seconds that it may take, as it is told them.

    ``{full}`` stands for the file of an instance, ``{full.plan}`` for that of its plan, ``{full.state}`` for
    that of a state, ``{out}`` for a file to write. ``solves``: how much has that limit each, for a report six
    solves, early stopping and the picture; ``cold``: no kernel is compiled yet.
    """

    line: str
    limit: float
    solves: int = 1
    cold: bool = False

    @property
    def allowed(self) -> float:
        """CPU seconds, more of which are late [s]."""
        return self.solves * (_SHARE * self.limit + _MORE)


def questions() -> Iterator[Question]:
    """All of them; some are asked again by a process that finds no compiled kernel."""
    methods = [method.name for method in registered() if method.shipped]
    solved: tuple[tuple[str, float, list[str]], ...] = (
        ("switching", 4, methods),
        ("full", 10, methods),
        ("long", 4, ["auto", "exact", "depl", "enumerate", "milp"]),
        ("alone", 4, [method for method in methods if method.startswith("e")]),
        ("middle", 5, ["auto", "exact", "scenario-search"]),
        ("sites", 4, ["auto", "exact", "milp"]),
        ("data", 4, ["auto", "exact", "milp"]),
    )
    for name, limit, own in solved:
        for method in own:
            yield Question(f"solve {{{name}}} --method {method}", limit)
    for against in ("loss", "time", "probability"):
        yield Question(f"front {{switching}} --against {against} --points 5", 4)
    yield Question("front {full} --against probability --points 5", 10)
    for method in ("depl", "exact", "density-greedy", "random"):
        yield Question(f"front {{switching}} --against loss --method {method}", 4)
    yield Question("front {long} --against loss --points 5", 4)
    for name, limit in (("switching", 4), ("full", 10)):
        yield Question(f"report {{{name}}} {{{name}.plan}} --out {{out}}.html", 2, 8)
        yield Question(f"replan {{{name}}} {{{name}.plan}} {{{name}.state}}", limit)
    for name in ("switching", "few", "long", "full"):
        yield Question(f"policy solve {{{name}}}", 4)
    for form in ("price", "cone"):
        yield Question(f"program {{switching}} --form {form} --out {{out}}.nl", 4)
    yield Question("program {few} --out {out}.lp", 4)
    for via in ("exact", "milp", "depl"):
        yield Question(f"knapsack {{knapsack}} --via {via}", 3)
    cold = {"long": "auto exact depl", "switching": "auto depl", "alone": "exact"}
    for name, again in {**cold, "middle": "auto", "full": "auto"}.items():
        for method in again.split():
            limit = {"middle": 5, "full": 10}.get(name, 4)
            yield Question(f"solve {{{name}}} --method {method}", limit, cold=True)
    yield Question("policy solve {few}", 4, cold=True)


def _run(rng: np.random.Generator, smoke: bool) -> Mapping[str, object]:
    with tempfile.TemporaryDirectory() as folder:
        files = _written(Path(folder), rng, ["few"] if smoke else list(_SIZES))
        asked = [Question("solve {few} --method auto", 0.2)] if smoke else questions()
        rows = [ask(question, files, here=smoke) for question in asked]
    late = [row for row in rows if row["late"]]
    return {"questions": len(rows), "late": len(late), "rows": late}


def _written(folder: Path, rng: np.random.Generator, names: list[str]) -> dict[str, str]:
    """Draw the instances, and write them with a plan and a state each; the files by what stands for them."""
    files = {"{out}": str(folder / "out"), "{knapsack}": _KNAPSACK}
    for name in names:
        family, clusters, datasets, models, epochs = _SIZES[name]
        sizes = {"clusters": clusters, "datasets": datasets, "models": models, "maximum_epochs": epochs}
        instance, plan = FAMILIES[family](np.random.default_rng(rng.integers(2**31)), **sizes)
        state = {
            "format": "depl-state",
            "version": 1,
            "epoch": 1,
            "loss": instance.target.initial_loss,
            "model": plan.epochs[0].model,
            "transferred": [msgspec.to_builtins(row) for row in plan.data],
        }
        texts = {
            "": instance.to_json(),
            ".plan": plan.to_json(),
            ".state": msgspec.json.encode(state).decode(),
        }
        for kind, text in texts.items():
            path = folder / f"{name}{kind}.json"
            path.write_text(text, encoding="utf-8")
            files[f"{{{name}{kind}}}"] = str(path)
    return files


def ask(question: Question, files: Mapping[str, str], *, here: bool = False) -> dict[str, object]:
    """One row: what was asked, CPU seconds (at least), the exit code (None if ended), and if it is late.

    ``here`` asks in this process, in which nothing is ended.
    """
    given = (files.get(word, word.replace("{out}", files["{out}"])) for word in question.line.split())
    words = (*given, "--time-limit", f"{question.limit:g}")
    most = _ENDED * question.limit * question.solves
    try:
        seconds, code, ending = *(_taken(words) if here else _alone(words, most, question.cold)), ""
    except CallError as error:
        seconds, code, ending = most, None, str(error)[:200]
    return {
        "question": question.line,
        "cold": question.cold,
        "cpu_seconds": round(seconds, 2),
        "exit_code": code,
        "late": seconds > question.allowed or code in (None, ExitCode.INTERNAL),
        "ending": ending,
    }


def _taken(words: tuple[str, ...]) -> tuple[float, int]:
    """CPU seconds in this process, and the exit code."""
    started = time.process_time()
    with cpu_seconds():
        code = main(words)
    return time.process_time() - started, int(code)


def _alone(words: tuple[str, ...], most: float, cold: bool) -> tuple[float, int]:
    with ExitStack() as stack:
        kept = {"NUMBA_CACHE_DIR": stack.enter_context(tempfile.TemporaryDirectory())} if cold else {}
        process = stack.enter_context(LoneProcess(kept))
        found: tuple[float, int] = process.call(answered, (words, most), _PATIENCE * (most + 10))
    return found


def answered(order: tuple[tuple[str, ...], float]) -> tuple[float, int]:
    """Called in the other process: what a command line takes once everything is imported."""
    words, seconds = order
    for name in _IMPORTED:
        importlib.import_module(name)
    registered()
    most = int(time.process_time() + seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (most, most + 5))
    return _taken(words)


STUDY = Study(
    name="command-limits",
    summary="CPU seconds of commands with a time limit, on instances of every size, kernels compiled or not.",
    goals=(
        Goal("late", "questions that take more than 1.25 times their limit and 1.2 CPU seconds", "==", 0),
        Goal("questions", "questions", ">=", 40),
    ),
    run=_run,
    seed=20261127,
)

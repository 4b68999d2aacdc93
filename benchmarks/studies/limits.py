"""Whether every command that takes a time limit keeps it: each question in a fresh process.

A question is a command line, answered by `depl.cli.main` on an instance of up to 1000 clusters, 1000
datasets, 50 models and 1000 epochs. It is *late* where it takes more than 1.25 times its limit and 1.2
seconds. Seconds are CPU seconds of the process after its imports, and limits count them, too, so that what
else runs on the machine counts for neither; reading the instance, compiling kernels, certifying and verifying
are within them. Some are asked again by a process that finds no compiled kernel. A process that has taken six
times its limit is ended, and late.
"""

import importlib
import resource
import tempfile
import time
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

import msgspec
import numpy as np

from depl.benchmarks.measure.process import CallError, CrashedError, HungError, LoneProcess, Tell
from depl.benchmarks.measure.registry import Goal, Study
from depl.benchmarks.studies.helpers.lone_solve import FAMILIES
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

_LATER = 1.25, 1.2
"""A question is late that takes more than the first times its limit, and the second in seconds."""

_ENDED = 6.0
"""Times its limit that a question may take before its process is ended."""

_PATIENCE = 20.0
"""Wall seconds that are waited for one CPU second, on a machine that is shared."""

_KNAPSACK = "knapPI_3_200_1000_1"


class Question(msgspec.Struct, frozen=True):
    """A command line, and the CPU seconds that it may take.

    Attributes
    ----------
    words : tuple of str
        ``{full}`` stands for the file of an instance, ``{full.plan}`` for that of its plan, ``{full.state}``
        for that of a state, ``{out}`` for a file to write.
    limit : float
        Seconds, as the command is told them.
    solves : int
        How much has that limit each: for a report six solves, early stopping and the picture.
    cold : bool
        Whether no kernel is compiled yet.
    """

    words: tuple[str, ...]
    limit: float
    solves: int = 1
    cold: bool = False

    @property
    def allowed(self) -> float:
        """CPU seconds, more of which are late [s]."""
        return self.solves * (_LATER[0] * self.limit + _LATER[1])


def questions() -> list[Question]:
    """All of them."""
    methods = [method.name for method in registered() if method.shipped]
    asked = [_solve("switching", method, 4) for method in methods]
    asked += [_solve("full", method, 10) for method in methods]
    asked += [_solve("long", method, 4) for method in ("auto", "exact", "depl", "enumerate", "milp")]
    asked += [_solve("alone", method, 4) for method in methods if method.startswith("e")]
    asked += [_solve("middle", method, 5) for method in ("auto", "exact", "scenario-search")]
    asked += [_solve(name, method, 4) for name in ("sites", "data") for method in ("auto", "exact", "milp")]
    for against in ("loss", "time", "probability"):
        asked.append(Question(("front", "{switching}", "--against", against, "--points", "5"), 4))
    asked.append(Question(("front", "{full}", "--against", "probability", "--points", "5"), 10))
    for method in ("depl", "exact", "density-greedy", "random"):
        asked.append(Question(("front", "{switching}", "--against", "loss", "--method", method), 4))
    asked.append(Question(("front", "{long}", "--against", "loss", "--points", "5"), 4))
    asked += [
        Question(("report", f"{{{n}}}", f"{{{n}.plan}}", "--out", "{out}.html"), 2, 8) for n in _REPORTS
    ]
    for name, limit in (("switching", 4), ("full", 10)):
        words = ("replan", f"{{{name}}}", f"{{{name}.plan}}", f"{{{name}.state}}")
        asked.append(Question(words, limit))
    asked += [Question(("policy", "solve", f"{{{n}}}"), 4) for n in ("switching", "few", "long", "full")]
    for form in ("price", "cone"):
        asked.append(Question(("program", "{switching}", "--form", form, "--out", "{out}.nl"), 4))
    asked.append(Question(("program", "{few}", "--out", "{out}.lp"), 4))
    asked += [Question(("knapsack", "{knapsack}", "--via", via), 3) for via in ("exact", "milp", "depl")]
    return asked + [msgspec.structs.replace(question, cold=True) for question in _first_asked()]


def _first_asked() -> list[Question]:
    """What is asked again without compiled kernels."""
    asked = [_solve("long", method, 4) for method in ("auto", "exact", "depl")]
    asked += [_solve("switching", method, 4) for method in ("auto", "depl")]
    asked += [_solve("alone", "exact", 4), _solve("middle", "auto", 5), _solve("full", "auto", 10)]
    return [*asked, Question(("policy", "solve", "{few}"), 4)]


_REPORTS = ("switching", "full")


def _solve(instance: str, method: str, limit: float) -> Question:
    return Question(("solve", f"{{{instance}}}", "--method", method), limit)


class _Order(msgspec.Struct, frozen=True):
    words: tuple[str, ...]
    most: float


def answered(order: _Order, tell: Tell) -> tuple[float, int]:
    """Called in the other process: the CPU seconds that a command line takes once everything is imported."""
    for name in _IMPORTED:
        importlib.import_module(name)
    registered()
    most = int(time.process_time() + order.most) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (most, most + 5))
    return _taken(order.words)


def _taken(words: tuple[str, ...]) -> tuple[float, int]:
    """CPU seconds in this process, and the exit code."""
    started = time.process_time()
    with cpu_seconds():
        code = main(words)
    return time.process_time() - started, int(code)


_IMPORTED = (
    "cvxpy",
    "highspy",
    "matplotlib.figure",
    "matplotlib.backends.backend_svg",
    "pyomo.environ",
    "scipy.stats",
    "depl.commands.front",
    "depl.commands.knapsack",
    "depl.commands.policy",
    "depl.commands.program",
    "depl.commands.replan",
    "depl.commands.report",
    "depl.commands.solve",
    "depl.models.programs.finished",
)
"""What commands import on their way, with what that imports."""


def ask(question: Question, files: Mapping[str, str], *, here: bool = False) -> dict[str, object]:
    """One row: what was asked, CPU seconds (at least), the exit code (None if ended), and if it is late.

    Parameters
    ----------
    files : mapping
        What stands for what in the words of the question.
    here : bool
        Whether to ask in this process, in which nothing is ended.
    """
    given = (files.get(word, word.replace("{out}", files["{out}"])) for word in question.words)
    words = (*given, "--time-limit", f"{question.limit:g}")
    most = _ENDED * question.limit * question.solves
    try:
        seconds, code, ending = *(_taken(words) if here else _alone(words, most, question.cold)), ""
    except (HungError, CrashedError, CallError) as error:
        seconds, code, ending = most, None, str(error)[:200]
    return {
        "question": " ".join(question.words),
        "cold": question.cold,
        "limit": question.limit * question.solves,
        "cpu_seconds": round(seconds, 2),
        "exit_code": code,
        "late": seconds > question.allowed or code in (None, ExitCode.INTERNAL),
        "ending": ending,
    }


def _alone(words: tuple[str, ...], most: float, cold: bool) -> tuple[float, int | None]:
    with ExitStack() as stack:
        kept = {"NUMBA_CACHE_DIR": stack.enter_context(tempfile.TemporaryDirectory())} if cold else {}
        process = stack.enter_context(LoneProcess(kept))
        found: tuple[float, int] = process.call(answered, _Order(words, most), _PATIENCE * (most + 10))
    return found


def written(
    folder: Path, rng: np.random.Generator, names: Mapping[str, tuple[str, int, int, int, int]]
) -> dict[str, str]:
    """Draw the instances, and write them with a plan and a state each; the files by what stands for them."""
    files = {"{out}": str(folder / "out"), "{knapsack}": _KNAPSACK}
    for name, (family, clusters, datasets, models, epochs) in names.items():
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


def _run(rng: np.random.Generator, smoke: bool) -> Mapping[str, object]:
    with tempfile.TemporaryDirectory() as folder:
        files = written(Path(folder), rng, {"few": _SIZES["few"]} if smoke else _SIZES)
        asked = [_solve("few", "auto", 0.2)] if smoke else questions()
        rows = [ask(question, files, here=smoke) for question in asked]
    return {
        "questions": len(rows),
        "late": sum(bool(row["late"]) for row in rows),
        "rows": rows,
    }


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

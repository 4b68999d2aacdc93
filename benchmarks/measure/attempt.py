"""What is kept of one attempt at a task, and what was asked for; all tables and figures read nothing else.

Attempts are lines of a file (`depl.benchmarks.measure.store`). What is not known is not written.
"""

import datetime
import re
from typing import Annotated, Any, NamedTuple

import msgspec

from depl.benchmarks.measure.provenance import Provenance
from depl.benchmarks.measure.registry import ANSWERED, NAME

VERSION = "method_version"
"""Key of an attempt's settings, where its method is of another version than the first."""
GRACE = 60.0
"""Seconds beyond the time limit of a method that an attempt has for its instance and the verification."""
SHARE, SECONDS = 0.05, 2.0
"""What a solve may take beyond its limit: a share of it, and seconds."""
BOUND_FOUND = "bound_found"
"""Measure of an attempt: the greatest lower bound of any part of its result [cost]."""
_LONGEST = 200
"""Characters of a name, as files are called after it and file systems allow 255 bytes."""
_FOLDERS = re.compile(r"(?<![\w.])/(?:[^\s/\"':,;]+/)+")


class Task(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What resuming looks for: of a study and its version, one instance, one configuration, one seed.

    Of a study that measures, ``instance`` spells the parameters of the task, and ``configuration`` is empty.
    """

    suite: Annotated[str, msgspec.Meta(pattern=f"^{NAME}$", max_length=_LONGEST)]
    version: int
    instance: str
    configuration: str = ""
    seed: int = 0

    def __str__(self) -> str:
        where = f"{self.suite}/{self.instance}"
        return f"{where}/{self.configuration}/{self.seed}" if self.configuration else where


class Request(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is to be run: a study that measures by the seed ``draw``, or studies that sweep.

    Of these ``configurations`` are labels, or registered methods, which get the longest time limit of a study
    that does not have them; all of a study if empty. ``instances`` is a pattern as for files, ``limit`` how
    many there are at most, ``seconds`` replaces every time limit, and ``grace`` is what an attempt has
    besides [s]. ``imports`` are modules and files to import first; with ``fresh`` every task gets a process
    that nothing was run in before.
    """

    suites: tuple[str, ...]
    configurations: tuple[str, ...] = ()
    instances: str = "*"
    limit: int | None = None
    seconds: float | None = None
    grace: float = GRACE
    imports: tuple[str, ...] = ()
    fresh: bool = False
    draw: int | None = None


class Attempt(Provenance, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A task and what came of it.

    ``labels`` are those of the draw, or the parameters of a study that measures; ``meaning`` is ``law`` or
    ``scenarios``: under what bounds and optima are proved. ``settings`` are the ``time_limit`` [s] and, of a
    method, ``gap``, ``scenarios``, ``options`` and ``looks``. ``instance_hash`` is a fingerprint or its
    beginning; empty if nobody lived to make the instance.

    ``ending`` is a termination of `depl.models.solving.result.Termination`, or ``refused`` (not covered by
    the method), ``rejected`` (the verifier did not accept the plan), ``failed`` (an exception), ``hung``
    (killed after its deadline), ``crashed`` (its process died), or ``answered`` by a study that measures;
    ``answer`` is what that returned, or what one that sweeps keeps of a result besides.

    ``cost``, ``lower_bound`` and the certified bounds ``violation`` are None without a plan, or without a
    finite bound. ``wall_seconds``, ``cpu_seconds``, ``build_seconds`` and ``stage_seconds`` are of the
    method, None where it did not end by itself; ``solve_seconds`` and ``solve_cpu_seconds`` of the solve with
    certificate and verification; ``total_seconds`` of all, with the instance and the measures [s].
    """

    task: Task
    labels: dict[str, Any] = msgspec.field(default_factory=dict)
    method: str
    meaning: str
    settings: dict[str, Any]
    instance_hash: str = ""
    ending: str
    solution: str = "none"
    cost: float | None = None
    lower_bound: float | None = None
    violation: tuple[float, float] | None = None
    epochs: int | None = None
    epochs_by_model: dict[str, int] = msgspec.field(default_factory=dict)
    plan: dict[str, Any] | None = None
    measures: dict[str, float | None] = msgspec.field(default_factory=dict)
    reason: str | None = None
    wall_seconds: float | None = None
    cpu_seconds: float | None = None
    build_seconds: float | None = None
    total_seconds: float
    peak_gibibytes: float | None = None
    started: str = ""
    stage_seconds: dict[str, float] = msgspec.field(default_factory=dict)
    solve_seconds: float | None = None
    solve_cpu_seconds: float | None = None
    answer: dict[str, Any] = msgspec.field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.started:
            datetime.datetime.fromisoformat(self.started)  # a ValueError is one of msgspec where it decodes

    @property
    def unanswered(self) -> bool:
        """Whether it is of a study that measures and takes answers alone, and has none: it is run again."""
        return not self.method and self.settings["time_limit"] is None and self.ending != ANSWERED


class Job(NamedTuple):
    """What a worker receives: all of an attempt that is known beforehand, and what was asked for."""

    blank: Attempt
    request: Request

    @property
    def task(self) -> Task:
        """What is to be run."""
        return self.blank.task


def allowed(time_limit: float) -> float:
    """Seconds that a solve under this limit may take as a whole."""
    return time_limit * (1 + SHARE) + SECONDS


def without_folders(text: str) -> str:
    """``text`` with the files that it names, but not where they lie: attempts are published."""
    return _FOLDERS.sub("", text)

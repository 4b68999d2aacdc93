"""What is kept of one attempt of a sweep: a task, how it ended, and on what it ran.

Attempts are lines of a file (`depl.benchmarks.measure.store`), and read by all tables, figures and reports;
nothing else is.
"""

import datetime
import re
from typing import Annotated, Any

import msgspec

from depl.benchmarks.measure.provenance import Provenance
from depl.benchmarks.measure.registry import ANSWERED, NAME

VERSION = "method_version"
"""Key of an attempt's settings, where its method is of another version than the first."""
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


class Attempt(Provenance, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A task and what came of it; what is not known is not written.

    Attributes
    ----------
    task : Task
    labels : dict
        Of the draw; of a study that measures, the parameters of the task.
    method : str
    meaning : str
        ``law`` or ``scenarios``: under what bounds and optima are proved
        (`depl.models.solving.methods.Meaning`).
    settings : dict
        ``time_limit`` [s], ``gap``, ``scenarios``, ``options`` and ``looks`` (if any) of the configuration.
    instance_hash : str
        Fingerprint of the instance that was solved, or its beginning; empty if the worker never built it.
    ending : str
        A termination of `depl.models.solving.result.Termination`, or ``refused`` (not covered by the method),
        ``rejected`` (the verifier did not accept the method's plan), ``failed`` (an exception), ``hung``
        (killed after its deadline) or ``crashed`` (the process of the solve died).
    solution : str
        Of `depl.models.solving.result.Solution`.
    cost, lower_bound : float or None
        None without a plan, or without a finite bound [cost].
    violation : tuple of float or None
        Certified bounds of P(l(K) > l_max) under the law.
    epochs : int or None
        K of the plan.
    epochs_by_model : dict of str to int
    plan : dict or None
        The plan's document.
    measures : dict
        What the study's ``measure`` returned.
    reason : str or None
        Why there is no plan; for a failure, its message.
    wall_seconds, cpu_seconds, build_seconds : float or None
        Of the method; None where it did not end by itself.
    stage_seconds : dict of str to float
        By stage, for methods that go through stages (`depl.models.solving.result.Result`) [s].
    solve_seconds, solve_cpu_seconds : float or None
        Of the whole solve, with the certificate and the verification of its plan; CPU seconds with those of
        processes that it started. None in older attempts, and where it was killed.
    total_seconds : float
        Wall time of the whole attempt, with the making of the instance, the verification and the measures of
        the study.
    peak_gibibytes : float or None
        Greatest resident memory of the process of the solve.
    started : str
        Date and time, UTC, ISO 8601.
    answer : dict
        What ``run`` of a study that measures returned; what one that sweeps keeps of a result besides
        (`depl.benchmarks.measure.registry.Study.tells`).
    commit, python, versions, machine
        As in `depl.benchmarks.measure.provenance.Provenance`.
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

    @property
    def proved_optimal(self) -> bool:
        """Whether its plan is proved to be cheapest, under its own meaning of constraint (3)."""
        return self.ending == "optimal"

    @property
    def proved_infeasible(self) -> bool:
        """Whether it is proved that there is no plan, under its own meaning of constraint (3)."""
        return self.ending == "infeasible"


def without_folders(text: str) -> str:
    """``text`` with the files that it names, but not where they lie: attempts are published."""
    return _FOLDERS.sub("", text)

"""What a solve returns: why it stopped, what it holds, and the numbers that prove it.

*Why it stopped* and *what is held* are two enums, kept apart: a limit is not success, and "optimal"
means proven.
"""

import functools
import importlib.metadata
import math
import platform
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from enum import Enum
from typing import Any

import msgspec
import numpy as np

from depl.models.evaluation.evaluate import Evaluation, epoch_loads, epoch_times
from depl.models.foundation.documents import document
from depl.models.foundation.errors import DeplError, InvalidInputError
from depl.models.foundation.interval import Interval
from depl.models.foundation.showing import Shown
from depl.models.foundation.tables import frame_of
from depl.models.foundation.tolerances import counts_as_proved
from depl.models.problem.instance import Instance
from depl.models.problem.plan import Plan
from depl.models.scenarios.draws import ScenarioEvidence
from depl.models.solving.decisions import Decision
from depl.models.solving.methods import is_shipped


class Termination(Enum):
    """Why a solve stopped."""

    OPTIMAL = "optimal"
    """The plan is proved to be cheapest."""
    GAP_REACHED = "gap_reached"
    """The wanted gap was certified."""
    INFEASIBLE = "infeasible"
    """It is proved that no plan meets the target."""
    TIME_LIMIT = "time_limit"
    """The time limit was reached."""
    INTERRUPTED = "interrupted"
    """The user stopped it."""
    EXHAUSTED = "exhausted"
    """The method ended without a proof."""
    STUCK = "stuck"
    """Time is left, but the method has nothing more that would raise its bound or find a cheaper plan; or
    neither has moved for long, and the caller asked to stop then: `Result.reason` says for how long."""
    ERROR = "error"
    """Something failed."""


class Solution(Enum):
    """What a solve holds."""

    PROVEN_OPTIMAL = "proven_optimal"
    """A feasible plan with a proof that none is cheaper, by a method of depl or by the verifier."""
    PROVEN_UNDER_ROWS = "proven_optimal_under_rows"
    """The same among the plans that keep the caller's rows (`Result.rows`)."""
    FEASIBLE = "feasible"
    """A plan that the verifier accepts."""
    NONE = "none"
    """No plan."""


def proved_as(cost: float, lower_bound: float, gap: float) -> Termination | None:
    """What a lower bound proves of a plan: that it is cheapest, or within the gap; None if neither."""
    if counts_as_proved(cost, lower_bound):
        return Termination.OPTIMAL
    within = gap > 0 and counts_as_proved(cost, lower_bound, gap)
    return Termination.GAP_REACHED if within else None


def stopped_as(termination: Termination) -> Termination:
    """Why a solve stopped whose proof, if it had one, was about another plan."""
    proofs = (Termination.OPTIMAL, Termination.GAP_REACHED, Termination.INFEASIBLE)
    return Termination.EXHAUSTED if termination in proofs else termination


_LIBRARIES = ("depl", "numpy", "scipy", "msgspec", "pyomo", "highspy", "numba")


@functools.cache
def versions() -> Mapping[str, str]:
    """Of Python and of what solves, by name; read once, as asking for all takes longer than many a solve."""
    found = {"python": platform.python_version()}
    for library in _LIBRARIES:
        try:
            found[library] = importlib.metadata.version(library)
        except importlib.metadata.PackageNotFoundError:  # run from a source tree that was not installed
            found[library] = "not installed"
    return found


@dataclass(frozen=True)
class DualBound:
    """A lower bound under scenarios without a search tree: `depl.models.exact.root_bounds.root_bound`."""

    time_price: float  # lam >= 0, the price of one unit of total time [cost / time]
    gain_price: float  # mu >= 0, the price of one unit of gain [cost / loss]
    bound: float  # No plan that meets the target costs less [cost]


@dataclass(frozen=True)
class Phase:
    """One of the methods that a method let run.

    Attributes
    ----------
    method : str
        Its name.
    ending : str
        Why it stopped: the value of a `Termination`, or "refused" with what it said.
    seconds : float
        Wall time [s].
    cost : float or None
        Of the plan that it held [cost].
    lower_bound : float
        No feasible plan costs less, as far as it proved [cost].
    """

    method: str
    ending: str
    seconds: float
    cost: float | None
    lower_bound: float


@dataclass(frozen=True)
class Outcome:
    """What a method returns: it stopped for ``termination`` and holds ``plan`` or nothing.

    Attributes
    ----------
    lower_bound : float
        No feasible plan that keeps ``rows`` costs less [cost]; +inf if proved infeasible.
    reason : str or None
        If there is no plan: the stage that failed and the nearest reachable value. With one, why a solve was
        stopped when stuck.
    dual : DualBound or None
        A weaker lower bound that `depl check` can prove again, where it can only repeat ``lower_bound``.
    build_seconds : float
        Of the part that built tables [s].
    decisions : tuple of Decision
        What the method decided, stage by stage, and where it went back; empty if it keeps no record.
    tolerances : mapping of str to float
        Of the floating-point solver that the proof rests on, by its own names; empty where there is none.
    stage_seconds : mapping of str to float
        By the values of `depl.models.solving.decisions.Stage`, for methods that go through stages; else empty
        [s].
    phases : tuple of Phase
        The methods that the method let run, in their order; empty if it did all itself.
    rows : tuple of str
        Rows that the caller gave to `depl.solve`, by name; all that is proved is proved under them. Empty if
        there were none.
    """

    termination: Termination
    plan: Plan | None
    lower_bound: float = -math.inf
    reason: str | None = None
    dual: DualBound | None = None
    build_seconds: float = 0.0
    decisions: tuple[Decision, ...] = ()
    tolerances: Mapping[str, float] = field(default_factory=dict)
    stage_seconds: Mapping[str, float] = field(default_factory=dict)
    phases: tuple[Phase, ...] = ()
    rows: tuple[str, ...] = ()


_KEYS = (
    *("termination", "solution", "claimed", "cost", "lower_bound", "gap", "epochs", "training_time"),
    *("expected_loss", "reason", "violation", "quantile", "rests_on", "rows", "quantile_means", "scenarios"),
    *("dual", "decisions", "tolerances", "method", "instance", "seed", "versions", "wall_seconds"),
    *("cpu_seconds", "build_seconds", "stage_seconds", "phases", "plan"),
)
"""Of a result as plain data, in their order."""


@dataclass(frozen=True, repr=False, kw_only=True)
class Result(Shown, Outcome):
    """The outcome of `depl.solve`: that of the method, and what was found of its plan.

    Attributes
    ----------
    cost : float or None
        Cost of the plan [cost].
    evaluation : Evaluation or None
        All numbers of the plan; `cost`, `violation` and others of them have names here, too.
    claimed : bool
        Whether ``lower_bound``, and a ``termination`` that speaks of a proof, only repeat what a method says
        that does not come with depl: the verifier neither refutes nor proves it.
    rests_on : str or None
        What these rest on, in words, where the law was fitted to runs: how many, and in which sense.
    scenarios : ScenarioEvidence or None
        Given if constraint (3) was understood as a count of scenarios; ``violation`` and ``quantile`` are
        those of the law all the same, and need not meet the target.
    wall_seconds, cpu_seconds : float
        Of the solve [s].
    problem : Instance or None
        What was solved, for whoever shows the result; it is no part of its content.
    """

    solution: Solution
    method: str
    cost: float | None = None
    evaluation: Evaluation | None = None
    claimed: bool = False
    rests_on: str | None = None
    scenarios: ScenarioEvidence | None = None
    instance: str = ""
    seed: int = 0
    versions: Mapping[str, str] = field(default_factory=dict)
    wall_seconds: float = 0.0
    cpu_seconds: float = 0.0
    problem: Instance | None = field(default=None, compare=False)

    @property
    def gap(self) -> float | None:
        """(cost - lower_bound) / cost; 0 if both are 0, None without a plan."""
        if self.cost is None:
            return None
        if self.cost == self.lower_bound:
            return 0.0
        return (self.cost - self.lower_bound) / self.cost if self.cost > 0 else None

    @property
    def violation(self) -> Interval | None:
        """Certified P(l(K) > l_max) of the plan under the laws of the instance, where they are declared."""
        return None if self.evaluation is None else self.evaluation.certified

    @property
    def quantile(self) -> Interval | None:
        """Certified omega-quantile of l(K) of the plan; None where there was no time for it."""
        return None if self.evaluation is None else self.evaluation.quantile

    @property
    def epochs(self) -> int | None:
        """K of the plan."""
        return None if self.evaluation is None else self.evaluation.epochs

    @property
    def training_time(self) -> float | None:
        """Sum of the epoch times of the plan [time]."""
        return None if self.evaluation is None else self.evaluation.training_time

    @property
    def expected_loss(self) -> float | None:
        """E l(K) of the plan, where it is finite and known [loss]."""
        mean = math.nan if self.evaluation is None else self.evaluation.expected_loss
        return mean if math.isfinite(mean) else None

    def frame(self) -> Any:
        """The plan as a frame of pandas, a row per epoch; without rows where there is no plan.

        Columns are ``epoch``, ``model``, ``cluster``, ``resources`` of a node [resource], and ``time`` [time]
        and ``cost`` [cost] of the epoch, transfers not included; these two are missing if the instance is.

        Raises
        ------
        InvalidInputError
            If pandas is not installed.
        """
        columns = ("epoch", "model", "cluster", "resources", "time", "cost")
        epochs = () if self.plan is None else self.plan.epochs
        known: list[tuple[float | None, float | None]] = [(None, None)] * len(epochs)
        if self.problem is not None and self.plan is not None:
            prices = [load.price for load in epoch_loads(self.problem, self.plan)]
            spent = [price * epoch.resources for price, epoch in zip(prices, epochs, strict=True)]
            known = list(zip(epoch_times(self.problem, self.plan), spent, strict=True))
        rows = enumerate(zip(epochs, known, strict=True), start=1)
        return frame_of(
            columns,
            [(k, epoch.model, epoch.cluster, epoch.resources, *numbers) for k, (epoch, numbers) in rows],
        )

    def to_dict(self) -> dict[str, Any]:
        """The result as plain data; infinite or absent values become None."""
        known = {name: getattr(self, name, None) for name in _KEYS}
        for name in ("violation", "quantile"):
            ends = known[name]
            known[name] = {"lower": ends and ends.lower, "upper": ends and ends.upper}
        known["quantile_means"] = "law" if self.scenarios is None else "scenarios"
        known["plan"] = None if self.plan is None else document(self.plan)
        found: dict[str, Any] = finite(msgspec.to_builtins(known, enc_hook=_plain))
        return found

    def to_json(self) -> str:
        """The result as one JSON object."""
        return msgspec.json.encode(self.to_dict()).decode()


def outcome_of(method: str, returned: object, defect: type[DeplError]) -> Outcome:
    """What a method returned, if it is of a known kind and does not contradict itself.

    If it is not, that is a defect of a method that comes with depl, and an invalid input of any other.
    """
    outcome, wrong = returned, defect if is_shipped(method) else InvalidInputError
    if outcome is None or isinstance(outcome, Plan):
        nothing = "no plan found: the method returns None"
        outcome = Outcome(Termination.EXHAUSTED, outcome, reason=None if outcome else nothing)
    if not isinstance(outcome, Outcome) or isinstance(outcome, Result):
        kind = type(outcome).__name__
        raise wrong(f"method {method!r} returns a {kind}; an Outcome, a Plan or None is needed")
    if not is_shipped(method):
        outcome = _typed(outcome, method)
    stopped = outcome.termination
    if outcome.plan is None and stopped in (Termination.OPTIMAL, Termination.GAP_REACHED):
        raise wrong(f"method {method!r} says {stopped.value!r} without a plan")
    if outcome.plan is not None and stopped is Termination.INFEASIBLE:
        raise wrong(f"method {method!r} says {stopped.value!r} and holds a plan")
    return outcome


def _typed(outcome: Outcome, method: str) -> Outcome:
    """The outcome of a user's method with every field of its declared type; numpy's numbers as plain ones."""
    try:
        found = msgspec.convert(_fields(outcome), Outcome)
    except msgspec.ValidationError as error:
        raise InvalidInputError(f"method {method!r} returns a malformed Outcome: {error}") from error
    if math.isnan(found.lower_bound):
        raise InvalidInputError(
            f"method {method!r} returns a malformed Outcome: its lower_bound is no number (nan)"
        )
    return found


def _fields(value: object) -> object:
    """Records as their fields, which msgspec then looks at, and numbers of numpy as plain ones."""
    if is_dataclass(value) and not isinstance(value, type):
        value = {item.name: getattr(value, item.name) for item in fields(value)}
    if isinstance(value, Mapping):
        return {key: _fields(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_fields(item) for item in value]
    return value.item() if isinstance(value, np.generic) else value


def _plain(value: Any) -> Any:
    """Numbers of numpy, as a method may give them, and mappings that are no dict."""
    return value.item() if isinstance(value, np.generic) else dict(value)


def finite(value: Any) -> Any:
    """``value`` with None for what is not finite, and so says nothing."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {name: finite(item) for name, item in value.items()}
    return [finite(item) for item in value] if isinstance(value, list | tuple) else value

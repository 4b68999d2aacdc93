"""A front: plans by budget with proved lower bounds, what follows between two budgets, and its file."""

import json
import math
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import msgspec

from depl.models.foundation.documents import decode_document, read_text
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.interval import Interval
from depl.models.foundation.showing import Shown
from depl.models.foundation.tables import frame_of
from depl.models.foundation.tolerances import PROOF_TOLERANCE
from depl.models.problem.instance import Instance
from depl.models.problem.plan import Plan
from depl.models.solving.edge import Budget
from depl.models.solving.methods import Outcome, find
from depl.models.solving.result import Result, Solution, Termination
from depl.models.solving.solve import VerificationError, verified_result

COLUMNS = (
    *("budget", "termination", "cost", "lower_bound", "gap"),
    *("epochs", "training_time", "expected_loss", "violation_lower", "violation_upper"),
)
"""Of the table of a front, see `FrontPoint.row`."""


@dataclass(frozen=True)
class FrontPoint:
    """One budget of a front and what is known there.

    Attributes
    ----------
    budget : float
        l_max, T_max or omega.
    result : Result
        Of the instance with this budget. Its plan may have been found, and its bound proved, at another one.
    """

    budget: float
    result: Result

    @property
    def cost(self) -> float | None:
        """Of the plan; None without one [cost]."""
        return self.result.cost

    @property
    def lower_bound(self) -> float:
        """No feasible plan costs less; infinite if there is proved to be none [cost]."""
        return self.result.lower_bound

    @property
    def plan(self) -> Plan | None:
        """A plan that the verifier accepts at this budget, if one is known."""
        return self.result.plan

    @property
    def solution(self) -> Solution:
        """Whether the plan is proved to be cheapest, or just feasible."""
        return self.result.solution

    @property
    def violation(self) -> Interval | None:
        """Certified interval of P(l(K) > l_max) of the plan, with l_max of this budget."""
        return self.result.violation

    @property
    def infeasible(self) -> bool:
        """Whether it is proved that no plan keeps this budget."""
        return self.result.termination is Termination.INFEASIBLE

    def row(self) -> dict[str, Any]:
        """The numbers of the point, as a table shows them; None for what is not known."""
        known = {"budget": self.budget, **self.result.to_dict()}
        known |= {f"violation_{end}": value for end, value in known["violation"].items()}
        return {name: known[name] for name in COLUMNS}


@dataclass(frozen=True, repr=False)
class Front(Shown):
    """The cost of certified plans against a budget.

    Attributes
    ----------
    instance : Instance
        As it was given; the budget of each point replaces its own.
    against : Budget
        What varies.
    between : tuple of float
        The loosest and the tightest budget that were asked for.
    points : tuple of FrontPoint
        From the loosest budget to the tightest.
    asked : int
        How many budgets were asked for, those included that there was no time for.
    stopped : Termination or None
        TIME_LIMIT or INTERRUPTED if that ended the work on the front.
    range_cut : bool
        Whether the clock ended the search for a plan with which the range could reach further.
    """

    instance: Instance
    against: Budget
    between: tuple[float, float]
    points: tuple[FrontPoint, ...]
    asked: int
    stopped: Termination | None = None
    range_cut: bool = False

    @property
    def nested(self) -> bool:
        """Whether a budget says something about the others; see `depl.models.solving.edge`."""
        return self.against.nested(self.instance)

    @property
    def complete(self) -> bool:
        """Whether all budgets that were asked for have a point, and none was ended by a limit."""
        stopped = (Termination.TIME_LIMIT, Termination.INTERRUPTED)
        ended = all(point.result.termination not in stopped for point in self.points)
        return ended and len(self.points) >= self.asked

    def instance_at(self, budget: float) -> Instance:
        """The instance with another budget, named after it: the one whose plans a point's plan is among.

        Raises
        ------
        InvalidInputError
            If it cannot have it.
        """
        named = f"{self.instance.name}-{self.against.field.replace('_', '-')}-{budget:g}"
        return self.against.instance(self.instance, budget).replace(name=named)

    def bounds(self, budget: float) -> tuple[float, float]:
        """A lower bound of the cost at any budget, and the cost of the cheapest plan known to keep it.

        The bound is that of the looser points, the plan one of the tighter ones, as feasible sets are nested;
        where they are not (`nested`), only a point of this very budget says something. Infinite where no plan
        is known, and both where there is proved to be none [cost].
        """
        lower, cost = 0.0, math.inf
        asked = self.against.strictness(budget)
        for point in self.points:
            strictness = self.against.strictness(point.budget)
            if point.budget == budget or (self.nested and strictness <= asked):
                lower = max(lower, point.lower_bound)
            if point.cost is not None and (point.budget == budget or (self.nested and strictness >= asked)):
                cost = min(cost, point.cost)
        return min(lower, cost), cost

    def rows(self) -> list[dict[str, Any]]:
        """One record for each point, loosest first."""
        return [point.row() for point in self.points]

    def frame(self) -> Any:
        """The same as a ``pandas.DataFrame``.

        Raises
        ------
        InvalidInputError
            If pandas is not installed.
        """
        return frame_of(COLUMNS, [tuple(row.values()) for row in self.rows()], ".rows() does without")

    def to_dict(self) -> dict[str, Any]:
        """The front as plain data, with the whole result and the plan of each point."""
        return {
            "format": "depl-front",
            "version": 1,
            "instance": self.instance.name,
            "fingerprint": self.instance.fingerprint,
            "against": self.against.value,
            "between": list(self.between),
            "range_cut": self.range_cut,
            "nested": self.nested,
            "asked": self.asked,
            "complete": self.complete,
            "stopped": None if self.stopped is None else self.stopped.value,
            "points": [{"budget": point.budget, **point.result.to_dict()} for point in self.points],
        }

    def to_json(self) -> str:
        """The front as JSON, which `read_front` reads."""
        return json.dumps(self.to_dict(), indent=1) + "\n"

    def __iter__(self) -> Iterator[FrontPoint]:
        """Its points, loosest first."""
        return iter(self.points)

    def __len__(self) -> int:
        """How many points there are."""
        return len(self.points)


class _Point(msgspec.Struct):
    """What is read of a point; all else follows from its plan."""

    budget: float
    termination: Termination
    method: str
    lower_bound: float | None = None
    reason: str | None = None
    seed: int = 0
    plan: Plan | None = None
    wall_seconds: float = 0.0
    cpu_seconds: float = 0.0
    versions: dict[str, str] = {}


class _File(msgspec.Struct):
    """What is read of a file."""

    fingerprint: str
    against: Budget
    between: tuple[float, float]
    asked: int
    points: list[_Point]
    range_cut: bool = False
    instance: str = ""
    format: Literal["depl-front"] = "depl-front"
    version: Literal[1] = 1


def read_front(path: str | Path, instance: Instance, against: Budget) -> Front | None:
    """The front in a file, each plan evaluated and verified again; None if there is no such file.

    Lower bounds, and that there is no plan, are repeated from the file: only the search that proved them
    could do it again. `depl.models.solving.front` looks for a plan that refutes them.

    Raises
    ------
    InvalidInputError
        If the file is none, of another instance, against another budget, or a plan in it is not one of its
        budget.
    """
    if not os.path.exists(path):
        return None
    try:
        found = decode_document(read_text(path), _File)
    except InvalidInputError as error:
        raise InvalidInputError(error.message, f"{path}: {error.path}") from error
    if found.fingerprint != instance.fingerprint:
        raise InvalidInputError(
            f"holds a front of another instance, {found.instance!r} (fingerprint {found.fingerprint[:12]}; "
            f"{instance.name!r} has {instance.fingerprint[:12]}); name another file",
            str(path),
        )
    if found.against is not against:
        raise InvalidInputError(
            f"holds a front against {found.against.value}, not {against.value}; name another file", str(path)
        )
    points = [_point(instance, against, row, f"{path}: $.points[{i}]") for i, row in enumerate(found.points)]
    points.sort(key=lambda point: against.strictness(point.budget))
    return Front(instance, against, found.between, tuple(points), found.asked, range_cut=found.range_cut)


def _point(instance: Instance, against: Budget, row: _Point, place: str) -> FrontPoint:
    lower = math.inf if row.termination is Termination.INFEASIBLE else row.lower_bound or 0.0
    outcome = Outcome(row.termination, row.plan and row.plan.bare(), lower, row.reason)
    try:
        asked = against.instance(instance, row.budget)
        result = verified_result(asked, find(row.method).name, outcome, row.seed)
    except (InvalidInputError, VerificationError) as error:
        raise InvalidInputError(f"cannot be gone on with: {error}", place) from error
    if result.cost is not None and lower > result.cost * (1 + PROOF_TOLERANCE):
        raise InvalidInputError(f"its lower bound {lower:.12g} exceeds the cost of its plan", place)
    seconds = replace(result, wall_seconds=row.wall_seconds, cpu_seconds=row.cpu_seconds)
    return FrontPoint(row.budget, replace(seconds, versions=row.versions))

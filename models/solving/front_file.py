"""A front in a file: written whole after every point, and read again to go on with it."""

import math
import os
from dataclasses import replace
from pathlib import Path

import msgspec

from depl.models.foundation.documents import decode_document, read_text, write_text
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.tolerances import PROOF_TOLERANCE
from depl.models.problem.instance import Instance
from depl.models.problem.plan import Plan
from depl.models.solving.budgets import Budget
from depl.models.solving.front_points import FORMAT, VERSION, Front, FrontPoint
from depl.models.solving.known_plan import bare
from depl.models.solving.methods import Outcome, find
from depl.models.solving.result import Termination
from depl.models.solving.solve import VerificationError, verified_result


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
    format: str = FORMAT
    version: int = VERSION


def write_front(front: Front, path: str | Path) -> None:
    """Write it under a temporary name, and give it the right one once it is whole.

    Raises
    ------
    InvalidInputError
        If it cannot be written; an older file is then still whole.
    """
    write_text(path, front.to_json())


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
    infeasible = row.termination is Termination.INFEASIBLE
    lower = math.inf if infeasible else row.lower_bound or 0.0
    plan = None if row.plan is None else bare(row.plan)
    try:
        outcome = Outcome(row.termination, plan, lower, row.reason)
        result = verified_result(
            against.instance(instance, row.budget), find(row.method).name, outcome, row.seed
        )
    except (InvalidInputError, VerificationError) as error:
        raise InvalidInputError(f"cannot be gone on with: {error}", place) from error
    if result.cost is not None and lower > result.cost * (1 + PROOF_TOLERANCE):
        raise InvalidInputError(f"its lower bound {lower:.12g} exceeds the cost of its plan", place)
    seconds = replace(result, wall_seconds=row.wall_seconds, cpu_seconds=row.cpu_seconds)
    return FrontPoint(row.budget, replace(seconds, versions=row.versions))

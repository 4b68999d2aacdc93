"""The limits of an instance: at a plan, which bind, fail or cost; without one, how far they go."""

import math
from collections.abc import Sequence

from depl.models.evaluation.evaluate import UNITS_OF_LIMITS, Constraint, Evaluation, epoch_loads
from depl.models.foundation.wording import aligned, counted, number, rounded_down, rounded_up
from depl.models.problem.allocation import allocate
from depl.models.problem.instance import Instance
from depl.models.problem.plan import Plan
from depl.models.solving.edge import Budget, Edge, any_plan, nearest_values
from depl.models.solving.result import Result, Termination
from depl.models.solving.sensitivity import prices, rooms
from depl.showing.policies import consecutive
from depl.showing.results import state_of

_WORTH_SAVING = 1e-6
"""Relative saving that is told: about the digits that are shown."""

_ROUNDING = 1e-12
"""What a value may be off by floating point, relatively: it is not rounded away from for that."""

_AS_SHOWN = 5
"""Digits of what is reached, rounded so that it is."""


def binding_lines(evaluation: Evaluation) -> list[str]:
    """Which constraints fail, and which are met with equality."""
    missed = failing(evaluation)
    # x = 0 where nothing is to be computed meets its limit 0, which says nothing.
    binding = [item for item in evaluation.constraints if item.satisfied and item.binding and item.limit > 0]
    lines = ["What binds" if not missed else "What fails, and what binds"]
    for verb, items in (("fails", missed), ("binds", binding)):
        kinds: dict[tuple[str, str], list[Constraint]] = {}
        for item in items:
            kinds.setdefault((item.equation, item.name.partition(" at epoch ")[0]), []).append(item)
        for (equation, kind), members in kinds.items():
            worst, unit = max(members, key=lambda item: item.value - item.limit), _unit(evaluation, equation)
            excess = f", {number(worst.value - worst.limit)}{unit} too much" if verb == "fails" else ""
            sides = f"{number(worst.value)} against {number(worst.limit)}{unit}{excess}"
            lines.append(f"  {equation} {kind} {verb}: {sides}{_places(members)}")
    return lines if len(lines) > 1 else [*lines, "  nothing: no limit is met with equality"]


def price_lines(instance: Instance, plan: Plan, evaluation: Evaluation) -> list[str]:
    """What one unit more of each limit of time or capability saves."""
    target, units, found = instance.target, instance.units, prices(instance, plan)
    allocation = allocate(epoch_loads(instance, plan), target.maximum_time, target.round_deadline)
    lines = ["What the limits cost, for these epochs with their cheapest resources, to first order"]
    if found is None:
        return [*lines, f"  no resources keep the time limits: {allocation.reason}"]
    if abs(evaluation.resource_cost - allocation.cost) > _WORTH_SAVING * max(allocation.cost, _WORTH_SAVING):
        paid, least = (units.amount(cost, "cost") for cost in (evaluation.resource_cost, allocation.cost))
        cheapest = f"the cheapest that keep the time limits {least}"
        lines.append(f"  the resources of the plan cost {paid}, {cheapest}")
    told = [] if target.maximum_time is None else [("T_max", found.time, " (lambda, the price of time)")]
    told += [] if target.round_deadline is None else [("tau", found.round_deadline, "")]
    told += [(f"r({name})", value, "") for name, value in found.capacity.items() if value > 0]
    for limit, saved, word in told:
        unit = units.one("resource" if limit.startswith("r(") else "time")
        lines.append(f"  {unit} more of {limit} saves {units.amount(saved, 'cost')}{word}")
    return lines if len(lines) > 1 else [*lines, "  nothing: there is no time limit"]


def next_lines(instance: Instance, plan: Plan, evaluation: Evaluation) -> list[str]:
    """How far each limit alone could be tightened, the nearest first; those that cannot be, last."""
    rows, fixed = [], []
    for room in rooms(instance, plan, evaluation):
        limit, unit = number(room.limit), _unit(evaluation, room.equation)
        if math.isinf(room.last):  # the quantile is beyond all runs that were counted
            fixed.append(f"{room.name} ({limit}, and the quantile is beyond all runs seen)")
        elif room.last == room.limit:
            fixed.append(f"{room.name} ({limit}{unit})")
        else:
            verb = "could fall" if room.relative >= 0 else "would have to rise"
            share = f"{number(100 * abs(room.relative), 3)} %"
            share += " of l(0) - l_max" if room.name == "l_max" else ""
            change = f"{verb} from {limit} to {number(room.last)}{unit}"
            rows.append((room.equation, room.name, change, share))
    title = "What fails next: how far each limit alone could be tightened, with other resources"
    ends = [f"  not at all: {', '.join(fixed)}"] if fixed else []
    return [f"{title}; nearest first", *aligned(rows), *ends]


def declared(evaluation: Evaluation) -> bool:
    """Whether the law of the final loss is known."""
    return not math.isnan(evaluation.expected_loss)


def failing(evaluation: Evaluation) -> list[Constraint]:
    """The constraints that fail; (3) is not judged without a law."""
    missed = [item for item in evaluation.constraints if not item.satisfied]
    return [item for item in missed if declared(evaluation) or item.equation != "(3)"]


def _unit(evaluation: Evaluation, equation: str) -> str:
    """The unit that follows a limit, after a blank; empty if it has none."""
    quantity = UNITS_OF_LIMITS.get(equation)
    name = "" if quantity is None else evaluation.units.name(quantity)
    return f" {name}" if name else ""


def _places(constraints: Sequence[Constraint]) -> str:
    """The epochs of constraints that stand once per epoch, as ", at epochs 1-3, 5"."""
    texts = (item.name.partition(" at epoch ")[2] for item in constraints)
    runs = consecutive(map(int, filter(None, texts)), int)
    spans = [f"{run[0]}" if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs]
    return f", at epoch{'s' if sum(map(len, runs)) > 1 else ''} {', '.join(spans)}" if runs else ""


def explain_instance(instance: Instance) -> str:
    r"""Say whether an instance has a plan, which limits are in the way, and the nearest values in reach.

    One limit is moved at a time, all others stay. A value that is reached has a plan, certified and verified.

    Returns
    -------
    str
        Lines of plain text, without a final line break.

    Raises
    ------
    NotCoveredError
        If the instance declares no laws, or the default method does not cover it.

    Examples
    --------
    >>> from depl.instances.library import load
    >>> print(explain_instance(load("tiny").replace(maximum_epochs=1)).split("\n")[0])
    'tiny': proved infeasible: no plan meets the target.
    """
    found = any_plan(instance)
    moved = list(nearest_values(instance, found))
    state = state_of(found)
    if found.plan is not None:
        cost, epochs = instance.units.amount(found.cost, "cost"), counted(found.epochs or 0, "epoch")
        state = f"it has plans; the first that was found has {epochs} and costs {cost}"
    elif found.termination is not Termination.INFEASIBLE:
        state = "no plan was found, and it is not proved that there is none"
    lines = [f"{instance.name!r}: {state}."]
    if found.plan is None and found.reason:
        lines.append(f"  {found.reason}")
    sections = [lines, [] if found.plan else _in_the_way(moved), _nearest(instance, found, moved)]
    return "\n\n".join("\n".join(section) for section in sections if section)


def _in_the_way(moved: list[Edge]) -> list[str]:
    *most, last = [item.limit.symbol for item in moved if item.reached is not None] or [""]
    lines = ["What binds"]
    if last:
        alone = f"{', '.join(most)} and {last}: each of them" if most else f"{last}: it"
        lines.append(f"  {alone} alone would do")
    for item in moved:
        name = item.limit.symbol
        how = "it is proved that there is no plan" if item.proved else "no plan was found"
        if item.reached is None:
            lines.append(f"  not {name} alone: with {name} = {number(item.loosest)}, too, {how}")
    return lines


def _nearest(instance: Instance, found: Result, moved: list[Edge]) -> list[str]:
    rows = []
    for item in moved:
        if item.reached is not None:
            unit = instance.units.name("time") if item.limit in (Budget.TIME, Budget.ROUND) else ""
            asked, reached = (f"{text} {unit}".rstrip() for text in (number(item.own), _loose(item)))
            end = "and no tighter one that was tried is out of reach"
            if item.failed is not None:
                how = "is proved out of reach" if item.proved else "was not reached; that proves nothing"
                end = f"{number(item.failed)} {how}"
            rows.append((item.limit.symbol, f"{asked} asked", f"{reached} is reached", end))
    if not rows:
        return []
    head = "Nearest values that are reached if one limit is relaxed and the others stay"
    if found.plan is not None:
        head = "How far each limit can be tightened while the others stay"
    head += " (all under the fitted law)" if instance.has_memory else ""
    costs = "What that costs: depl front INSTANCE --against loss, time or probability"
    return [head, *aligned(rows), costs]


def _loose(item: Edge) -> str:
    """What is reached, rounded to the loose side, so that it is."""
    value = item.reached or 0.0
    if item.limit is Budget.EPOCHS:
        return number(value)
    if item.limit is Budget.PROBABILITY:
        return rounded_down(value + _ROUNDING, _AS_SHOWN)
    return rounded_up(value - _ROUNDING * abs(value), _AS_SHOWN)

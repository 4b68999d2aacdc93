"""What an instance asks for: whether it can be had, and what each limit has to do with that."""

from depl.models.foundation.wording import aligned, counted, number, rounded_down, rounded_up
from depl.models.problem.instance import Instance
from depl.models.solving.nearest import Nearest, any_plan, nearest_values
from depl.models.solving.result import Result, Termination

_ROUNDING = 1e-12
"""What a value may be off by floating point, relatively: it is not rounded away from for that."""

_AS_SHOWN = 5
"""Digits of what is reached, rounded so that it is."""


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
    lines = [f"{instance.name!r}: {_state(instance, found)}."]
    if found.plan is None and found.reason:
        lines.append(f"  {found.reason}")
    sections = [lines, _binding(found, moved), _nearest(instance, found, moved)]
    return "\n\n".join("\n".join(section) for section in sections if section)


def _state(instance: Instance, found: Result) -> str:
    if found.plan is not None:
        cost = instance.units.amount(found.cost, "cost")
        epochs = counted(found.epochs or 0, "epoch")
        return f"it has plans; the first that was found has {epochs} and costs {cost}"
    if found.termination is not Termination.INFEASIBLE:
        return "no plan was found, and it is not proved that there is none"
    if instance.has_memory:
        return "no plan can be promised on these runs: proved under the law fitted to them"
    return "proved infeasible: no plan meets the target"


def _binding(found: Result, moved: list[Nearest]) -> list[str]:
    """Which limits are in the way; nothing where there are plans."""
    if found.plan is not None:
        return []
    alone = [item.name for item in moved if item.reached is not None]
    useless = [item for item in moved if item.reached is None]
    lines = ["What binds"]
    if alone:
        lines.append(f"  {_listed(alone)}: {'it' if len(alone) == 1 else 'each of them'} alone would do")
    for item in useless:
        tried = f"{item.name} = {number(item.loosest)}"
        how = "it is proved that there is no plan" if item.proved else "no plan was found"
        lines.append(f"  not {item.name} alone: with {tried}, too, {how}")
    return lines


def _nearest(instance: Instance, found: Result, moved: list[Nearest]) -> list[str]:
    rows = []
    for item in moved:
        if item.reached is None:
            continue
        unit = instance.units.name("time") if item.name in ("T_max", "tau") else ""
        asked = f"{number(item.own)} {unit}".rstrip()
        rows.append(
            (item.name, f"{asked} asked", f"{_reached(item)} {unit}".rstrip() + " is reached", _end(item))
        )
    if not rows:
        return []
    head = "Nearest values that are reached if one limit is relaxed and the others stay"
    if found.plan is not None:
        head = "How far each limit can be tightened while the others stay"
    head += " (all under the fitted law)" if instance.has_memory else ""
    costs = "What that costs: depl front INSTANCE --against loss, time or probability"
    return [head, *aligned(rows), costs]


def _reached(item: Nearest) -> str:
    """Rounded to the loose side, so that it is reached."""
    value = item.reached or 0.0
    if item.name == "K_max":
        return number(value)
    if item.name == "omega":
        return rounded_down(value + _ROUNDING, _AS_SHOWN)
    return rounded_up(value - _ROUNDING * abs(value), _AS_SHOWN)


def _end(item: Nearest) -> str:
    if item.failed is None:
        return "and no tighter one that was tried is out of reach"
    how = "is proved out of reach" if item.proved else "was not reached; that proves nothing"
    return f"{number(item.failed)} {how}"


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"

"""``depl knapsack``: a knapsack from a public file, solved as a planning problem, checked independently."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from depl.commands import options as given
from depl.commands.answer import STOPPED, Answer, ExitCode
from depl.commands.inputs import require_outputs
from depl.commands.options import KNAPSACKS, NUMBER, Choice, Options, Whole, argument, command, option
from depl.commands.printable import as_json, fields
from depl.instances.reductions.names import REDUCTIONS
from depl.models.foundation.errors import InvalidInputError, NotCoveredError
from depl.models.foundation.wording import counted, rounded_up

if TYPE_CHECKING:
    from depl.instances.knapsack_files import NamedKnapsack
    from depl.instances.reductions.dynamic_programs import KnapsackSolution
    from depl.instances.reductions.knapsack import ChanceKnapsack, Knapsack
    from depl.instances.reductions.through import Answer as Found

_UNDER_THE_LAW = ("exact", "enumerate", "depl")


@dataclass(frozen=True)
class Checked:
    """What is known without planning: by what means, and the best value, if that could be found."""

    by: str
    value: Fraction | None


_METHODS = ("scenario-search", "exact", "milp", "enumerate", "depl")


@command(
    examples="""\
depl knapsack f4_l-d_kp_4_11
depl knapsack f3_l-d_kp_4_20 --via exact --reduction by-time
"""
)
@argument(
    "FILE",
    "number of items and capacity, then value and weight per line; or kplib's or Pisinger's format; or "
    "the name of a shipped instance, such as knapPI_1_100_1000_1",
    shell_complete=KNAPSACKS,
)
@option("--via", "the method that plans; default: scenario-search, with --chance exact", Choice(_METHODS))
@option(
    "--reduction",
    "; ".join(f"{name}: {text}" for name, text in REDUCTIONS.items()),
    Choice(tuple(REDUCTIONS)),
    default="by-cost",
)
@option("--instance N", "which instance of the file, counted from 1", Whole(), default=1)
@option(
    "--chance",
    "normal weights: number of items, capacity and omega (0.95, or z=1.645, its factor of the "
    "deviation), then value, mean and variance per line",
)
@option(
    "--fewer-items", "with --chance: take a file as it is that has fewer items than its first line announces"
)
@option("--time-limit S", "seconds of planning; default: none", NUMBER)
@given.seed
@option("--out ITEMS.txt", "write the numbers of the items taken, one per line")
@given.as_json()
def knapsack(options: Options) -> Answer:
    """Solve a knapsack from a public file as a planning problem, and check it."""
    from depl.instances.chance_knapsack_files import read_chance_knapsack
    from depl.instances.reductions.through import solve_chance_knapsack, solve_knapsack, solver

    require_outputs([options.out], [options.file])
    method = options.via or ("exact" if options.chance else "scenario-search")
    if options.chance and method not in _UNDER_THE_LAW:
        raise InvalidInputError(
            f"{method} counts scenarios, which proves no probability; use {', '.join(_UNDER_THE_LAW)}",
            "--via",
        )
    solve_instance = solver(method, options.time_limit, options.seed)
    problem: Knapsack | ChanceKnapsack
    if options.fewer_items and not options.chance:
        raise InvalidInputError("is for files of --chance; correct the number of items", "--fewer-items")
    if options.chance:
        name, problem = Path(options.file).name, read_chance_knapsack(options.file, options.fewer_items)
        found, checked = solve_chance_knapsack(problem, solve_instance), _checked_chance(problem)
    else:
        named = _named(options.file, options.instance)
        name, problem = named.name, named.knapsack
        found, checked = solve_knapsack(problem, options.reduction, solve_instance), _checked(named)
    _require_agreement(found, checked, method)
    content = _content(name, method, options, problem, found, checked)
    aside = _written(found, options.out)
    return Answer(fields(list(_lines(content, found, checked))), _code(found), as_json(content), aside)


def _named(path: str, number: int) -> NamedKnapsack:
    from depl.instances.knapsack_files import read_knapsacks, shipped_knapsack

    everything = read_knapsacks(path) if os.path.exists(path) else (shipped_knapsack(path),)
    if not 1 <= number <= len(everything):
        raise InvalidInputError(
            f"the file holds {counted(len(everything), 'instance')}; there is no number {number}", path
        )
    return everything[number - 1]


def _checked(named: NamedKnapsack) -> Checked:
    """The best value by the first of some ways without planning that covers the knapsack."""
    from depl.instances.reductions.branch_and_bound import best_by_branching
    from depl.instances.reductions.dynamic_programs import best_by_capacity, best_by_value

    ways: dict[str, Callable[[Knapsack], KnapsackSolution]] = {
        "dynamic program over the capacity": best_by_capacity,
        "dynamic program over the value": best_by_value,
        "branch and bound": best_by_branching,
    }
    for by, way in ways.items():
        try:
            value = way(named.knapsack).value
        except NotCoveredError:
            continue
        if named.optimum is not None and named.optimum > 0 and named.optimum != value:
            by += f" (the file says {_decimal(named.optimum)})"
        return Checked(by, value)
    return Checked("nothing: too large for a dynamic program and too hard to branch", None)


def _checked_chance(knapsack: ChanceKnapsack) -> Checked:
    """The best value by a dynamic program, where its table is not too large."""
    from depl.instances.reductions.chance_program import best_by_value_and_variance

    try:
        solution = best_by_value_and_variance(knapsack)
    except NotCoveredError:
        return Checked("nothing: too large for a dynamic program over value and variance", None)
    return Checked("dynamic program over value and variance", solution.value)


def _require_agreement(found: Found, checked: Checked, method: str) -> None:
    """Refuse a method that proves what is not so: it has a defect."""
    from depl.models.solving.solve import VerificationError

    if checked.value is None:
        return
    if found.bound < checked.value or (found.value is not None and found.value > checked.value):
        raise VerificationError(
            f"method {method!r} finds {found.value} and proves at most {found.bound}, but the best is "
            f"{checked.value} by {checked.by}"
        )


def _code(found: Found) -> ExitCode:
    if found.items is None:
        return ExitCode.NOTHING
    if found.proved:
        return ExitCode.ANSWERED
    stopped = any(result.termination.value in STOPPED for result in found.results)
    return ExitCode.STOPPED if stopped else ExitCode.NOTHING


def _content(
    name: str,
    method: str,
    options: Options,
    problem: Knapsack | ChanceKnapsack,
    found: Found,
    checked: Checked,
) -> dict[str, Any]:
    from depl.instances.chance_knapsack_files import announced_items
    from depl.instances.reductions.knapsack import ChanceKnapsack, Knapsack

    items = found.items
    plain = problem if isinstance(problem, Knapsack) else None
    chance = problem if isinstance(problem, ChanceKnapsack) else None
    return {
        "knapsack": name,
        "number_of_items": len(problem),
        "announced_items": announced_items(options.file) if options.chance else len(problem),
        "capacity": float(problem.capacity),
        "method": method,
        "reduction": "chance" if options.chance else options.reduction,
        "items": None if items is None else [item + 1 for item in items],
        "value": None if found.value is None else float(found.value),
        "weight": float(plain.weight_of(items)) if plain and items is not None else None,
        "slack": chance.slack(items) if chance and items is not None else None,
        "omega": chance.level if chance else None,
        "safety_factor": chance.safety if chance else None,
        "proved": found.proved,
        "upper_bound": float(found.bound),
        "checked_by": checked.by,
        "checked_value": None if checked.value is None else float(checked.value),
        "agrees": None if checked.value is None else found.value == checked.value,
        "solves": len(found.results),
        "wall_seconds": sum(result.wall_seconds for result in found.results),
        "termination": found.results[-1].termination.value if found.results else "optimal",
    }


def _lines(content: dict[str, Any], found: Found, checked: Checked) -> Iterator[tuple[str, str]]:
    most = f"not proved; no set has more than {rounded_up(found.bound, 12)}"
    yield content["knapsack"], "proved best" if found.proved else most
    there, announced, capacity = (
        content[name] for name in ("number_of_items", "announced_items", "capacity")
    )
    if announced != there:
        yield "file", f"{there} items, taken as they are; its first line announces {announced}"
    if content["omega"] is not None:
        promised = f"P(weight <= {capacity:.12g}) >= {content['omega']:.12g}"
        yield "promise", f"{promised}, a factor of {content['safety_factor']:.6g} deviations"
    taken = content["items"]
    yield "items", "none found" if taken is None else f"{len(taken)} of {there}: {' '.join(map(str, taken))}"
    yield "value", "unknown" if found.value is None else _decimal(found.value)
    if content["weight"] is not None:
        yield "weight", f"{content['weight']:.12g} of {capacity:.12g}"
    if content["slack"] is not None:
        yield "slack", f"{content['slack']:.6g} left of {capacity:.12g}, deviations included"
    solves = f"{counted(content['solves'], 'solve')}, {content['wall_seconds']:.2f} s"
    yield "planned by", f"{content['method']}, {content['reduction']}: {solves}"
    verdict = ""
    if checked.value is not None:
        same = "the same" if checked.value == found.value else "NOT the same"
        verdict = f": {_decimal(checked.value)}, {same}"
    yield "checked by", f"{checked.by}{verdict}"


def _decimal(number: Fraction) -> str:
    return f"{float(number):.12g}"


def _written(found: Found, path: str | None) -> str:
    from depl.models.foundation.documents import write_text

    if path is None:
        return ""
    if found.items is None:
        return f"{path} not written: there are no items"
    write_text(path, "".join(f"{item + 1}\n" for item in found.items))
    return f"items written to {path}"

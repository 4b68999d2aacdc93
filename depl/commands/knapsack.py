"""``depl knapsack``: a knapsack from a public file, solved as a planning problem, checked independently."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import depl
from depl.commands import options as given
from depl.commands.answer import STOPPED, Answer, ExitCode
from depl.commands.options import Choice, Options, option
from depl.commands.printable import as_json, fields
from depl.instances.reductions import REDUCTIONS
from depl.models.foundation.errors import InvalidInputError, NotCoveredError
from depl.models.foundation.wording import counted, rounded_up

if TYPE_CHECKING:
    from depl.instances.knapsack_files import NamedKnapsack
    from depl.instances.reductions.to_planning import Answer as Found

Best = tuple[str, Fraction | None]  # by what means without planning, and the value, if it could be found
_UNDER_THE_LAW = ("exact", "enumerate", "depl")
_METHODS = ("scenario-search", "exact", "milp", "enumerate", "depl")


@given.command("""\
depl knapsack f4_l-d_kp_4_11
depl knapsack f3_l-d_kp_4_20 --via exact --reduction by-time
""")
@given.argument(
    "FILE",
    "number of items and capacity, then value and weight per line; or kplib's or Pisinger's format; or "
    "the name of a shipped instance, such as knapPI_1_100_1000_1",
    given.to_read,
    shell_complete=given.shipped("depl.instances.knapsack_files", "shipped_knapsacks"),
)
@option("--via", "the method that plans; default: scenario-search, with --chance exact", Choice(_METHODS))
@option(
    "--reduction",
    "; ".join(f"{name}: {text}" for name, text in REDUCTIONS.items()),
    Choice(tuple(REDUCTIONS)),
    default="by-cost",
)
@option("--instance N", "which instance of the file, counted from 1", given.WHOLE, default=1)
@option(
    "--chance",
    "normal weights: number of items, capacity and omega (0.95, or z=1.645, its factor of the "
    "deviation), then value, mean and variance per line",
)
@option(
    "--fewer-items", "with --chance: take a file as it is that has fewer items than its first line announces"
)
@option("--time-limit S", "seconds of planning; default: none", given.NUMBER)
@given.seed
@option("--out ITEMS.txt", "write the numbers of the items taken, one per line", given.to_write)
@given.as_json()
def knapsack(options: Options) -> Answer:
    """Solve a knapsack from a public file as a planning problem, and check it."""
    from depl.instances.reductions.to_planning import solver

    method = options.via or ("exact" if options.chance else "scenario-search")
    if options.chance and method not in _UNDER_THE_LAW:
        others = ", ".join(_UNDER_THE_LAW)
        message = f"{method} counts scenarios, which proves no probability; use {others}"
        raise InvalidInputError(message, "--via")
    solve_instance = solver(method, options.time_limit, options.seed)
    if options.fewer_items and not options.chance:
        raise InvalidInputError("is for files of --chance; correct the number of items", "--fewer-items")
    found, of, (by, best) = (_chance if options.chance else _plain)(options, solve_instance)
    if best is not None and (found.bound < best or (found.value is not None and found.value > best)):
        raise depl.VerificationError(  # it has a defect
            f"method {method!r} finds {found.value} and proves at most {found.bound}, but the best is "
            f"{best} by {by}"
        )
    content = {
        "announced_items": of["number_of_items"],
        "reduction": options.reduction,
        **dict.fromkeys(("weight", "slack", "omega", "safety_factor")),
        **of,
        "method": method,
        "items": None if found.items is None else [item + 1 for item in found.items],
        "value": None if found.value is None else float(found.value),
        "proved": found.proved,
        "upper_bound": float(found.bound),
        "checked_by": by,
        "checked_value": None if best is None else float(best),
        "agrees": None if best is None else found.value == best,
        "solves": len(found.results),
        "wall_seconds": sum(result.wall_seconds for result in found.results),
        "termination": found.results[-1].termination.value if found.results else "optimal",
    }
    items = None if found.items is None else "".join(f"{item + 1}\n" for item in found.items)
    aside = given.written(options.out, "items", items)
    return Answer(fields(list(_lines(content, found))), _code(found), as_json(content), aside)


def _plain(options: Options, solve_instance: Any) -> tuple[Found, dict[str, Any], Best]:
    """What planning finds, what it is about, and the best value by the first way that covers it."""
    from depl.instances.reductions.knapsack import best_by_branching, best_by_capacity, best_by_value
    from depl.instances.reductions.to_planning import solve_knapsack

    named = _named(options.file, options.instance)
    sack = named.knapsack
    found = solve_knapsack(sack, options.reduction, solve_instance)
    by, best = _checked(
        sack,
        {
            "dynamic program over the capacity": best_by_capacity,
            "dynamic program over the value": best_by_value,
            "branch and bound": best_by_branching,
        },
        "nothing: too large for a dynamic program and too hard to branch",
    )
    if best is not None and named.optimum is not None and 0 < named.optimum != best:
        by += f" (the file says {_decimal(named.optimum)})"
    weight = None if found.items is None else float(sack.weight_of(found.items))
    of = {"knapsack": named.name, "number_of_items": len(sack), "capacity": float(sack.capacity)}
    return found, of | {"weight": weight}, (by, best)


def _chance(options: Options, solve_instance: Any) -> tuple[Found, dict[str, Any], Best]:
    """The same of a knapsack with normal weights."""
    from depl.instances.chance_knapsack_files import announced_items, read_chance_knapsack
    from depl.instances.reductions.chance import best_by_value_and_variance, solve_chance_knapsack

    sack = read_chance_knapsack(options.file, options.fewer_items)
    found, way = solve_chance_knapsack(sack, solve_instance), "dynamic program over value and variance"
    of = {
        "knapsack": Path(options.file).name,
        "number_of_items": len(sack),
        "announced_items": announced_items(options.file),
        "capacity": float(sack.capacity),
        "reduction": "chance",
        "slack": None if found.items is None else sack.slack(found.items),
        "omega": sack.level,
        "safety_factor": sack.safety,
    }
    return found, of, _checked(sack, {way: best_by_value_and_variance}, f"nothing: too large for a {way}")


def _named(path: str, number: int) -> NamedKnapsack:
    from depl.instances.knapsack_files import read_knapsacks, shipped_knapsack

    everything = read_knapsacks(path) if os.path.exists(path) else (shipped_knapsack(path),)
    if not 1 <= number <= len(everything):
        held = counted(len(everything), "instance")
        raise InvalidInputError(f"the file holds {held}; there is no number {number}", path)
    return everything[number - 1]


def _checked(sack: Any, ways: Mapping[str, Callable[[Any], Any]], otherwise: str) -> Best:
    """The best value by the first of some ways without planning that covers the knapsack."""
    for by, way in ways.items():
        try:
            return by, way(sack).value
        except NotCoveredError:
            continue
    return otherwise, None


def _code(found: Found) -> ExitCode:
    if found.items is not None and found.proved:
        return ExitCode.ANSWERED
    stopped = any(result.termination.value in STOPPED for result in found.results)
    return ExitCode.STOPPED if stopped and found.items is not None else ExitCode.NOTHING


def _lines(content: dict[str, Any], found: Found) -> Iterator[tuple[str, str]]:
    most = f"not proved; no set has more than {rounded_up(found.bound, 12)}"
    yield content["knapsack"], "proved best" if found.proved else most
    there, announced = content["number_of_items"], content["announced_items"]
    capacity, taken = f"{content['capacity']:.12g}", content["items"]
    if announced != there:
        yield "file", f"{there} items, taken as they are; its first line announces {announced}"
    if content["omega"] is not None:
        promised = f"P(weight <= {capacity}) >= {content['omega']:.12g}"
        yield "promise", f"{promised}, a factor of {content['safety_factor']:.6g} deviations"
    yield "items", "none found" if taken is None else f"{len(taken)} of {there}: {' '.join(map(str, taken))}"
    yield "value", "unknown" if found.value is None else _decimal(found.value)
    if content["weight"] is not None:
        yield "weight", f"{content['weight']:.12g} of {capacity}"
    if content["slack"] is not None:
        yield "slack", f"{content['slack']:.6g} left of {capacity}, deviations included"
    solves = f"{counted(content['solves'], 'solve')}, {content['wall_seconds']:.2f} s"
    yield "planned by", f"{content['method']}, {content['reduction']}: {solves}"
    same = {True: "the same", False: "NOT the same"}.get(content["agrees"])
    verdict = "" if same is None else f": {content['checked_value']:.12g}, {same}"
    yield "checked by", f"{content['checked_by']}{verdict}"


def _decimal(number: Fraction) -> str:
    return f"{float(number):.12g}"

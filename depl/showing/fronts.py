"""A front for people: a row per budget, with what is proved there."""

import math

from depl.models.foundation.wording import counted, number, rounded_down, rounded_up
from depl.models.solving.budgets import Budget
from depl.models.solving.front_points import Front, FrontPoint
from depl.models.solving.result import Termination
from depl.showing.parts import Listing, Pairs, Section, shortened_name
from depl.showing.results import STATES, state_of

BUDGETS = {Budget.LOSS: "l_max", Budget.TIME: "T_max", Budget.PROBABILITY: "omega"}
"""What varies, by its symbol."""

_STATES = {Termination.INFEASIBLE: "proved infeasible", Termination.GAP_REACHED: "within the gap, proved"}
"""Shorter than elsewhere, as a column has them."""

_NOT_PROMISED = "not promised, proved"
"""The same of what is infeasible under a law fitted to runs, which promises no more than they support."""

_CUT = (
    "The clock ended the search for how far the range reaches: with more time, or with nothing else on the "
    "machine, it may reach further. --between gives it."
)

_DIGITS = 5
"""Of a probability, rounded so that what is printed holds."""


def front_brief(front: Front) -> str:
    """One line on a front."""
    units = front.instance.units
    state = "complete" if front.complete else f"of {front.asked}"
    costs = [point.cost for point in front if point.cost is not None]
    spread = f", cost {number(min(costs))} to {units.amount(max(costs), 'cost')}" if costs else ", no plan"
    size = counted(len(front), "point")
    name = f"{shortened_name(front.instance.name)} against {BUDGETS[front.against]}"
    return f"<Front of {name}: {size}, {state}{spread}>"


def front_sections(front: Front) -> list[Section]:
    """What varies and how far it got, a row per budget, and what holds between them."""
    budget = BUDGETS[front.against]
    pairs = [(front.instance.name, f"cost of certified plans against {budget}; {_progress(front)}")]
    pairs += [
        (name, _held(front, kind, getattr(front.instance.target, field)))
        for kind, name, field in (
            (Budget.LOSS, "l_max", "maximum_loss"),
            (Budget.TIME, "T_max", "maximum_time"),
            (Budget.PROBABILITY, "omega", "quantile_level"),
        )
        if kind is not front.against
    ]
    if front.instance.has_memory:
        pairs.append(("rests on", "a fitted law; how many runs speak for each plan: --json, rests_on"))
    units = front.instance.units
    varied = units.titled(budget, "time") if front.against is Budget.TIME else budget
    cost, bound = units.titled("cost", "cost"), units.titled("lower bound", "cost")
    header = (varied, "state", cost, bound, "epochs", units.titled("time", "time"), "P(l(K) > l_max)")
    grid = Listing(
        header, [_row(point, front.instance.has_memory) for point in front], right=(varied, *header[2:])
    )
    return [
        Section("", Pairs(pairs)),
        Section("", grid if front.points else ""),
        Section("", _between(front)),
        Section("", _CUT if front.range_cut else ""),
    ]


def _held(front: Front, kind: Budget, value: float | None) -> str:
    """What the target asks of a quantity that does not vary."""
    return front.instance.units.amount(value, "time") if kind is Budget.TIME else number(value)


def _progress(front: Front) -> str:
    """How many of the points there are, and why not all."""
    if front.complete:
        return counted(len(front), "point")
    if len(front) < front.asked:
        reason = STATES[front.stopped or Termination.TIME_LIMIT]
        return f"{len(front)} of {counted(front.asked, 'point')}, {reason}"
    return f"{counted(len(front), 'point')}, not all of them finished"


def _row(point: FrontPoint, fitted: bool) -> tuple[str, ...]:
    result = point.result
    state = state_of(result) if result.claimed else _STATES.get(result.termination, state_of(result))
    if fitted and not result.claimed and result.termination is Termination.INFEASIBLE:
        state = _NOT_PROMISED
    bound = rounded_down(point.lower_bound) if math.isfinite(point.lower_bound) else "-"
    bound += " (claimed)" if result.claimed and bound != "-" else ""
    if point.cost is None:
        return (_budget(point.budget), state, "-", bound, "-", "-", "-")
    missed = point.violation
    return (
        _budget(point.budget),
        state,
        number(point.cost),
        bound,
        str(result.epochs),
        number(result.training_time),
        "-" if missed is None else f"at most {rounded_up(missed.upper, _DIGITS)}",
    )


def _budget(value: float) -> str:
    return number(value, 9)


def _between(front: Front) -> str:
    if len(front) < 2:
        return ""
    if front.nested:
        return "Between two budgets holds the lower bound of the looser one, and the plan of the tighter one."
    return (
        "Under this fitted law a plan may be refused at a lower omega and accepted at a higher one, so that "
        "between two budgets nothing is known."
    )

"""The evaluation of a plan for people: its numbers, and the constraints nearest to their limits."""

from depl.models.evaluation.evaluate import UNITS_OF_LIMITS, Evaluation
from depl.models.foundation.wording import at_most, counted, interval, number, rounded_up
from depl.showing.parts import Listing, Pairs, Section


def evaluation_brief(found: Evaluation) -> str:
    """One line on an evaluation."""
    broken = sum(not item.satisfied for item in found.constraints)
    state = f"{counted(broken, 'constraint')} broken" if broken else "feasible"
    return (
        f"<Evaluation: {state}, cost {found.units.amount(found.cost, 'cost')}, "
        f"time {found.units.amount(found.training_time, 'time')}, "
        f"{counted(found.epochs, 'epoch')}>"
    )


def evaluation_sections(found: Evaluation) -> list[Section]:
    """Cost, time and loss, and of every kind of constraint the one that is nearest to its limit."""
    lower, upper = float(found.violation.lower), float(found.violation.upper)
    missed = f"at most {rounded_up(upper)}, as the runs are counted"
    units = found.units
    split = f"transfers {number(found.transfer_cost)} + resources {number(found.resource_cost)}"
    pairs = [
        ("evaluation", "every constraint is satisfied" if found.feasible else "NOT feasible"),
        ("cost", f"{units.amount(found.cost, 'cost')} = {split}"),
        ("epochs", str(found.epochs)),
        ("training time", units.amount(found.training_time, "time")),
        ("P(l(K) > l_max)", missed if found.fitted else f"in {interval(lower, upper)}"),
    ]
    if found.quantile is not None:
        ends = f"{at_most(found.quantile.upper)}, as the runs are counted"
        if not found.fitted:
            ends = f"in {interval(float(found.quantile.lower), float(found.quantile.upper))}, certified"
        pairs.append(("quantile of l(K)", ends))
    if not found.fitted:
        pairs.append(("expected loss", number(found.expected_loss)))
    header = ("equation", "constraint", "value", "limit", "verdict")
    return [
        Section("", Pairs(pairs)),
        Section("", Listing(header, nearest_constraints(found), right=("value", "limit"))),
    ]


def nearest_constraints(found: Evaluation) -> list[tuple[str, str, str, str, str]]:
    """One row per equation: a broken constraint if there is any, else the one with least slack."""
    nearest: dict[str, tuple[bool, float, int]] = {}
    for index, item in enumerate(found.constraints):
        key = item.equation
        slack = item.limit - item.value
        if key not in nearest or (item.satisfied, slack) < nearest[key][:2]:
            nearest[key] = item.satisfied, slack, index
    rows = []
    for _, _, index in nearest.values():
        item = found.constraints[index]
        verdict = "BROKEN" if not item.satisfied else "binds" if item.binding else "holds"
        kind = UNITS_OF_LIMITS.get(item.equation)
        limit = number(item.limit) if kind is None else found.units.amount(item.limit, kind)
        rows.append((item.equation, item.name, number(item.value), limit, verdict))
    return rows

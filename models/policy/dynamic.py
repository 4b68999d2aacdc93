r"""Least expected cost and failures by dynamic programming over node and loss, and the prices of a failure.

    V(node, loss) = min { [not met],  price + E V(next node, next loss) },   unit of [not met]: lam,

backwards over the epochs. Rounded up (`upper`), its minimiser is a policy that a controller can follow, whose
C and F are upper bounds; rounded down (`lower`), it bounds C + lam F of every policy from below. rho*, what a
success costs at least, is enclosed by the ratio of a policy and by a price that a bound proves; the cheapest
policy with F <= p lies at a price on the hull of all (F, C). `docs/policies` proves all of it.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from depl.models.foundation.deadline import keep_time
from depl.models.foundation.errors import InvalidInputError, NotCoveredError
from depl.models.policy.grid import Expectations, Grid, met
from depl.models.policy.process import Kernel, Node, Process, Start
from depl.models.problem.laws import FloatArray
from depl.models.problem.laws.law import UNIT_ROUNDOFF
from depl.models.problem.policy import STOP

Actions = NDArray[np.int16]
"""By index of the ledger: the number of a training of the node, or `STOP`."""

_SUMMED = 1 + 8 * UNIT_ROUNDOFF
"""Rounding of a price plus an expectation, and of `math.fsum` over products."""

_CAREFUL = 1e6
"""Price of a failure, in the greatest cost of a run, at which a policy of (nearly) least failure is found: F
then differs from the least by 1e-6 at most, which the walk along the hull makes up for."""

FAILURE_FACTOR = 1.5
"""Price of a failed run in least expected costs of a success, unless one is given. At 1 it may pay to give up
every run whose first loss makes a success cost more than that; at 1.5 no run was given up before its first
epoch on the real runs of the case `closed-loop`, whose record says what a success costs then."""

_SETTLED = 1e-9
"""Relative fall of the ratio that counts as none: any ratio of a policy is a valid upper end."""

_MOST_STEPS = 40
"""Steps of a search: set by hand. Dinkelbach's steps converge faster than linearly and number five or so,
those of the lower end halve the rest or do better, and a dozen were the most seen along a hull. Where they
end early the ends are wider, not wrong."""

CLOSE = 1e-4
"""Relative width at which the lower end is not raised further, and distance between the policy that is held
and the bound by its price at which the walk along the hull ends: set by hand, below what grids leave."""

_ALIKE = 1e-12
"""Relative amount by which a value has to fall below that of a chord to count as a new end of the hull."""

_SPARE = 1e-6
"""Relative failure that a fixed plan found by plain sums has to spare, which rounding may take."""


@dataclass(frozen=True, eq=False)
class Table:
    """A policy on the grid, by node and from the start that is chosen, and what it is certified to do.

    ``cost`` and ``failure`` are upper bounds of C and F under the law, ``multiplier`` is lam, for which the
    chain was solved, and ``exact`` is P(reached) of the chain itself, where it was worked out.
    """

    actions: tuple[Actions, ...]
    start: int
    cost: float
    failure: float
    multiplier: float
    exact: Fraction | None = None

    def value(self, multiplier: float) -> float:
        """C + lam F [cost]."""
        return self.cost + multiplier * self.failure


def upper(process: Process, up: Expectations, multiplier: float, given: Table | None = None) -> Table:
    """The best policy of the chain that is rounded up, or what a given one is certified to do."""
    grid, after = up.grid, dict[int, FloatArray]()
    actions = [np.full(grid.cells, STOP, dtype=np.int16) for _ in process.nodes]
    for numbers in process.by_epoch():
        values = {number: _stopped(process, number, grid, multiplier, up=True) for number in numbers}
        rows = {
            number: np.stack([np.zeros(grid.cells), failed(process.nodes[number], grid)])
            for number in numbers
        }
        for (following, kernel), users in _trainings(process, numbers, given).items():
            keep_time()
            images = grid.images(kernel.shift, kernel.retention, up=True)
            beyond = [(float(after[following][0, 0]), 0.0), (float(after[following][1, 0]), 1.0)]
            moved = up.bounds(after[following], beyond, images, kernel.noise)
            for number, action, price in users:
                found = np.stack([(moved[0] + price) * _SUMMED, np.minimum(moved[1], 1.0)])
                own = found[0] + multiplier * found[1]
                better = own < values[number] if given is None else given.actions[number] == action
                rows[number] = np.where(better, found, rows[number])
                values[number] = np.where(better, own, values[number])
                actions[number][better] = action
        after = rows
    starts = (
        list(enumerate(process.starts)) if given is None else [(given.start, process.starts[given.start])]
    )
    ends = {number: _mean(start, after[start.node], grid) for number, start in starts}
    best = min(ends, key=lambda number: ends[number][0] + multiplier * ends[number][1])
    return Table(tuple(actions), best, *ends[best], multiplier)


def careful_table(process: Process, up: Expectations) -> Table:
    """A policy of least failure, up to a millionth."""
    return upper(process, up, _CAREFUL * max(process.greatest_cost(), 1e-9))


def lower(process: Process, down: Expectations, multiplier: float, *, free: bool = False) -> list[float]:
    """Lower bounds of C + lam F over all policies, one for each start.

    Where epochs are ``free``, with lam = 1, they are bounds of F alone.
    """
    found = lower_by_loss(process, down, multiplier, free=free)
    pairs = zip(process.starts, found, strict=True)
    return [math.fsum((start.weights * values).tolist()) / _SUMMED for start, values in pairs]


def lower_by_loss(
    process: Process, down: Expectations, multiplier: float, *, free: bool = False
) -> list[FloatArray]:
    """The same from each l(0), by start; shapes (losses,).

    Beside the values on the grid goes that of a run whose loss stays below all others: what it takes to come
    to where it may stop.
    """
    grid, after, below = down.grid, dict[int, FloatArray](), dict[int, float]()
    for numbers in process.by_epoch():
        values, lowest = dict[int, FloatArray](), dict[int, float]()
        for number in numbers:
            values[number] = _stopped(process, number, grid, multiplier, up=False)
            lowest[number] = 0.0 if process.nodes[number].may_stop else multiplier
        for (following, kernel), users in _trainings(process, numbers).items():
            keep_time()
            images = grid.images(kernel.shift, kernel.retention, up=False)
            beyond = [(below[following], float(after[following][-1]))]
            moved = down.bounds(after[following][None, :], beyond, images, kernel.noise)[0]
            for number, _, price in users:
                paid = 0.0 if free else price
                np.minimum(values[number], (moved + paid) / _SUMMED, out=values[number])
                lowest[number] = min(lowest[number], (below[following] + paid) / _SUMMED)
        after, below = values, lowest
    found = []
    for start in process.starts:
        row, indices = after[start.node], grid.below(start.losses)
        inside = row[np.clip(indices, 0, grid.cells - 1)]
        found.append(np.where(indices < 0, below[start.node], inside))
    return found


def failed(node: Node, grid: Grid, *, up: bool = True) -> FloatArray:
    """Whether stopping at a node is a failure, by index that is rounded up or down: 1 or 0."""
    found = np.ones(grid.cells)
    if node.may_stop:
        found[: grid.target + 1 if up else grid.least_missed] = 0.0
    return found


def met_at_start(process: Process, start: Start) -> float:
    """P0: the probability that the target is met before the first epoch."""
    if not process.nodes[start.node].may_stop:
        return 0.0
    return math.fsum(start.weights[met(start.losses, process.limit)].tolist())


def _stopped(process: Process, number: int, grid: Grid, multiplier: float, *, up: bool) -> FloatArray:
    """lam F of a run that stops; infinite where it may not, above the target before the first epoch."""
    node = process.nodes[number]
    forced = node.epoch == 0 and node.trainings and not process.abandon_at_start
    fails = failed(node, grid, up=up)
    return np.where(fails > 0, math.inf if forced else multiplier, 0.0)


def _trainings(
    process: Process, numbers: list[int], given: Table | None = None
) -> dict[tuple[int, Kernel], list[tuple[int, int, float]]]:
    """Of some nodes, or of what a given policy trains there: node, action and price.

    Expectations depend on the node that follows and on the kernel alone, and each is found once: of the
    paper's instances, where three models switch freely, a quarter of all trainings are different.
    """
    found: dict[tuple[int, Kernel], list[tuple[int, int, float]]] = defaultdict(list)
    for number in numbers:
        keep_time()
        for action, item in enumerate(process.nodes[number].trainings):
            if given is None or (given.actions[number] == action).any():
                found[item.following, item.kernel].append((number, action, item.price))
    return found


def _mean(start: Start, rows: FloatArray, grid: Grid) -> tuple[float, float]:
    indices = np.maximum(grid.indices(start.losses, up=True), 0)
    cost, failure = (math.fsum((start.weights * row[indices]).tolist()) * _SUMMED for row in rows)
    return cost, min(failure, 1.0)


# --- prices of a failure ------------------------------------------------------------------------------------


class Price(NamedTuple):
    """Of a failed run: rho, with the enclosure of rho*, if a success is paid for at all [cost]."""

    rho: float
    ratio: tuple[float, float] | None

    @property
    def decided(self) -> bool:
        """Whether rho is shown to be at least the least expected cost of a success."""
        return self.ratio is None or self.rho >= self.ratio[1]


def priced(
    process: Process,
    up: Expectations,
    down: Expectations,
    first: Table,
    given: float | None,
    close: float = CLOSE,
) -> Price:
    """The price of a failed run, from a policy that reaches the target."""
    high = least_ratio(process, up, first)
    rho = FAILURE_FACTOR * high if given is None else given
    if rho == 0:
        raise InvalidInputError(
            "a success costs nothing here, so no price of a failure follows from it; give a number",
            "failure_cost",
        )
    low = least_ratio_below(process, down, high, close)
    if rho < low:
        raise too_cheap(Price(rho, (low, high)))
    return Price(rho, (low, high))


def too_cheap(price: Price) -> InvalidInputError:
    """The refusal of a price of a failure that is not shown to be worth a success."""
    low, high = price.ratio or (math.nan, math.nan)
    sure = price.rho < low
    told = "is cheaper than" if sure else "may be cheaper than"
    then = ": not to train would be best" if sure else ", and not to train may then be best"
    return InvalidInputError(
        f"a failed run at {price.rho:.6g} {told} the least expected cost of a success, which is "
        f"{low:.6g} to {high:.6g}{then}; give at least {math.ceil(high * 1e4) / 1e4:.6g}",
        "failure_cost",
    )


def least_ratio(process: Process, up: Expectations, first: Table) -> float:
    """An upper end of rho* by Dinkelbach's iteration from a policy that reaches the target [cost]."""
    best = ratio_of(process, first)
    if math.isinf(best):
        raise NotCoveredError(
            "no policy is certified to reach the target with a probability above that of not training at "
            "all, so a success has no price; a finer grid or a higher target may help"
        )
    for _ in range(_MOST_STEPS):
        ratio = ratio_of(process, upper(process, up, best))
        if ratio >= best * (1 - _SETTLED):
            break
        best = ratio
    return best


def ratio_of(process: Process, table: Table) -> float:
    """C / (P - P0) of a policy, rounded up; infinite where P > P0 is not certified [cost]."""
    gained = 1 - table.failure - met_at_start(process, process.starts[table.start]) - 4 * UNIT_ROUNDOFF
    return table.cost / gained * (1 + 4 * UNIT_ROUNDOFF) if gained > 0 else math.inf


def least_ratio_below(process: Process, down: Expectations, ceiling: float, close: float = CLOSE) -> float:
    """A lower bound of rho*, from prices up to ``ceiling`` [cost].

    The excess is concave in lam and not negative at 0, so the zero of a chord between two prices, one on
    either side, is a price that is proved. The search ends between prices of relative width ``close``.
    """
    low, high = 0.0, ceiling
    below, above = _excess(process, down, low), _excess(process, down, high)
    if above >= 0:
        return high
    for step in range(_MOST_STEPS):
        if high - low <= close * high:
            break
        chord = low + (high - low) * below / (below - above)
        near = close > CLOSE and step == 0
        middle = high * (1 - close) if near else max(chord, (low + high) / 2)
        found = _excess(process, down, middle)
        if found >= 0:
            low, below = middle, found
        else:
            high, above = middle, found
    return low


def _excess(process: Process, down: Expectations, price: float) -> float:
    """How far a price is below rho* for sure, rounded down: where it is not negative, rho* >= price.

    It is V(price) - price (1 - P0), the least over the starts. Where a run may be given up before its first
    epoch this is 0 at best, as V <= price (1 - P0), and rounding would hide it; so V is then that of runs
    which train, and each l(0) is asked for by itself: if V >= price for all that do not meet the target, it
    is as well to give each of them up.
    """
    if not process.abandon_at_start:
        misses = ((1 - met_at_start(process, start)) * (1 + 8 * UNIT_ROUNDOFF) for start in process.starts)
        bounds = lower(process, down, price)
        return min(bound - price * missed for bound, missed in zip(bounds, misses, strict=True))
    found = []
    values = lower_by_loss(replace(process, abandon_at_start=False), down, price)
    for each, start in zip(values, process.starts, strict=True):
        reached = met(start.losses, process.limit) & process.nodes[start.node].may_stop
        found.append(float((each - price * ~reached).min()))
    return min(found)


class Walk(NamedTuple):
    """Neighbours on the hull: the policy with F <= p, and the price at which it is best, with the other one.

    There is no other one where the promise is slack, at the price that was begun with.
    """

    keeping: Table
    failing: Table | None
    price: float


def walk(solve: Callable[[float], Table], budget: float, least_price: float, careful: Table) -> Walk:
    """Walk along the lower hull of all (F, C) to the best policy with F <= p.

    ``solve`` finds the best policy at a price of a failure, ``budget`` is p, ``least_price`` rho, and
    ``careful`` has F <= p. Between a policy that keeps the promise and one that does not, the price at which
    both cost the same is solved for next.
    """
    keeping, failing = careful, solve(least_price)
    if failing.failure <= budget:
        return Walk(failing, None, least_price)
    for step in range(_MOST_STEPS):
        price = max(least_price, (keeping.cost - failing.cost) / (failing.failure - keeping.failure))
        found, held = solve(price), keeping.value(least_price)
        settled = held - (found.value(price) - (price - least_price) * budget) <= CLOSE * abs(held)
        ends = min(keeping.value(price), failing.value(price)) * (1 - _ALIKE)
        if settled or found.value(price) >= ends or step == _MOST_STEPS - 1:
            break
        if found.failure <= budget:
            keeping = found
        else:
            failing = found
    return Walk(keeping, failing, price)


# --- fixed plans that are left as soon as the target is reached -------------------------------------------


class StaticPlan(NamedTuple):
    """A schedule with at most one switch: a start, the trainings of its nodes, and about its C and F."""

    start: int
    path: tuple[int, ...]
    cost: float
    failure: float

    def value(self, multiplier: float) -> float:
        """C + lam F [cost]."""
        return self.cost + multiplier * self.failure


class _Under(NamedTuple):
    """Runs under way that have not met the target: their probabilities by index, and off the grid."""

    node: int
    path: tuple[int, ...]
    alive: FloatArray
    lost: float
    cost: float
    switched: bool


def static_plans(process: Process, up: Expectations) -> Iterator[StaticPlan]:
    """All schedules with at most one switch that end where a run may stop.

    A plan that trains K epochs is a beginning of one that trains more, so one distribution is carried along
    each pair of models: of the runs that have not met the target yet. This is a search by plain sums; what it
    finds is certified by `upper`.
    """
    for number, start in enumerate(process.starts):
        indices = np.maximum(up.grid.indices(start.losses, up=True), 0)
        alive = np.bincount(indices, start.weights, minlength=up.grid.cells).astype(np.float64)
        alive = np.where(failed(process.nodes[start.node], up.grid) > 0, alive, 0.0)
        under = [_Under(start.node, (), alive, 0.0, 0.0, switched=False)]
        while under:
            keep_time()
            run = under.pop()
            node = process.nodes[run.node]
            if run.path and node.may_stop:
                yield StaticPlan(number, run.path, run.cost, float(run.alive.sum()) + run.lost)
            for action, training in reversed([*enumerate(node.trainings)]):
                switches = bool(run.path) and (training.model, training.cluster) != node.site
                if not (switches and run.switched):
                    under.append(_trained(process, up, run, action, switches or run.switched))


def best_static(process: Process, up: Expectations, rho: float, budget: float) -> StaticPlan | None:
    """The fixed plan of least cost and price of failures that keeps the promise; None if none does."""
    keeping = (plan for plan in static_plans(process, up) if plan.failure <= budget * (1 - _SPARE))
    return min(keeping, key=lambda plan: plan.value(rho), default=None)


def table_of(process: Process, grid: Grid, plan: StaticPlan, multiplier: float) -> Table:
    """The policy that follows a plan and stops where the target is met."""
    actions = [np.full(grid.cells, STOP, dtype=np.int16) for _ in process.nodes]
    number = process.starts[plan.start].node
    for action in plan.path:
        node = process.nodes[number]
        actions[number][failed(node, grid) > 0] = action
        number = node.trainings[action].following
    return Table(tuple(actions), plan.start, plan.cost, plan.failure, multiplier)


def _trained(process: Process, up: Expectations, run: _Under, action: int, switched: bool) -> _Under:
    """After one more epoch of those that have not met the target; what leaves the grid at its top is lost."""
    training, grid = process.nodes[run.node].trainings[action], up.grid
    kernel, paid = training.kernel, float(run.alive.sum())
    images = grid.images(kernel.shift, kernel.retention, up=True)
    least = int(images[0])
    total = up.convolved(np.bincount(images - least, run.alive).astype(np.float64), kernel.noise)
    places = np.arange(total.size) + least + up.cells(kernel.noise).first
    inside = places < grid.cells
    after = np.bincount(np.maximum(places[inside], 0), total[inside], minlength=grid.cells)
    lost = run.lost + max(0.0, paid - float(after.sum()))
    alive = np.where(failed(process.nodes[training.following], grid) > 0, after, 0.0)
    path, cost = (*run.path, action), run.cost + paid * training.price
    return _Under(training.following, path, alive, lost, cost, switched)

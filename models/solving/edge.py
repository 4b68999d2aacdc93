"""The edge of what can be had: how far one limit can be moved while all others stay.

What is *reached* has a plan that `depl.models.solving.solve.solve` has certified and verified there; what
*failed* is a little tighter, and it is said whether that is proved. Solves end with their first plan or after
a counted number of looks at the clock, so that the answer is that of the instance and not of the machine.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from enum import Enum

import msgspec

from depl.models.evaluation.evaluate import epoch_loads
from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.allocation import allocate
from depl.models.problem.instance import Instance
from depl.models.problem.plan import Plan
from depl.models.solving.interrupts import uninterrupted
from depl.models.solving.result import Result, Termination
from depl.models.solving.solve import solve


class Budget(Enum):
    """A limit that can be moved alone; a front varies one of the first three (`FRONTS_AGAINST`).

    Feasible sets are *nested*: a plan of a tighter value is a plan of every looser one, and a lower bound of
    a looser value holds at every tighter one (`docs/fronts`). One exception: under a traced law a plan is
    refused whose omega-quantile lies below every loss that any run ever had
    (`depl.models.evaluation.traced_loss.below_all_seen`), and that quantile falls with omega. So a plan may
    be refused at a lower omega and accepted at a higher one, and nothing is concluded from one omega about
    another.
    """

    LOSS = "loss"
    """l_max, the bound on the quantile of the final loss."""
    TIME = "time"
    """T_max."""
    PROBABILITY = "probability"
    """omega, the probability with which l_max is kept."""
    ROUND = "round"
    """tau, the deadline of a round."""
    EPOCHS = "epochs"
    """K_max."""

    @property
    def symbol(self) -> str:
        """As the paper writes it."""
        return _NAMES[self][0]

    @property
    def field(self) -> str:
        """The field of `depl.models.problem.instance.Target` that varies."""
        return _NAMES[self][1]

    def own(self, instance: Instance) -> float | None:
        """What the instance asks for; None if it has no such limit."""
        value: float | None = getattr(instance.target, self.field)
        return value

    def nested(self, instance: Instance) -> bool:
        """Whether feasible sets are nested."""
        return not (self is Budget.PROBABILITY and instance.has_memory)

    def instance(self, instance: Instance, budget: float) -> Instance:
        """The instance with this budget.

        Raises
        ------
        InvalidInputError
            If it cannot have it.
        """
        return instance.replace(**{self.field: int(budget) if self is Budget.EPOCHS else budget})

    def strictness(self, budget: float) -> float:
        """How much a budget asks for: the tighter, the greater.

        -l_max, -K_max, -ln of a time, or -log10(1 - omega), the number of nines; equal steps of it are
        budgets that are spread well, as costs move most where T_max or 1 - omega are small.
        """
        if self in (Budget.TIME, Budget.ROUND):
            return -math.log(budget) if budget > 0 else math.inf
        if self is Budget.PROBABILITY:
            return -math.log10(1 - budget) if budget < 1 else math.inf
        return -budget

    def exactly(self, strictness: float) -> float:
        """The budget that asks for so much, without a rounding that may be to the tight side."""
        if self in (Budget.TIME, Budget.ROUND):
            return math.exp(-strictness)
        return 1 - 10**-strictness if self is Budget.PROBABILITY else -strictness

    def budget(self, strictness: float) -> float:
        """The same as it is read and written by people: a number of six digits, or whole epochs."""
        value = self.exactly(strictness)
        if self is Budget.EPOCHS:
            return math.floor(value)
        return round(value, 6) if self is Budget.PROBABILITY else float(f"{value:.6g}")

    def kept(self, instance: Instance, result: Result) -> float:
        """The strictness that the plan of a result keeps, as far as its numbers tell."""
        if result.plan is None:
            return -math.inf
        if self is Budget.PROBABILITY:
            return self.strictness(1 - float(result.violation.highest)) if result.violation else -math.inf
        if self is Budget.LOSS:
            asked = instance.target.maximum_loss
            return self.strictness(asked if result.quantile is None else min(result.quantile.upper, asked))
        if self is Budget.EPOCHS:
            return -len(result.plan.epochs)
        fastest = allocate(epoch_loads(instance, result.plan), None, _NO_DEADLINE)
        return self.strictness(fastest.fastest_time if self is Budget.TIME else fastest.fastest_epoch)


_NAMES = {
    Budget.LOSS: ("l_max", "maximum_loss"),
    Budget.TIME: ("T_max", "maximum_time"),
    Budget.PROBABILITY: ("omega", "quantile_level"),
    Budget.ROUND: ("tau", "round_deadline"),
    Budget.EPOCHS: ("K_max", "maximum_epochs"),
}

_NO_DEADLINE = 1e300
"""A round deadline that binds nobody: the times with full resources are all that is asked for [time]."""


def with_cheapest_resources(instance: Instance, plan: Plan) -> Plan | None:
    """The epochs of a plan with the cheapest resources that keep the time limits; None if none do."""
    target = instance.target
    found = allocate(epoch_loads(instance, plan), target.maximum_time, target.round_deadline)
    if not found.feasible:
        return None
    epochs = tuple(
        msgspec.structs.replace(epoch, resources=resources)
        for epoch, resources in zip(plan.epochs, found.resources.tolist(), strict=True)
    )
    return msgspec.structs.replace(plan, epochs=epochs)


ANY_GAP, ANY_LOOKS = 0.99, 50_000
"""Gap, and looks at the clock after which none is sought any more, of a solve for any plan. Set by hand: one
that costs a hundred times the bound is good enough. On shipped instances 20,000 looks decide whether there is
a plan, in at most 4 CPU seconds."""

MARKS = (0.9, 0.95, 0.99)
"""Values of omega that people ask for first; a front against it shows them, whatever its other budgets."""

_SHARE = 0.01
"""Step of a limit that is moved alone: of l(0) - l_max, of a time, or of the number of nines of omega."""

_FARTHEST, _LEAST_OMEGA, _MOST_OMEGA, _MOST_EPOCHS = 1000.0, 0.01, 0.999, 8
"""The loosest and tightest values that are tried, besides l(0): a time limit times or by a thousand and eight
times K_max, which no user would call the same problem; omegas of which the first promises next to nothing."""

_ONE, _NEAR = 1.000001, 1.5
"""Steps between what is reached and what failed, and of a range, at which both are near enough."""

_MOST_SOLVES = 28
"""Of one limit: half of them reach 2**14 steps out, and the rest halve what that leaves to one."""

_LOSS_STEP, _NINES_STEP, _TIME_STEP = 0.02, 0.05, 0.05
"""Steps of the range of a front of 20 points, where these are: a share of the range of losses (points 0.05 of
it apart), nines of omega (0.9 and 0.911 are so far apart), and a share of the fastest time (points 7 %)."""

_RANGE_SOLVES = 12
"""For the tight end of a range: set by hand. Half of them reach 64 steps out."""

_OMEGAS = 0.5, 0.999
"""Range of omega at most, unless another is given or the instance asks for more or less: from a plan that
fails every second time to one that fails once in a thousand times. Beyond, a promise rests on tails of the
laws that hardly anybody has measured."""

_TIMES_FASTEST = 4.0
"""The loosest T_max over the time of the fastest plan, where no time is cheapest. Without a limit of time the
cost of computing falls like 1 / T_max for ever; four times the fastest shows three quarters of that."""

Probe = Callable[[Instance], Result]
"""Looks for any plan of an instance, cheap or not."""


class Edge:
    """One limit, and where plans end if it alone is moved.

    Attributes
    ----------
    limit : Budget
    own, loosest : float
        What the instance asks for, and the loosest value that is tried.
    kept, missed : float
        Strictness of ``reached`` and of ``failed``; infinite where these are None.
    proved : bool
        Whether it is proved that there is no plan at ``failed``, and without ``reached`` at ``loosest``.
    """

    def __init__(self, instance: Instance, limit: Budget, probe: Probe, own: float, loosest: float) -> None:
        self._instance, self._probe = instance, probe
        self.limit, self.own, self.loosest = limit, own, loosest
        self.kept, self.missed, self.proved = -math.inf, math.inf, False

    @property
    def reached(self) -> float | None:
        """The tightest value that a plan was found for; None if there was none, however loose."""
        return None if math.isinf(self.kept) else self.limit.exactly(self.kept)

    @property
    def failed(self) -> float | None:
        """A value that no plan was found for, a little tighter; None if all that were tried are reached."""
        return None if math.isinf(self.missed) else self.limit.budget(self.missed)

    @property
    def end(self) -> float:
        """A value that no plan was found for, or the tightest that one was found for where all are kept."""
        return self.limit.budget(self.kept if self.failed is None else self.missed)

    def ask(self, value: float, found: Result | None = None) -> bool:
        """Whether a plan is found for a value; ``found`` is the answer where it is known."""
        instance, asked = self.limit.instance(self._instance, value), self.limit.strictness(value)
        result = self._probe(instance) if found is None else found
        if result.plan is None:
            self.missed, self.proved = asked, result.termination is Termination.INFEASIBLE
            return False
        kept = max(asked, self.limit.kept(instance, result))
        self.kept = max(self.kept, kept if kept < self.missed else asked)
        return True

    def begin(self, found: Result | None = None) -> bool:
        """Whether a plan is found for what the instance asks for, or else for the loosest value."""
        looser = self.limit.strictness(self.loosest) < self.limit.strictness(self.own)
        return self.ask(self.own, found) or (looser and self.ask(self.loosest))

    def walk(self, step: float, close: float, tightest: float, solves: int) -> None:
        """Steps from what is reached: doubled until one fails, and then halved until so few are left."""
        end, width = self.limit.strictness(tightest), step
        for _ in range(solves):
            ahead = min(self.kept + width, end) if math.isinf(self.missed) else (self.kept + self.missed) / 2
            value = self.limit.budget(ahead)
            inside = self.kept < self.limit.strictness(value) < self.missed
            if not inside or self.missed - self.kept <= close * step:
                return
            self.ask(value)
            width *= 2


def any_plan(instance: Instance) -> Result:
    """A solve that ends with its first plan, or with a proof that there is none.

    Raises
    ------
    NotCoveredError
        If the default method does not cover the instance, or it declares no laws.
    """
    return uninterrupted(solve(instance, gap=ANY_GAP, looks=ANY_LOOKS))


def nearest_values(instance: Instance, found: Result) -> Iterator[Edge]:
    """The edge of every limit that an instance has, one by one.

    Parameters
    ----------
    found : Result
        What `any_plan` says of it.
    """
    target = instance.target
    fall = abs(target.initial_loss - target.maximum_loss) or abs(target.maximum_loss) or 1.0
    for limit in (Budget.LOSS, Budget.PROBABILITY, Budget.TIME, Budget.ROUND, Budget.EPOCHS):
        if (own := limit.own(instance)) is None or (limit is Budget.EPOCHS and not own):
            continue
        loosest, tightest, step = own * _FARTHEST, own / _FARTHEST, _SHARE
        if limit is Budget.LOSS:
            loosest, tightest, step = max(target.initial_loss, own), -math.inf, _SHARE * fall
        elif limit is Budget.PROBABILITY:
            loosest, tightest = _LEAST_OMEGA, _MOST_OMEGA
        elif limit is Budget.EPOCHS:
            loosest, tightest, step = own * _MOST_EPOCHS, 0, 1.0
        edge = Edge(instance, limit, any_plan, own, loosest)
        try:
            if edge.begin(found):
                edge.walk(step, _ONE, tightest, _MOST_SOLVES)
        except InvalidInputError:  # tables of so many epochs, say, hold for no other number
            continue
        yield edge


def default_range(instance: Instance, against: Budget, probe: Probe, cheapest: Probe) -> tuple[float, float]:
    """The loosest and the tightest budget of a front.

    The tightest is one that no plan was found to keep, a little beyond the hardest that one keeps. The
    loosest is l(0), which needs no training where it is known; or the time of the cheapest plan without
    T_max, and where there is none `_TIMES_FASTEST` times that of the fastest. omega
    goes from 0.5 to 0.999 at most, or to what the instance asks for; where feasible sets are not nested, no
    end is sought, as a plan that is refused there says nothing of what is tighter.
    """
    if against is Budget.PROBABILITY:
        return _range_of_omegas(instance, probe)
    return (
        _range_of_losses(instance, probe)
        if against is Budget.LOSS
        else _range_of_times(instance, probe, cheapest)
    )


def _range_of_omegas(instance: Instance, probe: Probe) -> tuple[float, float]:
    own = instance.target.quantile_level
    loosest, tightest = min(_OMEGAS[0], own), max(_OMEGAS[1], own)
    edge = Edge(instance, Budget.PROBABILITY, probe, own, loosest)
    if not edge.limit.nested(instance) or edge.ask(tightest):
        return loosest, tightest
    if not edge.begin():
        return loosest, own
    edge.walk(_NINES_STEP, _NEAR, tightest, _RANGE_SOLVES)
    return loosest, edge.end


def _range_of_losses(instance: Instance, probe: Probe) -> tuple[float, float]:
    own = instance.target.maximum_loss
    edge = Edge(instance, Budget.LOSS, probe, own, max(instance.target.initial_loss, own))
    if not edge.begin():
        return edge.loosest, own
    fall = edge.loosest + edge.kept  # a strictness is a loss with its sign changed
    edge.walk(_LOSS_STEP * (fall or abs(edge.loosest) or 1.0), _NEAR, -math.inf, _RANGE_SOLVES)
    return edge.loosest, edge.end


def _range_of_times(instance: Instance, probe: Probe, cheapest: Probe) -> tuple[float, float]:
    own, best = instance.target.maximum_time, None
    try:
        best = cheapest(instance.replace(maximum_time=None)).training_time
    except InvalidInputError:  # then ever slower plans cost ever less
        if own is None:
            raise
    if not (start := own or best):
        raise InvalidInputError(
            "no plan without a limit of time was found, so no range of T_max is known; give the range",
            "between",
        )
    edge = Edge(instance, Budget.TIME, probe, start, _FARTHEST * start)
    if not edge.begin():
        return edge.loosest, edge.loosest
    fastest = edge.limit.budget(edge.kept)
    edge.walk(_TIME_STEP, _NEAR, start / _FARTHEST, _RANGE_SOLVES)
    return max(best or max(start, _TIMES_FASTEST * fastest), fastest), edge.end


def required_range(instance: Instance, against: Budget, between: tuple[float, float]) -> tuple[float, float]:
    """A range of budgets, the loosest first.

    Raises
    ------
    InvalidInputError
        If a number is not finite, the second is below the first, or the instance cannot have one of them.
    """
    low, high = map(float, between)
    if not (math.isfinite(low) and math.isfinite(high)):
        raise InvalidInputError("both ends must be finite numbers", "between")
    if not low <= high:
        raise InvalidInputError(f"the first, {low:g}, must not exceed the second, {high:g}", "between")
    for budget in between:
        try:
            against.instance(instance, budget)
        except InvalidInputError as error:
            raise InvalidInputError(
                f"{budget:g} cannot be {against.field}: {error.message}", "between"
            ) from error
    return (low, high) if against is Budget.PROBABILITY else (high, low)


def spread(
    against: Budget, between: tuple[float, float], count: int, also: Sequence[float] = ()
) -> list[float]:
    """So many budgets from the loosest to the tightest, at equal steps of strictness, and marks between them.

    Those in ``also`` come besides, wherever they are.

    Raises
    ------
    InvalidInputError
        If the number is below 1.
    """
    if type(count) is not int or count < 1:
        raise InvalidInputError(f"must be a whole number from 1 on, not {count!r:.80}", "points")
    loosest, tightest = between
    first, last = against.strictness(loosest), against.strictness(tightest)
    inner = [against.budget(first + (last - first) * i / (count - 1)) for i in range(1, count - 1)]
    marks = [mark for mark in MARKS if against is Budget.PROBABILITY and loosest <= mark <= tightest]
    ends = [loosest] if count == 1 else [loosest, tightest]
    return sorted({*ends, *inner, *marks, *also}, key=against.strictness)


def halving_order(budgets: Sequence[float]) -> list[float]:
    """The first, the last, the middle, the middles of the halves, and so on.

    Examples
    --------
    >>> halving_order([1, 2, 3, 4, 5])
    [1, 5, 3, 2, 4]
    """
    found = dict.fromkeys([*budgets[:1], *budgets[-1:]])
    parts = [(0, len(budgets) - 1)]
    while parts:
        parts = [half for a, b in parts if b - a > 1 for half in ((a, (a + b) // 2), ((a + b) // 2, b))]
        found.update(dict.fromkeys(budgets[b] for _, b in parts))
    return list(found)

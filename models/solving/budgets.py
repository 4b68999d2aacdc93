"""What a front varies: l_max, T_max or omega, which of two values asks for more, and what a plan keeps.

Feasible sets are *nested*. A plan with P(l(K) > l) <= 1 - omega keeps every greater l, as the probability
falls in l, and every lower omega; a plan that takes the time T keeps every greater T_max; and no other
constraint speaks of these three. So a plan of a tighter budget is a plan of every looser one, and a lower
bound of a looser budget holds at every tighter one.

One exception: under a traced law a plan is refused whose omega-quantile lies below every loss that any run
ever had (`depl.models.evaluation.traced_loss.below_all_seen`), and that quantile falls with omega. Such a
plan may be refused at a lower omega and accepted at a higher one, so against omega the feasible sets of a
traced law are not nested, and nothing is concluded from one budget about another. Against l_max and T_max
they are: omega, and with it what is refused, stays the same.
"""

import math
from enum import Enum

import msgspec

from depl.models.evaluation.evaluate import epoch_loads, evaluate
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.names import advice
from depl.models.problem.allocation import allocate
from depl.models.problem.instance import Instance
from depl.models.problem.plan import Plan
from depl.models.solving.known_plan import bare
from depl.models.solving.result import Result
from depl.models.verifier.verify import verify

_SLACK = 1e-6
"""Of a strictness by which a plan may seem to miss it and is still looked at: far above rounding of a
quantile or a sum of times. What is looked at is evaluated and verified."""


class Budget(Enum):
    """The budget that a front varies."""

    LOSS = "loss"
    """l_max, the bound on the quantile of the final loss."""
    TIME = "time"
    """T_max."""
    PROBABILITY = "probability"
    """omega, the probability with which l_max is kept."""

    @property
    def field(self) -> str:
        """The field of `depl.models.problem.instance.Target` that varies."""
        return {"loss": "maximum_loss", "time": "maximum_time"}.get(self.value, "quantile_level")

    def nested(self, instance: Instance) -> bool:
        """Whether feasible sets are nested; see the module's docstring."""
        return not (self is Budget.PROBABILITY and instance.has_memory)

    def instance(self, instance: Instance, budget: float) -> Instance:
        """The instance with this budget.

        Raises
        ------
        InvalidInputError
            If it cannot have it.
        """
        return instance.replace(**{self.field: budget})

    def strictness(self, budget: float) -> float:
        """How much a budget asks for: the tighter, the greater.

        -l_max, -ln T_max, or -log10(1 - omega), the number of nines; equal steps of it are budgets that are
        spread well, as costs move most where T_max or 1 - omega are small.
        """
        if self is Budget.LOSS:
            return -budget
        if self is Budget.TIME:
            return -math.log(budget)
        return -math.log10(1 - budget) if budget < 1 else math.inf

    def budget(self, strictness: float) -> float:
        """The budget that asks for so much, to six digits, as it is read and written by people."""
        if self is Budget.LOSS:
            return float(f"{-strictness:.6g}")
        if self is Budget.TIME:
            return float(f"{math.exp(-strictness):.6g}")
        return round(1 - 10**-strictness, 6)

    def kept(self, instance: Instance, result: Result) -> float:
        """The strictness that the plan of a result keeps, as far as its numbers tell; `accepted` decides."""
        if result.plan is None:
            return -math.inf
        if self is Budget.LOSS:
            reached = instance.target.maximum_loss if result.quantile is None else result.quantile.upper
            return self.strictness(min(reached, instance.target.maximum_loss))
        if self is Budget.TIME:
            fastest = allocate(epoch_loads(instance, result.plan), None, _NO_DEADLINE).fastest_time
            return self.strictness(fastest) if fastest > 0 else math.inf
        return self.strictness(1 - float(result.violation.highest)) if result.violation else -math.inf


_NO_DEADLINE = 1e300
"""A round deadline that binds nobody: the time with full resources is all that is asked for [time]."""


def against_named(name: "str | Budget") -> Budget:
    """The budget of that name.

    Raises
    ------
    InvalidInputError
        If there is none.
    """
    known = [item.value for item in Budget]
    value = name.value if isinstance(name, Budget) else name
    if value not in known:
        raise InvalidInputError(f"there is no {value!r:.80}; {advice(str(value), known)}", "against")
    return Budget(value)


def with_cheapest_resources(instance: Instance, plan: Plan) -> Plan | None:
    """The epochs of a plan with the cheapest resources that keep the time limits; None if none do."""
    target = instance.target
    allocation = allocate(epoch_loads(instance, plan), target.maximum_time, target.round_deadline)
    if not allocation.feasible:
        return None
    epochs = tuple(
        msgspec.structs.replace(epoch, resources=float(x))
        for epoch, x in zip(plan.epochs, allocation.resources, strict=True)
    )
    return msgspec.structs.replace(bare(plan), epochs=epochs)


def accepted(instance: Instance, plan: Plan) -> bool:
    """Whether a plan is certified feasible, and under a traced law accepted by the verifier, too.

    That law refuses promises below every loss that was seen, which is no matter of the equations.
    """
    if not evaluate(instance, plan, quantile=False).feasible:
        return False
    return not instance.has_memory or verify(instance, plan, most_plans=0).ok


def seems_kept(kept: float, strictness: float) -> bool:
    """Whether a plan that keeps one strictness may keep another."""
    return kept >= strictness - _SLACK * max(1.0, abs(strictness))

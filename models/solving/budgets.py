"""The limits of an instance that can be moved alone, and which of two values asks for more.

Feasible sets are *nested*: a plan of a tighter value is a plan of every looser one, and a lower bound of a
looser value holds at every tighter one (`docs/fronts`). One exception: under a traced law a plan is refused
whose omega-quantile lies below every loss that any run ever had
(`depl.models.evaluation.traced_loss.below_all_seen`), and that quantile falls with omega. So a plan may be
refused at a lower omega and accepted at a higher one, and nothing is concluded from one omega about another.
"""

import math
from enum import Enum

import msgspec

from depl.models.evaluation.evaluate import epoch_loads
from depl.models.problem.allocation import allocate
from depl.models.problem.instance import Instance
from depl.models.problem.plan import Plan
from depl.models.solving.result import Result


class Budget(Enum):
    """A limit of an instance; a front varies one of the first three (`FRONTS_AGAINST`)."""

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
        """Whether feasible sets are nested; see the module's docstring."""
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

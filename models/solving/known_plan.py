"""A feasible plan that a caller holds before a solve, and what it makes of the method's outcome."""

from dataclasses import dataclass, replace

import msgspec

from depl.models.evaluation.evaluate import evaluate, plan_cost
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.tolerances import PROOF_TOLERANCE, counts_as_proved
from depl.models.problem.instance import Instance
from depl.models.problem.plan import Plan
from depl.models.solving.methods import Meaning, Outcome, Registered
from depl.models.solving.result import Termination


@dataclass(frozen=True)
class KnownPlan:
    """A plan that meets the target, and its cost."""

    plan: Plan
    cost: float

    def contradicts(self, outcome: Outcome) -> bool:
        """Whether the method claims a proof that there is no such plan."""
        above = outcome.lower_bound > self.cost + PROOF_TOLERANCE * abs(self.cost)
        return above or outcome.termination is Termination.INFEASIBLE

    def unless_better(self, instance: Instance, outcome: Outcome, gap: float) -> Outcome:
        """The outcome with this plan, unless that of the method costs less, and with what is proved of it.

        A method whose cutoff this plan was (`depl.models.solving.methods.Limits.cutoff`) may return no plan,
        and a lower bound that proves this one.
        """
        if outcome.plan is not None and plan_cost(instance, outcome.plan) <= self.cost:
            return outcome
        return replace(
            outcome,
            termination=proved_as(self.cost, outcome.lower_bound, gap) or stopped_as(outcome.termination),
            plan=self.plan,
            reason=None,
        )


def proved_as(cost: float, lower_bound: float, gap: float) -> Termination | None:
    """What a lower bound proves of a plan: that it is cheapest, or within the gap; None if neither."""
    if counts_as_proved(cost, lower_bound):
        return Termination.OPTIMAL
    within = gap > 0 and counts_as_proved(cost, lower_bound, gap)
    return Termination.GAP_REACHED if within else None


def stopped_as(termination: Termination) -> Termination:
    """Why a solve stopped whose proof, if it had one, was about another plan."""
    proofs = (Termination.OPTIMAL, Termination.GAP_REACHED, Termination.INFEASIBLE)
    return Termination.EXHAUSTED if termination in proofs else termination


def bare(plan: Plan) -> Plan:
    """The decisions of a plan alone: not for which instance it was made, nor what was claimed of it."""
    return msgspec.structs.replace(plan, instance=None, claims=None)


def known_plan(instance: Instance, method: Registered, plan: Plan) -> KnownPlan:
    """A plan that a caller gives, once it is found feasible.

    Raises
    ------
    InvalidInputError
        If it is not, or the method counts scenarios.
    """
    if method.meaning is Meaning.SCENARIOS:
        raise InvalidInputError(
            f"method {method.name!r} counts scenarios and starts from no plan; leave it out", "start"
        )
    evaluation = evaluate(instance, plan, quantile=False)
    unmet = next((item for item in evaluation.constraints if not item.satisfied), None)
    if unmet is not None:
        raise InvalidInputError(
            f"is not feasible: {unmet.equation} {unmet.name} is up to {unmet.value:.12g}, its limit "
            f"{unmet.limit:.12g}; give a plan that 'depl check' accepts",
            "start",
        )
    return KnownPlan(bare(plan), evaluation.cost)

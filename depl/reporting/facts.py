"""All that the page on a plan tells, gathered: the plan's own facts, and what solves for the page found."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from depl.models.estimation.certificate import Certificate
from depl.models.evaluation.evaluate import Evaluation, evaluate
from depl.models.evaluation.loss_law import loss_law
from depl.models.foundation.deadline import OutOfTimeError, deadline
from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.instance import Instance
from depl.models.problem.plan import Plan
from depl.models.solving.early_stopping import EarlyStopping, early_stopping
from depl.models.solving.edge import Budget
from depl.models.solving.limits import Limits
from depl.models.solving.methods import default_method, find
from depl.models.solving.result import Result, Termination
from depl.models.verifier.verify import Report, verify
from depl.showing.limits import declared, failing
from depl.showing.parts import Fact, fact

LEVELS = (0.9, 0.95, 0.99)
"""Probabilities that are priced, besides the one that the instance asks for."""

PEERS = ("depl", "density-greedy")
"""Other methods that are asked for a plan: the loop, which also bounds the cost, and a greedy rule. Neither
searches for a proof of optimality, so they end early where the default method does not."""

Solver = Callable[[Instance, str], Result]
"""Solves an instance by the method of a name, within some limit."""


class Offer(NamedTuple):
    """One solve: what was asked for, and the result, or why there is none."""

    level: float
    method: str
    result: Result | None
    reason: str = ""


@dataclass(frozen=True)
class PlanFacts:
    """What is known of a plan.

    ``rests_on`` says what the probabilities rest on, where the law was fitted to runs, and ``stopping`` may
    say why it is not known. ``offers`` are solves by the default method, by rising probability, and by others
    for the instance itself, None if none were asked for; ``interrupted`` if the user stopped one. ``fresh``
    is what runs proved that had no part in the plan.
    """

    instance: Instance
    plan: Plan
    evaluation: Evaluation
    verified: Report
    rests_on: str | None
    stopping: EarlyStopping | str
    offers: tuple[Offer, ...] | None = None
    interrupted: bool = False
    fresh: Certificate | None = None

    @property
    def has_law(self) -> bool:
        """Whether a law of the plan's final loss is known."""
        return declared(self.evaluation)

    @property
    def broken(self) -> int:
        """How many limits fail, the probability apart, which is a promise and no limit."""
        return sum(item.equation != "(3)" for item in failing(self.evaluation))

    @property
    def met(self) -> bool:
        """Whether the plan is certified to meet the target under the law, if one is known."""
        budget = self.instance.target.violation_budget
        return not self.has_law or self.evaluation.violation.at_most(budget)

    @property
    def rivals(self) -> list[Offer]:
        """The solves for the very target of the instance."""
        level = self.instance.target.quantile_level
        return [offer for offer in self.offers or () if offer.level == level]

    @property
    def looser(self) -> list[Offer]:
        """Those at lower probabilities: every plan that keeps the own one keeps these, too."""
        level, nested = self.instance.target.quantile_level, Budget.PROBABILITY.nested(self.instance)
        return [offer for offer in self.offers or () if nested and offer.level < level]

    def said(self, name: str, value: float | None) -> Fact:
        """A fact in the units of the instance."""
        return fact(name, value, self.instance.units)


def facts_of(
    instance: Instance, plan: Plan, solver: Solver | None, seconds: float | None = None
) -> PlanFacts:
    """Evaluate, verify, and solve for prices and other plans if there is a solver, early stopping in time."""
    evaluation = evaluate(instance, plan, lenient=True)
    known = declared(evaluation)
    stopping: EarlyStopping | str = "no law of the final loss is known for this plan"
    if known:
        try:
            with deadline(Limits(time_limit=seconds).lateness):
                stopping = early_stopping(instance, plan, evaluation.violation)
        except InvalidInputError as error:
            stopping = error.message
        except OutOfTimeError:
            stopping = f"it takes longer than the limit of {seconds:g} seconds"
    verified, basis = verify(instance, plan), loss_law(instance).basis(plan) if known else None
    found = PlanFacts(instance, plan, evaluation, verified, basis, stopping)
    return found if solver is None else replace(found, **_asked(instance, solver))


def _asked(instance: Instance, solver: Solver) -> dict[str, Any]:
    """The offers, and whether the user stopped a solve: then no further one is begun."""
    if not instance.declares_laws:
        return {"offers": ()}
    own, usual, offers = instance.target.quantile_level, default_method(instance), list[Offer]()
    asked = [(level, usual) for level in sorted({*LEVELS, own})]
    asked += [(own, name) for name in PEERS if find(name).memory or not instance.has_memory]
    interrupted = False
    for level, method in asked:
        if interrupted:
            offers.append(Offer(level, method, None, "not solved: interrupted before"))
            continue
        try:
            result = solver(instance if level == own else instance.replace(quantile_level=level), method)
        except InvalidInputError as error:  # what a method does not cover is no end of the page
            offers.append(Offer(level, method, None, f"refused: {error}"))
        else:
            interrupted = result.termination is Termination.INTERRUPTED
            offers.append(Offer(level, method, result))
    return {"offers": tuple(offers), "interrupted": interrupted}

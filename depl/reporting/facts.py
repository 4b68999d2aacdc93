"""All that the page on a plan tells, gathered: the plan's own facts, and what solves for the page found."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

from depl.models.evaluation.evaluate import Evaluation, evaluate
from depl.models.evaluation.loss_law import loss_law
from depl.models.foundation.deadline import OutOfTimeError, deadline
from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.instance import Instance
from depl.models.problem.plan import Plan
from depl.models.solving.budgets import Budget
from depl.models.solving.early_stopping import EarlyStopping, early_stopping
from depl.models.solving.explain_limits import declared, failing
from depl.models.solving.methods import Limits, default_method, find
from depl.models.solving.result import Result, Termination
from depl.models.verifier.verify import Report, verify
from depl.showing import facts
from depl.showing.parts import Fact, fact

LEVELS = (0.9, 0.95, 0.99)
"""Probabilities that are priced, besides the one that the instance asks for."""

PEERS = ("depl", "density-greedy")
"""Other methods that are asked for a plan: the loop, which also bounds the cost, and a greedy rule. Neither
searches for a proof of optimality, so they end early where the default method does not."""

Solver = Callable[[Instance, str], Result]
"""Solves an instance by the method of a name, within some limit."""


@dataclass(frozen=True)
class Offer:
    """One solve: what was asked for, and the result, or why there is none."""

    level: float
    method: str
    result: Result | None
    reason: str = ""


@dataclass(frozen=True)
class PlanFacts:
    """What is known of a plan.

    Attributes
    ----------
    verified : Report
        The independent verifier's word; its ``ok`` is the verdict of the page.
    rests_on : str or None
        What the probabilities rest on, where the law was fitted to runs.
    stopping : EarlyStopping or str
        Or why it is not known.
    prices : tuple of Offer or None
        Solves by the default method, by rising probability; one of them asks for what the instance asks for.
        None if no solves were asked for.
    peers : tuple of Offer
        Solves by other methods, for the instance itself.
    interrupted : bool
        Whether the user stopped a solve; those after it were not begun.
    """

    instance: Instance
    plan: Plan
    evaluation: Evaluation
    verified: Report
    rests_on: str | None
    stopping: EarlyStopping | str
    prices: tuple[Offer, ...] | None = None
    peers: tuple[Offer, ...] = ()
    interrupted: bool = False

    @property
    def has_law(self) -> bool:
        """Whether a law of the plan's final loss is known."""
        return declared(self.evaluation)

    @cached_property
    def numbers(self) -> dict[str, Fact]:
        """The facts of the evaluation."""
        return facts(self.evaluation)

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
    def own(self) -> Offer | None:
        """The solve by the default method at the probability that the instance asks for, if there is one."""
        level = self.instance.target.quantile_level
        return next((offer for offer in self.prices or () if offer.level == level), None)

    @property
    def rivals(self) -> list[Offer]:
        """The solves for the very target of the instance."""
        return [*([] if self.own is None else [self.own]), *self.peers]

    @property
    def looser(self) -> list[Offer]:
        """Those at lower probabilities: every plan that keeps the own one keeps these, too."""
        if not Budget.PROBABILITY.nested(self.instance):
            return []
        level = self.instance.target.quantile_level
        return [offer for offer in self.prices or () if offer.level < level]

    def said(self, name: str, value: float | None) -> Fact:
        """A fact in the units of the instance."""
        return fact(name, value, self.instance.units)


def facts_of(
    instance: Instance, plan: Plan, solver: Solver | None, seconds: float | None = None
) -> PlanFacts:
    """Evaluate, verify, and solve for prices and other plans if there is a solver.

    Parameters
    ----------
    seconds : float, optional
        What early stopping does is left out if it takes longer.

    Raises
    ------
    InvalidInputError
        If the plan does not speak of the instance, outlasts its tables or makes a forbidden switch.
    """
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
    if solver is None:
        return found
    if not instance.declares_laws:
        return replace(found, prices=())
    asking, own, usual = _Asking(solver), instance.target.quantile_level, default_method(instance)
    prices = tuple(
        asking(instance if level == own else instance.replace(quantile_level=level), usual)
        for level in sorted({*LEVELS, own})
    )
    able = [name for name in PEERS if find(name).memory or not instance.has_memory]
    peers = tuple(asking(instance, name) for name in able)
    return replace(found, prices=prices, peers=peers, interrupted=asking.interrupted)


class _Asking:
    """A solver that is not called again once the user stopped it."""

    def __init__(self, solver: Solver) -> None:
        self._solver, self.interrupted = solver, False

    def __call__(self, instance: Instance, method: str) -> Offer:
        level = instance.target.quantile_level
        if self.interrupted:
            return Offer(level, method, None, "not solved: interrupted before")
        try:
            result = self._solver(instance, method)
        except InvalidInputError as error:  # what a method does not cover is no end of the page
            return Offer(level, method, None, f"refused: {error}")
        self.interrupted = result.termination is Termination.INTERRUPTED
        return Offer(level, method, result)

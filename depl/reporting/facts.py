"""All that the page on a plan tells, gathered: the plan's own facts, and what solves for the page found."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import msgspec
import numpy as np
from msgspec import Meta

from depl.models.estimation.certificate import Certificate, certificate
from depl.models.estimation.fit import schedule_label
from depl.models.evaluation.evaluate import Evaluation, evaluate
from depl.models.evaluation.loss_law import loss_law
from depl.models.foundation.deadline import OutOfTimeError, deadline
from depl.models.foundation.documents import decode
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.wording import counted
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

    @property
    def interrupted(self) -> bool:
        """Whether the user stopped it."""
        return self.result is not None and self.result.termination is Termination.INTERRUPTED


@dataclass(frozen=True)
class PlanFacts:
    """What is known of a plan.

    ``rests_on`` says what the probabilities rest on, where the law was fitted to runs, and ``stopping`` may
    say why it is not known. ``offers`` are solves by the default method, by rising probability, and by others
    for the instance itself, None if none were asked for. ``fresh`` is what runs proved that had no part in
    the plan.
    """

    instance: Instance
    plan: Plan
    evaluation: Evaluation
    verified: Report
    rests_on: str | None
    stopping: EarlyStopping | str
    offers: tuple[Offer, ...] | None = None
    fresh: Certificate | None = None

    @property
    def interrupted(self) -> bool:
        """Whether the user stopped a solve."""
        return any(offer.interrupted for offer in self.offers or ())

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
    instance: Instance,
    plan: Plan,
    solver: Solver | None,
    seconds: float | None = None,
    fresh: Certificate | None = None,
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
    asked = None if solver is None else _asked(instance, solver)
    return PlanFacts(instance, plan, evaluation, verified, basis, stopping, asked, fresh)


def _asked(instance: Instance, solver: Solver) -> tuple[Offer, ...]:
    """What is offered; after a solve that the user stopped no further one is begun."""
    if not instance.declares_laws:
        return ()
    own, usual, offers = instance.target.quantile_level, default_method(instance), list[Offer]()
    asked = [(level, usual) for level in sorted({*LEVELS, own})]
    asked += [(own, name) for name in PEERS if find(name).memory or not instance.has_memory]
    for level, method in asked:
        if any(offer.interrupted for offer in offers):
            offers.append(Offer(level, method, None, "not solved: interrupted before"))
            continue
        try:
            result = solver(instance if level == own else instance.replace(quantile_level=level), method)
            offers.append(Offer(level, method, result))
        except InvalidInputError as error:  # what a method does not cover is no end of the page
            offers.append(Offer(level, method, None, f"refused: {error}"))
    return tuple(offers)


class _Answer(msgspec.Struct):  # what follows from these counts is not believed
    target: float
    level: float
    confidence: float
    runs: Annotated[int, Meta(ge=1, le=10_000_000)]
    exceedances: Annotated[int, Meta(ge=0)]
    schedule: str


def read_certificate(text: str, instance: Instance, plan: Plan) -> Certificate:
    """The certificate of these counts.

    Raises
    ------
    InvalidInputError
        If it is none of ``depl certify --json``, or of another plan or promise.
    """
    try:
        said, target = decode(text, _Answer), instance.target
    except InvalidInputError as error:
        message = f"is not what 'depl certify ... --json' says on standard output ({error.message})"
        raise InvalidInputError(message, error.path) from error
    wanted = target.maximum_loss, target.quantile_level, schedule_label(plan.schedule)
    for name, own in zip(("target", "level", "schedule"), wanted, strict=True):
        if getattr(said, name) != own:
            message = f"is {getattr(said, name)!r:.200}, but this page is on {own!r:.200}"
            raise InvalidInputError(f"{message}: certify the plan for what the instance asks", f"$.{name}")
    if said.exceedances > said.runs:
        raise InvalidInputError(f"is more than all {counted(said.runs, 'run')}", "$.exceedances")
    losses = np.where(np.arange(said.runs) < said.exceedances, np.inf, said.target)
    return certificate(losses, said.target, said.level, said.confidence)

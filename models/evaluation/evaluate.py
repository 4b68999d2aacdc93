"""What a plan costs, how long it takes, and with which certified probability it misses its target.

Constraint by constraint of the paper's problem (2)-(6), as `docs/problem` states it. Where the letter
of the paper departs from its intent, the intent is the default and the letter an option of `Reading`:
E1 (constraint (6) makes a cluster with data train in every epoch) and E2 (the objective charges the
one-time transfer in every epoch).
"""

import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from depl.models.evaluation.end_law import EndLaw
from depl.models.evaluation.loss_law import loss_law
from depl.models.evaluation.traced_loss import OutsideSupportError
from depl.models.foundation.errors import NotCoveredError
from depl.models.foundation.interval import Interval
from depl.models.foundation.showing import Shown
from depl.models.foundation.tolerances import TIME_TOLERANCE
from depl.models.problem.epochs import FinalLoss, Load, LossStep, load
from depl.models.problem.instance import Instance, Target
from depl.models.problem.plan import Plan, require_plan
from depl.models.problem.units import NO_UNITS, Quantity, Units

CAPACITY_TOLERANCE = 1e-12
"""Relative amount by which x may exceed r(n)."""

Wanted = bool | Callable[[EndLaw], Interval | None]
"""Whether the quantile is wanted, or who decides; see `evaluate`."""

SITE_RULES = ("residency", "memory", "deployment")
"""Equations of the constraints that no resources can mend: the rules of the sites."""

UNITS_OF_LIMITS: dict[str, Quantity] = {"(4)": "time", "tau": "time", "(5)": "resource", "memory": "memory"}
"""What the limits of a constraint are counted in, by its equation; others are bare numbers."""

LEFT_OUT, UNDECLARED = "left out", "no law declared"
"""How a probability is known that was not asked for, and one under a law that is not declared."""


@dataclass(frozen=True)
class Reading:
    """How (2) and (6) are read; the default is the intent.

    Attributes
    ----------
    data_requires_every_epoch : bool
        E1, the letter of (6): z(d, n) <= y(k, n) for every k.
    transfer_every_epoch : bool
        E2, the letter of (2): beta is summed over the epochs.
    """

    data_requires_every_epoch: bool = False
    transfer_every_epoch: bool = False


INTENT = Reading()


@dataclass(frozen=True)
class Constraint:
    """One constraint of the problem at one plan.

    Attributes
    ----------
    name : str
        In words, with the epoch where there is one.
    equation : str
        Its number in the paper, or where it comes from.
    value, limit : float
        The two sides of value <= limit.
    satisfied : bool
        Within the stated tolerance.
    """

    name: str
    equation: str
    value: float
    limit: float
    satisfied: bool

    @property
    def binding(self) -> bool:
        """Whether the two sides agree to six digits."""
        return math.isclose(self.value, self.limit, rel_tol=1e-6, abs_tol=1e-12)


@dataclass(frozen=True, repr=False)
class Evaluation(Shown):
    """The numbers of one plan.

    Attributes
    ----------
    cost, transfer_cost, resource_cost : float
        Objective (2) and its two parts [cost].
    training_time : float
        Sum of the epoch times [time].
    epoch_times : tuple of float
        T(k) [time].
    epochs : int
        K.
    expected_loss : float
        E l(K); nan where no law is declared, infinite where the law counts runs unlike all that were seen.
    violation : Interval
        Certified P(l(K) > l_max); [0, 1] where no law is declared.
    quantile : Interval or None
        Certified omega-quantile of l(K), where it was asked for and a law is declared.
    constraints : tuple of Constraint
        All of them, satisfied or not.
    units : Units
        Of the instance.
    fitted : bool
        Whether the law was fitted to runs that are counted carefully: then probability and quantile are upper
        ends, and an ``expected_loss`` that is finite is above what runs end with on average.
    """

    cost: float
    transfer_cost: float
    resource_cost: float
    training_time: float
    epoch_times: tuple[float, ...]
    epochs: int
    expected_loss: float
    violation: Interval
    quantile: Interval | None
    constraints: tuple[Constraint, ...]
    units: Units = NO_UNITS
    fitted: bool = False

    @property
    def feasible(self) -> bool:
        """Whether every constraint is satisfied, the probability one by its certified upper bound."""
        return all(constraint.satisfied for constraint in self.constraints)

    @property
    def certified(self) -> Interval | None:
        """``violation`` where a law is declared and it was asked for."""
        return None if self.violation.how in (LEFT_OUT, UNDECLARED) else self.violation


def evaluate(
    instance: Instance,
    plan: Plan,
    reading: Reading = INTENT,
    quantile: Wanted = True,
    lenient: bool = False,
    probability: bool = True,
) -> Evaluation:
    """Evaluate every equation of the problem at ``plan``.

    Parameters
    ----------
    reading : Reading
        Intent or letter of (2) and (6).
    quantile : bool or callable
        Whether to certify the quantile of the final loss, too (it takes longer than the probability); or what
        does that, or returns None, given the law once the probability is certified.
    lenient : bool
        Whether a plan outside the support of a traced law is evaluated as one without a declared law, with
        the reason as evaluator of its violation.
    probability : bool
        Whether to certify what holds under the law at all; without it, nothing is known of it but the mean.

    Raises
    ------
    InvalidInputError
        If there is no plan, or it does not speak of the instance, trains longer than the instance has tables
        for, or makes a forbidden switch (then the loss is not defined).
    """
    require_plan(plan)
    plan.check_names(instance)
    target, (law, unknown) = instance.target, _law_or_reason(instance, plan, lenient)
    loads = epoch_loads(instance, plan)
    times, budget = _times(loads, plan), target.violation_budget
    training_time = math.fsum(times)
    violation, wanted = Interval(0.0, 1.0, unknown or LEFT_OUT), None
    if law is not None and probability:
        violation = law.violation(target.maximum_loss)
        wanted = law.quantile(budget) if quantile is True else quantile(law) if quantile else None
    transfers, resources = _transfer_cost(instance, plan, reading), _resource_cost(loads, plan)
    met = "probability of missing the target", "(3)", violation.upper, float(budget)
    constraints = (
        *_resource_constraints(instance, plan, loads, times),
        *_horizon_constraints(target, plan, training_time, reading),
        *_site_constraints(instance, plan),
        Constraint(*met, violation.at_most(budget)),
    )
    return Evaluation(
        cost=transfers + resources,
        transfer_cost=transfers,
        resource_cost=resources,
        training_time=training_time,
        epoch_times=times,
        epochs=len(plan.epochs),
        expected_loss=math.nan if law is None else law.mean(),
        violation=violation,
        quantile=wanted,
        constraints=constraints,
        units=instance.units,
        fitted=instance.traced_law is not None and instance.traced_law.counts_carefully,
    )


def _law_or_reason(instance: Instance, plan: Plan, lenient: bool) -> tuple[EndLaw | None, str]:
    """The law of l(K); None where it has none, and why."""
    try:
        law = law_of_end(instance, plan)
    except OutsideSupportError as error:
        if not lenient:
            raise
        return None, error.message
    declared = all(term.law.declared for term, _ in law.scaled.terms)
    return (law, "") if declared else (None, UNDECLARED)


def law_of_end(instance: Instance, plan: Plan) -> EndLaw:
    """The law of l(K) under a plan; see `depl.models.evaluation.loss_law.IndependentLoss.end`."""
    return loss_law(instance).end(plan)


def final_loss(instance: Instance, plan: Plan) -> FinalLoss:
    """The same as a sum of independent parts.

    Raises
    ------
    InvalidInputError
        As `law_of_end`.
    NotCoveredError
        If it is the logarithm of the loss that is such a sum, or runs unlike all that were seen count.
    """
    found = law_of_end(instance, plan)
    if found.scale != "loss" or found.beyond:
        raise NotCoveredError(
            "under this traced law the final loss is no sum: it is the exponential of one, or that of a run "
            "unlike all that were seen"
        )
    return found.scaled


def plan_steps(instance: Instance, plan: Plan) -> list[LossStep]:
    """The loss step of every epoch of a plan; see `depl.models.evaluation.loss_law.IndependentLoss.steps`."""
    return loss_law(instance).steps(plan)


def epoch_loads(instance: Instance, plan: Plan) -> list[Load]:
    """What every epoch of a plan asks of its cluster."""
    return [
        load(instance, index + 1, epoch.model, epoch.cluster, plan.datasets(epoch.cluster))
        for index, epoch in enumerate(plan.epochs)
    ]


def epoch_times(instance: Instance, plan: Plan) -> tuple[float, ...]:
    """T(k) of every epoch of a plan, infinite where it has work and no resources [time]."""
    return _times(epoch_loads(instance, plan), plan)


def _times(loads: list[Load], plan: Plan) -> tuple[float, ...]:
    found = []
    for place, epoch in zip(loads, plan.epochs, strict=True):
        least = 0.0 if place.work == 0 else math.inf
        working = place.work / epoch.resources if epoch.resources > 0 else least
        found.append(working + place.communication)
    return tuple(found)


def plan_cost(instance: Instance, plan: Plan) -> float:
    """Objective (2) of a plan, transfers once [cost]; whether it keeps the constraints is not asked."""
    return _transfer_cost(instance, plan, INTENT) + _resource_cost(epoch_loads(instance, plan), plan)


def _resource_cost(loads: list[Load], plan: Plan) -> float:
    return math.fsum(place.price * epoch.resources for place, epoch in zip(loads, plan.epochs, strict=True))


def _transfer_cost(instance: Instance, plan: Plan, reading: Reading) -> float:
    charges = len(plan.epochs) if reading.transfer_every_epoch else 1
    rows = ((dataset, row.cluster) for row in plan.data for dataset in row.datasets)
    return charges * math.fsum(instance.transfer_cost(dataset, cluster) for dataset, cluster in rows)


def _resource_constraints(
    instance: Instance, plan: Plan, loads: list[Load], times: tuple[float, ...]
) -> Iterator[Constraint]:
    deadline = instance.target.round_deadline
    for number, (place, epoch, time) in enumerate(zip(loads, plan.epochs, times, strict=True), start=1):
        used, limit = epoch.resources, place.capacity if place.work > 0 else 0.0
        within = used <= limit * (1 + CAPACITY_TOLERANCE)
        yield Constraint(f"resources at epoch {number}", "(5)", used, limit, within)
        if deadline is not None:
            within = time <= deadline * (1 + TIME_TOLERANCE)
            yield Constraint(f"round deadline at epoch {number}", "tau", time, deadline, within)
        elif place.work > 0 and used == 0:
            yield Constraint(f"finite time at epoch {number}", "T(k)", time, sys.float_info.max, False)


def _horizon_constraints(
    target: Target, plan: Plan, training_time: float, reading: Reading
) -> Iterator[Constraint]:
    epochs, most = len(plan.epochs), target.maximum_epochs
    yield Constraint("epochs", "K_max", epochs, most, epochs <= most)
    if target.maximum_time is not None:
        within = training_time <= target.maximum_time * (1 + TIME_TOLERANCE)
        yield Constraint("training time", "(4)", training_time, target.maximum_time, within)
    for row in plan.data if reading.data_requires_every_epoch else ():
        idle = sum(epoch.cluster != row.cluster for epoch in plan.epochs)
        name = f"epochs in which {row.cluster!r} has data but does not train"
        yield Constraint(name, "(6) as printed, E1", idle, 0, idle == 0)


def _site_constraints(instance: Instance, plan: Plan) -> Iterator[Constraint]:
    """The rules of the sites, as far as the instance has them."""
    rules = instance.rules
    for row in plan.data if rules.restrict_data else ():
        away = sum(not rules.may_use((name,), row.cluster) for name in row.datasets)
        name = f"datasets on {row.cluster!r} that may not be used there"
        yield Constraint(name, SITE_RULES[0], away, 0, away == 0)
    for number, epoch in enumerate(plan.epochs, start=1):
        asked, held = instance.model(epoch.model).memory, instance.cluster(epoch.cluster).memory
        if asked is not None and held is not None:
            fits = rules.may_train(epoch.model, epoch.cluster)
            yield Constraint(f"memory at epoch {number}", SITE_RULES[1], asked, held, fits)
    if rules.deployable is not None:
        last = plan.epochs[-1].model if plan.epochs else instance.target.initial_model
        ends = rules.may_end(last)
        name = "no last model" if last is None else f"last model {last!r}"  # 1 where it may not be
        yield Constraint(name, SITE_RULES[2], int(not ends), 0, ends)

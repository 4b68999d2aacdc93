"""Put the numbers of a plan into the equations of the paper, line by line.

First what binds, which limit fails next when it is tightened, and what the limits cost to first order
(`depl.showing.limits`); then the recursion of the loss with its increments (8), and equations
(1) to (6) as `docs/problem` reads them (E1 and E2 by intent). Consecutive epochs that do the same are one
line.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby

from depl.models.evaluation.end_law import EndLaw
from depl.models.evaluation.evaluate import (
    Evaluation,
    evaluate,
    law_of_end,
    plan_steps,
)
from depl.models.evaluation.loss_law import TracedLoss, loss_law
from depl.models.evaluation.traced_law import epochs_ahead, first_losses
from depl.models.evaluation.traced_loss import basis, below_all_seen, end_law
from depl.models.evaluation.traced_support import mean_after
from depl.models.foundation import wording
from depl.models.foundation.errors import NotCoveredError
from depl.models.foundation.interval import Interval
from depl.models.foundation.users_code import exits_are_errors
from depl.models.foundation.wording import aligned, counted, number, probability
from depl.models.problem.epochs import Load, LossStep, compose, load, loss_step
from depl.models.problem.instance import Instance
from depl.models.problem.laws import Zero
from depl.models.problem.plan import Plan
from depl.models.problem.traced_law import TracedLaw
from depl.models.problem.units import Units
from depl.models.solving.early_stopping import early_stopping
from depl.showing.limits import binding_lines, declared, explain_instance, failing, next_lines, price_lines

_SAME_RESOURCES = 1e-9
"""Relative difference of resources that are told as the same: far below the digits that are shown."""

_LONGEST_SUM = 8
"""Summands that are shown in full."""

_LARGEST_DENOMINATOR = 10_000
"""Denominator up to which a probability is shown as a fraction."""


@exits_are_errors
def explain(instance: Instance, plan: Plan | None = None) -> str:
    r"""Show how the equations come out at ``plan``; without one, which limits of the instance can be kept.

    Parameters
    ----------
    instance : Instance
    plan : Plan, optional
        Feasible or not; without one see `depl.showing.limits.explain_instance`.

    Returns
    -------
    str
        Lines of plain text, without a final line break.

    Raises
    ------
    InvalidInputError
        If the plan does not speak of the instance, as `depl.models.evaluation.evaluate.evaluate`.
    NotCoveredError
        Without a plan, if the instance declares no laws, or the default method does not cover it.

    Examples
    --------
    >>> from depl.instances.library import load
    >>> print(explain(load("tiny").replace(maximum_loss=15), Plan()).split("\n")[0])
    Plan of 0 epochs for 'tiny': cost 0, all constraints hold.
    """
    if plan is None:
        return explain_instance(instance)
    evaluation = evaluate(instance, plan)
    groups = _groups(instance, plan)
    state = "all constraints hold" if evaluation.feasible else "NOT FEASIBLE"
    if not declared(evaluation) and not failing(evaluation):
        state = "all constraints hold but (3), which has no law to be judged by"
    units = instance.units
    sections = (
        [
            f"Plan of {counted(evaluation.epochs, 'epoch')} for {instance.name!r}: "
            f"cost {units.amount(evaluation.cost, 'cost')}, {state}."
        ],
        binding_lines(evaluation),
        next_lines(instance, plan, evaluation),
        price_lines(instance, plan, evaluation),
        _loss_lines(instance, plan, groups, evaluation),
        _time_lines(groups, units),
        _cost_lines(instance, plan, groups, evaluation),
        _target_lines(instance, plan, evaluation),
        _stopping_lines(instance, plan, evaluation),
        _horizon_lines(instance, groups, evaluation),
        _resource_lines(instance, groups),
        _node_lines(instance, groups),
        _data_lines(instance, plan),
    )
    return "\n\n".join("\n".join(lines) for lines in sections if lines)


@dataclass(frozen=True)
class _Group:
    """Consecutive epochs first..last that train one model on one cluster with equal load and resources."""

    first: int
    last: int
    previous: str | None
    model: str
    cluster: str
    datasets: frozenset[str]
    resources: float
    place: Load
    runs: tuple[LossStep, ...]

    @property
    def count(self) -> int:
        return self.last - self.first + 1

    @property
    def label(self) -> str:
        return f"epoch {self.first}" if self.count == 1 else f"epochs {self.first}-{self.last}"

    @property
    def time(self) -> float:
        if self.place.work == 0:
            return self.place.communication
        if self.resources == 0:
            return math.inf
        return self.place.work / self.resources + self.place.communication

    def continued_by(self, other: "_Group") -> bool:
        laws = [[term.law for run in ends for term in run.terms] for ends in (self.runs[-1:], other.runs[:1])]
        return (
            (self.model, self.cluster, self.place) == (other.model, other.cluster, other.place)
            and laws[0] == laws[1]
            and math.isclose(self.resources, other.resources, rel_tol=_SAME_RESOURCES)
        )


def _groups(instance: Instance, plan: Plan) -> list[_Group]:
    found: list[_Group] = []
    previous = instance.target.initial_model
    for k, epoch in enumerate(plan.epochs, start=1):
        data = plan.datasets(epoch.cluster)
        one = _Group(
            first=k,
            last=k,
            previous=previous,
            model=epoch.model,
            cluster=epoch.cluster,
            datasets=data,
            resources=epoch.resources,
            place=load(instance, k, epoch.model, epoch.cluster, data),
            runs=() if instance.has_memory else (loss_step(instance, k, 0, None, epoch.model, data),),
        )
        if found and found[-1].continued_by(one):
            fields = vars(found.pop())
            one = _Group(**{**fields, "last": k, "runs": fields["runs"] + one.runs})
        found.append(one)
        previous = epoch.model
    return found


def _loss_lines(
    instance: Instance, plan: Plan, groups: Sequence[_Group], evaluation: Evaluation
) -> list[str]:
    start = instance.target.initial_loss
    law = loss_law(instance)
    if isinstance(law, TracedLoss):
        if not plan.epochs:
            return ["Loss  l(0), as nothing is trained", f"  rests on {law.basis(plan)}"]
        return _traced_lines(law.traced, plan, instance.target.violation_budget)
    steps = plan_steps(instance, plan)
    final = compose(start, steps)
    known = declared(evaluation)
    rows = []
    for group in groups:
        if group.previous not in (None, group.model):
            change = instance.switch_law(group.previous or "", group.model)
            effect = "= 0" if change == Zero() else f"~ {change.in_words()}"
            switch = f"{group.previous} -> {group.model}"
            rows.append((f"epoch {group.first}", switch, f"l_sw {effect}", ""))
        mean = number(compose(start, steps[: group.last]).mean()) if known else "?"
        share = instance.learning_factor(group.datasets)
        everything = len(group.datasets) == len(instance.datasets)
        data = "all data" if everything else f"{_set(group.datasets)}, h = {number(share)}"
        on = f"{group.model} on {data}"
        rows.append((group.label, on, _run(group), f"E l({group.last}) = {mean}"))
    moments = f"  l({evaluation.epochs}) has no declared law: mean and deviation are not known."
    if known:
        deviation = number(math.sqrt(final.variance()))
        moments = f"  l({evaluation.epochs}) has mean {number(final.mean())}, standard deviation {deviation}."
    return [
        f"Loss  l(k) = l(k-1) + l_run(k) + l_sw(k), eq. (8), from l(0) = {number(start)}",
        *aligned(rows),
        moments,
    ]


def _traced_lines(traced: TracedLaw, plan: Plan, budget: Fraction) -> list[str]:
    """The affine law, stage by stage: how much of the loss before an epoch stays, and what the mean is."""
    law, known = traced.law, traced.known
    places, mean = epochs_ahead(traced.from_start(plan.schedule), known)
    if known is None:
        mean = float(first_losses(law, places[0].trained).mean())
    start, rows = mean, []
    loss = "l" if traced.scale == "loss" else "ln l"
    for _, items in groupby(places, key=lambda item: item.start):
        stage = list(items)
        for place in stage:
            mean = mean_after(law, place, mean)
        first, last = stage[0], stage[-1]
        begun = len(traced.trained_before)
        label = f"epochs {first.start + first.age - begun}-{last.start + last.age - begun}"
        kept = _span([law.step(place).retention for place in stage])
        end = f"{loss} = {number(mean)} with e = 0"  # no mean of l, which is infinite where runs are counted
        rows.append((label, " on ".join(first.trained), f"retention {kept}", end))
    kind = "kept per run" if traced.residuals == "per_run" else "independent"
    found = end_law(traced, plan.schedule)
    return [
        f"Loss  {loss}(k) = a + b ln s + retention {loss}(k-1) + e, the traced law, "
        f"from {_beginning(traced, loss, start)}",
        *aligned(rows),
        f"  residuals e are {kind}",
        f"  rests on {basis(traced, plan.schedule)}",
        *_disbelief(traced, found, budget),
    ]


def _beginning(traced: TracedLaw, loss: str, start: float) -> str:
    if not traced.evaluated:
        return f"{loss}(1) as it was seen where runs were not evaluated before training"
    return f"{'a mean' if traced.known is None else 'the'} {loss}(0) of {number(start)}"


def _disbelief(traced: TracedLaw, law: EndLaw, budget: Fraction) -> list[str]:
    """A line where the law promises the impossible."""
    if not below_all_seen(traced, law, budget):
        return []
    return [
        f"  NOT to be believed: the {number(float(1 - budget))}-quantile of l(K) lies below every loss that "
        "any run ever had, so the law does not describe the runs."
    ]


def _run(group: _Group) -> str:
    terms = [term for run in group.runs for term in run.terms]
    if not terms:
        return f"l_run = {_span([run.shift for run in group.runs])}"
    return f"l_run = {_span([term.coefficient for term in terms])} X, X ~ {terms[0].law.in_words()}"


def _time_lines(groups: Sequence[_Group], units: Units) -> list[str]:
    rows = []
    for group in groups:
        each = " each" if group.count > 1 else ""
        compute = f"{number(group.place.work)} / {number(group.resources)}" if group.place.work else "0"
        time = units.amount(group.time, "time")
        equation = f"T(k) = {compute} + {number(group.place.communication)} = {time}{each}"
        rows.append((group.label, f"{group.model} on {group.cluster}", equation))
    return ["(1) Epoch time  T(k) = c / x + s / b, with c for one node of the cluster", *aligned(rows)]


def _cost_lines(
    instance: Instance, plan: Plan, groups: Sequence[_Group], evaluation: Evaluation
) -> list[str]:
    rows: list[tuple[str, ...]] = []
    parts: list[str] = []
    for row in plan.data:
        for dataset in row.datasets:
            paid = instance.transfer_cost(dataset, row.cluster)
            if paid:
                rows.append(("once", f"{dataset} to {row.cluster}", f"beta = {number(paid)}"))
                parts.append(number(paid))
    for group in groups:
        nodes = instance.cluster(group.cluster).nodes
        factors = [group.count, *([nodes] if nodes > 1 else [])]
        product = " * ".join([*map(str, factors), number(group.place.price / nodes), number(group.resources)])
        parts.append(number(group.count * group.place.price * group.resources))
        meaning = "epochs * nodes * kappa * x" if nodes > 1 else "epochs * kappa * x"
        where = f"{group.model} on {group.cluster}"
        rows.append((group.label, where, f"{meaning} = {product} = {parts[-1]}"))
    summed = f"{_sum(parts)}" + (f" = {number(evaluation.cost)}" if len(parts) > 1 else "")
    total = f"  cost = {instance.units.after(summed, 'cost')}"
    return ["(2) Cost  sum of beta(d, n), once, + sum of kappa(n) x(k)", *aligned(rows), total]


def _target_lines(instance: Instance, plan: Plan, evaluation: Evaluation) -> list[str]:
    target = instance.target
    last, level = f"l({evaluation.epochs})", probability(target.quantile_level)
    violation = evaluation.violation
    constraint = next(item for item in evaluation.constraints if item.equation == "(3)")
    allowed = float(target.violation_budget)
    head = f"(3) Loss target  P({last} <= {number(target.maximum_loss)}) >= {level}"
    if not declared(evaluation):
        return [
            head,
            "  no law is declared, so nothing is said; on given scenarios 'depl check' counts the misses",
        ]
    lines = [
        head,
        f"  P({last} > {number(target.maximum_loss)}) {_certified(violation, evaluation.fitted)}; "
        f"allowed is {number(allowed)}, "
        f"of which {number(100 * violation.upper / allowed, 3)} % are used: {_verdict(constraint.satisfied)}",
    ]
    quantile = evaluation.quantile
    if quantile is not None:
        lines.append(f"  the {level}-quantile of {last} {_certified(quantile, evaluation.fitted)}")
    if quantile is not None and not evaluation.fitted:
        margin = quantile.middle - evaluation.expected_loss
        deviation = math.sqrt(law_of_end(instance, plan).variance())
        known = 0 < deviation < math.inf
        scaled = f", {number(margin / deviation, 4)} standard deviations" if known else ""
        mean = number(evaluation.expected_loss)
        lines.append(f"  its margin over the mean {mean} is {number(margin)}{scaled}")
    return lines


def _stopping_lines(instance: Instance, plan: Plan, evaluation: Evaluation) -> list[str]:
    last, level = evaluation.epochs, number(instance.target.maximum_loss)
    head = f"With early stopping  train until l(k) <= {level} is observed, at most {counted(last, 'epoch')}"
    if not declared(evaluation):
        return [head, "  not computed: no law is declared"]
    try:
        found = early_stopping(instance, plan, evaluation.violation)
    except NotCoveredError as error:
        return [head, f"  not computed: {error}"]
    planned, fitted = instance.units.amount(evaluation.cost, "cost"), evaluation.fitted
    reached = _bounded(found.reached, fitted, low=True)
    cost, epochs = (_bounded(item, fitted) for item in (found.cost, found.epochs))
    final = _certified(found.final, fitted, low=True)
    if not all(instance.rules.stops(epoch.model for epoch in plan.epochs)[1:]):
        head += ", after an epoch whose model may be the last"
    return [
        head,
        f"  reached: P(l(k) <= {level} for some k <= {last}) {reached}",
        f"  final: P(l({last}) <= {level}), all epochs trained, {final}",
        f"  expected cost {cost}, in place of {planned}; a cluster's data are paid right before it first "
        "trains",
        f"  expected number of epochs {epochs}",
    ]


def _horizon_lines(instance: Instance, groups: Sequence[_Group], evaluation: Evaluation) -> list[str]:
    target = instance.target
    parts = [f"{group.count} * {number(group.time)}" for group in groups]
    units = instance.units
    summed = _sum(parts) + (f" = {units.amount(evaluation.training_time, 'time')}" if parts else "")
    lines = ["(4) Training time  sum of T(k) <= T_max"]
    if target.maximum_time is None:
        lines.append(f"  {summed}, without a limit")
    else:
        held = _verdict(_satisfied(evaluation, "(4)"))
        lines.append(f"  {summed}; T_max is {units.amount(target.maximum_time, 'time')}: {held}")
    if target.round_deadline is not None:
        longest = units.amount(max(evaluation.epoch_times, default=0.0), "time")
        deadline = units.amount(target.round_deadline, "time")
        held = _verdict(_satisfied(evaluation, "tau"))
        lines.append(f"  longest epoch {longest}; the round deadline is {deadline}: {held}")
    return lines


def _resource_lines(instance: Instance, groups: Sequence[_Group]) -> list[str]:
    rows = []
    for name in dict.fromkeys(group.cluster for group in groups):
        most = max((group for group in groups if group.cluster == name), key=lambda group: group.resources)
        capacity = instance.cluster(name).capacity
        limit = instance.units.amount(capacity, "resource")
        rows.append((name, f"largest x(k) = {number(most.resources)}", f"r = {limit}", most.label))
    return ["(5) Resources  x(k) <= r(n)", *aligned(rows)]


def _node_lines(instance: Instance, groups: Sequence[_Group]) -> list[str]:
    """Nothing where all nodes of a cluster are equal."""
    rows = []
    for group in groups:
        cluster = instance.cluster(group.cluster)
        shares = cluster.resources_of_groups(group.resources)
        for nodes, share in zip(cluster.groups or (), shares, strict=True):
            division = f"x / v = {number(group.resources)} / {number(nodes.speed)} = {number(share)}"
            words = (counted(nodes.count, "node"), f"{division} of {number(nodes.capacity)}")
            rows.append((group.label, group.cluster, *words))
    head = "Unequal nodes  each commits x(k) / v, so that all of a cluster compute equally long"
    return [head, *aligned(rows)] if rows else []


def _data_lines(instance: Instance, plan: Plan) -> list[str]:
    rows = []
    for row in plan.data:
        trains = sum(epoch.cluster == row.cluster for epoch in plan.epochs)
        missing = len(instance.datasets) - len(row.datasets)
        use = "all data" if missing == 0 else f"leaves {missing} of {len(instance.datasets)} out"
        rows.append((row.cluster, f"has {_set(row.datasets)} ({use})", f"trains {counted(trains, 'epoch')}"))
    return ["(6) Data  only clusters that train have data", *aligned(rows)]


def _certified(interval: Interval, counted: bool = False, low: bool = False) -> str:
    """Bounds of a number; of one that runs were counted for, the upper end, as the count is a careful one.

    ``low``: of such a one the lower end, as it is a probability that a target is met.
    """
    exact = interval.exact
    small = exact is not None and exact.denominator <= _LARGEST_DENOMINATOR
    if counted and low:
        return (
            f"is at least {exact if small else wording.rounded_down(interval.lower)}, as the runs are counted"
        )
    if counted:
        most = f"at most {exact}" if small else wording.at_most(interval.upper)
        return f"is {most}, as the runs are counted"
    if small:
        return f"is exactly {exact}"
    return f"lies in {wording.interval(interval.lower, interval.upper)}, certified"


def _bounded(interval: Interval, counted: bool, low: bool = False) -> str:
    """The one end that early stopping is certified at, in words; as `_certified` where it is exact."""
    if counted or interval.exact is not None:
        return _certified(interval, counted, low)
    return f"is {wording.one_end(interval.lower if low else interval.upper, low)}, certified"


def _satisfied(evaluation: Evaluation, equation: str) -> bool:
    return all(item.satisfied for item in evaluation.constraints if item.equation == equation)


def _verdict(satisfied: bool) -> str:
    return "holds" if satisfied else "FAILS"


def _set(names: Iterable[str]) -> str:
    return "{" + ", ".join(sorted(names)) + "}"


def _span(values: Sequence[float]) -> str:
    """One number, or the first and the last of several different ones."""
    ends = number(values[0]), number(values[-1])
    return ends[0] if ends[0] == ends[1] else " .. ".join(ends)


def _sum(parts: Sequence[str]) -> str:
    shown = parts if len(parts) <= _LONGEST_SUM else [*parts[: _LONGEST_SUM - 2], "...", parts[-1]]
    return " + ".join(shown) or "0"

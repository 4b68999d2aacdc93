"""Put the numbers of a plan into the equations of the paper, line by line.

First what binds, which limit fails next when it is tightened, and what the limits cost to first order
(`depl.showing.limits`); then the recursion of the loss with its increments (8), and equations (1) to (6) as
`docs/problem` reads them (E1 and E2 by intent). Consecutive epochs that do the same are one line.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from depl.models.evaluation.evaluate import evaluate, law_of_end, plan_steps
from depl.models.evaluation.loss_law import TracedLoss, loss_law
from depl.models.evaluation.traced_law import epochs_ahead, first_losses
from depl.models.evaluation.traced_loss import basis, below_all_seen, end_law
from depl.models.evaluation.traced_support import mean_after
from depl.models.foundation import wording
from depl.models.foundation.interval import Interval
from depl.models.foundation.wording import aligned, counted, number, probability
from depl.models.problem.epochs import Load, LossStep, compose, load, loss_step
from depl.models.problem.instance import Instance
from depl.models.problem.laws import Zero
from depl.models.problem.plan import Plan, PlannedEpoch
from depl.models.problem.traced_law import TracedLaw
from depl.showing.limits import binding_lines, declared, explain_instance, failing, next_lines, price_lines

_SAME_RESOURCES = 1e-9
"""Relative difference of resources that are told as the same: far below the digits that are shown."""

_LONGEST_SUM = 8
"""Summands that are shown in full."""

_LARGEST_DENOMINATOR = 10_000
"""Denominator up to which a probability is shown as a fraction."""


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
    sections = (list(lines) for lines in _Equations(instance, plan).sections())
    return "\n\n".join("\n".join(lines) for lines in sections if lines)


@dataclass
class _Group:
    """Consecutive epochs first..last that train one model on one cluster with equal load and resources."""

    first: int
    last: int
    previous: str | None
    epoch: PlannedEpoch
    datasets: frozenset[str]
    place: Load
    runs: list[LossStep]

    @property
    def count(self) -> int:
        return self.last - self.first + 1

    @property
    def label(self) -> str:
        return f"epoch {self.first}" if self.count == 1 else f"epochs {self.first}-{self.last}"

    @property
    def where(self) -> str:
        return f"{self.epoch.model} on {self.epoch.cluster}"

    def goes_on_with(self, other: "_Group") -> bool:
        laws = [[term.law for run in ends for term in run.terms] for ends in (self.runs[-1:], other.runs)]
        return (self.where, self.place, laws[0]) == (other.where, other.place, laws[1]) and math.isclose(
            self.epoch.resources, other.epoch.resources, rel_tol=_SAME_RESOURCES
        )


def _groups(instance: Instance, plan: Plan) -> list[_Group]:
    found: list[_Group] = []
    previous = instance.target.initial_model
    for k, epoch in enumerate(plan.epochs, start=1):
        data = plan.datasets(epoch.cluster)
        runs = [] if instance.has_memory else [loss_step(instance, k, 0, None, epoch.model, data)]
        one = _Group(k, k, previous, epoch, data, load(instance, k, epoch.model, epoch.cluster, data), runs)
        if found and found[-1].goes_on_with(one):
            found[-1].last = k
            found[-1].runs += runs
        else:
            found.append(one)
        previous = epoch.model
    return found


class _Equations:
    """The sections on a plan, each as lines."""

    def __init__(self, instance: Instance, plan: Plan) -> None:
        self.instance, self.plan, self.units = instance, plan, instance.units
        self.target, self.found = instance.target, evaluate(instance, plan)
        self.groups, self.declared = _groups(instance, plan), declared(self.found)

    def sections(self) -> Iterator[Iterable[str]]:
        """In the order of reading; one that has no lines is left out."""
        given = self.instance, self.plan, self.found
        state = "all constraints hold" if self.found.feasible else "NOT FEASIBLE"
        if not self.declared and not failing(self.found):
            state = "all constraints hold but (3), which has no law to be judged by"
        head = f"Plan of {counted(self.found.epochs, 'epoch')} for {self.instance.name!r}"
        yield [f"{head}: cost {self.units.amount(self.found.cost, 'cost')}, {state}."]
        yield from (binding_lines(self.found), next_lines(*given), price_lines(*given))
        yield from (self.loss(), self.times(), self.costs(), self.goal(), self.horizon())
        yield from (self.resources(), self.nodes(), self.data())

    def loss(self) -> Iterator[str]:
        """The recursion (8), or the affine law."""
        law, start, last = loss_law(self.instance), self.target.initial_loss, f"l({self.found.epochs})"
        if isinstance(law, TracedLoss):
            if self.plan.epochs:
                yield from self.traced(law.traced)
            else:
                yield from ("Loss  l(0), as nothing is trained", f"  rests on {law.basis(self.plan)}")
            return
        yield f"Loss  l(k) = l(k-1) + l_run(k) + l_sw(k), eq. (8), from l(0) = {number(start)}"
        steps, rows = plan_steps(self.instance, self.plan), []
        for group in self.groups:
            model = group.epoch.model
            if group.previous not in (None, model):
                change = self.instance.switch_law(group.previous or "", model)
                effect = "= 0" if change == Zero() else f"~ {change.in_words()}"
                rows.append((f"epoch {group.first}", f"{group.previous} -> {model}", f"l_sw {effect}", ""))
            mean = number(compose(start, steps[: group.last]).mean()) if self.declared else "?"
            share = f"{_set(group.datasets)}, h = {number(self.instance.learning_factor(group.datasets))}"
            data = "all data" if len(group.datasets) == len(self.instance.datasets) else share
            rows.append((group.label, f"{model} on {data}", _run(group), f"E l({group.last}) = {mean}"))
        yield from aligned(rows)
        if self.declared:
            final = compose(start, steps)
            deviation = number(math.sqrt(final.variance()))
            yield f"  {last} has mean {number(final.mean())}, standard deviation {deviation}."
        else:
            yield f"  {last} has no declared law: mean and deviation are not known."

    def traced(self, traced: TracedLaw) -> Iterator[str]:
        """The affine law, stage by stage: how much of the loss before an epoch stays, and the mean."""
        law, schedule, begun = traced.law, self.plan.schedule, len(traced.trained_before)
        places, mean = epochs_ahead(traced.from_start(schedule), traced.known)
        if traced.known is None:
            mean = float(first_losses(law, places[0].trained).mean())
        loss = "l" if traced.scale == "loss" else "ln l"
        origin = f"{'a mean' if traced.known is None else 'the'} {loss}(0) of {number(mean)}"
        if not traced.evaluated:
            origin = f"{loss}(1) as it was seen where runs were not evaluated before training"
        yield f"Loss  {loss}(k) = a + b ln s + retention {loss}(k-1) + e, the traced law, from {origin}"
        rows = []
        for _, items in groupby(places, key=lambda item: item.start):
            stage = list(items)
            for place in stage:
                mean = mean_after(law, place, mean)
            first, last = (place.start + place.age - begun for place in (stage[0], stage[-1]))
            kept = _span([law.step(place).retention for place in stage])
            end = f"{loss} = {number(mean)} with e = 0"  # no mean of l: infinite where runs are counted
            rows.append((f"epochs {first}-{last}", " on ".join(stage[0].trained), f"retention {kept}", end))
        yield from aligned(rows)
        yield f"  residuals e are {'kept per run' if traced.residuals == 'per_run' else 'independent'}"
        yield f"  rests on {basis(traced, schedule)}"
        budget = self.target.violation_budget
        if below_all_seen(traced, end_law(traced, schedule), budget):
            low = f"the {number(float(1 - budget))}-quantile of l(K) lies below every loss that any run"
            yield f"  NOT to be believed: {low} ever had, so the law does not describe the runs."

    def times(self) -> Iterator[str]:
        """Equation (1)."""
        yield "(1) Epoch time  T(k) = c / x + s / b, with c for one node of the cluster"
        rows = []
        for group in self.groups:
            place, time = group.place, self.units.amount(self.time(group), "time")
            compute = f"{number(place.work)} / {number(group.epoch.resources)}" if place.work else "0"
            equation = f"T(k) = {compute} + {number(place.communication)} = {time}"
            rows.append((group.label, group.where, equation + (" each" if group.count > 1 else "")))
        yield from aligned(rows)

    def time(self, group: _Group) -> float:
        """T(k) of the epochs of a group [time]."""
        return self.found.epoch_times[group.first - 1]

    def costs(self) -> Iterator[str]:
        """Objective (2)."""
        yield "(2) Cost  sum of beta(d, n), once, + sum of kappa(n) x(k)"
        rows: list[tuple[str, ...]] = []
        parts: list[str] = []
        for dataset, cluster in ((name, row.cluster) for row in self.plan.data for name in row.datasets):
            if paid := self.instance.transfer_cost(dataset, cluster):
                parts.append(number(paid))
                rows.append(("once", f"{dataset} to {cluster}", f"beta = {parts[-1]}"))
        for group in self.groups:
            nodes, x = self.instance.cluster(group.epoch.cluster).nodes, group.epoch.resources
            several, price = nodes > 1, group.place.price
            factors = [f"{group.count}", *([f"{nodes}"] if several else []), number(price / nodes), number(x)]
            parts.append(number(group.count * price * x))
            meaning = "epochs * nodes * kappa * x" if several else "epochs * kappa * x"
            rows.append((group.label, group.where, f"{meaning} = {' * '.join(factors)} = {parts[-1]}"))
        yield from aligned(rows)
        summed = _sum(parts) + (f" = {number(self.found.cost)}" if len(parts) > 1 else "")
        yield f"  cost = {self.units.after(summed, 'cost')}"

    def goal(self) -> Iterator[str]:
        """Constraint (3)."""
        last, level = f"l({self.found.epochs})", probability(self.target.quantile_level)
        most, fitted, quantile = number(self.target.maximum_loss), self.found.fitted, self.found.quantile
        yield f"(3) Loss target  P({last} <= {most}) >= {level}"
        if not self.declared:
            given = "on given scenarios 'depl check' counts the misses"
            yield f"  no law is declared, so nothing is said; {given}"
            return
        violation, allowed = self.found.violation, float(self.target.violation_budget)
        share = number(100 * violation.upper / allowed, 3)
        used = f"allowed is {number(allowed)}, of which {share} % are used"
        yield f"  P({last} > {most}) {_certified(violation, fitted)}; {used}: {self.held('(3)')}"
        if quantile is None:
            return
        yield f"  the {level}-quantile of {last} {_certified(quantile, fitted)}"
        if not fitted:
            mean, law = self.found.expected_loss, law_of_end(self.instance, self.plan)
            margin, deviation = quantile.middle - mean, math.sqrt(law.variance())
            known = 0 < deviation < math.inf
            scaled = f", {number(margin / deviation, 4)} standard deviations" if known else ""
            yield f"  its margin over the mean {number(mean)} is {number(margin)}{scaled}"

    def horizon(self) -> Iterator[str]:
        """Constraint (4) and the deadline of rounds."""
        target, found, amount = self.target, self.found, self.units.amount
        yield "(4) Training time  sum of T(k) <= T_max"
        summed = _sum([f"{group.count} * {number(self.time(group))}" for group in self.groups])
        summed += f" = {amount(found.training_time, 'time')}" if self.groups else ""
        if target.maximum_time is None:
            yield f"  {summed}, without a limit"
        else:
            yield f"  {summed}; T_max is {amount(target.maximum_time, 'time')}: {self.held('(4)')}"
        if target.round_deadline is not None:
            longest = amount(max(found.epoch_times, default=0.0), "time")
            deadline = amount(target.round_deadline, "time")
            yield f"  longest epoch {longest}; the round deadline is {deadline}: {self.held('tau')}"

    def held(self, equation: str) -> str:
        """Whether a constraint holds."""
        kept = all(item.satisfied for item in self.found.constraints if item.equation == equation)
        return "holds" if kept else "FAILS"

    def resources(self) -> Iterator[str]:
        """Constraint (5)."""
        yield "(5) Resources  x(k) <= r(n)"
        rows = []
        for name in dict.fromkeys(group.epoch.cluster for group in self.groups):
            own = (group for group in self.groups if group.epoch.cluster == name)
            group = max(own, key=lambda group: group.epoch.resources)
            limit = f"r = {self.units.amount(self.instance.cluster(name).capacity, 'resource')}"
            rows.append((name, f"largest x(k) = {number(group.epoch.resources)}", limit, group.label))
        yield from aligned(rows)

    def nodes(self) -> Iterator[str]:
        """What unequal nodes commit; nothing where all nodes of a cluster are equal."""
        rows = []
        for group in self.groups:
            cluster, x = self.instance.cluster(group.epoch.cluster), group.epoch.resources
            for nodes, share in zip(cluster.groups or (), cluster.resources_of_groups(x), strict=True):
                division = f"x / v = {number(x)} / {number(nodes.speed)} = {number(share)}"
                words = (counted(nodes.count, "node"), f"{division} of {number(nodes.capacity)}")
                rows.append((group.label, cluster.name, *words))
        if rows:
            yield "Unequal nodes  each commits x(k) / v, so that all of a cluster compute equally long"
            yield from aligned(rows)

    def data(self) -> Iterator[str]:
        """Constraint (6)."""
        yield "(6) Data  only clusters that train have data"
        rows, number_of_all = [], len(self.instance.datasets)
        for row in self.plan.data:
            trains = sum(epoch.cluster == row.cluster for epoch in self.plan.epochs)
            missing = number_of_all - len(row.datasets)
            use = f"leaves {missing} of {number_of_all} out" if missing else "all data"
            has = f"has {_set(row.datasets)} ({use})"
            rows.append((row.cluster, has, f"trains {counted(trains, 'epoch')}"))
        yield from aligned(rows)


def _run(group: _Group) -> str:
    terms = [term for run in group.runs for term in run.terms]
    if not terms:
        return f"l_run = {_span([run.shift for run in group.runs])}"
    return f"l_run = {_span([term.coefficient for term in terms])} X, X ~ {terms[0].law.in_words()}"


def _certified(interval: Interval, counted: bool) -> str:
    """Bounds of a number; of one that runs were counted for, the upper end, as the count is a careful one."""
    exact = interval.exact
    small = exact is not None and exact.denominator <= _LARGEST_DENOMINATOR
    if counted:
        most = f"at most {exact}" if small else wording.at_most(interval.upper)
        return f"is {most}, as the runs are counted"
    if small:
        return f"is exactly {exact}"
    return f"lies in {wording.interval(interval.lower, interval.upper)}, certified"


def _set(names: Iterable[str]) -> str:
    return "{" + ", ".join(sorted(names)) + "}"


def _span(values: Sequence[float]) -> str:
    ends = number(values[0]), number(values[-1])
    return ends[0] if ends[0] == ends[1] else " .. ".join(ends)


def _sum(parts: Sequence[str]) -> str:
    shown = parts if len(parts) <= _LONGEST_SUM else [*parts[: _LONGEST_SUM - 2], "...", parts[-1]]
    return " + ".join(shown) or "0"

"""Every discrete plan of a tiny instance, written out; shares no code with the enumeration or the allocation.

Used by tests only. Costs come from bisection on the time multiplier with a scalar formula per epoch,
probabilities from the independent verifier.
"""

import itertools
import math
from fractions import Fraction

import numpy as np

from depl.models.problem.plan import Plan
from depl.models.verifier.verify import verify
from tests.problems import plan as plan_of


def cheapest_resources(kinds, total_time, deadline):
    """x for epochs given as (work, price, capacity, communication), or None if no x keeps the limits."""
    lowest = [_least(kind, deadline) for kind in kinds]
    if None in lowest:
        return None

    def choice(level):
        chosen = []
        for (work, price, capacity, _), least in zip(kinds, lowest, strict=True):
            wanted = capacity if price == 0 else math.sqrt(level * work / price)
            chosen.append(0.0 if work == 0 else min(max(wanted, least), capacity))
        return chosen

    def duration(chosen):
        pairs = list(zip(kinds, chosen, strict=True))
        if any(work > 0 and x == 0 for (work, _, _, _), x in pairs):
            return math.inf
        return math.fsum(wait + (work / x if work > 0 else 0.0) for (work, _, _, wait), x in pairs)

    if total_time is None or duration(choice(0.0)) <= total_time:
        return choice(0.0)
    full = [capacity if work > 0 else 0.0 for work, _, capacity, _ in kinds]
    if duration(full) >= total_time:
        return full if duration(full) <= total_time * (1 + 1e-9) else None
    low, high = 0.0, 1.0
    while duration(choice(high)) > total_time:
        high *= 4
    for _ in range(200):
        middle = (low + high) / 2 if low > 0 else high / 4
        low, high = (low, middle) if duration(choice(middle)) <= total_time else (middle, high)
        if high - low <= 1e-15 * high:
            break
    return choice(high)


def _least(kind, deadline):
    """The least x that keeps the round deadline, or None."""
    work, _, capacity, wait = kind
    if deadline is None or (work == 0 and wait <= deadline * (1 + 1e-9)):
        return 0.0
    if wait + work / capacity > deadline * (1 + 1e-9):
        return None
    return min(work / (deadline - wait) if deadline > wait else capacity, capacity)


def assignments(instance):
    """Every choice of clusters with a nonempty subset of the datasets each."""
    names = [item.name for item in instance.datasets]
    subsets = [chosen for size in range(len(names) + 1) for chosen in itertools.combinations(names, size)]
    places = [item.name for item in instance.clusters]
    for chosen in itertools.product(subsets, repeat=len(places)):
        if any(chosen):
            yield {place: held for place, held in zip(places, chosen, strict=True) if held}


def moved(instance, data):
    """What an assignment costs to transfer."""
    costs = {(row.dataset, row.cluster): row.cost for row in instance.transfers}
    return math.fsum(costs.get((name, place), 0.0) for place, names in data.items() for name in names)


def every_plan(instance, wanted=None):
    """(cost, plan) for every sequence and every data assignment that uses all its clusters.

    With ``wanted``, only of those that it answers True for: resources take long to find.
    """
    for data in assignments(instance):
        yield from _plans_with(instance, data, wanted)


def _plans_with(instance, data, wanted):
    options = [
        (model, place) for model in instance.models for place in instance.clusters if place.name in data
    ]
    for length in range(1, instance.target.maximum_epochs + 1):
        for sequence in itertools.product(options, repeat=length):
            if {place.name for _, place in sequence} != set(data) or _forbidden(instance, sequence):
                continue
            if wanted is not None and not wanted(sequence, data):
                continue
            kinds = [
                asked_by(instance, k, model, place, data[place.name])
                for k, (model, place) in enumerate(sequence)
            ]
            chosen = cheapest_resources(kinds, instance.target.maximum_time, instance.target.round_deadline)
            if chosen is None:
                continue
            paid = math.fsum(price * x for (_, price, _, _), x in zip(kinds, chosen, strict=True))
            rows = [(model.name, place.name, x) for (model, place), x in zip(sequence, chosen, strict=True)]
            yield moved(instance, data) + paid, plan_of(*rows, data=data)


def _forbidden(instance, sequence):
    laws = {(row.previous, row.following): row.law for row in instance.switches}
    before = instance.target.initial_model
    for model, _ in sequence:
        law = laws.get((before, model.name), instance.other_switches)
        if before not in (None, model.name) and type(law).__name__ == "Forbidden":
            return True
        before = model.name
    return False


def asked_by(instance, index, model, place, names):
    """Work per node, price, capacity and communication of one epoch, index from 0."""
    if model.compute is None:
        data = [item for item in instance.datasets if item.name in names]
        work = model.demand * sum(item.volume if item.work is None else item.work for item in data)
    else:
        work = sum(
            table.epochs[index] for table in model.compute if table.dataset is None or table.dataset in names
        )
    return work / place.nodes, place.nodes * place.unit_cost, place.capacity, model.size / place.bandwidth


def _everything(instance, plan):
    """No rule."""
    return True


def cheapest_by_brute_force(instance, below=math.inf, rule=_everything):
    """Cheapest cost that is certified to meet the target, and cheapest that is not certified to miss it.

    Plans that break ``rule`` are left out.

    Plans that differ only in resources have one loss, so verdicts are kept per sequence of models and data.
    """
    budget = 1 - instance.target.quantile_level
    start = instance.target.initial_loss <= instance.target.maximum_loss + 1e-9
    met, possible = (0.0, 0.0) if start and rule(instance, Plan()) else (math.inf, math.inf)
    known = {}
    plans = (pair for pair in every_plan(instance) if rule(instance, pair[1]))
    for cost, plan in sorted(plans, key=lambda pair: pair[0]):
        if cost > min(below, met):
            break
        key = tuple((epoch.model, frozenset(plan.datasets(epoch.cluster))) for epoch in plan.epochs)
        if key not in known:
            known[key] = verify(instance, plan).violation
        if known[key].lower <= budget * (1 + 1e-12):
            possible = min(possible, cost)
        if known[key].upper <= budget * (1 + 1e-12):
            met = min(met, cost)
    return met, possible


def cheapest_under_scenarios(instance, improvements, switches, decimals=None, rule=_everything):
    """Cost and plan of the optimum when constraint (3) counts scenarios; (infinity, None) if infeasible.

    ``improvements`` holds X of every model at every epoch, shape (S, K, M), ``switches`` the loss of every
    switch, shape (S, K, M, M); gains and losses are rounded to so many ``decimals``.
    """
    target, size = instance.target, len(improvements)
    allowed = math.floor((1 - Fraction(repr(target.quantile_level))) * size + Fraction(1, 10**9))
    samples = Samples(instance, improvements, switches, decimals)
    if samples.misses([]) <= allowed and rule(instance, Plan()):
        return 0.0, Plan()

    best = (math.inf, None)

    def wanted(sequence, data):
        epochs = [(model.name, data[place.name]) for model, place in sequence]
        return at_least(instance, sequence, data) < best[0] and samples.misses(epochs) <= allowed

    for cost, plan in every_plan(instance, wanted):
        if cost < best[0] and rule(instance, plan):
            best = cost, plan
    return best


def at_least(instance, sequence, data):
    """Below the cost of a sequence, by Cauchy and Schwarz: (sum sqrt(price work))**2 / (T - waiting)."""
    if instance.target.maximum_time is None:
        return 0.0
    kinds = [
        asked_by(instance, k, model, place, data[place.name]) for k, (model, place) in enumerate(sequence)
    ]
    left = instance.target.maximum_time * (1 + 1e-9) - sum(wait for *_, wait in kinds)
    if left <= 0:
        return 0.0
    return moved(instance, data) + sum(math.sqrt(price * work) for work, price, _, _ in kinds) ** 2 / left * (
        1 - 1e-9
    )


def cost_and_misses(instance, plan, improvements, switches, decimals=None):
    """Cost of a plan, with the resources that it states, and how many scenarios it misses."""
    data = {row.cluster: row.datasets for row in plan.data}
    places = {item.name: item for item in instance.clusters}
    paid = [places[e.cluster].nodes * places[e.cluster].unit_cost * e.resources for e in plan.epochs]
    samples = Samples(instance, improvements, switches, decimals)
    misses = samples.misses([(epoch.model, data[epoch.cluster]) for epoch in plan.epochs])
    return math.fsum([moved(instance, data), *paid]), misses


class Samples:
    """The scenarios, and what every epoch does to the loss in each of them."""

    def __init__(self, instance, improvements, switches, decimals):
        self.instance, self.improvements, self.switches = instance, improvements, switches
        self.decimals, self.names = decimals, [model.name for model in instance.models]
        self.laws = {(row.previous, row.following): row.law for row in instance.switches}
        self._changes = {}

    def misses(self, epochs):
        """How many scenarios end above l_max; an epoch is a model with its datasets."""
        losses = np.full(len(self.improvements), self.instance.target.initial_loss)
        before = self.instance.target.initial_model
        for k, (name, datasets) in enumerate(epochs):
            key = k, before, name, tuple(datasets)
            if key not in self._changes:
                self._changes[key] = self._change(*key)
            losses = losses + self._changes[key]
            before = name
        return int((losses > self.instance.target.maximum_loss + 1e-9).sum())

    def _change(self, k, before, name, datasets):
        """- h(D) A / sqrt(k + B) X of one epoch, k from 0, and the loss of a switch that is not forbidden."""
        m = self.names.index(name)
        law = self.instance.models[m].improvement
        law = law.epochs[k] if hasattr(law, "epochs") else law
        slope = law.scale / math.sqrt(k + 1 + law.offset) if hasattr(law, "offset") else law.scale
        noise = getattr(law.noise, "value", self.improvements[:, k, m])
        gained = self._on_grid(learning_left(self.instance, datasets) * slope * noise)
        if before in (None, name):
            return -gained
        law = self.laws.get((before, name), self.instance.other_switches)
        if type(law).__name__ == "Zero":
            return -gained
        drawn = self.switches[:, k, self.names.index(before), m]
        return self._on_grid(getattr(law, "value", drawn)) - gained

    def _on_grid(self, values):
        return np.asarray(values if self.decimals is None else np.round(values, self.decimals))


def learning_left(instance, used):
    """h(D) of eq. (7), written out for each kind of data law."""
    law = instance.data_law
    whole = sum(item.volume for item in instance.datasets)
    part = sum(item.volume for item in instance.datasets if item.name in used)
    kind = type(law).__name__
    if kind == "TableDataLaw":
        rows = {frozenset(row.datasets): row.epochs for row in law.subsets}
        return rows[frozenset(item.name for item in instance.datasets)] / rows[frozenset(used)]
    if kind == "LogDataLaw":
        return (law.a - law.b * math.log(law.base_volume + whole)) / (
            law.a - law.b * math.log(law.base_volume + part)
        )
    if kind == "InverseLogDataLaw":
        return math.log(1 + law.base_volume + part) / math.log(1 + law.base_volume + whole)
    if kind == "PowerDataLaw":
        return ((law.base_volume + part) / (law.base_volume + whole)) ** law.p
    return 1.0

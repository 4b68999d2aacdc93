"""What must not change an optimum under scenarios, and what may move it one way only.

Every relation is asked of every method on two tiny instances, plain and with two clusters and two datasets;
slowly on two more, which have either. It holds whatever the optimum is, so no recorded number and no other
solver is needed.
"""

import itertools
import math

import numpy as np
import pytest
from msgspec.structs import replace

from depl.models.problem.instance import Switch
from depl.models.problem.laws import Deterministic, Forbidden
from depl.models.problem.learning import TabledImprovement
from depl.models.scenarios.draws import Scenarios
from tests.cases.scenario_methods import every_method, four_instances, proven, solved, two_or_four

SLOW = pytest.mark.slow


def unit_of_cost(factor):
    def change(instance, scenarios):
        clusters = tuple(replace(item, unit_cost=item.unit_cost * factor) for item in instance.clusters)
        transfers = tuple(replace(row, cost=row.cost * factor) for row in instance.transfers)
        return instance.replace(clusters=clusters, transfers=transfers), scenarios, factor

    return change


def unit_of_time(factor):
    def change(instance, scenarios):
        models = tuple(worked(model, factor, size=model.size * factor) for model in instance.models)
        return instance.replace(models=models, **time_limits(instance, factor)), scenarios, 1.0

    return change


def unit_of_loss(factor):
    """Powers of two: the increments are scaled without rounding, so that ties stay ties."""

    def change(instance, scenarios):
        target = instance.target
        other = instance.replace(
            initial_loss=target.initial_loss * factor,
            maximum_loss=target.maximum_loss * factor,
            models=tuple(replace(m, improvement=_scaled(m.improvement, factor)) for m in instance.models),
            switches=tuple(replace(row, law=_scaled_law(row.law, factor)) for row in instance.switches),
            other_switches=_scaled_law(instance.other_switches, factor),
        )
        return other, Scenarios(scenarios.improvements * factor, scenarios.switch_losses * factor), 1.0

    return change


def other_order(instance, scenarios):
    """Of models, clusters and datasets."""
    order = np.roll(np.arange(len(instance.models)), 1)
    other = instance.replace(
        clusters=instance.clusters[::-1],
        datasets=instance.datasets[::-1],
        models=tuple(instance.models[place] for place in order),
    )
    switches = scenarios.switch_losses[:, :, order][:, :, :, order]
    return other, Scenarios(scenarios.improvements[:, :, order], switches), 1.0


def other_order_of_scenarios(instance, scenarios):
    order = np.random.default_rng(5).permutation(len(scenarios))
    return instance, Scenarios(scenarios.improvements[order], scenarios.switch_losses[order]), 1.0


def a_worse_model(instance, scenarios):
    """A copy of the first model that gains less and asks for more; no switch leads to or from it."""
    first = instance.models[0]
    worse = worked(first, 1.5, name="worse", size=first.size + 1)
    pairs = [pair for m in instance.models for pair in ((m.name, "worse"), ("worse", m.name))]
    barred = [Switch(previous=one, following=other, law=Forbidden()) for one, other in pairs]
    other = instance.replace(models=(*instance.models, worse), switches=(*instance.switches, *barred))
    gains = scenarios.improvements
    slopes = np.array([first.improvement.at(k)[0] for k in range(1, gains.shape[1] + 1)])
    switches = np.zeros((*gains.shape[:2], len(other.models), len(other.models)))
    switches[:, :, :-1, :-1] = scenarios.switch_losses
    falls = 0.1 * np.sign(slopes)[:, None]
    return other, Scenarios(np.concatenate([gains, gains[:, :, :1] - falls], axis=2), switches), 1.0


def worked(model, factor, **changes):
    """The model with so many times the work."""
    compute = model.compute and tuple(
        replace(table, epochs=tuple(work * factor for work in table.epochs)) for table in model.compute
    )
    return replace(model, demand=model.demand * factor, compute=compute, **changes)


def time_limits(instance, factor):
    given = {name: getattr(instance.target, name) for name in ("maximum_time", "round_deadline")}
    return {name: value * factor for name, value in given.items() if value is not None}


def _scaled(rule, factor):
    """The same improvement with constants in another unit; random ones are scaled with the sample."""
    if isinstance(rule, TabledImprovement):
        return replace(rule, epochs=tuple(_scaled(row, factor) for row in rule.epochs))
    return replace(rule, noise=_scaled_law(rule.noise, factor))


def _scaled_law(law, factor):
    return Deterministic(value=law.value * factor) if isinstance(law, Deterministic) else law


CHANGES = {
    "unit of cost": unit_of_cost(1e-3),
    "large unit of cost": unit_of_cost(64.0),
    "unit of time": unit_of_time(60.0),
    "small unit of time": unit_of_time(1 / 32),
    "unit of loss": unit_of_loss(16.0),
    "small unit of loss": unit_of_loss(1 / 8),
    "order": other_order,
    "order of scenarios": other_order_of_scenarios,
    "a worse model": a_worse_model,
}
CHANGED = [pytest.param(name, marks=[SLOW] * (name.startswith(("large", "small")))) for name in CHANGES]


@every_method
@pytest.mark.parametrize("change", CHANGED)
@two_or_four
def test_what_must_not_change_the_optimum_does_not(method, count, change):
    for instance, scenarios, cost in solved(method, count):
        other, sample, factor = CHANGES[change](instance, scenarios)
        assert proven(method, other, sample).cost == pytest.approx(factor * cost, rel=1e-9)


def more_time(instance):
    return [instance.replace(**time_limits(instance, factor)) for factor in (0.85, 1.0, 1.3)]


def looser_target(instance):
    start, end = instance.target.initial_loss, instance.target.maximum_loss
    losses = (end - 0.3 * (start - end), end, end + 0.3 * (start - end), start)
    return [instance.replace(maximum_loss=loss) for loss in losses]


def more_capacity(instance):
    return [
        instance.replace(clusters=tuple(replace(n, capacity=n.capacity * factor) for n in instance.clusters))
        for factor in (0.4, 1.0, 2.0)
    ]


def more_misses(instance):
    return [instance.replace(quantile_level=level) for level in (0.99, 0.6, 0.2)]


def longer_horizon(instance):
    """With the first epochs of the same scenarios; the start does not meet the target."""
    return [instance.replace(maximum_epochs=epochs) for epochs in range(instance.target.maximum_epochs + 1)]


@every_method
@pytest.mark.parametrize("relaxed", [more_time, looser_target, more_capacity, more_misses, longer_horizon])
@two_or_four
def test_more_of_anything_that_is_allowed_never_costs_more(method, count, relaxed):
    moved = 0
    for instance, scenarios in four_instances()[:count]:
        asked = [(one, one.target.maximum_epochs) for one in relaxed(instance)]
        costs = [proven(method, one, _first_epochs(scenarios, epochs)).cost for one, epochs in asked]
        assert all(after <= before * (1 + 1e-9) for before, after in itertools.pairwise(costs))
        moved += costs[0] > costs[-1]
        assert relaxed is not looser_target or costs[-1] == 0
        assert relaxed is not longer_horizon or costs[0] == math.inf
    # priced time binds: nothing else limits resources from below
    assert moved >= (count if relaxed in (more_time, looser_target) else count // 2)


def _first_epochs(scenarios, epochs):
    return Scenarios(scenarios.improvements[:, :epochs], scenarios.switch_losses[:, :epochs])

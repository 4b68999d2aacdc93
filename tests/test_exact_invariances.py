"""What must not change an optimum under scenarios, and what may move it one way only.

Every relation is asked of every method on random tiny instances, half of them with two clusters or two
datasets. A relation holds whatever the optimum is, so no recorded number and no other solver is needed.
"""

import dataclasses
import itertools
import math

import numpy as np
import pytest

from depl.benchmarks.tiny_sampled import tiny_sampled
from depl.models.laws import Deterministic, Forbidden
from depl.models.learning import TabledImprovement
from depl.models.problem import Switch
from depl.models.scenarios.draws import Scenarios
from tests.scenario_methods import every_method, judged, proven


@pytest.fixture(scope="module")
def family():
    """Two plain instances and two each with two clusters, two datasets and both; none has a cost of 0."""
    drawn = [
        item
        for item in tiny_sampled(np.random.default_rng(77), 80)
        if 0 < judged(item.instance, item.scenarios).cost < math.inf
        and item.scenarios.decimals is None
        and len(item.instance.models) > 1
    ]
    chosen = []
    for shape in ((1, 1), (2, 1), (1, 2), (2, 2)):
        fitting = [
            item for item in drawn if (len(item.instance.clusters), len(item.instance.datasets)) == shape
        ]
        assert len(fitting) >= 2
        chosen += [(item.instance, item.scenarios) for item in fitting[:2]]
    return chosen


def nonincreasing(costs):
    """Whether no cost exceeds the one before it, roundings apart; infinite is greater than anything."""
    return all(after <= before * (1 + 1e-9) for before, after in itertools.pairwise(costs))


# What may move the optimum one way only.


@every_method
def test_more_time_never_costs_more(method, family):
    for instance, scenarios in family:
        target = instance.target
        costs = []
        for factor in (0.85, 1, 1.3):
            more = {
                name: getattr(target, name) * factor
                for name in ("maximum_time", "round_deadline")
                if getattr(target, name) is not None
            }
            costs.append(proven(method, instance.replace(**more), scenarios).cost)
        assert nonincreasing(costs)
        assert costs[0] > costs[-1]  # priced time binds: nothing else limits resources from below


@every_method
def test_a_looser_target_never_costs_more(method, family):
    moved = 0
    for instance, scenarios in family:
        target = instance.target
        fall = target.initial_loss - target.maximum_loss
        losses = [target.maximum_loss + share * fall for share in (-0.4, 0, 0.4, 1)]
        costs = [proven(method, instance.replace(maximum_loss=loss), scenarios).cost for loss in losses]
        assert nonincreasing(costs)
        assert costs[-1] == 0
        moved += costs[0] > costs[1]
    assert moved >= len(family) // 2


@every_method
def test_more_capacity_never_costs_more(method, family):
    for instance, scenarios in family:
        costs = []
        for factor in (0.5, 0.8, 1, 2):
            clusters = tuple(_changed(item, capacity=item.capacity * factor) for item in instance.clusters)
            costs.append(proven(method, instance.replace(clusters=clusters), scenarios).cost)
        assert nonincreasing(costs)


@every_method
def test_a_longer_horizon_on_nested_scenarios_never_costs_more(method, family):
    for instance, scenarios in family:
        longest = instance.target.maximum_epochs
        costs = [
            proven(method, instance.replace(maximum_epochs=epochs), scenarios).cost
            for epochs in range(longest + 1)
        ]
        assert costs[0] == math.inf  # the start does not meet the target
        assert nonincreasing(costs)


@every_method
def test_more_allowed_misses_never_cost_more(method, family):
    moved = 0
    for instance, scenarios in family:
        costs = [
            proven(method, instance.replace(quantile_level=level), scenarios).cost
            for level in (0.99, 0.8, 0.5, 0.2)
        ]
        assert nonincreasing(costs)
        moved += costs[0] > costs[-1]
    assert moved >= len(family) // 2


@every_method
def test_fewer_scenarios_with_as_many_misses_never_cost_more(method, family):
    """Leaving scenarios out relaxes the problem, as long as no allowed miss is lost."""
    for instance, scenarios in family:
        instance = instance.replace(quantile_level=0.999)
        fewer = dataclasses.replace(
            scenarios, improvements=scenarios.improvements[:4], switches=scenarios.switches[:4]
        )
        assert nonincreasing([proven(method, instance, sample).cost for sample in (scenarios, fewer)])


# What must not change the optimum, or scale it.


@every_method
@pytest.mark.parametrize("factor", [1e-3, 64.0])
def test_the_unit_of_cost_does_not_matter(method, family, factor):
    for instance, scenarios in family:
        other = instance.replace(
            clusters=tuple(_changed(item, unit_cost=item.unit_cost * factor) for item in instance.clusters),
            transfers=tuple(_changed(row, cost=row.cost * factor) for row in instance.transfers),
        )
        cost = proven(method, instance, scenarios).cost
        assert proven(method, other, scenarios).cost == pytest.approx(factor * cost, rel=1e-9)


@every_method
@pytest.mark.parametrize("factor", [1 / 32, 60.0])
def test_the_unit_of_time_does_not_matter(method, family, factor):
    for instance, scenarios in family:
        target = instance.target
        limits = {
            name: getattr(target, name) * factor
            for name in ("maximum_time", "round_deadline")
            if getattr(target, name) is not None
        }
        models = tuple(
            _changed(
                model,
                size=model.size * factor,
                demand=model.demand * factor,
                compute=model.compute
                and tuple(
                    _changed(table, epochs=tuple(work * factor for work in table.epochs))
                    for table in model.compute
                ),
            )
            for model in instance.models
        )
        cost = proven(method, instance, scenarios).cost
        other = instance.replace(models=models, **limits)
        assert proven(method, other, scenarios).cost == pytest.approx(cost, rel=1e-9)


@every_method
@pytest.mark.parametrize("factor", [1 / 8, 16.0])
def test_the_unit_of_loss_does_not_matter(method, family, factor):
    """Powers of two: the increments are scaled without rounding, so that ties stay ties."""
    for instance, scenarios in family:
        target = instance.target
        other = instance.replace(
            initial_loss=target.initial_loss * factor,
            maximum_loss=target.maximum_loss * factor,
            models=tuple(_changed(m, improvement=_scaled(m.improvement, factor)) for m in instance.models),
            switches=tuple(_changed(row, law=_scaled_law(row.law, factor)) for row in instance.switches),
            other_switches=_scaled_law(instance.other_switches, factor),
        )
        sample = Scenarios(scenarios.improvements * factor, scenarios.switches * factor)
        cost = proven(method, instance, scenarios).cost
        assert proven(method, other, sample).cost == pytest.approx(cost, rel=1e-9)


@every_method
def test_the_order_of_models_clusters_and_datasets_does_not_matter(method, family):
    for instance, scenarios in family:
        cost = proven(method, instance, scenarios).cost
        for field in ("clusters", "datasets"):
            other = instance.replace(**{field: tuple(reversed(getattr(instance, field)))})
            assert proven(method, other, scenarios).cost == pytest.approx(cost, rel=1e-9)
        order = np.roll(np.arange(len(instance.models)), 1)
        other = instance.replace(models=tuple(instance.models[place] for place in order))
        sample = Scenarios(
            scenarios.improvements[:, :, order], scenarios.switches[:, :, order][:, :, :, order]
        )
        assert proven(method, other, sample).cost == pytest.approx(cost, rel=1e-9)


@every_method
def test_the_order_of_the_scenarios_does_not_matter(method, family):
    for instance, scenarios in family:
        order = np.random.default_rng(5).permutation(len(scenarios))
        sample = Scenarios(scenarios.improvements[order], scenarios.switches[order])
        cost = proven(method, instance, scenarios).cost
        assert proven(method, instance, sample).cost == pytest.approx(cost, rel=1e-9)


@every_method
@pytest.mark.parametrize("copies", [2, 5])
def test_copies_of_all_scenarios_change_nothing_where_the_allowed_misses_keep_pace(method, family, copies):
    for instance, scenarios in family:
        size = len(scenarios) - len(scenarios) % 5
        instance = instance.replace(quantile_level=0.6)  # two of five may miss
        sample = Scenarios(scenarios.improvements[:size], scenarios.switches[:size])
        repeated = Scenarios(
            np.repeat(sample.improvements, copies, axis=0), np.repeat(sample.switches, copies, axis=0)
        )
        cost = proven(method, instance, sample).cost
        assert proven(method, instance, repeated).cost == pytest.approx(cost, rel=1e-9)


@every_method
def test_a_model_that_is_worse_in_everything_changes_nothing(method, family):
    """A copy of the first model that gains less and asks for more; no switch leads to or from it."""
    for instance, scenarios in family:
        first = instance.models[0]
        worse = _changed(
            first,
            name="worse",
            demand=first.demand * 1.5,
            size=first.size + 1,
            compute=first.compute
            and tuple(
                _changed(table, epochs=tuple(work * 1.5 for work in table.epochs)) for table in first.compute
            ),
        )
        barred = [
            Switch(previous=previous, following=following, law=Forbidden())
            for model in instance.models
            for previous, following in ((model.name, "worse"), ("worse", model.name))
        ]
        other = instance.replace(models=(*instance.models, worse), switches=(*instance.switches, *barred))
        gains = scenarios.improvements
        falls = 0.1 * np.sign(_slopes(first, gains.shape[1]))[:, None]
        switches = np.zeros((*gains.shape[:2], len(other.models), len(other.models)))
        switches[:, :, :-1, :-1] = scenarios.switches
        sample = Scenarios(np.concatenate([gains, gains[:, :, :1] - falls], axis=2), switches)
        cost = proven(method, instance, scenarios).cost
        assert proven(method, other, sample).cost == pytest.approx(cost, rel=1e-9)


def _slopes(model, epochs):
    return np.array([model.improvement.at(k)[0] for k in range(1, epochs + 1)])


def _changed(item, **changes):
    return type(item)(**{name: getattr(item, name) for name in item.__struct_fields__} | changes)


def _scaled(rule, factor):
    """The same improvement with constants in another unit; random ones are scaled with the sample."""
    if isinstance(rule, TabledImprovement):
        return _changed(rule, epochs=tuple(_scaled(row, factor) for row in rule.epochs))
    return _changed(rule, noise=_scaled_law(rule.noise, factor))


def _scaled_law(law, factor):
    return Deterministic(value=law.value * factor) if isinstance(law, Deterministic) else law

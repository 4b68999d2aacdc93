"""What must not change an optimum under scenarios: units, order, copies, and what nobody would choose.

Every relation is asked of every method on two tiny instances, plain and with two clusters and two datasets;
slowly on two more, which have either. It holds whatever the optimum is, so no recorded number and no other
solver is needed.
"""

import numpy as np
import pytest
from msgspec.structs import replace

from depl.models.problem.instance import Switch
from depl.models.problem.laws import Deterministic, Forbidden
from depl.models.problem.learning import TabledImprovement
from depl.models.scenarios.draws import Scenarios
from tests.cases.scenario_methods import every_method, four_instances, proven, solved, two_or_four

SLOW = pytest.mark.slow


@every_method
@pytest.mark.parametrize("factor", [1e-3, pytest.param(64.0, marks=SLOW)])
@two_or_four
def test_the_unit_of_cost_does_not_matter(method, count, factor):
    for instance, scenarios, cost in solved(method, count):
        other = instance.replace(
            clusters=tuple(replace(item, unit_cost=item.unit_cost * factor) for item in instance.clusters),
            transfers=tuple(replace(row, cost=row.cost * factor) for row in instance.transfers),
        )
        assert proven(method, other, scenarios).cost == pytest.approx(factor * cost, rel=1e-9)


@every_method
@pytest.mark.parametrize("factor", [60.0, pytest.param(1 / 32, marks=SLOW)])
@two_or_four
def test_the_unit_of_time_does_not_matter(method, count, factor):
    for instance, scenarios, cost in solved(method, count):
        target = instance.target
        limits = {
            name: getattr(target, name) * factor
            for name in ("maximum_time", "round_deadline")
            if getattr(target, name) is not None
        }
        models = tuple(
            replace(
                model,
                size=model.size * factor,
                demand=model.demand * factor,
                compute=model.compute
                and tuple(
                    replace(table, epochs=tuple(work * factor for work in table.epochs))
                    for table in model.compute
                ),
            )
            for model in instance.models
        )
        other = instance.replace(models=models, **limits)
        assert proven(method, other, scenarios).cost == pytest.approx(cost, rel=1e-9)


@every_method
@pytest.mark.parametrize("factor", [16.0, pytest.param(1 / 8, marks=SLOW)])
@two_or_four
def test_the_unit_of_loss_does_not_matter(method, count, factor):
    """Powers of two: the increments are scaled without rounding, so that ties stay ties."""
    for instance, scenarios, cost in solved(method, count):
        target = instance.target
        other = instance.replace(
            initial_loss=target.initial_loss * factor,
            maximum_loss=target.maximum_loss * factor,
            models=tuple(replace(m, improvement=_scaled(m.improvement, factor)) for m in instance.models),
            switches=tuple(replace(row, law=_scaled_law(row.law, factor)) for row in instance.switches),
            other_switches=_scaled_law(instance.other_switches, factor),
        )
        sample = Scenarios(scenarios.improvements * factor, scenarios.switch_losses * factor)
        assert proven(method, other, sample).cost == pytest.approx(cost, rel=1e-9)


@every_method
@two_or_four
def test_the_order_of_models_clusters_and_datasets_does_not_matter(method, count):
    for instance, scenarios, cost in solved(method, count):
        order = np.roll(np.arange(len(instance.models)), 1)
        other = instance.replace(
            clusters=instance.clusters[::-1],
            datasets=instance.datasets[::-1],
            models=tuple(instance.models[place] for place in order),
        )
        sample = Scenarios(
            scenarios.improvements[:, :, order], scenarios.switch_losses[:, :, order][:, :, :, order]
        )
        assert proven(method, other, sample).cost == pytest.approx(cost, rel=1e-9)


@every_method
@two_or_four
def test_the_order_of_the_scenarios_does_not_matter(method, count):
    for instance, scenarios, cost in solved(method, count):
        order = np.random.default_rng(5).permutation(len(scenarios))
        sample = Scenarios(scenarios.improvements[order], scenarios.switch_losses[order])
        assert proven(method, instance, sample).cost == pytest.approx(cost, rel=1e-9)


@every_method
@pytest.mark.parametrize("copies", [3, pytest.param(5, marks=SLOW)])
@two_or_four
def test_copies_of_all_scenarios_change_nothing_where_the_allowed_misses_keep_pace(method, count, copies):
    for instance, scenarios in four_instances()[:count]:
        size = len(scenarios) - len(scenarios) % 5
        instance = instance.replace(quantile_level=0.6)  # two of five may miss
        sample = Scenarios(scenarios.improvements[:size], scenarios.switch_losses[:size])
        repeated = Scenarios(
            np.repeat(sample.improvements, copies, axis=0), np.repeat(sample.switch_losses, copies, axis=0)
        )
        cost = proven(method, instance, sample).cost
        assert proven(method, instance, repeated).cost == pytest.approx(cost, rel=1e-9)


@every_method
@two_or_four
def test_a_model_that_is_worse_in_everything_changes_nothing(method, count):
    """A copy of the first model that gains less and asks for more; no switch leads to or from it."""
    for instance, scenarios, cost in solved(method, count):
        first = instance.models[0]
        worse = replace(
            first,
            name="worse",
            demand=first.demand * 1.5,
            size=first.size + 1,
            compute=first.compute
            and tuple(
                replace(table, epochs=tuple(work * 1.5 for work in table.epochs)) for table in first.compute
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
        switches[:, :, :-1, :-1] = scenarios.switch_losses
        sample = Scenarios(np.concatenate([gains, gains[:, :, :1] - falls], axis=2), switches)
        assert proven(method, other, sample).cost == pytest.approx(cost, rel=1e-9)


def _slopes(model, epochs):
    return np.array([model.improvement.at(k)[0] for k in range(1, epochs + 1)])


def _scaled(rule, factor):
    """The same improvement with constants in another unit; random ones are scaled with the sample."""
    if isinstance(rule, TabledImprovement):
        return replace(rule, epochs=tuple(_scaled(row, factor) for row in rule.epochs))
    return replace(rule, noise=_scaled_law(rule.noise, factor))


def _scaled_law(law, factor):
    return Deterministic(value=law.value * factor) if isinstance(law, Deterministic) else law

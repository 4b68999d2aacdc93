"""What may move an optimum under scenarios one way only.

More of anything that is allowed never costs more. Every relation is asked of every method on two tiny
instances, plain and with two clusters and two datasets; slowly on two more, which have either.
"""

import itertools
import math

from msgspec.structs import replace

from depl.models.scenarios.draws import Scenarios
from tests.cases.scenario_methods import every_method, four_instances, proven, solved, two_or_four


def nonincreasing(costs):
    """Whether no cost exceeds the one before it, roundings apart; infinite is greater than anything."""
    return all(after <= before * (1 + 1e-9) for before, after in itertools.pairwise(costs))


@every_method
@two_or_four
def test_more_time_never_costs_more(method, count):
    for instance, scenarios, cost in solved(method, count):
        target = instance.target
        given = {name: getattr(target, name) for name in ("maximum_time", "round_deadline")}

        def at(factor, instance=instance, scenarios=scenarios, given=given):
            changed = {name: value * factor for name, value in given.items() if value is not None}
            return proven(method, instance.replace(**changed), scenarios).cost

        costs = [at(0.85), cost, at(1.3)]
        assert nonincreasing(costs)
        assert costs[0] > costs[-1]  # priced time binds: nothing else limits resources from below


@every_method
@two_or_four
def test_a_looser_target_never_costs_more(method, count):
    moved = 0
    for instance, scenarios, cost in solved(method, count):
        start, end = instance.target.initial_loss, instance.target.maximum_loss

        def at(loss, instance=instance, scenarios=scenarios):
            return proven(method, instance.replace(maximum_loss=loss), scenarios).cost

        costs = [at(end - 0.3 * (start - end)), cost, at(end + 0.3 * (start - end)), at(start)]
        assert nonincreasing(costs)
        assert costs[-1] == 0
        moved += costs[0] > costs[1]
        moved += costs[1] > costs[2]
    assert moved >= count


@every_method
@two_or_four
def test_more_capacity_never_costs_more(method, count):
    moved = 0
    for instance, scenarios, cost in solved(method, count):

        def at(factor, instance=instance, scenarios=scenarios):
            clusters = tuple(replace(item, capacity=item.capacity * factor) for item in instance.clusters)
            return proven(method, instance.replace(clusters=clusters), scenarios).cost

        costs = [at(0.4), cost, at(2)]
        assert nonincreasing(costs)
        moved += costs[0] > costs[1]
    assert moved >= count // 2


@every_method
@two_or_four
def test_a_longer_horizon_on_nested_scenarios_never_costs_more(method, count):
    for instance, scenarios, cost in solved(method, count):
        costs = [
            proven(method, instance.replace(maximum_epochs=epochs), _first_epochs(scenarios, epochs)).cost
            for epochs in range(instance.target.maximum_epochs)
        ]
        assert costs[0] == math.inf  # the start does not meet the target
        assert nonincreasing([*costs, cost])


@every_method
@two_or_four
def test_more_allowed_misses_never_cost_more(method, count):
    moved = 0
    for instance, scenarios in four_instances()[:count]:
        costs = [
            proven(method, instance.replace(quantile_level=level), scenarios).cost
            for level in (0.99, 0.6, 0.2)
        ]
        assert nonincreasing(costs)
        moved += costs[0] > costs[-1]
    assert moved >= count // 2


@every_method
@two_or_four
def test_fewer_scenarios_with_as_many_misses_never_cost_more(method, count):
    """Leaving scenarios out relaxes the problem, as long as no allowed miss is lost."""
    for instance, scenarios in four_instances()[:count]:
        instance = instance.replace(quantile_level=0.999)
        fewer = Scenarios(scenarios.improvements[:4], scenarios.switch_losses[:4])
        assert nonincreasing([proven(method, instance, sample).cost for sample in (scenarios, fewer)])


def _first_epochs(scenarios, epochs):
    return Scenarios(scenarios.improvements[:, :epochs], scenarios.switch_losses[:, :epochs])

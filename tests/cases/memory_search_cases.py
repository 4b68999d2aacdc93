"""Random instances with a traced law, all their schedules judged by hand; used by tests only."""

import dataclasses
import math
from fractions import Fraction

import numpy as np

from depl.models.problem.instance import Instance
from tests.cases.memory_cases import cheapest_cost, every_schedule, instance_of, random_law, with_tables
from tests.cases.traced_law_cases import reading
from tests.oracles.traced_law import Oracle, Schedule, on_scale
from tests.oracles.traced_scenarios import by_statement, stream

LIMITS = [
    {"maximum_time": 20.0},
    {"maximum_time": 4.0},
    {"maximum_time": None, "round_deadline": 1.55},
    {"maximum_time": 3.2, "round_deadline": 1.7},
]


@dataclasses.dataclass(frozen=True)
class Case:
    """An instance, its supported schedules with their costs, cheapest first, and what they miss by."""

    instance: Instance
    oracle: Oracle
    ranked: list[tuple[float, Schedule]]

    @property
    def budget(self):
        return self.instance.target.violation_budget

    def violation(self, schedule):
        return self.oracle.violation(schedule, self.instance.target.maximum_loss)

    def met(self):
        return [
            item for item in self.ranked if self.violation(item[1]) <= self.budget and self.believed(item[1])
        ]

    def believed(self, schedule):
        """Whether the quantile is not below every loss that was ever seen."""
        values, weights = self.oracle.law(schedule)
        return bool(weights[values > self.oracle.ever[0] - 1.5e-9].sum() > self.budget * int(weights.sum()))


def case_of(instance):
    oracle = Oracle(instance.traced_law)
    inside = [schedule for schedule in every_schedule(instance) if oracle.supported(schedule)]
    costed = [(cheapest_cost(instance, schedule), schedule) for schedule in inside]
    return Case(instance, oracle, sorted(item for item in costed if math.isfinite(item[0])))


def drawn(seed):
    """A random instance whose target some schedules meet as a rule, some of them just so."""
    rng = np.random.default_rng(9000 + seed)
    instance = instance_of(random_law(rng, **reading(seed)), **LIMITS[int(rng.integers(4))])
    instance = with_tables(instance, rng) if rng.random() < 0.3 else instance
    bare = case_of(instance)
    if not bare.ranked:
        return bare
    _, schedule = bare.ranked[int(rng.integers(len(bare.ranked)))]
    values = bare.oracle.observed(bare.oracle.law(schedule)[0])
    values = values[np.isfinite(values)]
    level = float(rng.choice([0.5, 0.7, 0.8, 0.9, 0.95]))
    maximum = float(rng.choice([np.quantile(values, level), rng.choice(values), 0.97 * values.min()]))
    share = float(bare.oracle.violation(schedule, maximum))
    if rng.random() < 0.3 and 0.01 < share < 0.99:
        level = 1 - share  # met exactly, where that is a decimal
    return dataclasses.replace(bare, instance=instance.replace(maximum_loss=maximum, quantile_level=level))


def met_on(case, size, seed):
    """Schedules of which few enough scenarios miss the target, cheapest first."""
    numbers = stream(seed, size)
    target = case.instance.target
    allowed = math.floor(target.violation_budget * size + Fraction(1, 10**9))
    found = []
    for cost, schedule in case.ranked:
        limit = on_scale(case.oracle.document, target.maximum_loss) + 1e-9
        misses = (by_statement(case.oracle, schedule, numbers) > limit).sum()
        if misses <= allowed and case.believed(schedule):
            found.append((cost, schedule))
    return found

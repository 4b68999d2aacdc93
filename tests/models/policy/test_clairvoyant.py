"""The bound of runs that are known before they begin, against every pair and schedule by itself."""

from fractions import Fraction

import numpy as np
import pytest

from depl.models.policy.capped import capped
from depl.models.policy.clairvoyant import Stages, clairvoyant_bound, stages_of
from depl.models.policy.counted_planner import proxy
from depl.models.policy.process import Process, process
from depl.models.policy.solve import solve_policy
from depl.models.problem.instance import Instance
from depl.models.problem.policy import Policy
from depl.models.problem.traced_law import TracedLaw
from tests.cases.memory_cases import instance_of, random_law
from tests.oracles.policy_counting import Counting
from tests.oracles.traced_law import Place, regressor


def solved(seed: int) -> tuple[Instance, TracedLaw, Policy, float]:
    """A random instance with its policy and the bound that was reported of it."""
    rng = np.random.default_rng(seed)
    law = random_law(
        rng,
        residuals="per_run",
        deviations=(-0.03, 0.05) if rng.random() < 0.5 else (),
        **({"diverged": 1, "unseen_loss": 9.0} if seed % 3 == 0 else {}),
    )
    instance = instance_of(
        law, round_deadline=6.0, maximum_time=None, maximum_epochs=4, maximum_loss=1.0, quantile_level=0.3
    )
    found = solve_policy(instance)
    assert found.policy is not None
    return instance, law, found.policy, found.lower_bound


class Pairs:
    """The mean of v, pair by pair and schedule by schedule."""

    def __init__(self, chain: Process, law: TracedLaw, policy: Policy, stages: Stages) -> None:
        self.counting, self.stages, self.rho = Counting(policy, law), stages, policy.failure_cost
        self.chain, self.limit = capped(chain, stages.caps), policy.grid.limit
        self.offset = 0.0

    def mean(self) -> float:
        firsts = self.counting.donors[self.stages.first, None]
        seconds = self.counting.donors.get((self.stages.second, self.stages.first), [])
        unlike, total = self.counting.unlike, 0.0
        start = next(
            item.node
            for item in self.chain.starts
            if self.stages.first in {(t.model, t.cluster) for t in self.chain.nodes[item.node].trainings}
        )
        for donor in firsts:
            values = [self.cheapest(start, None, donor.first, donor, other, 0.0) for other in seconds]
            values += [self.cheapest(start, None, donor.first, donor, None, 0.0)] * (unlike if seconds else 1)
            total += sum(values) / len(values)
        return (total + unlike * self.rho) / (len(firsts) + unlike)

    def cheapest(self, number, place, loss, donor, other, paid):  # type: ignore[no-untyped-def]
        node = self.chain.nodes[number]
        seen = loss + (self.offset if node.epoch else 0.0)
        if node.may_stop and seen <= self.limit + 1e-9:
            return min(self.rho, paid)
        best = self.rho
        for item in node.trainings:
            pair = item.model, item.cluster
            if place is not None and place.trained == pair:
                after = place._replace(age=place.age + 1)
            else:
                after = Place(pair, None if place is None else place.trained, 1, node.epoch)
            lends = {
                (self.stages.first, None): donor,
                (self.stages.second, self.stages.first): other,
            }.get((pair, after.previous))
            if lends is None:
                continue
            row = self.counting.oracle.row(after)
            mean = row.intercept + row.slope * regressor(after.start) + row.retention * loss
            lost = mean + lends.residuals[after.age - 1]
            best = min(best, self.cheapest(item.following, after, lost, donor, other, paid + item.price))
        return best


@pytest.mark.parametrize("seed", [0, 2, 3, 4, 6, 7])
def test_the_bound_is_the_mean_of_the_cheapest_first_passages_and_below_the_policy(seed):
    instance, law, policy, reported = solved(seed)
    chain = process(proxy(instance))
    stages = stages_of(policy)
    assert stages is not None
    pairs, means = Pairs(chain, law, policy, stages), []
    for pairs.offset in law.deviations or (0.0,):
        means.append(pairs.mean())
    bound = clairvoyant_bound(chain, law, policy, policy.failure_cost)
    assert bound == reported
    assert bound == pytest.approx(sum(means) / len(means), rel=1e-9)
    assert bound <= sum(means) / len(means)
    counting = Counting(policy, law)
    assert bound <= float(counting.cost + Fraction(policy.failure_cost) * (1 - counting.reached))


def test_a_policy_with_stages_of_three_kinds_has_no_such_bound():
    instance, law, policy, reported = solved(5)
    assert stages_of(policy) is None
    assert reported == 0.0
    assert clairvoyant_bound(process(proxy(instance)), law, policy, policy.failure_cost) == 0.0

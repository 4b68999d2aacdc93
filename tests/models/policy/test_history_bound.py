"""The bound for policies that remember: donor by donor, by a linear program, and below policies at random."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

from depl.models.foundation.errors import NotCoveredError
from depl.models.policy.counted_planner import proxy
from depl.models.policy.history_bound import history_bound
from depl.models.policy.process import Process, process
from depl.models.policy.solve import solve_policy
from depl.models.policy.stages import Extent, extents
from depl.models.problem.instance import Instance
from depl.models.problem.policy import Policy
from depl.models.problem.traced_law import TracedLaw
from tests.cases.counted_policies import scrambled
from tests.cases.memory_cases import instance_of, random_law
from tests.oracles.policy_counting import Counting
from tests.oracles.traced_law import Place, Section, regressor

TWO, THREE = (0, 2, 3, 4, 6, 7), (5,)
"""Seeds whose policies have stages of at most two kinds, and of three."""

LINEAR = (2, 4, 7)
"""Those whose linear programs are small."""


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


class Told:
    """What a run may do that is told its donors when they are drawn."""

    def __init__(self, chain: Process, law: TracedLaw, policy: Policy) -> None:
        self.chain, self.limit, self.offset = chain, policy.grid.limit, 0.0
        self.counting = Counting(policy, law)
        self.unlike = self.counting.unlike
        self.longest: dict[Any, int] = {}
        for place in self.counting.places.values():
            kind = place.trained, place.previous
            self.longest[kind] = max(self.longest.get(kind, 0), place.age)
        self.latest = {
            kind: max(begun for _, begun in self.counting.oracle.donors(Section(*kind, 0, age)))
            for kind, age in self.longest.items()
        }
        self.first = next(kind for kind in self.longest if kind[1] is None)
        self.start = next(
            item.node
            for item in chain.starts
            if self.first[0] in {(told.model, told.cluster) for told in chain.nodes[item.node].trainings}
        )

    def met(self, number: int, loss: float) -> bool:
        node = self.chain.nodes[number]
        return node.may_stop and loss + (self.offset if node.epoch else 0.0) <= self.limit + 1e-9

    def ways(self, number: int, place: Any, loss: float, donor: Any) -> Any:
        """Price, node, place, whether a stage begins, and the losses with their donors, of every epoch."""
        node = self.chain.nodes[number]
        for item in node.trainings:
            pair = item.model, item.cluster
            begins = place is not None and place.trained != pair
            if place is not None and not begins:
                after = place._replace(age=place.age + 1)
            else:
                after = Place(pair, None if place is None else place.trained, 1, node.epoch)
            kind = pair, after.previous
            if after.age > self.longest.get(kind, 0) or after.start > self.latest[kind]:
                continue
            row = self.counting.oracle.row(after)
            mean = row.intercept + row.slope * regressor(after.start) + row.retention * loss
            lends = self.counting.donors[kind] if begins else [donor]
            yield (
                item.price,
                item.following,
                after,
                begins,
                [(mean + other.residuals[after.age - 1], other) for other in lends],
            )

    def value(self, number: int, place: Any, loss: float, donor: Any, price: float) -> float:
        """V, donor by donor."""
        if self.met(number, loss):
            return 0.0
        best = price
        for paid, following, after, begins, ends in self.ways(number, place, loss, donor):
            rest = sum(self.value(following, after, end, other, price) for end, other in ends)
            unlike = self.unlike if begins else 0
            best = min(best, paid + (rest + unlike * price) / (len(ends) + unlike))
        return best

    def least(self, price: float) -> float:
        """The mean of V."""
        donors = self.counting.donors[self.first]
        total = sum(self.value(self.start, None, item.first, item, price) for item in donors)
        return float(total + self.unlike * price) / (len(donors) + self.unlike)


def told_of(seed: int) -> tuple[Told, Process, TracedLaw, Policy, float]:
    instance, law, policy, reported = solved(seed)
    chain = process(proxy(instance))
    return Told(chain, law, policy), chain, law, policy, reported


def mean_least(told: Told, law: TracedLaw, price: float) -> float:
    values = []
    for told.offset in law.deviations or (0.0,):
        values.append(told.least(price))
    return sum(values) / len(values)


def bound_at(chain: Process, law: TracedLaw, policy: Policy, price: float) -> float:
    """V(price): the objective is C + price F, and the promise is none."""
    return history_bound(chain, law, extents(policy.nodes, policy.start), price, 1.0)


@pytest.mark.parametrize("seed", TWO)
def test_donor_by_donor_it_is_the_same(seed):
    told, chain, law, policy, _ = told_of(seed)
    for factor in (0.3, 1.0, 7.0):
        by_hand = mean_least(told, law, factor * policy.failure_cost)
        bound = bound_at(chain, law, policy, factor * policy.failure_cost)
        assert bound == pytest.approx(by_hand, rel=1e-9)
        assert bound <= by_hand


@pytest.mark.parametrize("seed", THREE)
def test_with_three_kinds_of_stages_it_is_below_and_close(seed):
    told, chain, law, policy, reported = told_of(seed)
    assert len(extents(policy.nodes, policy.start)) > 2
    by_hand = mean_least(told, law, policy.failure_cost)
    assert 0.9 * by_hand < bound_at(chain, law, policy, policy.failure_cost) <= by_hand
    assert reported > 0


class LinearProgram:
    """All randomised policies that are told their donors, as flows through what they can know."""

    def __init__(self, told: Told, offsets: tuple[float, ...]) -> None:
        self.told, self.rows, self.costs, self.failed = told, [], [], []
        self.inflows: list[tuple[float, list[tuple[int, float]]]] = []
        self.always_failed = 0.0
        donors = told.counting.donors[told.first]
        share = 1 / len(offsets) / (len(donors) + told.unlike)
        for told.offset in offsets:
            self.always_failed += told.unlike * share
            for donor in donors:
                self.state(told.start, None, donor.first, donor, share, [])

    def state(self, number, place, loss, donor, constant, inflow):  # type: ignore[no-untyped-def]
        """A state that a constant mass, and masses of earlier decisions come to."""
        if self.told.met(number, loss):
            return
        stop = self.column(0.0, 1.0)
        leaving = [stop]
        for paid, following, after, begins, ends in self.told.ways(number, place, loss, donor):
            unlike = self.told.unlike if begins else 0
            share = 1 / (len(ends) + unlike)
            going = self.column(paid, unlike * share)
            leaving.append(going)
            for end, other in ends:
                self.state(following, after, end, other, 0.0, [(going, share)])
        self.inflows.append((constant, inflow))
        self.rows.append(leaving)

    def column(self, cost: float, failed: float) -> int:
        self.costs.append(cost)
        self.failed.append(failed)
        return len(self.costs) - 1

    def least(self, cost: float, failure_cost: float, budget: float) -> float:
        """Of cost C + failure_cost F, if at most ``budget`` of the runs fail."""
        equalities = np.zeros((len(self.rows), len(self.costs)))
        constants = np.zeros(len(self.rows))
        for row, (leaving, (constant, inflow)) in enumerate(zip(self.rows, self.inflows, strict=True)):
            equalities[row, leaving] = 1
            constants[row] = constant
            for column, share in inflow:
                equalities[row, column] -= share
        found = linprog(
            cost * np.array(self.costs) + failure_cost * np.array(self.failed),
            A_ub=np.array([self.failed]),
            b_ub=[budget - self.always_failed],
            A_eq=equalities,
            b_eq=constants,
        )
        assert found.success
        return float(found.fun) + failure_cost * self.always_failed


@pytest.mark.parametrize("seed", LINEAR)
def test_with_a_promise_it_is_the_linear_program_over_all_randomised_policies(seed):
    told, chain, law, policy, _ = told_of(seed)
    program, rho = LinearProgram(told, law.deviations or (0.0,)), 0.1 * policy.failure_cost
    reach = extents(policy.nodes, policy.start)
    fewest, free = program.least(0.0, 1.0, 1.0), program.least(1.0, rho, 1.0)
    assert free == pytest.approx(bound_at(chain, law, policy, rho), rel=1e-9)
    for share in (0.1, 0.5, 0.9):
        budget = fewest + share * (1 - fewest)
        least = program.least(1.0, rho, budget)
        bound = history_bound(chain, law, reach, rho, budget)
        assert bound <= least * (1 + 1e-9)
        assert bound >= least * (1 - 5e-3)
    assert program.least(1.0, rho, fewest + 0.1 * (1 - fewest)) > free * 1.01, "no promise binds"


@pytest.mark.parametrize("seed", [*TWO, *THREE])
def test_no_policy_with_any_rows_is_below_it_at_any_price(seed):
    instance, law, policy, reported = solved(seed)
    chain, rng = process(proxy(instance)), np.random.default_rng(seed)
    bounds = {
        price: bound_at(chain, law, policy, price)
        for price in (0.2 * policy.failure_cost, policy.failure_cost, 9 * policy.failure_cost)
    }
    for other in [policy, *(scrambled(policy, rng) for _ in range(40))]:
        done = Counting(other, law)
        for price, bound in bounds.items():
            assert bound <= float(done.cost + Fraction(price) * (1 - done.reached))
    done = Counting(policy, law)
    assert reported <= float(done.cost + Fraction(policy.failure_cost) * (1 - done.reached))


def test_without_stages_nothing_is_bounded():
    instance, law, policy, _ = solved(0)
    assert history_bound(process(proxy(instance)), law, {}, policy.failure_cost, 0.5) == 0.0


def test_stages_that_no_run_lends_to_are_refused():
    instance, law, policy, _ = solved(0)
    reach = {kind: Extent(9, extent.latest) for kind, extent in extents(policy.nodes, policy.start).items()}
    with pytest.raises(NotCoveredError, match="fewer than 6 runs"):
        history_bound(process(proxy(instance)), law, reach, policy.failure_cost, 0.5)

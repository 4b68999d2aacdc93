"""Model and cluster selection on the real cost: problem, search, bounds, limits."""

import dataclasses
import math

import numpy as np
import pytest

import depl
from depl.heuristics.paths.additive_labels import entropic_label, expected_label, normal_label
from depl.heuristics.paths.real_cost_problem import RealCostProblem, real_cost_problem
from depl.heuristics.paths.real_cost_search import cheapest_sequence
from depl.models.evaluation.evaluate import final_loss
from depl.models.exact.enumeration import build_plan
from depl.models.foundation.errors import InvalidInputError, NotCoveredError
from depl.models.problem.epochs import Load
from depl.models.solving.methods import Limits
from depl.models.solving.result import Termination
from tests.cases.real_cost_cases import cheapest, drawn, every_sequence, random_problem
from tests.cases.uncompiled import compiled_and_plain


def agreed(problem: RealCostProblem) -> tuple[int, ...] | None:
    """The sequence that the search finds, which has to prove the cost of the enumeration."""
    found, least = cheapest_sequence(problem), cheapest(problem)
    if math.isinf(least):
        assert found.termination is Termination.INFEASIBLE
        assert found.sequence is None
        assert found.reason
        return None
    assert found.termination is Termination.OPTIMAL
    assert found.sequence is not None
    assert found.cost == pytest.approx(least, rel=1e-9, abs=1e-12)
    assert found.cost == problem.cost(found.sequence)
    assert problem.feasible(found.sequence)
    assert found.lower_bound <= found.cost <= found.lower_bound * (1 + 1e-9)
    return found.sequence


def test_one_kind_of_epoch_is_the_closed_form(steady):
    problem = real_cost_problem(steady, {"site": frozenset({"data"})})
    found = cheapest_sequence(problem)
    assert found.sequence == (0, 0)
    assert found.cost == pytest.approx((2 * math.sqrt(8 * 3)) ** 2 / (5 - 2 * 0.5), rel=1e-12)


def test_nothing_is_trained_if_the_target_is_met_at_the_start(steady):
    problem = real_cost_problem(steady.replace(maximum_loss=10), {"site": frozenset({"data"})})
    found = cheapest_sequence(problem)
    assert (found.sequence, found.cost, found.lower_bound) == ((), 0.0, 0.0)


def two_clusters(transfer: float) -> RealCostProblem:
    """Three equal gains within T_max = 2.5; epochs of s cost 1 x up to x = 1, those of t 4 x up to x = 4."""
    return RealCostProblem(
        models=("a",),
        clusters=("s", "t"),
        kinds=((0, 0), (1, 0)),
        loads=((Load(1.0, 1.0, 1.0, 0.0), Load(1.0, 4.0, 4.0, 0.0)),) * 3,
        losses=np.full((3, 2, 2), -1.0),
        allowed=np.ones((3, 2, 2), dtype=bool),
        transfers=np.array([transfer, 0.0]),
        initial_loss=3.0,
        maximum_loss=0.0,
        maximum_time=2.5,
        round_deadline=None,
    )


@pytest.mark.parametrize(
    ("transfer", "cost", "on_s"),
    [
        (0.0, 1 + 1 + 4 * 2, 2),  # s is full, t has half a unit of time left
        (4.0, 4 + 1 + 1 + 4 * 2, 2),
        (5.0, 3 * 4 * 1.2, 0),  # 15 > 14.4: t alone, at x = 3 / 2.5
    ],
)
def test_a_cluster_opens_where_its_transfer_pays(transfer, cost, on_s):
    found = cheapest_sequence(two_clusters(transfer))
    assert found.termination is Termination.OPTIMAL
    assert found.sequence.count(0) == on_s
    assert found.cost == pytest.approx(cost, rel=1e-12)


@pytest.mark.parametrize("seed", range(30))
def test_the_search_is_the_enumeration_on_instances_of_the_random_family(seed):
    instance, data = drawn(np.random.default_rng([20261, seed]), 5)
    agreed(real_cost_problem(instance, data))


@pytest.mark.parametrize("count", [40, pytest.param(100, marks=pytest.mark.slow)])
@pytest.mark.parametrize("stationary", [True, False])
def test_the_search_is_the_enumeration_where_everything_goes_wrong_at_once(stationary, count):
    rng = np.random.default_rng(20262)
    shapes = ((5, 2, 2), (4, 3, 2), (6, 2, 1), (3, 2, 3))
    problems = [random_problem(rng, *shapes[n % 4], stationary=stationary) for n in range(count)]
    found = [(problem, sequence) for problem in problems if (sequence := agreed(problem)) is not None]
    assert count / 2 < len(found) < count
    used = [{problem.kinds[g] for g in sequence} for problem, sequence in found]
    assert sum(len({place for place, _ in kinds}) > 1 for kinds in used) >= 0.07 * count
    assert sum(len({model for _, model in kinds}) > 1 for kinds in used) >= 0.07 * count


@pytest.mark.slow
def test_the_search_is_the_enumeration_on_two_hundred_instances_of_up_to_seven_epochs():
    rng = np.random.default_rng(20263)
    outcomes = [agreed(real_cost_problem(*drawn(rng, 7, models=3))) for _ in range(120)]
    outcomes += [agreed(random_problem(rng, 7, 2, 2, stationary=n % 2 == 0)) for n in range(100)]
    assert sum(sequence is not None for sequence in outcomes) >= 150


@pytest.mark.parametrize("seed", range(8))
def test_every_label_has_its_own_optimum_and_tables(seed):
    rng = np.random.default_rng([20264, seed])
    instance, data = drawn(rng, 4)
    for label in (
        expected_label(),
        normal_label(0.9, 0.5),
        entropic_label(instance.target.violation_budget, 0.7),
    ):
        try:
            problem = real_cost_problem(instance, data, label)
        except NotCoveredError:
            continue
        agreed(problem)
        for cost, loss, sequence in every_sequence(problem)[:20]:
            plan = build_plan(instance, data, problem.configurations(sequence))
            quantile = label.quantile(final_loss(instance, plan))
            assert loss + label.surcharge == pytest.approx(quantile, abs=1e-9)
            assert problem.cost(sequence) == pytest.approx(cost, rel=1e-9)


def test_an_unreachable_target_names_the_lowest_label(steady):
    problem = real_cost_problem(steady.replace(maximum_loss=3), {"site": frozenset({"data"})})
    found = cheapest_sequence(problem)
    assert found.termination is Termination.INFEASIBLE
    assert found.reason.startswith("models: ")
    assert " 4 " in found.reason  # 10 - 3 * 2
    assert found.lower_bound == math.inf


def test_an_unreachable_time_names_the_fastest(steady):
    problem = real_cost_problem(steady.replace(maximum_time=2), {"site": frozenset({"data"})})
    found = cheapest_sequence(problem)
    assert found.termination is Termination.INFEASIBLE
    assert found.reason.startswith("resources: ")
    assert " 2.6," in found.reason  # 2 * (8 / 10 + 1 / 2)


@pytest.mark.parametrize("count", [10, pytest.param(20, marks=pytest.mark.slow)])
@pytest.mark.parametrize("most_labels", [0, 5, 50])
def test_a_label_budget_ends_in_a_certified_interval(most_labels, count):
    rng = np.random.default_rng(20265)
    proved = 0
    for _ in range(count):
        problem = random_problem(rng, 5, 2, 2)
        least = cheapest(problem)
        found = cheapest_sequence(problem, most_labels=most_labels)
        assert found.lower_bound <= least * (1 + 1e-9)
        assert found.cost >= least * (1 - 1e-9)
        proved += found.termination in (Termination.OPTIMAL, Termination.INFEASIBLE)
    assert proved > 0


def test_an_expired_time_limit_leaves_a_certified_interval():
    rng = np.random.default_rng(20266)
    problem = next(p for p in (random_problem(rng, 5, 2, 2) for _ in range(99)) if cheapest(p) < math.inf)
    found = cheapest_sequence(problem, Limits(time_limit=0))
    assert found.termination in (Termination.TIME_LIMIT, Termination.OPTIMAL)
    assert found.lower_bound <= cheapest(problem) <= found.cost


def test_a_wanted_gap_is_certified():
    rng = np.random.default_rng(20267)
    for _ in range(15):
        problem = random_problem(rng, 5, 2, 2)
        found, least = cheapest_sequence(problem, Limits(gap=0.2)), cheapest(problem)
        if least < math.inf:
            assert found.termination in (Termination.GAP_REACHED, Termination.OPTIMAL)
            assert found.lower_bound <= least * (1 + 1e-9)
            assert found.cost * (1 - 0.2) <= found.lower_bound * (1 + 1e-12)


def test_an_interrupt_is_left_to_the_method_that_searches(monkeypatch):
    def interrupted(self):
        raise KeyboardInterrupt

    rng = np.random.default_rng(20266)
    problem = next(p for p in (random_problem(rng, 5, 2, 2) for _ in range(99)) if cheapest(p) < math.inf)
    monkeypatch.setattr(Limits, "expired", interrupted)
    with pytest.raises(KeyboardInterrupt):
        cheapest_sequence(problem)


def test_a_shipped_instance_is_answered_exactly():
    alexnet = depl.load("paper-alexnet-9").replace(maximum_epochs=7)
    data = {place.name: frozenset({"training-data"}) for place in alexnet.clusters}
    agreed(real_cost_problem(alexnet, data))


def test_more_money_per_unit_scales_the_cost_and_a_reordering_changes_nothing():
    rng = np.random.default_rng(20268)
    for _ in range(10):
        instance, data = drawn(rng, 5)
        found = cheapest_sequence(real_cost_problem(instance, data))
        turned = instance.replace(models=instance.models[::-1], clusters=instance.clusters[::-1])
        again = cheapest_sequence(real_cost_problem(turned, dict(reversed(data.items()))))
        assert again.cost == pytest.approx(found.cost, rel=1e-9) or found.cost == again.cost


@pytest.mark.parametrize("maximum_time", [2.6, 2.6 * (1 - 5e-10), 2.6 * (1 + 1e-9)])
def test_a_time_limit_that_full_resources_just_keep_is_kept(steady, maximum_time):
    tight = steady.replace(maximum_time=maximum_time)
    found = cheapest_sequence(real_cost_problem(tight, {"site": frozenset({"data"})}))
    assert found.termination is Termination.OPTIMAL
    assert found.cost == pytest.approx(2 * 3 * 10, rel=1e-7)


def test_a_target_that_is_met_but_for_a_rounding_is_met():
    problem = dataclasses.replace(two_clusters(0.0), losses=np.full((3, 2, 2), -0.1), initial_loss=0.3)
    assert 0.3 - 0.1 - 0.1 - 0.1 < 0 < 0.3 - 3 * 0.1 + 1e-16
    for missing in (0.0, 5e-10):
        found = cheapest_sequence(dataclasses.replace(problem, maximum_loss=-missing))
        assert found.cost == pytest.approx(10, rel=1e-12)
    missed = cheapest_sequence(dataclasses.replace(problem, maximum_loss=-2e-9))
    assert missed.termination is Termination.INFEASIBLE


def test_an_initial_model_makes_the_first_epoch_a_switch():
    rng = np.random.default_rng(20270)
    drawings = (drawn(rng, 4) for _ in range(200))
    chosen = [row for row in drawings if row[0].target.initial_model is not None][:8]
    assert len(chosen) == 8
    for instance, data in chosen:
        problem = real_cost_problem(instance, data)
        agreed(problem)
        known = instance.target.initial_model
        for g, (_, model) in enumerate(problem.kinds):
            allowed = instance.may_follow(known, problem.models[model])
            assert problem.allowed[0, problem.start, g] <= allowed


def test_progress_narrows_the_interval():
    rows = []
    rng = np.random.default_rng(20271)
    for _ in range(10):
        first = len(rows)
        limits = Limits(progress=lambda _, cost, bound: rows.append((cost, bound)))
        cheapest_sequence(random_problem(rng, 5, 2, 2), limits)
        mine = rows[first:]
        assert mine == sorted(mine, key=lambda row: (-row[0], row[1]))
        assert all(bound <= cost for cost, bound in mine)
    assert rows


def test_bad_problems_are_refused(steady):
    with pytest.raises(InvalidInputError, match="name a cluster"):
        real_cost_problem(steady, {})
    with pytest.raises(InvalidInputError, match="there is no cluster 'nowhere'; known are site"):
        real_cost_problem(steady, {"nowhere": frozenset({"data"})})
    problem = real_cost_problem(steady, {"site": frozenset({"data"})})
    with pytest.raises(InvalidInputError, match="at most 3"):
        problem.loss((0, 0, 0, 0))


UNCOMPILED = """
import numpy as np
from depl.heuristics.paths.real_cost_search import cheapest_sequence
from tests.cases.real_cost_cases import random_problem
rng = np.random.default_rng(20269)
for _ in range(6):
    found = cheapest_sequence(random_problem(rng, 3, 2, 2))
    print(found.sequence, repr(found.cost), repr(found.lower_bound), found.labels)
"""


def test_the_answers_are_the_same_without_compilation():
    compiled, plain = compiled_and_plain(UNCOMPILED)
    assert plain.count("(") >= 3
    assert plain == compiled

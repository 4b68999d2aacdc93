"""The exact search under scenarios finds what writing out every plan finds, and says why it stopped."""

import itertools
import math
from typing import Any

import numpy as np
import pytest

import depl
from depl.instances.generator import random_instance
from depl.models.exact.assignments import assignments
from depl.models.exact.counted import Counted, scenario_search
from depl.models.exact.first_plans import Neighbourhood
from depl.models.exact.prices import Prices
from depl.models.exact.sampled import SampledProblem
from depl.models.exact.search import Search
from depl.models.foundation.deadline import OutOfTimeError, deadline
from depl.models.foundation.errors import NotCoveredError
from depl.models.problem.instance import Cluster, ConstantImprovement, Dataset, Instance, Model, Target
from depl.models.problem.laws import Deterministic
from depl.models.scenarios.draws import draw_scenarios
from depl.models.solving.methods import Limits
from depl.models.solving.result import Termination
from tests.oracles.search import cheapest, consistent, sampled, tiny_problems

TINY = depl.load("tiny")


def certain(epochs: int, total_time: float, loss: float = 3.0) -> Instance:
    """One model that surely gains 1 an epoch: cost = (K sqrt(2))**2 / T_max = 2 K**2 / T_max."""
    return Instance(
        name="certain",
        clusters=(Cluster(name="c", capacity=10.0, bandwidth=1.0, unit_cost=2.0),),
        datasets=(Dataset(name="d", volume=1.0),),
        models=(
            Model(name="m", size=0.0, improvement=ConstantImprovement(noise=Deterministic(value=1.0))),
        ),
        target=Target(
            initial_loss=loss, maximum_loss=0.0, quantile_level=0.9, maximum_epochs=epochs,
            maximum_time=total_time,
        ),
    )  # fmt: skip


def searched(problem: SampledProblem, **options: Any) -> tuple[float, depl.Outcome]:
    """Cost of the plan by the problem's own tables, and the outcome."""
    outcome = scenario_search(problem.instance, Limits(scenarios=problem.scenarios, **options))
    if outcome.plan is None:
        return math.inf, outcome
    clusters = [item.name for item in problem.instance.clusters]
    models = [item.name for item in problem.instance.models]
    by_name = {(clusters[g.cluster], g.datasets, models[g.model]): g for g in problem.configurations}
    choices = [
        by_name[epoch.cluster, outcome.plan.datasets(epoch.cluster), epoch.model]
        for epoch in outcome.plan.epochs
    ]
    assert problem.misses(choices) <= problem.allowed
    return problem.allocation(choices).cost + problem.transfers(choices), outcome


def require_agreement(problem: SampledProblem) -> Termination:
    """The search proves what writing out all plans shows."""
    known = cheapest(problem)
    found, outcome = searched(problem)
    if known == math.inf:
        assert (outcome.termination, outcome.plan) == (Termination.INFEASIBLE, None)
        assert outcome.lower_bound == math.inf
        assert outcome.reason is not None
        assert "target" in outcome.reason or "epoch" in outcome.reason
    else:
        assert outcome.termination is Termination.OPTIMAL
        assert found == pytest.approx(known, rel=1e-9)
        assert known * (1 - 1e-9) <= outcome.lower_bound <= known
        assert outcome.dual is not None
        assert outcome.dual.bound <= known * (1 + 1e-9)
    return outcome.termination


def test_the_search_agrees_with_all_plans_written_out():
    problems = tiny_problems(3, 24)
    proved = [require_agreement(problem) for problem in problems]
    assert Termination.INFEASIBLE in proved
    shapes = {(len(p.instance.clusters), len(p.instance.datasets)) for p in problems}
    assert shapes == {(1, 1), (1, 2), (2, 1), (2, 2)}
    assert any(problem.initial_model is not None for problem in problems)
    assert any(problem.instance.target.round_deadline is not None for problem in problems)
    assert any(problem.instance.target.maximum_time is None for problem in problems)
    assert any(not problem.may_follow.all() for problem in problems)


def test_a_time_that_would_be_needed_keeps_the_round_deadline():
    """Three epochs of 0.1, or one of 0.28 where the deadline lets it."""
    instance = certain(8, total_time=0.25)
    leap = Model(name="l", size=0, demand=2.8, improvement=ConstantImprovement(noise=Deterministic(value=3)))
    eager = instance.replace(models=(leap, *instance.models))
    assert "takes 0.28, maximum_time" in str(searched(sampled(eager, 4))[1].reason)
    late = eager.replace(round_deadline=0.2)
    assert "takes 0.3, maximum_time" in str(searched(sampled(late, 4))[1].reason)


def test_an_interrupt_leaves_a_plan_and_a_valid_bound(monkeypatch):
    problem = sampled(TINY, 50)
    optimum = cheapest(problem)

    def interrupted(*_: object) -> bool:
        raise KeyboardInterrupt

    monkeypatch.setattr(Search, "_explored", interrupted)
    found, outcome = searched(problem)
    assert outcome.termination is Termination.INTERRUPTED
    assert outcome.lower_bound <= optimum <= found < math.inf
    assert outcome.dual is not None
    assert 0 < outcome.dual.bound * (1 - 1e-8) <= outcome.lower_bound


def test_progress_narrows_down_on_the_optimum():
    rows: list[tuple[float, float, float]] = []
    problem = sampled(TINY, 50)
    limits = Limits(scenarios=problem.scenarios, progress=lambda *row: rows.append(row))
    scenario_search(problem.instance, limits)
    seconds, costs, bounds = zip(*rows, strict=True)
    assert list(seconds) == sorted(seconds)
    assert list(costs) == sorted(costs, reverse=True)
    assert list(bounds) == sorted(bounds)
    assert costs[-1] == pytest.approx(28.0)
    assert bounds[-1] == pytest.approx(28.0, rel=1e-8)


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (0, 2, 3))])
def test_assignments_that_no_plan_can_use_do_not_count(seed):
    """Nine clusters and two datasets have 4**9 - 1 assignments; two epochs can use 351 of them."""
    rng = np.random.default_rng([22, seed])
    instance = random_instance(rng, clusters=(9, 9), datasets=(2, 2), models=(2, 2), maximum_epochs=(2, 2))
    found = depl.solve(instance, "scenario-search", scenarios=6, seed=seed)  # verified, its dual bound, too
    costs = []
    for pair in itertools.combinations(instance.clusters, 2):
        names = {place.name for place in pair}
        kept = tuple(row for row in instance.transfers if row.cluster in names)
        part = instance.replace(clusters=pair, transfers=kept)
        alone = scenario_search(part, Limits(scenarios=draw_scenarios(part, 6, seed)))
        assert alone.termination in (depl.Termination.OPTIMAL, depl.Termination.INFEASIBLE)
        costs.append(None if alone.plan is None else alone.lower_bound)
    assert found.termination is depl.Termination.OPTIMAL
    assert found.cost == pytest.approx(min(cost for cost in costs if cost is not None), rel=1e-9)
    assert depl.check(instance, found.plan).ok


def test_more_data_than_can_be_listed_are_refused_at_once():
    datasets = tuple(Dataset(name=f"d{index}", volume=1.0) for index in range(40))
    instance = certain(3, total_time=40.0).replace(datasets=datasets)
    said = (
        f"of at most 16 datasets; there are 40, and their {2**40 - 1} sets .* GiB; use depl, which needs no"
    )
    with pytest.raises(NotCoveredError, match=said):
        scenario_search(instance, Limits(scenarios=draw_scenarios(instance, 5)))
    with pytest.raises(NotCoveredError, match=said):
        depl.solve(instance, "milp", scenarios=5)


def infeasible(seed: int) -> SampledProblem:
    """A target that is just out of reach of three epochs."""
    problem = sampled(TINY.replace(maximum_epochs=3, maximum_time=None, round_deadline=50.0), 8, seed)
    far = problem.instance.replace(maximum_loss=TINY.target.initial_loss - 30.0)
    return SampledProblem(far, problem.scenarios)


@pytest.mark.parametrize("seed", range(3))
def test_no_plan_gains_more_than_an_infeasible_search_says(seed):
    """Of all sequences, in the scenarios that may not miss; and the plans with one switch are among them."""
    problem = infeasible(seed)
    search = Search(Counted(problem), Limits())
    assert search.answer().termination is Termination.INFEASIBLE
    most = max(
        float(np.partition(problem.gain(choices), problem.allowed)[problem.allowed])
        for length in range(1, problem.epochs + 1)
        for choices in itertools.product(problem.configurations, repeat=length)
        if consistent(problem, choices)
    )
    assert most * (1 - 1e-12) <= search.risk._best_gain < problem.needed


@pytest.mark.parametrize(("longest", "scanned"), [(2, False), (3, True), (4, True)])
def test_beside_a_priced_plan_one_switch_is_tried_for_few_epochs_alone(monkeypatch, longest, scanned):
    (problem,) = tiny_problems(1, 1)
    assert (problem.epochs, cheapest(problem) < math.inf) == (3, True)
    asked = []

    def noted(near, multiplier, cutoff):
        asked.append(near)

    monkeypatch.setattr("depl.models.exact.counted.LONG", 1)
    monkeypatch.setattr("depl.models.exact.counted._LONGEST_SCANNED", longest)
    monkeypatch.setattr(Neighbourhood, "one_switch", noted)
    search = Search(Counted(problem), Limits())
    search.build()
    search.risk.first_plans(search)
    assert search.best is not None
    assert bool(asked) == scanned


def neighbourhood(problem: SampledProblem) -> Neighbourhood:
    assignment = next(iter(assignments(problem)))
    return Neighbourhood(problem, Prices.of(problem), assignment)


def test_where_time_is_over_the_longest_plans_are_looked_at_all_the_same():
    near = neighbourhood(SampledProblem(certain(5, 50.0), draw_scenarios(certain(5, 50.0), 10, 0)))
    _ = near._summed  # tables are built before
    with deadline(lambda: 1.0):
        kinds = near.one_switch(1.0, math.inf)
    assert kinds == [0] * 5


def test_a_proof_that_time_cuts_short_loses_its_reason_alone(monkeypatch):
    def late(risk: Counted, search: Search) -> str:
        raise OutOfTimeError

    monkeypatch.setattr(Counted, "why_infeasible", late)
    outcome = scenario_search(certain(2, 50.0), Limits())
    assert outcome.termination is Termination.INFEASIBLE
    assert outcome.reason == "models: no plan meets the target within the epochs and the time limits"

"""Density greedy and the two peers: closed forms, certificates, what they find and what not."""

import functools
import itertools
import math

import numpy as np
import pytest

import depl
from depl.heuristics.baselines.density import density_greedy
from depl.heuristics.baselines.drafts import Appraiser, Draft
from depl.heuristics.baselines.peers import fastest_cluster, random_draft, random_drafts
from depl.instances.generator import random_instances
from depl.models.evaluation.evaluate import evaluate, final_loss
from depl.models.problem.instance import (
    Cluster,
    ConstantImprovement,
    Dataset,
    Instance,
    Model,
    Switch,
    Target,
)
from depl.models.problem.laws import Deterministic, Forbidden
from depl.models.solving.methods import Limits
from depl.models.solving.result import Termination

NAMES = ("density-greedy", "fastest-cluster", "random")
SMALL = random_instances(np.random.default_rng(81), 5, maximum_epochs=(3, 5))
FEW = {"random": {"draws": 30}}


def solved(instance, method, **limits):
    return depl.solve(instance, method, options=FEW.get(method), **limits)


@functools.cache
def lower_bound(fingerprint):
    (instance,) = [item for item in SMALL if item.fingerprint == fingerprint]
    return depl.solve(instance, "exact", time_limit=5).lower_bound


def knapsack(values, weights, least):
    """Epochs of item i cost weights[i] (x = weight within the deadline 1) and lower the loss by values[i]."""
    models = tuple(
        Model(
            name=f"item-{i}",
            size=0,
            demand=weight,
            improvement=ConstantImprovement(noise=Deterministic(value=value)),
        )
        for i, (value, weight) in enumerate(zip(values, weights, strict=True))
    )
    return Instance(
        name="knapsack",
        clusters=(Cluster(name="site", capacity=100, bandwidth=1, unit_cost=1),),
        datasets=(Dataset(name="data", volume=1),),
        models=models,
        target=Target(
            initial_loss=least, maximum_loss=0, quantile_level=0.5, maximum_epochs=6, round_deadline=1
        ),
    )


def least_weight(values, weights, least):
    """Cheapest multiset of at most six items that covers ``least``, by listing all."""
    items = range(len(values))
    return min(
        sum(weights[i] for i in chosen)
        for size in range(7)
        for chosen in itertools.combinations_with_replacement(items, size)
        if sum(values[i] for i in chosen) >= least
    )


@pytest.mark.parametrize("method", NAMES)
def test_the_method_is_registered_with_a_sentence(method):
    (known,) = [item for item in depl.methods() if item.name == method]
    assert known.summary.endswith(".")


@pytest.mark.parametrize("method", NAMES)
@pytest.mark.parametrize(
    "instance",
    [*SMALL[:2], *(pytest.param(item, marks=pytest.mark.slow) for item in SMALL[2:])],
    ids=lambda item: item.name,
)
def test_every_plan_passes_the_verifier_and_nothing_is_claimed_about_cost(method, instance):
    result = solved(instance, method)  # solve raises if the plan is not certified
    assert result.termination is Termination.EXHAUSTED
    assert result.lower_bound <= 0 or result.cost == 0
    if result.plan is None:
        assert "proves nothing" in result.reason
    else:
        assert depl.check(instance, result.plan).ok
        assert result.cost >= lower_bound(instance.fingerprint) * (1 - 1e-9)


def test_the_optimum_of_the_tiny_instance_is_found(tiny):
    assert depl.solve(tiny, "random").cost == pytest.approx(28)


def test_density_does_not_see_that_the_last_epoch_could_be_cheaper_elsewhere(tiny):
    # All on cloud: (4 + 4 + sqrt 8)^2 / (5 - 1.25) with pruned last, (3 * 4)^2 / (5 - 1.5) with full alone.
    cost = (8 + math.sqrt(8)) ** 2 / 3.75 + 1
    assert depl.solve(tiny, "density-greedy").cost == pytest.approx(cost)
    assert depl.solve(tiny, "fastest-cluster").cost == pytest.approx(144 / 3.5 + 1)


def test_one_model_on_one_cluster_is_solved_by_all_alike(steady):
    assert {round(solved(steady, method).cost, 9) for method in NAMES} == {24.0}


@pytest.mark.parametrize("method", NAMES)
def test_a_target_that_is_met_at_the_start_needs_no_epoch(method, steady):
    result = solved(steady.replace(maximum_loss=10), method)
    assert result.cost == 0
    assert result.epochs == 0


@pytest.mark.parametrize("method", NAMES)
def test_where_nothing_reaches_the_target_it_says_so(method, steady):
    result = solved(steady.replace(maximum_loss=3), method)  # 10 - 3 * 2 > 3
    assert result.plan is None
    assert "target 3 at omega 0.9" in result.reason


def test_the_greedy_takes_the_densest_item_and_pays_for_it():
    # Density takes 5 for 5 twice; three of 3 for 3.2 cover 9 as well, but no single exchange leads there.
    instance = knapsack((5.0, 3.0), (5.0, 3.2), 9.0)
    assert least_weight((5.0, 3.0), (5.0, 3.2), 9.0) == pytest.approx(9.6)
    assert depl.solve(instance, "density-greedy").cost == pytest.approx(10)


def test_the_greedy_repairs_a_first_choice_that_was_too_small():
    # By density alone six epochs of value 1 reach 6 of 9; pricing epochs finds 3 x 3 for 12.
    instance = knapsack((1.0, 3.0), (1.0, 4.0), 9.0)
    result = depl.solve(instance, "density-greedy")
    assert least_weight((1.0, 3.0), (1.0, 4.0), 9.0) <= result.cost <= 12


def test_the_same_seed_gives_the_same_plan_and_another_seed_another_search():
    instance = SMALL[0]
    first, again = (solved(instance, "random", seed=3) for _ in range(2))
    assert first.plan == again.plan
    wide = depl.load("paper-alexnet-deadline-9")
    costs = {depl.solve(wide, "random", seed=seed, options={"draws": 1}).cost for seed in range(3)}
    assert len(costs) > 1


@pytest.mark.parametrize("method", NAMES)
def test_the_time_limit_stops_it(method):
    result = depl.solve(depl.load("paper-alexnet-deadline-5"), method, time_limit=1e-9)
    assert result.termination is Termination.TIME_LIMIT


@pytest.mark.parametrize("run", [random_drafts, density_greedy, fastest_cluster])
def test_an_interrupt_keeps_what_is_held(run, tiny):
    def interrupt(seconds: float, incumbent: float, bound: float) -> None:
        raise KeyboardInterrupt

    outcome = run(tiny, Limits(progress=interrupt))
    assert outcome.termination is Termination.INTERRUPTED
    assert evaluate(tiny, outcome.plan).feasible


@pytest.mark.parametrize("value", [0, 1.5, True, "many"])
def test_an_impossible_count_is_refused(value, tiny):
    with pytest.raises(depl.InvalidInputError, match=r"draws: must be a whole number from 1 on"):
        depl.solve(tiny, "random", options={"draws": value})


def test_forbidden_switches_are_never_made(tiny):
    names = [model.name for model in tiny.models]
    pairs = itertools.permutations(names, 2)
    rigid = tiny.replace(switches=tuple(Switch(previous=p, following=m, law=Forbidden()) for p, m in pairs))
    for method in NAMES:
        plan = solved(rigid, method).plan
        assert plan is None or len({epoch.model for epoch in plan.epochs}) == 1


@pytest.mark.parametrize("drafts", [10, pytest.param(25, marks=pytest.mark.slow)])
@pytest.mark.parametrize("instance", SMALL[:4], ids=lambda item: item.name)
def test_an_appraisal_agrees_with_the_evaluation_of_the_plan(instance, drafts):
    rng, appraiser = np.random.default_rng(5), Appraiser(instance, Limits())
    seen = 0
    for _ in range(drafts):
        draft = random_draft(rng, appraiser)
        if not draft.models or appraiser.resources(draft).lateness:
            continue
        seen += 1
        plan = appraiser.plan(draft)
        judged = evaluate(instance, plan, quantile=False)
        assert appraiser.resources(draft).cost == pytest.approx(judged.cost, rel=1e-12)
        assert appraiser.moments(draft).mean == pytest.approx(judged.expected_loss, rel=1e-9, abs=1e-9)
        variance = final_loss(instance, plan).variance()
        if math.isfinite(variance):
            assert appraiser.moments(draft).deviation == pytest.approx(math.sqrt(variance), rel=1e-9)
        assert appraiser.met(draft) == judged.feasible
    assert seen


def test_the_shortest_certified_beginning_is_that_of_trying_all(bell):
    longer = bell.replace(maximum_epochs=12, maximum_loss=3.0)
    appraiser = Appraiser(longer, Limits())
    draft = Draft((0,) * 12, (0,) * 12, (frozenset({"data"}),))
    tried = [k for k in range(1, 13) if appraiser.met(draft.beginning(k))]
    # 10 - 2 k + 1.2816 sqrt(k) <= 3 from k = 5 on (3.5 + 0.64 * 2.24 = 4.93)
    assert tried[0] == 5
    assert len(appraiser.shortest(draft).models) == 5

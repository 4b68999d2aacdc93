"""The whole loop against all plans of small instances; its limits, reasons, record and invariances."""

import functools
import itertools
import math
import re

import msgspec
import numpy as np
import pytest

import depl
from depl.benchmarks.studies.behaviour import problems
from depl.benchmarks.studies.sweeps import COUNT, instance_of
from depl.heuristics.bounds import learning
from depl.heuristics.data import sites
from depl.instances.generator import random_instances
from depl.instances.random_family import competitive_family
from depl.models.problem.epochs import LossStep
from depl.models.problem.instance import ComputeTable, Dataset, Instance, Model, Switch, Transfer
from depl.models.problem.laws import Deterministic, Empirical, Forbidden, Normal, StudentT, Zero
from depl.models.problem.learning import ConstantImprovement, PowerDataLaw
from depl.models.solving.decisions import Stage, told
from depl.models.solving.result import Result, Solution, Termination
from tests.cases.loop_cases import crowded, one_way, plain

SIZES = {"models": (1, 3), "clusters": (1, 2), "datasets": (1, 2), "maximum_epochs": (1, 4)}
QUICK = (0, 1, 2, 11)
"""Of the drawn instances: with and without T_max, of one and of several models, clusters and datasets."""

ENOUGH = 800
"""Looks by which the loop has the plan and the bound that it ends with, on drawn instances of these sizes."""

SEEDS = [4, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2, 6))]


@pytest.fixture(scope="module")
def drawn() -> tuple[Instance, ...]:
    return random_instances(np.random.default_rng([6, 8]), 12, **SIZES)


@pytest.fixture(scope="module")
def solved(drawn: tuple[Instance, ...]) -> list[tuple[Instance, Result]]:
    return [(drawn[place], depl.solve(drawn[place], "depl")) for place in QUICK]


# --- against proven optima -----------------------------------------------------------------------------


def test_small_instances_are_solved_to_the_proven_optimum(solved: list[tuple[Instance, Result]]) -> None:
    check_optima(solved)


@pytest.mark.slow
def test_the_other_small_instances_are_solved_to_the_proven_optimum(drawn: tuple[Instance, ...]) -> None:
    others = [instance for place, instance in enumerate(drawn) if place not in QUICK]
    check_optima([(instance, depl.solve(instance, "depl")) for instance in others])


def check_optima(solved: list[tuple[Instance, Result]]) -> None:
    """Ratio at most 1.05, on average 1.005; nothing that has a plan stays without one; bounds hold."""
    ratios = []
    for instance, result in solved:
        proven = depl.solve(instance, "enumerate")
        assert proven.termination in (Termination.OPTIMAL, Termination.INFEASIBLE)
        assert (result.cost is None) == (proven.cost is None)
        if result.cost is None or proven.cost is None:
            assert result.reason
            continue
        assert result.lower_bound <= proven.cost * (1 + 1e-9)
        assert result.cost >= proven.cost * (1 - 1e-9)
        ratios.append(result.cost / proven.cost if proven.cost else 1.0)
    assert len(ratios) > 0.8 * len(solved)
    assert max(ratios) <= 1.05
    assert np.mean(ratios) <= 1.005


def check_family(first: int, last: int) -> None:
    """The issue's own bars, on its own family, against ``exact`` or its bound."""
    ratios = []
    for instance in competitive_family(np.random.default_rng([2024, 6]), last)[first:]:
        result, proven = depl.solve(instance, "depl"), depl.solve(instance, "exact", time_limit=20)
        if proven.cost is None:
            assert proven.termination is not Termination.INFEASIBLE or result.cost is None
            continue
        assert result.termination is not Termination.INFEASIBLE
        assert result.cost is not None
        assert result.lower_bound <= proven.cost * (1 + 1e-9)
        if proven.termination is Termination.OPTIMAL:
            ratios.append(result.cost / proven.cost if proven.cost else 1.0)
            assert ratios[-1] >= 1 - 1e-9
    assert len(ratios) >= 0.8 * (last - first)
    assert max(ratios) <= 1.05
    assert np.mean(ratios) <= 1.005


@pytest.mark.slow
def test_sixty_instances_of_the_competitive_family_keep_the_bars() -> None:
    check_family(0, 60)


@pytest.mark.parametrize("position", [105, *(pytest.param(n, marks=pytest.mark.slow) for n in (227, 996))])
def test_what_was_seen_first_may_mislead_and_is_corrected(position: int) -> None:
    """An atom at first sight (105), data that a skewed law makes worthwhile (227), another skew (996).

    Plans of an earlier version were 10 to 30 per cent too expensive.
    """
    if position < COUNT:  # of the suite `random`, which other tests have drawn
        instance = instance_of(position)
    else:
        instance = competitive_family(np.random.default_rng(240214346), position + 1)[position]
    proven = depl.solve(instance, "exact")
    assert proven.termination is Termination.OPTIMAL
    assert proven.cost is not None
    assert depl.solve(instance, "depl").cost == pytest.approx(proven.cost, rel=1e-9)


def test_a_choice_of_data_that_failed_under_another_label_is_searched_again() -> None:
    """With "d2" alone no sequence is certified before a plan on all data has moved the label."""
    instance = problems()["sampled-9"][0]()[0]
    result, proven = depl.solve(instance, "depl"), depl.solve(instance, "exact")
    assert result.cost == pytest.approx(proven.cost, rel=1e-9)
    assert any(item.choice == "d2 on c1" and not item.kept for item in result.decisions)


@functools.cache
def six_datasets(seed: int, target: float) -> tuple[Instance, Result]:
    """An instance, and its cheapest plan."""
    rng = np.random.default_rng([6, 9, seed])
    drawn = crowded(rng, PowerDataLaw(p=0.5), datasets=6, clusters=1, models=2, epochs=3)
    instance = drawn.replace(maximum_loss=target)
    return instance, depl.solve(instance, "enumerate")


@pytest.mark.parametrize("target", [7.5, pytest.param(8.5, marks=pytest.mark.slow)])
@pytest.mark.parametrize("seed", SEEDS)
def test_six_datasets_are_listed_and_lead_to_the_optimum(seed: int, target: float) -> None:
    instance, proven = six_datasets(seed, target)
    result = depl.solve(instance, "depl")
    assert (result.cost is None) == (proven.cost is None)
    if result.cost is not None and proven.cost is not None:
        assert result.lower_bound <= proven.cost * (1 + 1e-9)
        assert result.cost == pytest.approx(proven.cost)


@pytest.mark.parametrize("target", [7.5, pytest.param(8.5, marks=pytest.mark.slow)])
@pytest.mark.parametrize("seed", SEEDS)
def test_the_path_for_many_datasets_gives_plans_and_bounds_on_few(
    seed: int, target: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For the outlook six datasets are few: whole sets are far from fractional ones."""
    instance, proven = six_datasets(seed, target)
    monkeypatch.setattr(sites, "FEW_LISTED", 0)
    result = depl.solve(instance, "depl")
    assert (result.cost is None) == (proven.cost is None)
    if result.cost is not None and proven.cost is not None:
        assert 0 < result.lower_bound <= proven.cost * (1 + 1e-9)
        assert proven.cost * (1 - 1e-9) <= result.cost <= proven.cost * 1.5


@pytest.mark.slow  # six datasets take the same path by default, against enumerated optima
@pytest.mark.parametrize("law", [None, PowerDataLaw(p=0.5)])
def test_many_datasets_on_several_clusters_have_plans_and_bounds(law: PowerDataLaw | None) -> None:
    rng = np.random.default_rng([6, 10])
    instance = crowded(rng, law, datasets=9, clusters=4, epochs=8, deadline=True)
    result = depl.solve(instance, "depl")
    assert result.cost is not None
    assert 0 <= result.lower_bound <= result.cost


# --- closed forms and corners --------------------------------------------------------------------------


def test_with_one_choice_at_every_stage_the_closed_form_comes_out(steady: Instance) -> None:
    result = depl.solve(steady, "depl")
    assert result.cost == pytest.approx(24)
    assert 24 * (1 - 2e-5) <= result.lower_bound <= 24


def test_without_a_time_limit_the_deadline_decides_and_optimality_is_proved(steady: Instance) -> None:
    """x = 8 / (2 - 0.5) in both epochs: 2 * 3 * 8 / 1.5."""
    result = depl.solve(steady.replace(maximum_time=None, round_deadline=2.0), "depl")
    assert result.cost == pytest.approx(32)
    assert result.termination is Termination.OPTIMAL


@pytest.mark.parametrize("limits", [(5.0, None), (None, None), (None, 2.0), (2.6, 1.3)])
def test_free_clusters_make_free_plans(limits: tuple[float | None, float | None]) -> None:
    free = plain(maximum_time=limits[0], round_deadline=limits[1], clusters=((0.0, 10.0),))
    result = depl.solve(free, "depl")
    assert result.cost == 0
    assert result.solution is Solution.PROVEN_OPTIMAL


@pytest.mark.parametrize("share", [1.0, 1 - 9e-10])
def test_full_resources_that_just_keep_the_limits_are_a_plan(share: float) -> None:
    for instance in (
        plain(maximum_time=2.6 * share, epochs=2),
        plain(maximum_time=None, round_deadline=1.3 * share),
        plain(maximum_time=2.6 * share, round_deadline=1.3 * share),
    ):
        result = depl.solve(instance, "depl")
        assert result.cost == pytest.approx(60)
        assert result.lower_bound >= 60 * (1 - 2e-5)


def test_a_loss_that_meets_the_target_needs_no_training(steady: Instance) -> None:
    for epochs in (0, 3):
        result = depl.solve(steady.replace(maximum_loss=10, maximum_epochs=epochs), "depl")
        assert (result.cost, result.epochs) == (0, 0)
        assert result.termination is Termination.OPTIMAL
        assert [item.stage for item in result.decisions] == [Stage.MODELS]


def test_epochs_without_work_are_free(steady: Instance) -> None:
    net = Model(
        name="net",
        size=1,
        improvement=ConstantImprovement(noise=Deterministic(value=2)),
        compute=(ComputeTable(epochs=(8.0, 0.0, 8.0)),),
    )
    instance = steady.replace(models=(net,))
    result = depl.solve(instance, "depl")
    assert result.plan is not None
    assert [epoch.resources for epoch in result.plan.epochs] == pytest.approx([2.0, 0.0])
    assert result.cost == pytest.approx(6)  # 8 / x within 5 - 1


@pytest.mark.parametrize("chosen", [(17, 22), pytest.param((0, 1, 2), marks=pytest.mark.slow)])
def test_tables_of_computing_are_covered(chosen: tuple[int, ...]) -> None:
    """Of the drawn instances with tables; for number 17 there is no plan."""
    family = random_instances(np.random.default_rng([6, 11]), 120, **SIZES)
    tabled = [item for item in family if any(model.compute for model in item.models)]
    assert len(tabled) >= 3
    for instance in (tabled[place] for place in chosen):
        result, proven = depl.solve(instance, "depl"), depl.solve(instance, "enumerate")
        assert result.cost == (None if proven.cost is None else pytest.approx(proven.cost))


def test_the_initial_model_counts_as_the_one_before(steady: Instance) -> None:
    """Leaving m1 for m0 raises the loss by 1, so that two epochs of m0 do not suffice; m1 is slow."""
    pair = plain((2.0, 0.5), (8.0, 8.0), epochs=3)
    instance = pair.replace(
        switches=(Switch(previous="m1", following="m0", law=Deterministic(value=1)),), initial_model="m1"
    )
    assert depl.solve(pair, "depl").epochs == 2
    result = depl.solve(instance, "depl")
    assert result.epochs == 3
    assert result.cost == pytest.approx(9 * 24 / 3.5)


def test_forbidden_switches_are_respected() -> None:
    """Only forward: from the quick and poor m0 to the slow and good m1, never back."""
    instance = one_way(plain((3.0, 1.0), (16.0, 1.0), target=5.0, epochs=4, maximum_time=8.0))
    free = instance.replace(switches=(), other_switches=Zero())
    result, proven = depl.solve(instance, "depl"), depl.solve(instance, "enumerate")
    assert result.cost == pytest.approx(proven.cost)
    assert result.plan is not None
    models = [epoch.model for epoch in result.plan.epochs]
    assert models == sorted(models)
    stuck = instance.replace(initial_model="m1")
    again = depl.solve(stuck, "depl")
    assert again.cost is None
    assert again.termination is Termination.INFEASIBLE
    assert depl.solve(free, "depl").cost <= result.cost * (1 + 1e-9)


def test_switches_without_variance_get_plans_and_bounds(bell: Instance) -> None:
    wild = bell.replace(
        models=tuple(
            Model(name=name, size=size, demand=2 * size, improvement=ConstantImprovement(noise=noise))
            for name, size, noise in (
                ("net", 1, Normal(mean=2, variance=0.1)),
                ("alt", 0.5, Normal(mean=1.5, variance=0.1)),
            )
        ),
        other_switches=StudentT(degrees_of_freedom=1.8, location=0.1, scale=0.2),
        maximum_loss=6.5,
    )
    result, proven = depl.solve(wild, "depl"), depl.solve(wild, "enumerate")
    assert result.cost == pytest.approx(proven.cost)
    assert proven.cost is not None
    assert 0.5 * proven.cost < result.lower_bound <= proven.cost


def test_atoms_are_planned_for_exactly() -> None:
    """Gains 0 or 4 with probabilities 1/10 and 9/10: two reach 8 in 81 of 100 cases, three in 97.2."""
    coin = Empirical(values=(0, 4), weights=(1, 9))
    base = plain(target=2.0, epochs=3, maximum_time=9.0)
    net = Model(name="net", size=0.5, demand=8, improvement=ConstantImprovement(noise=coin))
    for level, epochs in ((0.82, 3), (0.972, 3), (0.973, None)):
        instance = base.replace(models=(net,), quantile_level=level)
        assert depl.solve(instance, "depl").epochs == epochs
        assert depl.solve(instance, "enumerate").epochs == epochs


@pytest.mark.parametrize(("level", "target"), [(0.3, 5.3), (0.45, 5.9)])
def test_levels_below_one_half_need_less_than_the_mean(bell: Instance, level: float, target: float) -> None:
    """Two epochs have mean 6 and variance 2: their 0.3-quantile is 5.26, their 0.45-quantile 5.82."""
    result = depl.solve(bell.replace(quantile_level=level, maximum_loss=target), "depl")
    assert result.epochs == 2


def test_a_quantile_of_skewed_atoms_may_lie_below_the_mean() -> None:
    """Two epochs of the coin have mean gain 7.2; at omega = 0.81 their quantile is 8."""
    coin = Empirical(values=(0, 4), weights=(1, 9))
    net = Model(name="net", size=0.5, demand=8, improvement=ConstantImprovement(noise=coin))
    instance = plain(target=2.0, epochs=3, maximum_time=9.0).replace(models=(net,), quantile_level=0.81)
    assert depl.solve(instance, "depl").epochs == 2


# --- reasons -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"epochs": 0}, "models: no epoch is allowed, and the loss does not meet the target"),
        ({"target": 3.5}, r"models: target 3\.5 .* out of reach within 3 epochs; .* expected loss is 4"),
        ({"maximum_time": 2.5}, r"resources: reaching the target takes at least 2\.6, .* is 2\.5"),
        (
            {"round_deadline": 1.2},
            r"resources: no epoch keeps the round deadline 1\.2 on any cluster; the fastest takes 1\.3",
        ),
    ],
)
def test_what_is_proved_impossible_is_named_with_its_stage(changes: dict[str, float], reason: str) -> None:
    instance = plain(**changes)
    result = depl.solve(instance, "depl")
    assert result.termination is Termination.INFEASIBLE
    assert depl.solve(instance, "enumerate").termination is Termination.INFEASIBLE
    assert result.reason is not None
    assert re.fullmatch(reason, result.reason)


def test_what_was_not_found_is_named_with_the_nearest_quantile(bell: Instance) -> None:
    """Three epochs have mean 4 and the quantile 4 + 1.2816 sqrt(3) = 6.22 at best.

    Under its tilt a normal law is normal, so that a target somewhat below is proved to be out of reach.
    """
    result = depl.solve(bell, "depl")
    assert result.termination is Termination.INFEASIBLE
    assert result.solution is Solution.NONE
    assert result.lower_bound == math.inf
    assert depl.solve(bell, "enumerate").termination is Termination.INFEASIBLE
    assert result.reason is not None
    assert result.reason.startswith("models: target 6 at omega 0.9")
    nearest = float(result.reason.split()[-1])
    assert nearest == pytest.approx(4 + 1.2815515655 * math.sqrt(3), rel=0.01)


def test_the_nearest_quantile_is_that_of_what_the_time_leaves(bell: Instance) -> None:
    """Three epochs take 3 * 1.3 > 3.89, two keep the time: 6 + 1.2816 sqrt(2) = 7.81 is the best quantile."""
    result = depl.solve(bell.replace(maximum_time=3.89), "depl")
    assert result.cost is None
    assert result.reason is not None
    assert float(result.reason.split()[-1]) == pytest.approx(6 + 1.2815515655 * math.sqrt(2), rel=0.01)


def test_decaying_losses_are_refused(steady: Instance, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learning, "loss_step", lambda *_: LossStep(0.5, -1.0, ()))
    with pytest.raises(depl.DeplError, match="decay by themselves"):
        depl.solve(steady, "depl")


# --- the record ----------------------------------------------------------------------------------------


def test_every_incumbent_is_recorded_and_each_is_cheaper(solved: list[tuple[Instance, Result]]) -> None:
    for _, result in solved:
        costs = [item.cost for item in result.decisions if item.stage is Stage.RESOURCES]
        assert costs == sorted(costs, reverse=True)
        assert len(set(costs)) == len(costs)
        if result.cost is not None and result.epochs:
            assert costs[-1] == pytest.approx(result.cost, rel=1e-12)


def test_where_it_went_back_is_told(solved: list[tuple[Instance, Result]]) -> None:
    back = [item for _, result in solved for item in result.decisions if not item.kept]
    assert len(back) > 1
    assert {item.stage for item in back} == {Stage.DATA}
    assert any("nothing below" in item.outcome for item in back)
    for _, result in solved:
        if any(not item.kept for item in result.decisions):
            assert "went back" in told(result.decisions)


# --- invariances ---------------------------------------------------------------------------------------


def scaled_cost(instance: Instance, factor: float) -> Instance:
    return instance.replace(
        clusters=tuple(
            msgspec.structs.replace(item, unit_cost=factor * item.unit_cost) for item in instance.clusters
        ),
        transfers=tuple(msgspec.structs.replace(row, cost=factor * row.cost) for row in instance.transfers),
    )


def scaled_time(instance: Instance, factor: float) -> Instance:
    def table(row: ComputeTable) -> ComputeTable:
        return msgspec.structs.replace(row, epochs=tuple(factor * c for c in row.epochs))

    limit, tau = instance.target.maximum_time, instance.target.round_deadline
    return instance.replace(
        models=tuple(
            msgspec.structs.replace(
                item,
                demand=factor * item.demand,
                size=factor * item.size,
                compute=None if item.compute is None else tuple(map(table, item.compute)),
            )
            for item in instance.models
        ),
        maximum_time=None if limit is None else factor * limit,
        round_deadline=None if tau is None else factor * tau,
    )


def reversed_names(instance: Instance) -> Instance:
    return instance.replace(
        clusters=instance.clusters[::-1],
        datasets=instance.datasets[::-1],
        models=instance.models[::-1],
        transfers=instance.transfers[::-1],
    )


@pytest.mark.parametrize("chosen", [slice(1), pytest.param(slice(1, 4), marks=pytest.mark.slow)])
def test_units_and_orders_do_not_matter(solved: list[tuple[Instance, Result]], chosen: slice) -> None:
    compared = 0
    for instance, result in solved[chosen]:
        if result.cost is None:
            continue
        compared += 1
        for changed, factor in (
            (scaled_cost(instance, 1000.0), 1000.0),
            (scaled_time(instance, 3600.0), 1.0),
            (reversed_names(instance), 1.0),
        ):
            again = depl.solve(changed, "depl", looks=ENOUGH)
            assert again.cost == pytest.approx(factor * result.cost, rel=1e-7)
            assert again.lower_bound == pytest.approx(factor * result.lower_bound, rel=1e-3, abs=1e-6)
    assert compared >= 1


@pytest.mark.parametrize("count", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_a_dominated_cluster_or_a_looser_limit_does_not_make_plans_more_expensive(
    solved: list[tuple[Instance, Result]], count: int
) -> None:
    compared = 0
    for instance, result in solved[:count]:
        limit = instance.target.maximum_time
        if result.cost is None or limit is None:
            continue
        expensive = msgspec.structs.replace(
            instance.clusters[0], name="expensive", unit_cost=9 * instance.clusters[0].unit_cost
        )
        rows = tuple(Transfer(dataset=d.name, cluster="expensive", cost=50.0) for d in instance.datasets)
        more = instance.replace(
            clusters=(*instance.clusters, expensive), transfers=(*instance.transfers, *rows)
        )
        if len(more.clusters) <= 2:
            assert depl.solve(more, "depl", looks=ENOUGH).cost <= result.cost * (1 + 1e-7)
        looser = depl.solve(instance.replace(maximum_time=1.1 * limit), "depl", looks=ENOUGH)
        assert looser.cost <= result.cost * (1 + 1e-7)
        compared += 1
    assert compared >= count / 2


def test_all_sequences_of_a_small_deterministic_instance_agree() -> None:
    """Deterministic gains with T_max and switches that cost loss, written out."""
    rng = np.random.default_rng([6, 13])
    for _ in range(3):
        gains, works = rng.uniform(0.5, 2, 2), rng.uniform(1, 8, 2)
        instance = plain(gains.tolist(), works.tolist(), target=10 - float(rng.uniform(1, 3)), epochs=3)
        instance = instance.replace(other_switches=Deterministic(value=0.3))
        best = math.inf
        for length in (1, 2, 3):
            for models in itertools.product(range(2), repeat=length):
                loss = (
                    10 - sum(gains[list(models)]) + 0.3 * sum(a != b for a, b in itertools.pairwise(models))
                )
                if loss <= instance.target.maximum_loss + 1e-9:
                    roots = sum(math.sqrt(3 * works[m]) for m in models)
                    best = min(best, roots**2 / (5 - length / 2))
        result = depl.solve(instance, "depl")
        assert result.cost == (pytest.approx(best) if best < math.inf else None)


def test_data_choices_trade_transfers_against_what_is_learnt() -> None:
    """Data 'far' costs 40 to bring and doubles the gain: worth it if it saves an epoch, not otherwise."""
    base = plain(maximum_time=4.0, epochs=4)
    pair = base.replace(
        datasets=(Dataset(name="near", volume=1), Dataset(name="far", volume=3, work=0.5)),
        data_law=PowerDataLaw(p=0.5),  # h(near) = 1/2
        transfers=(Transfer(dataset="far", cluster="c0", cost=40.0),),
    )
    for target in (9.0, 8.0, 6.0):
        aimed = pair.replace(maximum_loss=target)
        result, proven = depl.solve(aimed, "depl"), depl.solve(aimed, "enumerate")
        assert result.cost == pytest.approx(proven.cost)
        assert {row.datasets for row in result.plan.data} == {row.datasets for row in proven.plan.data}


def test_two_clusters_are_told_apart_when_nothing_may_be_switched() -> None:
    pair = plain((2.0, 2.0), (8.0, 4.0), clusters=((3.0, 10.0), (1.0, 4.0)))
    locked = pair.replace(other_switches=Forbidden())
    assert depl.solve(locked, "depl").cost == pytest.approx(depl.solve(locked, "enumerate").cost)

"""The programs: cuts valid and tight, plans as evaluation says, also as printed in the paper (E1 and E2)."""

import dataclasses
import math

import numpy as np
import pyomo.environ as pyo
import pytest

from depl.instances.generator import random_instances
from depl.models.evaluation.evaluate import Reading, evaluate
from depl.models.exact.sampled import SampledProblem
from depl.models.foundation.errors import NotCoveredError
from depl.models.problem.epoch_costs import EpochCosts, price
from depl.models.problem.instance import ConstantImprovement, Model, Switch
from depl.models.problem.laws import Forbidden, Normal, Zero
from depl.models.programs.attainable import attainable
from depl.models.programs.common import usable_keys
from depl.models.programs.cone_space import ConeSpace
from depl.models.programs.cutting import solve_sampled
from depl.models.programs.highs import Status, solve_program
from depl.models.programs.price_space import PriceSpace
from depl.models.programs.sequences import add_no_good, read_choices, write_choices
from depl.models.scenarios.draws import draw_scenarios, given_scenarios
from depl.models.solving.result import Termination
from tests.cases.sampled_plans import cheapest, meets_all, price_space, sequences

E1 = Reading(data_requires_every_epoch=True)
E2 = Reading(transfer_every_epoch=True)
BOTH = Reading(data_requires_every_epoch=True, transfer_every_epoch=True)


@pytest.fixture(scope="module")
def problems():
    drawn = random_instances(
        np.random.default_rng(77), 24, models=(2, 2), clusters=(1, 2), datasets=(1, 2), maximum_epochs=(2, 3)
    )
    drawn = [item.replace(initial_model="m2") if seed % 3 == 1 else item for seed, item in enumerate(drawn)]
    samples = [draw_scenarios(item, 10, seed) for seed, item in enumerate(drawn)]
    for seed in range(0, len(samples), 2):  # switches that lower the loss in every other sample
        samples[seed] = dataclasses.replace(samples[seed], switch_losses=-samples[seed].switch_losses)
    return [SampledProblem(*pair) for pair in zip(drawn, samples, strict=True)]


@pytest.fixture(scope="module")
def tiny_problem(tiny):
    return SampledProblem(tiny, draw_scenarios(tiny, 12, seed=4))


def plans_of(problem, rng, count):
    """A few feasible sequences."""
    found = [row for row in sequences(problem) if meets_all(problem, row)]
    return [found[index] for index in rng.permutation(len(found))[:count]]


def violation(constraint):
    body = pyo.value(constraint.body)
    lower, upper = pyo.value(constraint.lower), pyo.value(constraint.upper)
    return max(
        0.0, -math.inf if lower is None else lower - body, -math.inf if upper is None else body - upper
    )


def violations(model):
    rows = model.component_data_objects(pyo.Constraint, active=True)
    return {row.name: violation(row) for row in rows if violation(row) > 1e-9}


def test_psi_of_the_program_is_the_price_of_the_allocation(problems):
    rng = np.random.default_rng(0)
    for problem in problems[:12]:
        deadline = problem.instance.target.round_deadline
        loads = [item for row in problem.loads for item in row if math.isfinite(price(item, 1.0, deadline))]
        curves = EpochCosts.of(loads, deadline)
        for multiplier in (0.0, *np.exp(rng.normal(size=5) * 3)):
            assert curves.prices(multiplier) == pytest.approx(
                [price(item, multiplier, deadline) for item in loads], rel=1e-12, abs=1e-300
            )


def test_price_cuts_hold_for_a_thousand_plans_and_prices_and_are_tight_at_the_multiplier(
    problems, monkeypatch
):
    monkeypatch.setattr(PriceSpace, "first_multipliers", lambda _: [])
    rng, checked = np.random.default_rng(1), 0
    for problem in problems:
        bounds = attainable(problem)
        if not bounds.possible:
            continue
        program = PriceSpace(problem, bounds)
        for choices in plans_of(problem, rng, 8):
            allocation = problem.allocation(choices)
            assert write_choices(program.model, problem, choices)
            program.write_cost(allocation)
            new = program.add_cuts(np.exp(rng.normal(size=12) * 3) * (allocation.multiplier or 1.0))
            assert all(violation(row) <= 1e-9 * max(1.0, allocation.cost) for row in new)
            checked += len(new)
            program.tighten(allocation)
            slacks = [
                abs(pyo.value(row.upper) - pyo.value(row.body))
                for row in program.model.eq2_price_cuts.values()
            ]
            assert min(slacks) <= 1e-9 * max(1.0, allocation.cost)
    assert checked >= 1000


def test_every_feasible_plan_is_a_point_of_the_program_at_its_own_cost(problems):
    for problem in problems[:8]:
        bounds = attainable(problem)
        plans = [row for row in sequences(problem) if meets_all(problem, row)]
        if not plans:
            continue
        program = PriceSpace(problem, bounds)
        for choices in plans:
            allocation = problem.allocation(choices)
            program.tighten(allocation)
            assert write_choices(program.model, problem, choices)
            program.write_cost(allocation)
            assert not violations(program.model)
            assert read_choices(program.model, problem) == list(choices)
            cost = allocation.cost + problem.transfers(choices)
            assert pyo.value(program.model.eq2_cost) == pytest.approx(cost, rel=1e-12)


def test_every_infeasible_plan_violates_the_program(problems):
    """Sequences that write_choices can express at all; their misses or their time must show."""
    seen = 0
    for problem in problems[:8]:
        bounds = attainable(problem)
        if not bounds.possible:
            continue
        program = PriceSpace(problem, bounds)
        for choices in sequences(problem):
            if meets_all(problem, choices) or not write_choices(program.model, problem, choices):
                continue
            program.write_cost(problem.allocation(choices))
            seen += 1
            assert {name.split("[")[0] for name in violations(program.model)} & {
                "eq3_misses", "eq3_quantile", "eq4_time", "epochs_first", "epochs_no_end",
            }  # fmt: skip
    assert seen >= 50


def test_a_builder_gives_a_plain_model_with_the_names_of_the_equations(tiny_problem):
    model = price_space(tiny_problem)
    assert type(model) is pyo.ConcreteModel
    names = {item.name for item in model.component_objects((pyo.Constraint, pyo.Objective), active=True)}
    own = {
        "eq2_price_cuts",
        "eq2_cost",
        "eq3_quantile",
        "eq3_misses",
        "eq4_time",
        "eq6_data",
        "eq6_one_subset",
        "epochs_prefix",
    }
    assert own <= names
    assert all(len(key) == 4 and key[1] in ("cloud", "edge") for key in model.w)


def test_a_model_solved_as_built_never_costs_more_than_the_optimum(tiny_problem):
    model = price_space(tiny_problem)
    answer = solve_program(model)
    assert answer.status is Status.RELAXATION_OPTIMAL
    best = cheapest(tiny_problem)
    assert 0.5 * best < answer.objective <= best * (1 + 1e-9)
    assert pyo.value(model.eq2_cost) == pytest.approx(answer.objective, rel=1e-9)


def test_without_anything_to_write_down_a_builder_says_so(steady):
    instance = steady.replace(maximum_time=1)
    with pytest.raises(NotCoveredError, match="no plan with an epoch"):
        price_space(SampledProblem(instance, draw_scenarios(instance, 3)))


def test_without_a_time_limit_the_price_is_zero_and_the_deadline_decides(steady):
    instance = steady.replace(maximum_time=None, round_deadline=1.5)  # x = 8 / (1.5 - 0.5) = 8 at price 3
    found = solve_sampled(SampledProblem(instance, draw_scenarios(instance, 3)))
    assert found.termination is Termination.OPTIMAL
    assert found.cost == pytest.approx(48, rel=1e-12)


@pytest.mark.parametrize("reading", [E1, E2, BOTH])
def test_the_letter_of_the_paper_costs_what_writing_out_says(tiny_problem, reading):
    found = solve_sampled(tiny_problem, reading=reading)
    assert found.termination is Termination.OPTIMAL
    assert found.cost == pytest.approx(cheapest(tiny_problem, reading), rel=1e-9)
    plan = tiny_problem.plan(found.choices)
    evaluated = evaluate(tiny_problem.instance, plan, reading, quantile=False)
    assert evaluated.cost == pytest.approx(found.cost, rel=1e-12)
    assert all(c.satisfied for c in evaluated.constraints if c.equation != "(3)")
    pytest.importorskip("pyscipopt")
    cone = ConeSpace(tiny_problem, attainable(tiny_problem), reading).model
    assert solve_program(cone, solve_with="scip").objective == pytest.approx(found.cost, rel=1e-6)


def test_the_letter_of_6_keeps_all_epochs_on_one_cluster_and_the_letter_of_2_pays_every_epoch(
    tiny, tiny_problem
):
    """The optimum by the intent trains on cloud and edge and pays two transfers once."""
    intent = solve_sampled(tiny_problem)
    assert {g.cluster for g in intent.choices} == {0, 1}
    assert tiny_problem.transfers(intent.choices) > 0
    one_cluster = solve_sampled(tiny_problem, reading=E1)
    assert len({g.cluster for g in one_cluster.choices}) == 1
    assert one_cluster.cost > intent.cost * 1.01
    every_epoch = solve_sampled(tiny_problem, reading=E2)
    assert every_epoch.cost > intent.cost * 1.01
    again = evaluate(tiny, tiny_problem.plan(intent.choices), E2, quantile=False)
    assert every_epoch.cost <= again.cost * (1 + 1e-9)


def test_a_no_good_excludes_one_sequence_or_all_with_its_gain(tiny_problem):
    plans = [row for row in sequences(tiny_problem) if meets_all(tiny_problem, row)]
    chosen = plans[0]
    for same_gain in (False, True):
        model = price_space(tiny_problem)
        row = add_no_good(model, tiny_problem, chosen, same_gain)
        excluded = []
        for choices in plans:
            assert write_choices(model, tiny_problem, choices)
            if violation(row) > 0.5:
                excluded.append(choices)
        alike = [(g.datasets, g.model) for g in chosen]
        expected = [row for row in plans if [(g.datasets, g.model) for g in row] == alike]
        assert excluded == (expected if same_gain else [chosen])


def test_a_no_good_leaves_what_goes_on_alone(tiny):
    problem = SampledProblem(tiny.replace(maximum_loss=12), draw_scenarios(tiny, 12, seed=4))
    plans = [row for row in sequences(problem) if meets_all(problem, row)]
    chosen = min(plans, key=len)
    onward = [row for row in plans if len(row) > len(chosen) and row[: len(chosen)] == chosen]
    assert onward
    for same_gain in (False, True):
        model = price_space(problem)
        row = add_no_good(model, problem, chosen, same_gain)
        for choices in onward:
            assert write_choices(model, problem, choices)
            assert violation(row) == 0


def test_one_miss_more_than_is_allowed_is_counted_by_the_program_itself(steady):
    """Only two of ten scenarios can be missed at all, and one may; twice the cheapest model misses both."""
    rule = ConstantImprovement(noise=Normal(mean=5, variance=1))
    models = tuple(
        Model(name=name, size=1, demand=demand, improvement=rule)
        for name, demand in (("first", 2), ("second", 2), ("cheap", 1))
    )
    instance = steady.replace(
        models=models, other_switches=Zero(), maximum_epochs=2, maximum_loss=6, quantile_level=0.9
    )
    gains = np.full((10, 2, 3), 5.0)
    gains[0], gains[1] = [3, 1, 1.9], [1, 3, 1.9]  # needed are 4
    found = solve_sampled(SampledProblem(instance, given_scenarios(instance, gains)))
    assert sorted(instance.models[g.model].name for g in found.choices)[0] == "cheap"
    assert len({g.model for g in found.choices}) == 2
    assert (found.termination, found.near_ties) == (Termination.OPTIMAL, 0)


def test_a_forbidden_switch_that_would_lose_nothing_is_not_made(steady):
    """a then b would do for less, but is forbidden; a then a and a then c fail in one scenario each."""
    rule = ConstantImprovement(noise=Normal(mean=2, variance=1))
    models = tuple(
        Model(name=name, size=1, demand=demand, improvement=rule)
        for name, demand in (("a", 1), ("b", 2), ("c", 1))
    )
    switches = (Switch(previous="a", following="b", law=Forbidden()),)
    instance = steady.replace(
        models=models, switches=switches, other_switches=Zero(), maximum_epochs=2, maximum_loss=6
    )
    gains = [[[2, 2, 0], [2, 2, 0]], [[2, 2, 0], [0, 2, 2]]]  # [scenario][epoch][model]; needed are 4
    found = solve_sampled(SampledProblem(instance, given_scenarios(instance, gains)))
    assert [instance.models[g.model].name for g in found.choices] == ["b", "b"]
    assert found.termination is Termination.OPTIMAL


def test_a_switch_that_lowers_the_loss_cannot_be_had_without_switching(tiny):
    """With v >= u + u' - 1 alone the relaxation would take the gain of 100 and train one epoch less."""
    shape = (4, 3, 2, 2)
    switches = np.zeros(shape)
    switches[:, :, 0, 1] = -100
    problem = SampledProblem(tiny, given_scenarios(tiny, np.full(shape[:3], 2.0), switches))
    model = price_space(problem)
    assert solve_program(model).status is Status.RELAXATION_OPTIMAL
    names = [item.name for item in tiny.models]
    trained = {key[0]: key[3] for key in model.w if model.w[key].value > 0.5}
    for k, before, after in model.v:
        made = trained.get(k - 1) == before and trained.get(k) == after
        assert model.v[k, before, after].value == pytest.approx(float(made), abs=1e-7)
    found = solve_sampled(problem)
    assert found.cost == pytest.approx(cheapest(problem), rel=1e-9)
    assert [names[g.model] for g in found.choices][-2:] == names


def test_variables_exist_only_for_what_may_be_useful(tiny_problem):
    bounds = attainable(tiny_problem)
    keys = usable_keys(tiny_problem, bounds)
    assert len(keys) == int(bounds.usable[: bounds.longest].sum())
    assert len(keys) < tiny_problem.epochs * len(tiny_problem.configurations)

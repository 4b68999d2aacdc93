"""The two forms: every plan a point at its own cost, cuts valid and tight, the paper's letter (E1, E2)."""

import numpy as np
import pyomo.environ as pyo
import pytest

from depl.models.evaluation.evaluate import Reading, evaluate
from depl.models.exact.sampled import SampledProblem
from depl.models.foundation.errors import NotCoveredError
from depl.models.programs.attainable import attainable
from depl.models.programs.formulations import (
    Price,
    add_cost_row,
    add_no_good,
    cone,
    read_choices,
)
from depl.models.programs.highs import solve_program
from depl.models.programs.loop import solve_sampled
from depl.models.scenarios.draws import draw_scenarios
from depl.models.solving.result import Termination
from tests.cases.sampled_plans import (
    cheapest,
    cost,
    drawn_problems,
    meets_all,
    price_space,
    sequences,
    violation,
    violations,
    write_choices,
)

E1 = Reading(data_requires_every_epoch=True)
E2 = Reading(transfer_every_epoch=True)
BOTH = Reading(data_requires_every_epoch=True, transfer_every_epoch=True)


@pytest.fixture(scope="module")
def problems():
    return drawn_problems(77, 24)


@pytest.fixture(scope="module")
def tiny_problem(tiny):
    return SampledProblem(tiny, draw_scenarios(tiny, 12, seed=4))


def feasible(problem):
    return [row for row in sequences(problem) if meets_all(problem, row)]


def test_price_cuts_hold_for_a_thousand_plans_and_prices_and_are_tight_at_the_multiplier(
    problems, monkeypatch
):
    monkeypatch.setattr(Price, "first_multipliers", lambda _: [])
    rng, checked = np.random.default_rng(1), 0
    for problem in problems:
        bounds, plans = attainable(problem), feasible(problem)
        if not bounds.possible:
            continue
        form = Price(problem, bounds)
        for choices in (plans[index] for index in rng.permutation(len(plans))[:8]):
            allocation = problem.allocation(choices)
            assert write_choices(form.model, problem, choices)
            new = form.add_cuts(np.exp(rng.normal(size=12) * 3) * (allocation.multiplier or 1.0))
            assert all(violation(row) <= 1e-9 * max(1.0, allocation.cost) for row in new)
            checked += len(new)
            form.tighten(allocation)
            slacks = [row.uslack() for row in form.model.eq2_price_cuts.values()]
            assert min(map(abs, slacks)) <= 1e-9 * max(1.0, allocation.cost)
    assert checked >= 1000


def test_every_feasible_plan_is_a_point_of_both_forms_at_its_own_cost_and_no_other_is(problems):
    """With less of its resources it is none of the form ``cone``: the cones are tight there."""
    seen = cut = 0
    for problem in problems[:4]:
        bounds = attainable(problem)
        if not bounds.possible:
            continue
        form = Price(problem, bounds)
        for model in (form.model, cone(problem, bounds)):
            for choices in sequences(problem):
                if not write_choices(model, problem, choices):
                    assert not meets_all(problem, choices)
                elif meets_all(problem, choices):
                    if model is form.model:
                        form.tighten(problem.allocation(choices))
                    assert not violations(model)
                    assert read_choices(model, problem) == list(choices)
                    assert pyo.value(model.eq2_cost) == pytest.approx(cost(problem, choices), rel=1e-12)
                    cut += 0 if model is form.model else too_little(model)
                else:
                    seen += 1
                    assert violations(model) & {
                        "eq3_misses", "eq3_quantile", "eq4_time", "epochs_first", "epochs_no_end",
                        "round_deadline", "eq5_least", "cones",
                    }  # fmt: skip
    assert seen >= 40
    assert cut >= 10


def too_little(model):
    """How many places of a plan break a row with 99 % of their resources."""
    count = 0
    for place in (place for place in model.x if model.x[place].value > 0):
        held = model.x[place].value
        model.x[place].set_value(0.99 * held)
        count += bool(violations(model) & {"cones", "eq5_least"})
        model.x[place].set_value(held)
    return count


def test_without_anything_to_write_down_a_builder_says_so(steady):
    instance = steady.replace(maximum_time=1)
    with pytest.raises(NotCoveredError, match="no plan with an epoch"):
        price_space(SampledProblem(instance, draw_scenarios(instance, 3)))


# --- the letter of the paper


@pytest.mark.parametrize("reading", [E1, E2, BOTH])
def test_the_letter_of_the_paper_costs_what_writing_out_says_and_more_than_its_intent(tiny_problem, reading):
    """The optimum by the intent trains on cloud and edge and pays two transfers once; by (6) all epochs are
    on one cluster, and by (2) every epoch pays."""
    found, intent = solve_sampled(tiny_problem, reading=reading), solve_sampled(tiny_problem)
    assert found.termination is Termination.OPTIMAL
    assert found.cost == pytest.approx(cheapest(tiny_problem, reading), rel=1e-9)
    plan = tiny_problem.plan(found.choices)
    evaluated = evaluate(tiny_problem.instance, plan, reading, quantile=False)
    assert evaluated.cost == pytest.approx(found.cost, rel=1e-12)
    assert all(c.satisfied for c in evaluated.constraints if c.equation != "(3)")
    assert {g.cluster for g in intent.choices} == {0, 1}
    assert tiny_problem.transfers(intent.choices) > 0
    assert found.cost > intent.cost * 1.01
    if reading.data_requires_every_epoch:
        assert len({g.cluster for g in found.choices}) == 1
    else:
        again = evaluate(tiny_problem.instance, tiny_problem.plan(intent.choices), E2, quantile=False)
        assert found.cost <= again.cost * (1 + 1e-9)
    model = cone(tiny_problem, attainable(tiny_problem), reading)
    assert solve_program(model, solve_with="scip").objective == pytest.approx(found.cost, rel=1e-6)


# --- rows about one sequence


def test_a_no_good_excludes_one_sequence_or_all_with_its_gain_and_leaves_what_goes_on_alone(tiny):
    problem = SampledProblem(tiny.replace(maximum_loss=12), draw_scenarios(tiny, 12, seed=4))
    plans = feasible(problem)
    chosen = min(plans, key=len)
    alike = [(g.datasets, g.model) for g in chosen]
    assert any(len(row) > len(chosen) and row[: len(chosen)] == chosen for row in plans)
    for same_gain in (False, True):
        model, excluded = price_space(problem), []
        row = add_no_good(model, problem, chosen, same_gain)
        for choices in plans:
            assert write_choices(model, problem, choices)
            excluded += [choices] if violation(row) > 0.5 else []
        expected = [row for row in plans if [(g.datasets, g.model) for g in row] == alike]
        assert excluded == (expected if same_gain else [chosen])


def test_a_cost_row_holds_for_every_sequence_and_is_tight_at_its_own(problems):
    for problem in [problem for problem in problems if attainable(problem).possible][:2]:
        model = price_space(problem)
        plans = feasible(problem)
        chosen = plans[len(plans) // 2]
        row = add_cost_row(model, problem, chosen, cost(problem, chosen))
        for plan in plans:
            assert write_choices(model, problem, plan)
            assert row.lslack() >= -1e-9 * cost(problem, chosen)
            if plan == chosen:
                assert row.lslack() == pytest.approx(0, abs=1e-9 * cost(problem, chosen))


def test_no_feasible_plan_is_excluded_and_no_constant_of_the_quantile_constraint_cuts_one(
    problems,
):
    """G_s + M_s z_s >= needed with z_s = 1 at every miss, and no z_s where the constant is not positive."""
    tight = seen = 0
    for problem in problems:
        bounds, plans = attainable(problem), feasible(problem)
        seen += bool(plans)
        position = {g: index for index, g in enumerate(problem.configurations)}
        for choices in plans:
            assert bounds.possible
            assert bounds.lengths[len(choices) - 1]
            assert bounds.shortest <= len(choices) <= bounds.longest
            assert all(bounds.usable[k, position[g]] for k, g in enumerate(choices))
            gain = problem.gain(choices)
            missed = gain < problem.needed
            constant = problem.needed - bounds.lowest_gain
            assert (gain + np.maximum(constant, 0) * missed >= problem.needed).all()
            # scenarios that every sequence of a possible length meets: no row of (3) speaks of them
            assert not (missed & (bounds.lowest_gain >= problem.needed)).any()
            assert (missed >= bounds.missed_anyway).all()
            assert np.sort(gain)[problem.allowed] <= bounds.best_gain + 1e-9
            tight += int((np.abs(gain - bounds.lowest_gain) < 1e-9).sum())
    assert seen >= 12
    assert tight > 100  # the bounds are not just small

"""The loop proves what writing all plans out says, and ends in a result whatever the solver does."""

import dataclasses
import functools
import math

import numpy as np
import pytest

import depl
from depl.instances.generator import random_instances
from depl.models.exact.reasons import SIMPLE_PLAN
from depl.models.exact.sampled import SampledProblem
from depl.models.foundation.errors import InvalidInputError, NotCoveredError
from depl.models.problem.instance import ConstantImprovement, Model
from depl.models.problem.laws import Normal
from depl.models.programs.finished import FORMS, program
from depl.models.programs.highs import OPTIONS, Answer, Session, Status, solve_program
from depl.models.programs.loop import solve_sampled
from depl.models.scenarios.draws import draw_scenarios, given_scenarios
from depl.models.solving.methods import Limits, find
from depl.models.solving.result import Solution, Termination
from tests.cases.sampled_plans import HARD_OPTIMUM, cheapest, hard_problem, meets_all

optimum_of = functools.cache(cheapest)
"""Oracle: the least cost of all sequences, one by one."""


@pytest.fixture(scope="module")
def problems():
    drawn = random_instances(
        np.random.default_rng(5), 200, models=(2, 2), clusters=(1, 2), datasets=(1, 2), maximum_epochs=(2, 3)
    )
    drawn = [item.replace(initial_model="m2") if seed % 4 == 1 else item for seed, item in enumerate(drawn)]
    samples = [draw_scenarios(item, 12, seed) for seed, item in enumerate(drawn)]
    for seed in range(0, len(samples), 2):  # switches that lower the loss in every other sample
        samples[seed] = dataclasses.replace(samples[seed], switch_losses=-samples[seed].switch_losses)
    return [SampledProblem(*pair) for pair in zip(drawn, samples, strict=True)]


@pytest.fixture(scope="module")
def hard():
    return hard_problem()


@pytest.fixture(scope="module")
def near_tie(steady):
    """Needed are 600, one may miss: ``expensive`` gains 700, ``cheap`` lacks 2e-9 in its second miss."""
    rule = ConstantImprovement(noise=Normal(mean=600, variance=1))
    models = (
        Model(name="expensive", size=1, demand=2, improvement=rule),
        Model(name="cheap", size=1, demand=1, improvement=rule),
    )
    instance = steady.replace(
        models=models, maximum_epochs=1, initial_loss=1000, maximum_loss=400, quantile_level=0.9
    )
    gains = np.stack([np.full(10, 700.0), np.array([-500, 600 - 2e-9, *[900] * 8])], axis=-1)[:, None, :]
    return SampledProblem(instance, given_scenarios(instance, gains))


BLOCKS = [slice(start, start + 20) for start in range(0, 200, 20)]


@pytest.mark.parametrize(
    ("chosen", "forms"),
    [
        (slice(2), FORMS),
        (slice(2, 8), FORMS[:1]),
        *(pytest.param(block, FORMS, marks=pytest.mark.slow) for block in BLOCKS),
    ],
)
def test_both_forms_the_search_and_all_plans_one_by_one_agree_on_200_instances(problems, chosen, forms):
    """The linear form by HiGHS, as printed by SCIP, and the finished program handed to another solver."""
    pytest.importorskip("pyscipopt")
    for problem in problems[chosen]:
        optimum = optimum_of(problem)
        search = find("scenario-search").run(problem.instance, Limits(scenarios=problem.scenarios))
        found = [solve_sampled(problem, form=form) for form in forms]
        assert all(len(item.ties) == 0 for item in found)  # programs leave nothing to the guards
        if math.isinf(optimum):
            assert {item.termination for item in (search, *found)} == {Termination.INFEASIBLE}
            assert all(item.reason and item.choices is None for item in found)
            continue
        assert {item.termination for item in (search, *found)} == {Termination.OPTIMAL}
        assert [item.lower_bound for item in (search, *found)] == pytest.approx(
            [optimum] * (1 + len(forms)), rel=1e-9
        )
        assert all(not item.choices or meets_all(problem, tuple(item.choices)) for item in found)
        if found[0].choices and forms == FORMS:
            answer = solve_program(program(problem.instance, problem.scenarios), solve_with="scip")
            assert answer.objective == pytest.approx(optimum, rel=1e-6, abs=1e-9)


def test_the_printed_program_is_an_option_of_the_method_and_says_what_it_needs(tiny, monkeypatch):
    pytest.importorskip("pyscipopt")
    result = depl.solve(tiny, "milp", scenarios=12, options={"form": "cone"})
    assert result.solution is Solution.PROVEN_OPTIMAL
    assert result.tolerances == {"numerics/feastol": 1e-8, "limits/gap": 0.0, "limits/absgap": 0.0}
    with pytest.raises(InvalidInputError, match="must be price or cone"):
        depl.solve(tiny, "milp", scenarios=12, options={"form": "resource"})
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(InvalidInputError, match=r"install pyscipopt \(depl\[scip\]\), or solve"):
        depl.solve(tiny, "milp", scenarios=12, options={"form": "cone"})


@pytest.mark.parametrize("alone", [False, True])
def test_a_sequence_that_misses_by_less_than_the_tolerance_is_excluded_and_the_loop_goes_on(near_tie, alone):
    gains = near_tie.scenarios.improvements.copy()
    gains[:, :, 0] = gains[:, :, 1] if alone else gains[:, :, 0]
    problem = SampledProblem(near_tie.instance, given_scenarios(near_tie.instance, gains))
    found = solve_sampled(problem)
    assert len(found.ties) == 1 + alone
    if alone:
        assert found.termination is Termination.INFEASIBLE
        assert f"best quantile of a {SIMPLE_PLAN} is 400" in found.reason
    else:
        assert [near_tie.instance.models[g.model].name for g in found.choices] == ["expensive"]
        assert found.termination is Termination.OPTIMAL
        assert found.cost == pytest.approx(cheapest(near_tie), rel=1e-9)


@pytest.mark.parametrize(
    ("epochs", "size", "words"),
    [(5000, 100, "binary variables, of at most 5000"), (400, 3000, "coefficients, of at most 1000000")],
)
def test_programs_that_are_too_large_are_refused_with_the_limit(steady, epochs, size, words):
    with pytest.raises(NotCoveredError, match=words):
        depl.solve(steady.replace(maximum_epochs=epochs), "milp", scenarios=size)


def test_the_options_in_force_are_recorded_and_a_limit_of_the_solver_proves_no_more_than_its_bound(
    hard, tiny, monkeypatch
):
    problem = SampledProblem(tiny, draw_scenarios(tiny, 12, seed=4))
    found = solve_sampled(problem, Limits(seed=9))
    assert found.options["random_seed"] == 9
    assert found.options["mip_feasibility_tolerance"] == 1e-7
    assert found.options["mip_rel_gap"] == found.options["mip_abs_gap"] == 0
    monkeypatch.setitem(OPTIONS, "mip_max_nodes", 0)
    stopped = solve_sampled(hard, Limits(gap=0.02))
    assert stopped.options["mip_rel_gap"] == 0.01  # the other half is for the cuts
    assert stopped.termination is Termination.EXHAUSTED
    assert "another limit of the solver" in stopped.reason
    assert stopped.lower_bound <= HARD_OPTIMUM <= stopped.cost * (1 + 1e-9)


@pytest.mark.parametrize(
    ("lie", "words", "most"),
    [
        (Answer(Status.INFEASIBLE, None, math.inf), "contradicts", 0.0),
        (Answer(Status.OPTIMAL, 1.0, 1e9), "contradicts", 0.0),
        (Answer(Status.OPTIMAL, 1000.0, 500.0), "what was excluded", math.inf),
    ],
)
def test_a_solver_that_contradicts_a_plan_or_says_nothing_new_proves_no_more(
    tiny, monkeypatch, lie, words, most
):
    problem = SampledProblem(tiny, draw_scenarios(tiny, 12, seed=4))
    monkeypatch.setattr(Session, "solve", lambda *_: lie)
    found = solve_sampled(problem)
    assert found.termination is Termination.EXHAUSTED
    assert words in found.reason
    assert 0 <= found.lower_bound <= min(most, found.cost)


def test_a_bound_that_was_proved_stays_when_a_later_program_proves_less(monkeypatch):
    right, answers, rows = Session.solve, [], []

    def tired(*arguments):
        answers.append(Answer(Status.TIME_LIMIT, None, 1e-3) if answers else right(*arguments))
        return answers[-1]

    monkeypatch.setattr(Session, "solve", tired)
    limits = Limits(progress=lambda _seconds, _cost, bound: rows.append(bound))
    found = solve_sampled(hard_problem(scenarios=25), limits=limits)
    assert (found.termination, len(answers)) == (Termination.TIME_LIMIT, 2)
    assert found.lower_bound == max(rows) > 0

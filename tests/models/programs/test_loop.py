"""The loop proves what writing all plans out says, and ends in a result whatever the solver does."""

import math

import pytest

import depl
from depl.models.exact.sampled import SampledProblem
from depl.models.foundation.errors import InvalidInputError, NotCoveredError
from depl.models.programs.finished import FORMS, program
from depl.models.programs.highs import OPTIONS, Answer, Session, Status, solve_program
from depl.models.programs.loop import solve_sampled
from depl.models.scenarios.draws import draw_scenarios
from depl.models.solving.limits import Limits
from depl.models.solving.methods import find
from depl.models.solving.result import Solution, Termination
from tests.cases.sampled_plans import HARD_OPTIMUM, cheapest, drawn_problems, hard_problem, meets_all


@pytest.mark.parametrize("forms", [FORMS, FORMS[:1]])
def test_both_forms_the_search_and_all_plans_one_by_one_agree(forms):
    """The linear form by HiGHS, as printed by SCIP, and the finished program handed to another solver."""
    for problem in drawn_problems(5, 8)[slice(2) if forms == FORMS else slice(2, 8)]:
        optimum = cheapest(problem)
        search = find("scenario-search").run(problem.instance, Limits(scenarios=problem.scenarios))
        found = [solve_sampled(problem, form=form) for form in forms]
        assert all(len(item.ties) == 0 for item in found)  # programs leave nothing to the guards
        endings = {item.termination for item in (search, *found)}
        if math.isinf(optimum):
            assert endings == {Termination.INFEASIBLE}
            assert all(item.reason and item.choices is None for item in found)
            continue
        assert endings == {Termination.OPTIMAL}
        bounds = [item.lower_bound for item in (search, *found)]
        assert bounds == pytest.approx([optimum] * (1 + len(forms)), rel=1e-9)
        assert all(not item.choices or meets_all(problem, tuple(item.choices)) for item in found)
        if found[0].choices and forms == FORMS:
            answer = solve_program(program(problem.instance, problem.scenarios), solve_with="scip")
            assert answer.objective == pytest.approx(optimum, rel=1e-6, abs=1e-9)


def test_the_printed_program_is_an_option_of_the_method_and_says_what_it_needs(tiny, monkeypatch):
    result = depl.solve(tiny, "milp", scenarios=12, options={"form": "cone"})
    assert result.solution is Solution.PROVEN_OPTIMAL
    assert result.tolerances == {"numerics/feastol": 1e-8, "limits/gap": 0.0, "limits/absgap": 0.0}
    with pytest.raises(InvalidInputError, match="must be price or cone"):
        depl.solve(tiny, "milp", scenarios=12, options={"form": "resource"})
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(InvalidInputError, match=r"pip install 'depl\[scip\]', or solve"):
        depl.solve(tiny, "milp", scenarios=12, options={"form": "cone"})


@pytest.mark.parametrize(
    ("epochs", "size", "words"),
    [(5000, 100, "binary variables, of at most 5000"), (400, 3000, "coefficients, of at most 1000000")],
)
def test_programs_that_are_too_large_are_refused_with_the_limit(steady, epochs, size, words):
    with pytest.raises(NotCoveredError, match=words):
        depl.solve(steady.replace(maximum_epochs=epochs), "milp", scenarios=size)


def test_the_options_in_force_are_recorded_and_a_limit_of_the_solver_proves_no_more_than_its_bound(
    tiny, monkeypatch
):
    problem = SampledProblem(tiny, draw_scenarios(tiny, 12, seed=4))
    found = solve_sampled(problem, Limits(seed=9))
    assert found.options["random_seed"] == 9
    tolerances = {"mip_feasibility_tolerance": 1e-7, "mip_rel_gap": 0, "mip_abs_gap": 0}
    tolerances |= {f"{part}_feasibility_tolerance": 1e-9 for part in ("primal", "dual")}
    result = depl.solve(tiny, "milp", scenarios=12)
    assert found.tolerances == result.tolerances == result.to_dict()["tolerances"] == tolerances
    monkeypatch.setitem(OPTIONS, "mip_max_nodes", 0)
    stopped = solve_sampled(hard_problem(), Limits(gap=0.02))
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

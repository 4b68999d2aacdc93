"""Every lesson runs as a plain script, its exercises accept the solutions and refuse typical mistakes."""

import ast
import contextlib
import io
import itertools
import math
import re
import runpy
from fractions import Fraction
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest

import depl
from depl.heuristics.data.epochs_needed import NeededEpochs
from depl.heuristics.data.problem import selection_problem
from depl.heuristics.data.set_function import selection_function
from depl.heuristics.paper.models import Rounding, steps_in_levels
from depl.heuristics.paper.resources import EmbeddingProgram, place_by_embedding
from depl.heuristics.paths.additive_labels import entropic_label, evar_quantile
from depl.heuristics.paths.additive_problem import additive_problem
from depl.heuristics.submodular.function import exhaustive
from depl.instances.counterexamples import almost_one_level, short_epochs
from depl.instances.reductions.knapsack import Knapsack
from depl.instances.reductions.to_planning import ByCost, FreeResources
from depl.instances.setups import load_setup
from depl.instances.training.recorded import recorded_traces
from depl.lessons.checking import check
from depl.lessons.exercises import EXERCISES
from depl.lessons.plans import all_plans
from depl.lessons.shipped import chosen
from depl.models.estimation import instance as fitted
from depl.models.estimation.binomial import allowed_exceedances, binomial_tail, least_runs
from depl.models.estimation.certificate import loss_bound
from depl.models.estimation.independence import independence
from depl.models.foundation.errors import InvalidInputError
from depl.models.policy import planning
from depl.models.policy.grid import rounded_indices
from depl.models.problem.allocation import allocate
from depl.models.problem.epochs import FinalLoss, Load, Term
from depl.models.problem.laws import Empirical, Normal
from depl.models.problem.learning import LogDataLaw, PowerDataLaw
from depl.models.risk.certify import certified_quantile
from depl.models.scenarios.draws import allowed_misses
from tests.cases.knapsack_cases import subsets
from tests.cases.policy_cases import tiny as tiny_policy
from tests.docs.pages import ROOT, text_of

LESSONS = sorted((ROOT / "docs" / "lessons").glob("[0-9]_*.py"))
ASKED = re.compile(r'(?m)^(\w+) = None\ncheck\("(\d\.\d)", \1\)$')
BAG = "from depl.instances.reductions.knapsack import Knapsack\nbag = Knapsack.of([7, 3, 5], [4, 2, 3], 5)\n"
SOLUTION = re.compile(r"(?ms)^\*\*(\d\.\d)\.\*\*.*?^\.\. code-block:: python\n\n((?:   [^\n]*\n|\n)+)")


def solutions():
    text = text_of("docs/lesson_solutions.rst")
    return {name: re.sub(r"(?m)^   ", "", code).strip() + "\n" for name, code in SOLUTION.findall(text)}


def asked(lesson):
    """The variable of every exercise of a lesson."""
    return {name: variable for variable, name in ASKED.findall(lesson.read_text(encoding="utf-8"))}


def filled_in(lesson, answers):
    """The text of a lesson with answers in the place of None."""
    text = lesson.read_text(encoding="utf-8")
    for name, variable in asked(lesson).items():
        if name in answers:
            text = text.replace(f"\n{variable} = None\n", f"\n{answers[name]}\n")
    return text


def run_here(script):
    """Exit code, output and complaints of a script run in this process, where warnings are errors."""
    out, aside, code = io.StringIO(), io.StringIO(), 0
    Path("lesson.py").write_text(script, encoding="utf-8")
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(aside):
        try:
            runpy.run_path("lesson.py", run_name="__main__")
        except SystemExit as stop:
            code = 1
            aside.write(f"{stop.code}\n")
        finally:
            plt.close("all")  # more than twenty open ones are a warning
    return code, out.getvalue(), aside.getvalue()


def test_lessons_import_one_line_of_depl_and_have_two_to_four_exercises_whose_solutions_a_page_has():
    assert [name for lesson in LESSONS for name in asked(lesson)] == list(EXERCISES) == list(solutions())
    for lesson in LESSONS:
        text, names = lesson.read_text(encoding="utf-8"), asked(lesson)
        assert 2 <= len(names) <= 4
        assert re.findall(r"(?m)^from depl.*", text) == ["from depl.lessons import *"]
        assert text.count(" = None\n") == len(names) == text.count("\ncheck(")
        for name in names:
            assert (name[0], solutions()[name].strip() in text) == (lesson.name[0], False)


@pytest.mark.usefixtures("own_methods")
@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.stem)
def test_a_lesson_with_its_solutions_runs_to_its_end_as_a_plain_script(lesson, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.setattr(fitted, "_RESAMPLES", 9)  # for p-values of fits, of which no lesson speaks
    monkeypatch.setattr(planning, "_STEP", 16)  # fewer fixed plans are counted
    monkeypatch.setattr(planning, "GRIDS", (2048, 32768))  # on these cells, too, what lessons assert holds
    code, out, complaints = run_here(filled_in(lesson, solutions()))
    assert code == 0, complaints
    for name in asked(lesson):
        assert f"Exercise {name}: right." in out


def test_open_exercises_let_the_script_go_on_and_a_wrong_answer_stops_it_with_its_hint(
    tmp_path, monkeypatch, own_methods
):
    monkeypatch.chdir(tmp_path)
    code, out, complaints = run_here(filled_in(LESSONS[0], {"1.3": "least_cost = 5"}))
    assert (code, "Exercise 1.1 is open" in out, "Exercise 1.2 is open" in out) == (1, True, True)
    assert complaints.startswith("Exercise 1.3: not yet. That is the least weight.")


MISTAKES = [
    ("1.1", {1, 2}, "never takes an item back"),
    ("1.2", lambda taken: sum((7, 3, 5)[item] for item in taken), "Which epochs are paid for"),
    ("1.3", 13, "the sum of the works"),
    ("2.2", lambda s, mean, variance, p: s * mean, "(log E exp(s L) - log p) / s"),
    ("3.3", lambda price: 10 * price, "Divide by the optimum"),
    ("4.1", lambda empty, one, other, both: one + other <= both + empty, "supermodularity"),
    ("4.1", lambda empty, one, other, both: one + other > both + empty, "Equality is allowed"),
    ("4.2", "proved", "four values"),
    ("6.2", lambda size, allowed, miss: 0.5, "binomial"),
    ("7.1", lambda gains: np.std(gains.sum(axis=1)) / np.std(gains, axis=0).sum(), "deviations do not"),
    ("7.1", lambda gains: np.var(gains.sum(axis=0)) / np.var(gains, axis=1).sum(), "Rows are runs"),
    ("8.2", lambda omega, begun, reached: omega / reached, "not trained may be at the target"),
    ("8.2", lambda omega, begun, reached: 1 - (omega - begun) / (reached - begun), "nothing is trained"),
    ("8.3", lambda cell, retention, noise: math.ceil(retention * cell + noise), "on their own"),
    ("9.1", lambda slow, quick: (slow + 9 * quick) ** 2 / (2.2 - slow), "The root of the price 9"),
    ("9.1", lambda slow, quick: (slow + 3 * quick) ** 2 / 2.2, "sends for a time of 1"),
    ("9.2", 1.4, "Which share"),
    ("9.2", 0.5, "may be split"),
    ("9.3", 2, "Computing takes time"),
    ("9.3", 1.01, "one epoch"),
]
"""Of every kind of exercise, and all that are functions."""


@pytest.mark.parametrize(("name", "answer", "hint"), MISTAKES)
def test_a_typical_mistake_gets_its_hint(name, answer, hint):
    with pytest.raises(SystemExit, match=re.escape(f"Exercise {name}: not yet. ")) as stopped:
        check(name, answer)
    assert hint in str(stopped.value)


@pytest.mark.parametrize("name", EXERCISES)
def test_nonsense_is_refused_with_a_hint_and_not_with_an_error(name):
    for answer in (True, float("nan"), "what?", [None], {7}, -1e9, lambda *words: words):
        with pytest.raises(SystemExit, match="not yet"):
            check(name, answer)


def test_a_function_that_fails_is_told_how_and_an_unknown_exercise_is_refused():
    with pytest.raises(SystemExit, match=r"Your function raised ZeroDivisionError: division by zero\."):
        check("3.3", lambda price: price / 0)
    with pytest.raises(InvalidInputError, match=r"there is no exercise '9\.9'"):
        check("9.9", 1)


def answer_of(name):
    """What the solution of an exercise evaluates to, on its own."""
    code, space = solutions()[name], {}
    exec("import math\nimport numpy as np\nfrom scipy import stats\n" + BAG + code, space)
    last = ast.parse(code).body[-1]
    variable = last.name if isinstance(last, ast.FunctionDef) else ast.unparse(last.targets[0])
    return space[variable]


# What is right, by the toolkit itself ------------------------------------------------------------------


def right(name, answer):
    return EXERCISES[name](answer) is None


def test_the_answers_of_the_first_lesson_are_those_of_plans():
    bag, cost_of = Knapsack.of([7, 3, 5], [4, 2, 3], 5), answer_of("1.2")
    by_cost = ByCost.reduce(bag)
    for items in subsets(3):
        assert depl.evaluate(by_cost, ByCost.plan_of(bag, items)).cost == cost_of(items)
    found = depl.solve(FreeResources.reduce(bag, 8), "exact")
    assert (found.solution, right("1.3", found.cost)) == (depl.Solution.PROVEN_OPTIMAL, True)


def test_the_answers_of_the_second_lesson_are_those_of_the_risk_evaluators(tiny):
    plans = [(plan, depl.evaluate(tiny, plan)) for plan in all_plans(tiny)]
    by_mean = min((found.cost, found.violation.exact) for _, found in plans if found.expected_loss <= 6.5)
    assert right("2.1", by_mean[1])
    loss = FinalLoss(6.0, ((Term(1.0, Normal(mean=0.0, variance=2.0)), 1),))
    bound = answer_of("2.2")(0.5, 6.0, 2.0, 0.3)
    assert bound == pytest.approx(entropic_label(0.3, 0.5).quantile(loss), rel=1e-12)
    margins = evar_quantile(loss, 0.99) - 6.0, certified_quantile(loss, Fraction(1, 100)).middle - 6.0
    assert right("2.3", margins[0] / margins[1])


def test_the_answers_of_the_third_lesson_are_those_of_the_graph(tiny):
    problem = additive_problem(tiny, frozenset({"archive", "sensors"}), "cloud")
    moves = [steps_in_levels(problem, levels, Rounding.UP).losses[0, -1, 1] < 0 for levels in range(1, 9)]
    assert right("3.1", 1 + moves.index(True))
    family_a = additive_problem(short_epochs(200), frozenset({"data"}), "site")
    assert right("3.2", int(steps_in_levels(family_a, 200, Rounding.UP).times[:, 0].sum()))
    family_b = almost_one_level(10)
    costs = [depl.solve(family_b, method).cost or 0.0 for method in ("depl-paper", "exact")]
    assert costs[0] / costs[1] == pytest.approx(answer_of("3.3")(10), rel=1e-8)


def test_the_answers_of_the_fourth_lesson_are_those_of_the_verdicts(tiny):
    present = selection_function(selection_problem(tiny.replace(data_law=PowerDataLaw(p=1, base_volume=1))))
    assert right("4.2", exhaustive(present).verdict.value)
    assert not answer_of("4.1")(*(present.value(chosen) for chosen in ((), (0,), (1,), (0, 1))))
    least = answer_of("4.3")
    for base_volume, concave in ((least - 1e-6, False), (least + 1e-6, True)):
        needed = NeededEpochs(LogDataLaw(a=5.0, b=1.0, base_volume=base_volume))
        assert needed.product_is_concave(0.5 + 0.2 * base_volume, 0.2, 2.0) == concave


def test_the_answers_of_the_fifth_lesson_are_those_of_the_allocation():
    loads = [Load(4, 4, 10, 0.5), Load(4, 4, 10, 0.5), Load(1, 1, 4, 1)]
    assert right("5.1", allocate(loads, 6.0, None).multiplier)
    assert right("5.3", allocate(loads, 4.0, None).cost)
    clipping = answer_of("5.2")
    for limit, clipped in ((clipping + 1e-6, False), (clipping - 1e-6, True)):
        assert (allocate(loads, limit, None).resources[2] == 4.0) == clipped


def test_the_answers_of_the_lessons_on_runs_are_those_of_scenarios_tests_diagnosis_and_certificate(
    tiny,
):
    accepted = answer_of("6.2")(10, 3, 0.5)
    assert accepted == pytest.approx(float(binomial_tail(3, 10, Fraction(1, 2))), rel=1e-12)
    assert right("6.1", allowed_misses(tiny, 25))
    assert right("6.3", least_runs(0.7, 0.95))
    rng = np.random.default_rng(3)
    gains = 1.0 + 0.3 * rng.normal(size=(40, 1)) + 0.2 * rng.normal(size=(40, 6))
    losses = 10.0 - np.cumsum(np.column_stack((np.zeros(40), gains)), axis=1)
    measured = independence([losses], rng, resamples=19).variance_ratio.value
    assert answer_of("7.1")(gains) == pytest.approx(measured, rel=1e-9)
    assert right("7.2", loss_bound([0.0], 0.9, None).least_runs)
    assert right("7.3", allowed_exceedances(100, 0.9, 0.95))


def test_the_answers_of_the_eighth_lesson_are_those_of_the_policies_and_of_the_ledger():
    text = text_of("docs/lessons/8_when_to_stop.py")
    assert "the loss is 3, the target 0, an epoch costs 1 and gains 3 or 1" in text
    halves = Empirical(values=(1.0, 3.0))
    given = {"prices": (1.0, 9.0), "initial_loss": 3.0, "maximum_loss": 0.0, "maximum_epochs": 3}
    found = depl.solve_policy(tiny_policy(halves, halves, **given))
    assert right("8.1", found.ratio[1])  # runs that begin at the target add nothing to C and to P - P0
    share = answer_of("8.2")(0.9, 0.2, 0.8)
    assert share * 0.8 + (1 - share) * 0.2 == pytest.approx(0.9)
    for cell, retention, noise in ((8, 0.5, 0.7), (5, 0.9, -0.2), (3, 0.3, -1.2)):
        rounded = rounded_indices(np.array([retention * cell, noise]), 1.0, up=True)
        assert answer_of("8.3")(cell, retention, noise) == rounded.sum()
    falls = [run for run in itertools.product((0, -1), repeat=3) if 3 + sum(run) <= 0]
    assert right("8.4", len(falls) / 2**3)


def test_the_answers_of_the_ninth_lesson_are_those_of_placements_and_of_the_program():
    space = {}
    exec(chosen([9])[0].cells[0].code, space)
    problem, cost = space["problem"], answer_of("9.1")
    for slow, quick in ((2, 0), (1, 1), (0, 2)):
        assert problem.evaluate([np.array([[slow, quick]])]).costs[0] == pytest.approx(cost(slow, quick))
    shares, least = EmbeddingProgram.of(problem, 1e-3).solve()
    assert shares[0, 0] == pytest.approx(answer_of("9.2"), abs=1e-3)
    assert least == pytest.approx(cost(2 * answer_of("9.2"), 2 - 2 * answer_of("9.2")), rel=1e-5)
    assert right("9.3", place_by_embedding(problem, 1e-3).fastest_time)


@pytest.mark.slow
def test_policies_that_watch_the_loss_are_no_cheaper_where_the_eighth_lesson_says_so():
    text = text_of("docs/lessons/8_when_to_stop.py")
    assert "finds nothing cheaper here" in text
    runs = recorded_traces("digits-mobilenet-fitting")
    whole_runs = depl.fit(runs, load_setup("closed-loop"), care=None)
    options = {"gap": 0.03, "time_limit": None, "switch_epochs": (8, 10, 12, 14)}
    fixed, watching = (depl.solve_policy(whole_runs, rung, **options) for rung in ("static", "optimal"))
    assert watching.cost == pytest.approx(fixed.cost)
    assert watching.objective == pytest.approx(fixed.objective)

"""Every lesson runs as a plain script, its exercises accept the solutions and refuse typical mistakes."""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from depl.lessons.check import check
from depl.lessons.exercises import EXERCISES
from depl.models.errors import InvalidInputError

ROOT = Path(__file__).resolve().parent.parent
LESSONS = sorted((ROOT / "docs" / "lessons").glob("[0-9]_*.py"))
ASKED = re.compile(r'(?m)^(\w+) = None\ncheck\("(\d\.\d)", \1\)$')
BAG = "from depl.instances.reductions.knapsack import Knapsack\nbag = Knapsack.of([7, 3, 5], [4, 2, 3], 5)\n"
SOLUTION = re.compile(r"(?ms)^\*\*(\d\.\d)\.\*\*.*?^\.\. code-block:: python\n\n((?:   [^\n]*\n|\n)+)")


def solutions() -> dict[str, str]:
    text = (ROOT / "docs" / "lesson_solutions.rst").read_text(encoding="utf-8")
    return {name: re.sub(r"(?m)^   ", "", code).strip() + "\n" for name, code in SOLUTION.findall(text)}


def asked(lesson: Path) -> dict[str, str]:
    """The variable of every exercise of a lesson."""
    return {name: variable for variable, name in ASKED.findall(lesson.read_text(encoding="utf-8"))}


def filled_in(lesson: Path, answers: dict[str, str]) -> str:
    """The text of a lesson with answers in the place of None."""
    text = lesson.read_text(encoding="utf-8")
    for name, variable in asked(lesson).items():
        if name in answers:
            text = text.replace(f"\n{variable} = None\n", f"\n{answers[name]}\n")
    return text


def run(script: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "MPLBACKEND": "Agg", "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, "-W", "error", str(script)],
        cwd=script.parent,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def test_there_are_six_lessons_with_two_to_four_exercises_each_and_a_solution_of_every_one() -> None:
    names = [name for lesson in LESSONS for name in asked(lesson)]
    assert all(2 <= len(asked(lesson)) <= 4 for lesson in LESSONS)
    assert [lesson.name[0] for lesson in LESSONS] == list("123456")
    assert names == list(EXERCISES) == list(solutions())
    assert all(name[0] == lesson.name[0] for lesson in LESSONS for name in asked(lesson))


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.stem)
def test_a_lesson_with_its_solutions_runs_to_its_end_as_a_plain_script(lesson: Path, tmp_path: Path) -> None:
    script = tmp_path / lesson.name
    script.write_text(filled_in(lesson, solutions()), encoding="utf-8")
    done = run(script)
    assert done.returncode == 0, done.stderr
    for name in asked(lesson):
        assert f"Exercise {name}: right." in done.stdout


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.stem)
def test_a_lesson_as_it_is_shipped_holds_no_solution(lesson: Path) -> None:
    text = lesson.read_text(encoding="utf-8")
    assert text.count(" = None\n") == len(asked(lesson)) == text.count("\ncheck(")
    for name in asked(lesson):
        assert solutions()[name].strip() not in text


# A lesson as it is shipped differs from the one above in its open exercises only; one run of all is enough.
def test_an_open_exercise_lets_the_script_go_on(tmp_path: Path) -> None:
    lesson = LESSONS[0]
    done = run(lesson)
    assert done.returncode == 0, done.stderr
    assert [f"Exercise {name} is open" in done.stdout for name in asked(lesson)] == [True] * len(
        asked(lesson)
    )


def test_a_wrong_answer_stops_the_script_with_its_hint(tmp_path: Path) -> None:
    lesson = LESSONS[0]
    script = tmp_path / lesson.name
    script.write_text(filled_in(lesson, {"1.1": "greedy_items = {1, 2}"}), encoding="utf-8")
    done = run(script)
    assert done.returncode == 1
    assert "Exercise 1.1: not yet. Sort the items" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("name", EXERCISES)
def test_a_solution_is_accepted(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    check(name, answer_of(name))
    assert capsys.readouterr().out == f"Exercise {name}: right.\n"


MISTAKES = [
    ("1.1", {1, 2}, "never takes an item back"),
    ("1.2", lambda taken: sum((7, 3, 5)[item] for item in taken), "Which epochs are paid for"),
    ("1.2", lambda taken: 9 - sum((4, 2, 3)[item] for item in taken), "the work is the value"),
    ("1.2", lambda taken: 15, "forces x = v_k"),
    ("1.3", 13, "the sum of the works"),
    ("1.3", 16, "alone reach the value 8"),
    ("1.3", 5, "the least weight"),
    ("2.1", 0, "The mean is on the good side"),
    ("2.1", 0.75, "the worse outcome of the switch"),
    ("2.1", 0.25, "make up for it"),
    ("2.1", 0.3, "four outcomes"),
    ("2.2", lambda s, mean, variance, p: s * mean, "(log E exp(s L) - log p) / s"),
    ("2.3", 0.7664, "never below the quantile"),
    ("3.1", 5, "more than an epoch"),
    ("3.1", 7, "Is it the least"),
    ("3.2", 107, "rounds every epoch"),
    ("3.3", lambda price: 10 * price, "Divide by the optimum"),
    ("4.1", lambda empty, one, other, both: one + other <= both + empty, "supermodularity"),
    ("4.1", lambda empty, one, other, both: one + other > both + empty, "Equality is allowed"),
    ("4.1", lambda empty, one, other, both: one + other >= both, "need not be 0"),
    ("4.2", "proved", "four values"),
    ("4.2", "unknown", "one pair of datasets"),
    ("4.3", 0.4, "That is t1 / t0"),
    ("5.1", 2.25, "root q of the price"),
    ("5.1", 20.25, "its slope"),
    ("5.2", 2.25, "Communication takes time"),
    ("5.3", 40.5, "Clip it"),
    ("6.1", 8, "8 of 25 are more"),
    ("6.1", 7.5, "whole"),
    ("6.2", lambda size, allowed, miss: 0.5, "binomial"),
    ("6.3", 8, "still more than .05"),
]


@pytest.mark.parametrize(("name", "answer", "hint"), MISTAKES)
def test_a_typical_mistake_gets_its_hint(name: str, answer: object, hint: str) -> None:
    with pytest.raises(SystemExit, match=re.escape(f"Exercise {name}: not yet. ")) as stopped:
        check(name, answer)
    assert hint in str(stopped.value)


@pytest.mark.parametrize("name", EXERCISES)
@pytest.mark.parametrize("answer", [True, float("nan"), "what?", [None], {7}, -1e9, lambda *words: words])
def test_nonsense_is_refused_with_a_hint_and_not_with_an_error(name: str, answer: object) -> None:
    with pytest.raises(SystemExit, match="not yet"):
        check(name, answer)


def test_a_function_that_fails_is_told_how() -> None:
    with pytest.raises(SystemExit, match=r"Your function raised ZeroDivisionError: division by zero\."):
        check("3.3", lambda price: price / 0)


def test_an_unknown_exercise_is_refused() -> None:
    with pytest.raises(InvalidInputError, match=r"there is no exercise '9\.9'"):
        check("9.9", 1)


def answer_of(name: str) -> object:
    """What the solution of an exercise evaluates to, on its own."""
    code = solutions()[name]
    space: dict[str, object] = {}
    exec("import math\nfrom scipy import stats\n" + BAG + code, space)
    last = ast.parse(code).body[-1]
    variable = last.name if isinstance(last, ast.FunctionDef) else ast.unparse(last.targets[0])
    return space[variable]

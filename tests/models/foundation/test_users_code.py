"""Files and modules of a user: found from elsewhere, imported once, and what is wrong with them in words."""

import json
import os
import signal
import sys

import pytest
from scipy import stats

import depl
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.users_code import import_source, resolved, users_fault
from depl.models.problem.laws import Moments
from tests.cases.documents import put


def test_files_are_named_so_that_they_are_found_from_elsewhere(tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text("", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert resolved("mine.py") == str(tmp_path / "mine.py")
    assert resolved("some.module") == "some.module"
    with pytest.raises(InvalidInputError, match=r"none\.py: there is no such file"):
        resolved("none.py")


def test_a_file_is_run_once_and_what_it_prints_is_no_answer(tmp_path, capsys):
    path = tmp_path / "mine.py"
    path.write_text("print('told')\nVALUE = 3", encoding="utf-8")
    assert import_source(str(path)).VALUE == 3
    assert import_source(str(path)) is import_source(str(path))
    assert capsys.readouterr() == ("", "told\n")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("a = 1\n\nb = a / 0\n", "ZeroDivisionError: division by zero (line 3)"),
        ("def deep():\n    raise KeyError(1)\n\n\ndeep()\n", "KeyError: 1 (line 2)"),
        ("def broken(:\n", "SyntaxError: invalid syntax (mine.py, line 1)"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(tmp_path, text, complaint):
    path = tmp_path / "mine.py"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidInputError) as caught:
        import_source(str(path))
    assert str(caught.value).startswith(f"{path}: cannot be imported: ")
    assert str(caught.value).endswith(complaint)
    assert not [name for name in sys.modules if name.startswith("depl_imported_") and "mine" in name]


def test_a_module_that_is_not_found_may_be_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidInputError, match=r"name a module, or a file by its path \(x\.py\)"):
        import_source("depl_nowhere")
    (tmp_path / "depl_nowhere.py").write_text("", encoding="utf-8")
    with pytest.raises(InvalidInputError, match=r"did you mean the file 'depl_nowhere\.py'\?"):
        import_source("depl_nowhere")
    (tmp_path / "beside.py").write_text("import depl_nowhere", encoding="utf-8")
    with pytest.raises(InvalidInputError, match=f"lies beside the file: set PYTHONPATH={tmp_path}$"):
        import_source("beside.py")


CALLS = """import json
import depl
def divide():
    return 1 / 0
def parse():
    return json.loads("{")
def hand_on():
    return depl.models.foundation.users_code.resolved(None)
"""


def caught(run):
    try:
        run()
    except Exception as error:  # noqa: BLE001 - whatever it raises is looked at
        return users_fault(error)
    raise AssertionError("nothing was raised")


def test_an_error_of_the_users_code_is_told_with_file_and_line_and_another_is_no_fault_of_theirs(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(CALLS, encoding="utf-8")
    mine = import_source(str(path))
    said = "line 4: this code fails with ZeroDivisionError: division by zero; correct it"
    assert str(caught(mine.divide)) == f"{path}, {said}"
    assert caught(mine.parse).path == f"{path}, line 6"
    assert caught(mine.hand_on) is None
    assert caught(lambda: int("x")) is None


class Ending(depl.Law, frozen=True, kw_only=True, tag="ending"):
    """A logistic law, until it is told to end the program."""

    def distribution(self):
        if told_to_end:
            sys.exit(3)
        return stats.logistic(3.0, 0.2)

    def cdf(self, x):
        return self.distribution().cdf(x)

    def survival(self, x):
        return self.distribution().sf(x)

    def moments(self):
        return Moments(3.0, float(self.distribution().var()))


told_to_end = []


@pytest.fixture
def ending(own_laws):
    """An instance whose law ends the program from now on, a plan of it, and a front of it."""
    depl.register_law(Ending)
    content = put(json.loads(depl.load("tiny").to_json()), "models[0].improvement.noise", {"type": "ending"})
    instance = depl.Instance.from_json(json.dumps(content))
    plan = depl.solve(depl.load("tiny"), "density-greedy").plan.bare()  # of the same models and clusters
    told_to_end.append(True)
    yield depl.Instance.from_json(instance.to_json()), plan
    told_to_end.clear()


ENTRIES = {
    "solve": lambda instance, plan: depl.solve(instance, "exact"),
    "solve by scenarios": lambda instance, plan: depl.solve(instance, "scenario-search", scenarios=5),
    "evaluate": depl.evaluate,
    "check": depl.check,
    "explain": depl.explain,
    "front": lambda instance, plan: depl.front(instance, "loss", between=(6, 9), points=2),
    "program": lambda instance, plan: depl.program(instance, 5),
    "replan": lambda instance, plan: depl.replan(instance, plan, depl.State(epoch=0, loss=15.0)),
    "solve_policy": lambda instance, plan: depl.solve_policy(instance),
    "report": lambda instance, plan: depl.report(instance, plan),
    "probability": lambda instance, plan: depl.risk.probability([Ending()], 3.0),
    "quantile": lambda instance, plan: depl.risk.quantile([Ending()], 0.5),
}


@pytest.mark.parametrize("entry", ENTRIES)
def test_a_law_that_ends_the_program_is_an_error_in_python_too(ending, entry):
    """Exit code 3 would read as *proved infeasible*."""
    with pytest.raises(InvalidInputError, match=r"test_users_code\.py, line \d+: .* SystemExit: 3"):
        ENTRIES[entry](*ending)


def test_a_method_rows_and_progress_that_end_the_program_are_errors_in_python_too(own_methods):
    def end(*_):
        sys.exit("gone")

    depl.register("ends", end)
    tiny = depl.load("tiny")
    for call in (
        lambda: depl.solve(tiny, "ends"),
        lambda: depl.front(tiny, "loss", method="ends", between=(6, 9), points=2),
        lambda: depl.solve(tiny, "milp", scenarios=5, rows=end),
        lambda: depl.solve(tiny, "exact", progress=end),
    ):
        with pytest.raises(InvalidInputError, match=r"test_users_code\.py, line \d+: .* SystemExit: gone"):
            call()


def test_what_a_handler_of_a_signal_does_is_left_to_it(own_methods):
    def handler(*_):
        sys.exit(143)

    before = signal.signal(signal.SIGTERM, handler)
    depl.register("signalled", lambda instance, limits: os.kill(os.getpid(), signal.SIGTERM))
    try:
        with pytest.raises(SystemExit) as ended:
            depl.solve(depl.load("tiny"), "signalled")
    finally:
        signal.signal(signal.SIGTERM, before)
    assert ended.value.code == 143

"""Files and modules of a user: found from elsewhere, imported once, and what is wrong with them in words."""

import sys

import pytest

from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.users_code import import_source, resolved, users_fault


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

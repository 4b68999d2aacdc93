"""``check`` ends a script with its hint, and only prints it where IPython runs the cells."""

import sys
from types import ModuleType, SimpleNamespace

import pytest

from depl.lessons.check import check, under_ipython


def ipython(shell: object) -> ModuleType:
    """IPython as far as it is asked: its shell, or None where it was only imported."""
    module = ModuleType("IPython")
    module.get_ipython = lambda: shell  # type: ignore[attr-defined]
    return module


def test_in_a_notebook_a_wrong_answer_is_told_and_the_cells_below_can_be_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "IPython", ipython(SimpleNamespace(kernel=object())))
    assert under_ipython()
    check("1.3", 5)
    check("1.3", 25)
    told, right = capsys.readouterr().out.splitlines()
    assert told == "Exercise 1.3: not yet. That is the least weight. What does the closed form make of it?"
    assert right == "Exercise 1.3: right."


@pytest.mark.parametrize("imported", [True, False])
def test_without_a_shell_a_wrong_answer_ends_the_program(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], imported: bool
) -> None:
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    if imported:
        monkeypatch.setitem(sys.modules, "IPython", ipython(None))
    assert not under_ipython()
    with pytest.raises(SystemExit, match=r"not yet\. That is the least weight"):
        check("1.3", 5)
    assert capsys.readouterr().out == ""

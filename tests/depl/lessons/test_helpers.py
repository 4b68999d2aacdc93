"""What the lessons use besides: hints of ``check``, all plans of an instance, trainings, drawings."""

import sys
from types import ModuleType, SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pytest

import depl
from depl.lessons import drawing
from depl.lessons.checking import check, under_ipython
from depl.lessons.plans import all_plans
from depl.lessons.runs import train, write_log
from depl.models.tool_logs.importing import Choices, import_logs
from tests.cases.picture_cases import legend_of

HINT = "Exercise 1.3: not yet. That is the least weight. What does the closed form make of it?"


@pytest.fixture
def shown(monkeypatch):
    """The figures that were shown; they are closed in the end."""
    found = []
    monkeypatch.setattr(plt, "show", lambda: found.append(plt.gcf()))
    yield found
    plt.close("all")


@pytest.mark.parametrize("shell", ["none", "imported", "notebook"])
def test_a_wrong_answer_ends_a_program_and_in_a_notebook_the_cells_below_can_be_run(
    monkeypatch, capsys, shell
):
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    if shell != "none":  # IPython as far as it is asked: its shell, or None where it was only imported
        module, kernel = ModuleType("IPython"), SimpleNamespace(kernel=object())
        module.get_ipython = lambda: kernel if shell == "notebook" else None
        monkeypatch.setitem(sys.modules, "IPython", module)
    assert under_ipython() is (shell == "notebook")
    if under_ipython():
        check("1.3", 5)
        check("1.3", 25)
        assert capsys.readouterr().out.splitlines() == [HINT, "Exercise 1.3: right."]
    else:
        with pytest.raises(SystemExit, match=r"not yet\. That is the least weight"):
            check("1.3", 5)
        assert capsys.readouterr().out == ""


# --- plans and runs ---------------------------------------------------------------------------------------


def test_the_cheapest_feasible_plan_of_the_list_is_the_optimum_and_no_forbidden_switch_is_in_it(tiny):
    listed = all_plans(tiny)
    found = [depl.evaluate(tiny, plan) for plan in listed]
    assert min(each.cost for each in found if each.feasible) == pytest.approx(28, rel=1e-12)
    assert all(each.training_time <= 5 * (1 + 1e-9) for each in found)
    sequences = {tuple(epoch.model for epoch in plan.epochs) for plan in listed}
    assert ("full", "pruned") in sequences
    assert ("pruned", "full") not in sequences
    started = all_plans(tiny.replace(initial_model="pruned"))
    assert {epoch.model for plan in started for epoch in plan.epochs} == {"pruned"}


def test_runs_follow_their_seed_and_fast_ones_stay_fast():
    losses = np.array(train(["full"] * 8, 200, seed=1))
    assert losses.tolist() == train(["full"] * 8, 200, seed=1)
    assert losses[0].tolist() != train(["full"] * 8, 1, seed=2)[0]
    assert (losses > 0).all()
    gains = np.log(losses[:, :-1] - 0.15) - np.log(losses[:, 1:] - 0.15)
    assert np.corrcoef(gains[:, 1], gains[:, 6])[0, 1] > 0.1
    assert losses[:, -1].mean() < np.array(train(["small"] * 8, 200, seed=1))[:, -1].mean()


def test_a_log_is_read_back_as_the_runs_that_were_written_and_these_are_drawn(tmp_path, shown):
    schedules = [["full", "small"], ["small", "small"]]
    write_log(tmp_path / "log.csv", schedules, runs=3, seed=5)
    names = {"loss": "val/loss", "run": "Name", "epoch": "step", "model": "network", "cluster_name": "rack"}
    reading = import_logs([str(tmp_path / "log.csv")], Choices(**names, first=1))
    assert not reading.notes
    trained = [tuple(model for model, _ in schedule) for schedule in reading.traces.schedules]
    assert trained == [("full", "small")] * 3 + [("small", "small")] * 3
    wanted = [*train(schedules[0], 3, seed=5), *train(schedules[1], 3, seed=6)]
    assert reading.traces.matrix() == pytest.approx(np.array(wanted), abs=1e-6)
    drawing.draw_runs(reading.traces, [0.7])
    assert {"full", "small"} <= set(legend_of(shown[0].axes[0]))


# --- drawings: of the pictures, the numbers on their axes ---------------------------------------------------


def texts(axes):
    return [text.get_text() for text in axes.texts]


def test_an_instance_a_plan_and_choices_are_drawn_and_shown(tiny, shown):
    drawing.draw_instance(tiny)
    drawing.draw_plan(tiny, depl.solve(tiny, "exact").plan)
    drawing.draw_choices(["take", "skip"], [["a", "b"], ["c", "d"]], [1, 0], "a plan")
    instance, plan, choices = (figure.axes for figure in shown)
    assert len(instance) == 3
    assert plan[0].get_title(loc="left") == "3 epochs, time 5, cost 28"
    assert texts(choices[0]) == ["a", "b", "c", "d"]
    assert choices[0].lines[0].get_xydata().tolist() == [[1, -1], [2, 0]]
    assert [label.get_text() for label in choices[0].get_yticklabels()] == ["take", "skip"]


def test_every_plan_is_a_mark_at_its_mean_and_its_probability_of_missing(tiny, shown):
    found = [(plan, depl.evaluate(tiny, plan)) for plan in all_plans(tiny)[:40]]
    drawing.draw_missed(found, tiny.target, {"this one": found[0][1]})
    axes = shown[0].axes[0]
    (marks,) = axes.collections
    wanted = {(each.expected_loss, float(each.violation.exact)) for _, each in found}
    assert {tuple(mark) for mark in marks.get_offsets().tolist()} == wanted
    assert legend_of(axes) == ["target of the mean, 6.5", "promise, 1 - ω = 0.3"]
    assert "this one" in texts(axes)

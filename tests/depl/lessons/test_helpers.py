"""What the lessons use besides: hints of ``check``, all plans of an instance, trainings, policies."""

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pytest

import depl
from depl.lessons import plans
from depl.lessons.check import check, under_ipython
from depl.lessons.drawing import draw_runs
from depl.lessons.plans import all_plans
from depl.lessons.runs import train, write_log
from depl.models.foundation.errors import NotCoveredError
from depl.models.tool_logs.importing import Choices, import_logs

# Check ------------------------------------------------------------------------------------------


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


# Plans ------------------------------------------------------------------------------------------


def test_the_cheapest_feasible_plan_of_the_list_is_the_optimum(tiny: depl.Instance) -> None:
    found = [depl.evaluate(tiny, plan) for plan in all_plans(tiny)]
    assert min(each.cost for each in found if each.feasible) == pytest.approx(28, rel=1e-12)
    assert all(each.training_time <= 5 * (1 + 1e-9) for each in found)


def test_the_plans_of_one_epoch_are_every_model_on_every_cluster_with_every_data(tiny: depl.Instance) -> None:
    single = tiny.replace(maximum_epochs=1)
    assert len(all_plans(single)) == 2 * 2 * 3
    # Sending full to the edge and computing on all data takes 2 + 4 / 4 there, on one dataset 2 + 2 / 4.
    assert len(all_plans(single.replace(maximum_time=2.9))) == 2 * 2 * 3 - 1
    assert len(all_plans(single.replace(maximum_time=2.4))) == 2 * 2 * 3 - 3


def test_a_forbidden_switch_is_in_no_plan(tiny: depl.Instance) -> None:
    sequences = {tuple(epoch.model for epoch in plan.epochs) for plan in all_plans(tiny)}
    assert ("full", "pruned") in sequences
    assert ("pruned", "full") not in sequences
    started = tiny.replace(initial_model="pruned")
    assert {epoch.model for plan in all_plans(started) for epoch in plan.epochs} == {"pruned"}


def test_too_many_plans_are_refused(tiny: depl.Instance, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plans, "MOST_PLANS", 63)
    with pytest.raises(NotCoveredError, match=r"needs no list"):
        all_plans(tiny)


# Runs -------------------------------------------------------------------------------------------


NAMES = Choices(loss="val/loss", run="Name", epoch="step", first=1, model="network", cluster_name="rack")


def test_runs_follow_their_seed_and_fast_ones_stay_fast() -> None:
    losses = np.array(train(["full"] * 8, 200, seed=1))
    assert losses.tolist() == train(["full"] * 8, 200, seed=1)
    assert losses[0].tolist() != train(["full"] * 8, 1, seed=2)[0]
    assert (losses > 0).all()
    gains = np.log(losses[:, :-1] - 0.15) - np.log(losses[:, 1:] - 0.15)
    assert np.corrcoef(gains[:, 1], gains[:, 6])[0, 1] > 0.1
    small = np.array(train(["small"] * 8, 200, seed=1))
    assert losses[:, -1].mean() < small[:, -1].mean()


def test_a_log_is_read_back_as_the_runs_that_were_written(tmp_path: Path) -> None:
    schedules = [["full", "small"], ["small", "small"]]
    write_log(tmp_path / "log.csv", schedules, runs=3, seed=5)
    reading = import_logs([str(tmp_path / "log.csv")], NAMES)
    assert not reading.notes
    trained = [tuple(model for model, _ in schedule) for schedule in reading.traces.schedules]
    assert trained == [("full", "small")] * 3 + [("small", "small")] * 3
    wanted = [*train(schedules[0], 3, seed=5), *train(schedules[1], 3, seed=6)]
    assert reading.traces.matrix() == pytest.approx(np.array(wanted), abs=1e-6)


def test_runs_are_drawn_with_their_target(tmp_path: Path) -> None:
    write_log(tmp_path / "log.csv", [["full", "small"]], runs=3, seed=5)
    _, axes = plt.subplots()
    draw_runs(import_logs([str(tmp_path / "log.csv")], NAMES).traces, [0.7], axes)
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert {"full", "small"} <= set(labels)
    plt.close("all")

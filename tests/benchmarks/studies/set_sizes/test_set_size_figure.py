"""The figure of prediction sets holds what the record says, and is the same every time."""

import runpy
import sys
from dataclasses import replace

import pytest

from depl.benchmarks.figures.set_size_against_loss import RunPoints, points_of, set_size_against_loss
from depl.benchmarks.figures.set_sizes_of_trainings import (
    TrainingSizes,
    set_sizes_of_trainings,
    sizes_of,
)
from depl.benchmarks.measure import results
from depl.benchmarks.studies.prediction_sets import STUDY
from depl.benchmarks.studies.set_sizes.set_size_figure import set_size_figure

POINTS = [
    {"family": "one", "plan": "a", "loss": [0.1, 0.2], "size": [1.0, 1.5]},
    {"family": "one", "plan": "b", "loss": [0.3], "size": [2.0]},
    {"family": "two", "plan": "a", "loss": [0.4], "size": [3.0]},
]


def comparison(family, plan, target, mean, upper):
    names = ("mean_before", "mean_after", "upper_before", "upper_after")
    figures = dict(zip(names, (*mean, *upper), strict=True))
    return {"family": family, "plan": plan, "expected_epochs": 18, "dependable_epochs": target, **figures}


COMPARISONS = [
    comparison("one", "a", 30, (1.5, 1.4), (2.0, 1.9)),
    comparison("one", "a", 45, (1.4, 1.2), (1.8, 1.3)),
    comparison("one", "a", 60, (1.3, 1.1), (1.7, 1.2)),
    comparison("two", "a", 30, (4.0, 5.0), (6.0, 7.0)),
]


def legend_of(axes):
    return [text.get_text() for text in axes.get_legend().get_texts()]


def test_every_run_is_a_point_and_families_and_plans_can_be_told_apart():
    axes = set_size_against_loss(points_of(POINTS))
    first, second, third = axes.get_lines()[:3]
    assert first.get_xydata().tolist() == [[0.1, 1.0], [0.2, 1.5]]
    assert third.get_xydata().tolist() == [[0.4, 3.0]]
    assert first.get_color() == second.get_color() != third.get_color()
    assert first.get_marker() == third.get_marker() != second.get_marker()
    assert legend_of(axes) == ["one", "two", "a", "b"]


def test_both_trainings_have_a_marker_at_the_mean_and_a_line_to_the_quantile():
    axes = set_sizes_of_trainings([TrainingSizes("x", (1.5, 1.2), (2.0, 1.4))])
    drawn = {line.get_label(): line for line in axes.get_lines()}
    assert drawn["expected"].get_xdata().tolist() == [1.5]
    assert drawn["dependable"].get_xdata().tolist() == [1.2]
    assert drawn["expected"].get_marker() != drawn["dependable"].get_marker()
    ends = [collection.get_segments()[0][:, 0].tolist() for collection in axes.collections]
    assert ends == [[1.5, 2.0], [1.2, 1.4]]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["x"]


def test_the_middle_target_of_every_plan_is_shown():
    assert sizes_of(COMPARISONS) == [
        TrainingSizes("one\na\n18 or 45 epochs", (1.4, 1.2), (1.8, 1.3)),
        TrainingSizes("two\na\n18 or 30 epochs", (4.0, 5.0), (6.0, 7.0)),
    ]


def test_nothing_to_draw_gives_empty_axes():
    assert set_size_against_loss([]).get_legend() is None
    assert set_sizes_of_trainings([]).get_legend() is None
    assert points_of([]) == sizes_of([]) == []
    assert RunPoints("f", "p", (), ()).family == "f"


@pytest.fixture
def record(tmp_path):
    """A record of the case that holds only what is drawn."""
    values = {goal.name: 1.0 for goal in STUDY.goals}
    values |= {"points": POINTS, "comparisons": COMPARISONS}
    return results.write(results.measure(replace(STUDY, run=lambda rng, smoke: values)), tmp_path)


def test_the_figure_is_drawn_from_a_record_and_repeats_its_bytes(tmp_path, record, ask):
    for name in ("one", "two"):
        code, text, _ = ask("bench", "cases", "draw", "prediction-sets", tmp_path / name, record)
        assert code == 0
        assert text.splitlines() == [
            str(tmp_path / name / f"prediction-sets.{suffix}") for suffix in ("png", "svg")
        ]
    for suffix in ("png", "svg"):
        first, second = (tmp_path / name / f"prediction-sets.{suffix}" for name in ("one", "two"))
        assert first.read_bytes() == second.read_bytes()
    assert len(set_size_figure(results.read(record).values).axes) == 2


def test_the_older_spelling_of_the_command_says_that_a_record_is_missing(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["figure", str(tmp_path), str(tmp_path / "none.json")])
    with pytest.raises(SystemExit) as stopped:
        runpy.run_path(str(set_size_figure.__code__.co_filename), run_name="__main__")
    assert stopped.value.code == 2
    assert "none.json is not a benchmark record" in capsys.readouterr().err


def test_a_case_without_a_figure_names_those_that_have_one(tmp_path, ask):
    code, _, aside = ask("bench", "cases", "draw", "exact-law", tmp_path)
    assert code == 2
    assert "'exact-law' has no figure; those that have one: closed-loop, graph, prediction-sets" in aside

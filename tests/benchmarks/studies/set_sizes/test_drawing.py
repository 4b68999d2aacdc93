"""The figure of prediction sets holds what the record says, and is the same every time."""

from dataclasses import replace

from depl.benchmarks.measure import results
from depl.benchmarks.studies.prediction_sets import STUDY
from depl.benchmarks.studies.set_sizes.drawing import set_size_figure

POINTS = [
    {"family": "one", "plan": "a", "loss": [0.1, 0.2], "size": [1.0, 1.5]},
    {"family": "one", "plan": "b", "loss": [0.3], "size": [2.0]},
    {"family": "two", "plan": "a", "loss": [0.4], "size": [3.0]},
]


def comparison(plan, target, *figures):
    names = ("mean_before", "mean_after", "upper_before", "upper_after")
    told = {"family": "one", "plan": plan, "expected_epochs": 18, "dependable_epochs": target}
    return told | dict(zip(names, figures, strict=True))


VALUES = {
    "points": POINTS,
    "comparisons": [
        comparison("a", 30, 1.5, 1.4, 2.0, 1.9),
        comparison("a", 45, 1.4, 1.2, 1.8, 1.3),
        comparison("a", 60, 1.3, 1.1, 1.7, 1.2),
        comparison("b", 30, 4.0, 5.0, 6.0, 7.0),
    ],
}


def test_every_run_is_a_point_and_the_middle_target_of_every_plan_has_both_trainings():
    runs, trainings = set_size_figure(VALUES).axes
    first, second, third = runs.get_lines()[:3]
    assert first.get_xydata().tolist() == [[0.1, 1.0], [0.2, 1.5]]
    assert first.get_color() == second.get_color() != third.get_color()
    assert first.get_marker() == third.get_marker() != second.get_marker()
    drawn = {line.get_label(): list(line.get_xdata()) for line in trainings.get_lines()}
    assert (drawn["expected"], drawn["dependable"]) == ([1.4, 4.0], [1.2, 5.0])
    ends = [[part[:, 0].tolist() for part in item.get_segments()] for item in trainings.collections]
    assert ends == [[[1.4, 1.8], [4.0, 6.0]], [[1.2, 1.3], [5.0, 7.0]]]
    labels = [label.get_text() for label in trainings.get_yticklabels()]
    assert labels == ["one\na\n18 or 45 epochs", "one\nb\n18 or 30 epochs"]


def test_a_record_is_drawn_by_the_command_with_the_same_bytes_twice_and_others_have_no_figure(tmp_path, ask):
    values = {goal.name: 1.0 for goal in STUDY.goals} | VALUES
    record = results.write(results.measure(replace(STUDY, run=lambda rng, smoke: values)), tmp_path)
    for name in ("one", "two"):
        code, text, _ = ask("bench", "cases", "draw", "prediction-sets", tmp_path / name, record)
        files = [tmp_path / name / f"prediction-sets.{suffix}" for suffix in ("png", "svg")]
        assert (code, text.splitlines()) == (0, [str(file) for file in files])
        assert all(file.read_bytes() == (tmp_path / "one" / file.name).read_bytes() for file in files)
    code, _, aside = ask("bench", "cases", "draw", "exact-law", tmp_path)
    assert code == 2
    assert "'exact-law' has no figure; those that have one: closed-loop, graph, prediction-sets" in aside

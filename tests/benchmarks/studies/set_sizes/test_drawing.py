"""The figure of prediction sets holds what the record says, and is the same every time."""

from dataclasses import replace

from depl.benchmarks.measure import results
from depl.benchmarks.studies.prediction_sets import STUDY, set_size_figure

POINTS = [
    {"family": "one", "plan": "a", "loss": [0.1, 0.2], "size": [1.0, 1.5]},
    {"family": "one", "plan": "b", "loss": [0.3], "size": [2.0]},
    {"family": "two", "plan": "a", "loss": [0.4], "size": [3.0]},
]


def test_every_run_is_a_point_and_families_and_plans_can_be_told_apart():
    (runs,) = set_size_figure({"points": POINTS}).axes
    first, second, third = runs.get_lines()[:3]
    assert first.get_xydata().tolist() == [[0.1, 1.0], [0.2, 1.5]]
    assert first.get_color() == second.get_color() != third.get_color()
    assert first.get_marker() == third.get_marker() != second.get_marker()
    assert [text.get_text() for text in runs.get_legend().get_texts()] == ["one", "two", "a", "b"]


def test_a_record_is_drawn_by_the_command_with_the_same_bytes_twice_and_others_have_no_figure(tmp_path, ask):
    values = {goal.name: 1.0 for goal in STUDY.goals} | {"points": POINTS}
    record = results.write(results.measure(replace(STUDY, run=lambda rng, smoke: values)), tmp_path)
    for name in ("one", "two"):
        code, text, _ = ask("bench", "cases", "draw", "prediction-sets", tmp_path / name, record)
        files = [tmp_path / name / f"prediction-sets.{suffix}" for suffix in ("png", "svg")]
        assert (code, text.splitlines()) == (0, [str(file) for file in files])
        assert all(file.read_bytes() == (tmp_path / "one" / file.name).read_bytes() for file in files)
    code, _, aside = ask("bench", "cases", "draw", "exact-law", tmp_path)
    assert code == 2
    assert "'exact-law' has no figure; those that have one: closed-loop, graph, prediction-sets" in aside

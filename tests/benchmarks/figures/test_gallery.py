"""The gallery draws what the entries hold, names what is proved, and computes equal bands once."""

from dataclasses import replace

import pytest

from depl.benchmarks.figures import of_family as gallery
from depl.benchmarks.figures.comparison import Entry
from depl.benchmarks.figures.of_family import Gallery, Shown
from depl.instances.library import load
from depl.models.problem.plan import ClusterData, Plan, PlannedEpoch
from depl.models.solving.result import Result, Solution, Termination

TARGETS = {"7": 14, "9": 12, "11": 10}


def entry_of(target, method, epochs, solution):
    plan = Plan(
        data=(ClusterData(cluster="A", datasets=("training-data",)),),
        epochs=(PlannedEpoch(model="slow-steady", cluster="A", resources=1.0),) * epochs,
    )
    result = Result(Termination.EXHAUSTED, solution, method, plan, float(epochs), 1.0)
    return Shown.of(Entry(target, load("paper-alexnet", target), method, result))


@pytest.fixture
def entries():
    return [
        entry_of(target, method, epochs + extra, solution)
        for target, epochs in TARGETS.items()
        for method, extra, solution in (
            ("first", 0, Solution.PROVEN_OPTIMAL),
            ("same", 0, Solution.FEASIBLE),
            ("longer", 1, Solution.FEASIBLE),
        )
    ]


def test_a_method_that_proved_all_its_plans_is_called_proved(entries):
    (axes,) = Gallery("family", entries).costs().axes
    assert [text.get_text() for text in axes.get_legend().get_texts()] == [
        "first: proved cheapest",
        "same",
        "longer",
    ]
    (axes,) = Gallery("family", [replace(entries[0], proved=False), *entries[1:]]).costs().axes
    assert axes.get_legend().get_texts()[0].get_text() == "first"


def test_every_method_has_a_panel_of_its_epochs(entries):
    panels = Gallery("family", entries).epochs().axes
    assert [panel.get_title(loc="left") for panel in panels] == ["first: proved cheapest", "same", "longer"]
    tops = [bar.get_height() for bar in panels[2].containers[2]]
    assert tops == [15, 13, 11]


def test_a_method_without_a_plan_at_some_targets_keeps_its_place_and_all_targets(entries):
    first = [
        replace(entry, plan=None, cost=None) if entry.method == "same" else entry for entry in entries[:3]
    ]
    gallery = Gallery("family", [*first, *entries[3:]])
    assert gallery.methods == ["first", "same", "longer"]
    panel = gallery.epochs().axes[1]
    assert [label.get_text() for label in panel.get_xticklabels()] == ["7", "9", "11"]
    assert [bar.get_height() for bar in panel.containers[2]] == [0, 12, 10]
    assert [text.xy[0] for text in panel.texts] == [0]


def test_bands_of_equal_sequences_are_computed_once(entries, monkeypatch):
    computed = []
    compute = gallery.trajectory
    monkeypatch.setattr(
        gallery, "trajectory", lambda *given, **named: computed.append(given) or compute(*given, **named)
    )
    figure = Gallery("family", entries).losses()
    assert len(computed) == 2 * len(TARGETS)
    assert [axes.get_title(loc="left") for axes in figure.axes] == [
        f"guaranteed loss {target}" for target in TARGETS
    ]
    assert [line.get_ydata()[-1] for line in figure.axes[0].get_lines()[3:-1:3]] == pytest.approx(
        [20 - 14 * 0.98, 20 - 14 * 0.98, 20 - 15 * 0.98]
    )


def test_a_method_has_the_same_colour_in_all_panels_of_the_overview(entries):
    costs, _, losses = Gallery("family", entries).overview().axes
    colours = {line.get_label(): line.get_color() for line in costs.get_lines()}
    drawn = {line.get_label(): line.get_color() for line in losses.get_lines()}
    assert drawn["first: proved cheapest"] == colours["first: proved cheapest"]
    assert drawn["longer"] == colours["longer"] != drawn["first: proved cheapest"]


def test_all_figures_are_written_twice(entries, tmp_path):
    paths = Gallery("family", entries).write(tmp_path)
    names = [
        f"family-{kind}.{suffix}"
        for kind in ("cost", "epochs", "loss", "overview")
        for suffix in ("png", "svg")
    ]
    assert [path.name for path in paths] == names
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(names)


def test_targets_without_any_plan_leave_empty_panels(entries):
    nothing = [replace(entry, plan=None, cost=None) for entry in entries]
    figure = Gallery("family", nothing).overview()
    assert len(figure.axes) == 3
    assert not figure.axes[0].get_lines()

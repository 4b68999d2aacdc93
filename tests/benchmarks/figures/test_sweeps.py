"""Figures of attempts: which there are, that what is drawn is in their tables, and that they repeat."""

import random

import msgspec
import pytest

from depl.benchmarks.analysis.growth import Growth, PowerLine
from depl.benchmarks.figures.drawing import footer_of, instance_of, missing, unprinted_lines
from depl.benchmarks.figures.levels import level_drawing, level_points, levels_of
from depl.benchmarks.figures.style import panels
from depl.benchmarks.figures.sweeps import (
    figures_of,
    left_out,
    size_labels,
    time_against_size,
)
from depl.instances.library import load
from depl.models.foundation.documents import document
from tests.cases.attempts_factory import attempt_of
from tests.cases.picture_cases import legend_of, require_legends_outside
from tests.problems import plan

OPTIMA = {7: 14, 9: 12, 11: 10}
MODELS = {"slow-steady": 1.0, "intermediate": 1.4, "fast-unsteady": 2.6}
SIZES = (10, 20, 40)


def without(target, configuration, suite="paper", **changes):
    """An attempt on paper-alexnet that found nothing."""
    return attempt_of(
        f"paper-alexnet-{target}",
        configuration,
        suite=suite,
        labels={"family": "paper-alexnet", "target": float(target)},
        instance_hash=load("paper-alexnet", target).fingerprint,
        **changes,
    )


def planned(target, configuration, epochs, model="slow-steady", suite="paper", **changes):
    """One with a plan of equal epochs; with the round deadline of 1 each needs its demand as resources."""
    made = plan(*[(model, "A", MODELS[model])] * epochs, data=("training-data",))
    more = {"cost": epochs * MODELS[model], "plan": document(made)}
    return without(target, configuration, suite, **more, **changes)


def drawn_by(draw, data, quantity, *further):
    """New axes on which a function has drawn."""
    _, (axes,) = panels(1)
    draw(data, quantity, axes, *further)
    return axes


def rows(drawing, **wanted):
    told = drawing.table.records()
    return [row for row in told if all(row[name] == value for name, value in wanted.items())]


@pytest.fixture(scope="module")
def sweep():
    found = []
    for target, epochs in OPTIMA.items():
        found += [planned(target, name, epochs, ending="optimal") for name in ("exact", "enumerate")]
        found.append(planned(target, "depl", epochs))
        paper = without(target, "depl-paper") if target == 7 else planned(target, "depl-paper", epochs + 2)
        found.append(paper)
    return found


@pytest.fixture(scope="module")
def drawings(sweep):
    return {drawing.name: drawing for drawing in figures_of(sweep)}


def test_a_family_gives_figures_5_to_9_whose_legends_meet_nothing(drawings):
    kinds = ("cost", "expected-loss", "epochs", "cost-per-model", "loss")
    assert list(drawings) == [f"paper-alexnet-{kind}" for kind in kinds]
    for drawing in drawings.values():
        require_legends_outside(drawing.figure)


def test_what_is_drawn_is_what_the_table_says_and_a_second_proof_is_set_aside(drawings):
    drawing = drawings["paper-alexnet-cost"]
    (axes,) = drawing.figure.axes
    assert legend_of(axes) == ["exact: proved cheapest", "depl", "depl-paper (n = 2 of 3)", "no plan found"]
    *lines, crosses, _ = axes.get_lines()
    assert crosses.get_xdata().tolist() == [7]
    for line, method in zip(lines, ("exact", "depl", "depl-paper"), strict=True):
        told = [(float(row["target"]), row["cost"]) for row in rows(drawing, method=method)]
        assert [tuple(point) for point in line.get_xydata()] == [item for item in told if item[1] is not None]
    assert [row["cost"] for row in rows(drawing, method="depl-paper")] == [None, 14, 12]
    # Every epoch of slow-steady gains .98 in the mean: 20 - .98 K, over that of the proved optimum.
    drawing = drawings["paper-alexnet-expected-loss"]
    missed, *found = (row["loss_over_optimum"] for row in rows(drawing, method="depl-paper"))
    assert missed is None
    assert found == pytest.approx([(20 - n * 0.98) / (20 - (n - 2) * 0.98) for n in (14, 12)])
    assert {row["loss_over_optimum"] for row in rows(drawing, method="exact")} == {1}
    drawing = drawings["paper-alexnet-epochs"]
    models = [model.name for model in load("paper-alexnet", 9).models]
    for model, bars in zip(models, drawing.figure.axes[1].containers, strict=True):
        told = [row["epochs"] for row in rows(drawing, method="depl", model=model)]
        assert [bar.get_height() for bar in bars] == told
    assert told == [14, 12, 10]
    drawing = drawings["paper-alexnet-loss"]
    last = rows(drawing, method="exact", target="9", epoch=12)[0]
    assert last["expected"] == pytest.approx(20 - 12 * 0.98)
    assert last["lower"] < last["expected"] < last["upper"] <= 9
    assert drawing.figure.axes[1].get_lines()[3].get_ydata()[-1] == last["expected"]


def test_the_order_of_the_attempts_changes_no_byte(sweep, drawings, tmp_path):
    shuffled = figures_of(random.Random(2).sample(sweep, len(sweep)))
    assert [drawing.table.csv() for drawing in shuffled] == [item.table.csv() for item in drawings.values()]
    assert shuffled[0].svg() == drawings[shuffled[0].name].svg()
    paths = drawings["paper-alexnet-cost"].write(tmp_path)
    assert [path.name for path in paths] == [f"paper-alexnet-cost.{kind}" for kind in ("png", "svg", "csv")]
    assert paths[2].read_text().startswith("method,target,cost\nexact,7,14.0\n")


def test_the_footer_names_suite_commit_and_what_is_assumed(drawings):
    text = drawings["paper-alexnet-cost"].figure.get_supxlabel()
    assert "suite paper (version 1); depl 0.1.0, commit 0123456789" in text
    assert "bandwidth, volume" in text.replace("\n", " ")
    assert footer_of([attempt_of(commit=None, versions={})]) == "suite made-up (version 1); no commit known"
    (line,) = unprinted_lines([load("paper-alexnet", 9), load("paper-alexnet", 11)], ["assumed"])
    named = line.removeprefix("assumed: ").split(", ")
    assert len(set(named)) == len(named)
    assert "variance" not in named  # that is printed


def test_an_instance_that_has_changed_or_is_gone_is_not_drawn_and_named(sweep):
    changed = [planned(9, "exact", 12, ending="optimal"), planned(9, "depl", 12)]
    old = [msgspec.structs.replace(item, instance_hash="old") for item in changed]
    assert figures_of(old) == []
    (sentence,) = left_out(old)
    assert "has changed since it was solved" in sentence
    assert left_out(sweep) == left_out([]) == figures_of([]) == []
    assert instance_of(planned(9, "exact", 12, suite="gone")).name
    nowhere = attempt_of("nowhere", suite="gone")
    assert instance_of(nowhere) is None
    assert "cannot be made again" in missing([nowhere])[0]


def test_profiles_need_five_problems_and_hold_every_step():
    attempts = []
    for index in range(5):
        attempts.append(attempt_of(f"p{index}", "exact", cost=10, ending="optimal", seconds=4.0))
        attempts.append(attempt_of(f"p{index}", "fast", cost=10 + index, seconds=1.0))
    assert figures_of(attempts[:8]) == []
    (drawing,) = figures_of(attempts)
    told = [(row["factor"], row["share"]) for row in rows(drawing, by="cost", configuration="fast")]
    assert told == [(pytest.approx(1 + index / 10), pytest.approx((index + 1) / 5)) for index in range(5)]
    stairs = drawing.figure.axes[0].get_lines()[1]
    assert [tuple(point) for point in stairs.get_xydata()[:-1]] == told
    assert stairs.get_drawstyle() == "steps-post"
    assert [row["factor"] for row in rows(drawing, by="time", configuration="exact")] == [1, 4]


def sized(suite="scaling-epochs", label="epochs"):
    """``exact`` proves sizes 10 and 20; ``fast`` is 20 % more expensive, and finds nothing at 10."""
    found = []
    for size in SIZES:
        changes = {"suite": suite, "labels": {label: size, "family": "f"}}
        proof = {"bound": 10 if size < 40 else 8, "ending": "optimal" if size < 40 else "time_limit"}
        found.append(attempt_of(f"i{size}", "exact", cost=10, seconds=size**2.0, **proof, **changes))
        cost, stages = None if size == 10 else 12, {"data": size / 100}
        fast = attempt_of(f"i{size}", "fast", cost=cost, seconds=size / 10, stage_seconds=stages, **changes)
        found.append(fast)
    return found


@pytest.fixture(scope="module")
def by_size():
    return {drawing.name: drawing for drawing in figures_of(sized())}


def test_the_size_of_a_suite_is_the_one_in_its_name_or_the_only_one_that_varies():
    assert size_labels(sized()) == {"scaling-epochs": "epochs"}
    assert size_labels(sized("large", "clusters")) == {"large": "clusters"}
    assert size_labels(sized()[:4]) == size_labels([]) == {}
    for suite, labels, found in (
        ("mixed", ("epochs", "models"), {}),
        ("heterogeneous", ("clusters", "epochs"), {"heterogeneous": "clusters"}),
        ("scaling-models", ("epochs", "models"), {"scaling-models": "models"}),
    ):
        both = [attempt_of(f"i{n}", suite=suite, labels=dict.fromkeys(labels, n)) for n in SIZES]
        assert size_labels(both) == found


def test_times_are_those_of_whole_solves_and_the_table_has_the_stages_besides(by_size):
    drawing = by_size["scaling-epochs-time"]
    told = [(row["configuration"], row["measure"], row["stopped"]) for row in drawing.table.records()]
    whole_solves = [("exact", "wall_seconds", 1), ("fast", "wall_seconds", 0)]
    assert told == [*whole_solves, ("fast", "seconds_data", 0)]
    for drawing in by_size.values():
        require_legends_outside(drawing.figure)


def grown(name, points, line=None, stopped=()):
    return Growth(
        "suite", name, "clusters", "wall_seconds", tuple(points), len(stopped), tuple(stopped), line
    )


def drawn(axes, style):
    """The lines of one style that show a point."""
    known = [line for line in axes.get_lines() if len(line.get_xdata())]
    return [line for line in known if line.get_linestyle().replace("None", "none") == style]


def test_times_have_points_means_of_logarithms_and_a_line_over_what_was_fitted():
    fit = PowerLine(2.0, 1.9, 2.1, 0.25, 2.0, 3, 2.0, 8.0)
    items = [
        grown("depl", [(2, 1), (4, 2), (4, 8), (8, 16), (32, 3)], fit, [(32, 9)]),
        grown("not fitted", [(2, 1), (4, 2)]),
        grown("always stopped", [], None, [(4, 9), (64, 9)]),
    ]
    axes = drawn_by(time_against_size, items, "clusters", {})
    (line,) = drawn(axes, "-")
    assert line.get_xydata().tolist() == [[2, 1], [8, 16]]
    assert not [line for style in ("--", "-.", ":") for line in drawn(axes, style)]
    points, *means = [
        line for line in drawn(axes, "none") if line.get_color() == drawn(axes, "-")[0].get_color()
    ]
    assert points.get_xydata().tolist() == [[2, 1], [4, 2], [4, 8], [8, 16], [32, 3]]
    assert [mean.get_ydata()[0] for mean in means[:3]] == pytest.approx([1, 4, 16])
    arrows = [line.get_xydata().tolist() for line in drawn(axes, "none") if "arrow" in line.get_marker()]
    assert arrows == [[[32, 9]], [[4, 9], [64, 9]]]
    hollow = [line.get_xdata()[0] for line in drawn(axes, "none") if line.get_markerfacecolor() == "white"]
    assert hollow == [32]
    # In the legend, too, only what was fitted has a line.
    shown = dict(zip(legend_of(axes), axes.get_legend().get_lines(), strict=True))
    fitted = [name for name, line in shown.items() if line.get_linestyle() != "None"]
    assert fitted == ["depl: 2.00 [1.90, 2.10]"]


LEVELS = (50, 200, 800)


def graph_at(target, eta, epochs):
    """An attempt with so many levels; without a plan for no epochs."""
    changes = {"method": "graph", "settings": {"options": {"eta": eta}}, "suite": "paper-eta"}
    label = f"graph-{eta}"
    return without(target, label, **changes) if epochs is None else planned(target, label, epochs, **changes)


@pytest.fixture(scope="module")
def varied():
    """Two epochs too many at 50 levels, where target 7 is missed; none too many from 200 on."""
    found = [planned(target, "exact", epochs, ending="optimal") for target, epochs in OPTIMA.items()]
    for target, epochs in OPTIMA.items():
        found.append(graph_at(target, 50, None if target == 7 else epochs + 2))
        found += [graph_at(target, eta, epochs) for eta in (200, 800)]
    return found


@pytest.fixture(scope="module")
def levels(varied):
    return level_drawing("paper-alexnet", varied)


def test_ratios_are_over_optima_that_another_suite_proved_and_only_an_option_counts_as_levels(varied):
    points = {(eta, instance): ratio for _, eta, instance, ratio in level_points(varied)}
    assert len(points) == 9
    assert points[50, "paper-alexnet-7"] is None
    assert points[50, "paper-alexnet-9"] == pytest.approx(14 / 12)
    assert points[800, "paper-alexnet-11"] == 1
    assert level_drawing("paper-alexnet", [item for item in varied if levels_of(item) != 50]) is None
    assert levels_of(attempt_of(labels={"eta": 5})) is None
    assert levels_of(attempt_of(settings={"options": {"eta": 5}})) == 5


def test_curves_are_means_of_the_table_and_markers_are_hollow_where_targets_are_missed(levels):
    require_legends_outside(levels.figure)
    (axes,) = levels.figure.axes
    curve = axes.get_lines()[0]
    assert curve.get_xdata().tolist() == list(LEVELS)
    assert curve.get_ydata()[0] == pytest.approx((14 / 12 + 12 / 10) / 2)
    hollow, full = (line for line in axes.get_lines() if list(line.get_xdata()) in ([50], [200]))
    assert hollow.get_markerfacecolor() == "white"
    assert full.get_markerfacecolor() != "white"

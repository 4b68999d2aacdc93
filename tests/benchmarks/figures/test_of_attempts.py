"""Figures of attempts: which there are, that what is drawn is in their tables, and that they repeat."""

import random
from xml.etree import ElementTree

import msgspec
import pytest

from depl.benchmarks.analysis.table import Table
from depl.benchmarks.figures.canvas import panels
from depl.benchmarks.figures.of_attempts import figures_of, left_out
from depl.benchmarks.figures.of_drawing import Drawing, add_footer, assumptions, footer_of
from depl.benchmarks.figures.of_instances import Instances, plan_of
from depl.instances.library import load
from depl.models.foundation.documents import document
from depl.models.problem.plan import ClusterData, Plan, PlannedEpoch
from tests.cases.attempts_factory import attempt_of
from tests.cases.picture_cases import require_legends_outside

OPTIMA = {7: 14, 9: 12, 11: 10}
MODELS = {"slow-steady": 1.0, "intermediate": 1.4, "fast-unsteady": 2.6}


def plan_with(epochs, model="slow-steady"):
    """Equal epochs on class A; with the round deadline of 1 each needs as many resources as its demand."""
    epoch = PlannedEpoch(model=model, cluster="A", resources=MODELS[model])
    return Plan(data=(ClusterData(cluster="A", datasets=("training-data",)),), epochs=(epoch,) * epochs)


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
    """One with a plan of equal epochs."""
    cost, plan = epochs * MODELS[model], document(plan_with(epochs, model))
    return without(target, configuration, suite, cost=cost, plan=plan, **changes)


@pytest.fixture(scope="module")
def sweep():
    found = []
    for target, epochs in OPTIMA.items():
        found.append(planned(target, "exact", epochs, ending="optimal"))
        found.append(planned(target, "enumerate", epochs, ending="optimal"))
        found.append(planned(target, "depl", epochs))
        found.append(
            without(target, "depl-paper") if target == 7 else planned(target, "depl-paper", epochs + 2)
        )
    return found


@pytest.fixture(scope="module")
def drawings(sweep):
    return {drawing.name: drawing for drawing in figures_of(sweep)}


def rows(drawing, **wanted):
    return [
        row for row in drawing.table.records() if all(row[name] == value for name, value in wanted.items())
    ]


def test_a_family_gives_figures_5_to_9(drawings):
    kinds = ("cost", "expected-loss", "epochs", "cost-per-model", "loss")
    assert list(drawings) == [f"paper-alexnet-{kind}" for kind in kinds]


def test_no_legend_meets_what_is_drawn(drawings):
    for drawing in drawings.values():
        require_legends_outside(drawing.figure)


def test_the_second_proof_of_the_same_optimum_is_set_aside(drawings):
    (axes,) = drawings["paper-alexnet-cost"].figure.axes
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert labels == ["exact: proved cheapest", "depl", "depl-paper (n = 2 of 3)", "no plan found"]


def test_what_is_drawn_is_what_the_table_says(drawings):
    drawing = drawings["paper-alexnet-cost"]
    (axes,) = drawing.figure.axes
    *lines, crosses, _ = axes.get_lines()
    assert crosses.get_xdata().tolist() == [7]
    for line, method in zip(lines, ("exact", "depl", "depl-paper"), strict=True):
        told = [(float(row["target"]), row["cost"]) for row in rows(drawing, method=method)]
        assert [tuple(point) for point in line.get_xydata()] == [item for item in told if item[1] is not None]
    assert [row["cost"] for row in rows(drawing, method="depl-paper")] == [None, 14, 12]


def test_expected_losses_are_over_that_of_the_proved_optimum(drawings):
    """Every epoch of slow-steady gains .98 in the mean: 20 - .98 K."""
    drawing = drawings["paper-alexnet-expected-loss"]
    missed, nine, eleven = (row["loss_over_optimum"] for row in rows(drawing, method="depl-paper"))
    assert missed is None
    assert nine == pytest.approx((20 - 14 * 0.98) / (20 - 12 * 0.98))
    assert eleven == pytest.approx((20 - 12 * 0.98) / (20 - 10 * 0.98))
    assert {row["loss_over_optimum"] for row in rows(drawing, method="exact")} == {1}


def test_bars_of_epochs_and_of_cost_are_those_of_the_tables(drawings):
    for kind, unit, column in (("epochs", 1, "epochs"), ("cost-per-model", 1.0, "cost")):
        drawing = drawings[f"paper-alexnet-{kind}"]
        panel = drawing.figure.axes[1]
        models = [model.name for model in load("paper-alexnet", 9).models]
        for model, bars in zip(models, panel.containers, strict=True):
            told = [row[column] for row in rows(drawing, method="depl", model=model)]
            assert [bar.get_height() for bar in bars] == told
        assert told == [14 * unit, 12 * unit, 10 * unit]
        assert len({axes.get_ylim() for axes in drawing.figure.axes}) == 1


def test_bands_of_the_loss_stand_in_the_table(drawings):
    drawing = drawings["paper-alexnet-loss"]
    last = rows(drawing, method="exact", target="9", epoch=12)[0]
    assert last["expected"] == pytest.approx(20 - 12 * 0.98)
    assert last["lower"] < last["expected"] < last["upper"] <= 9
    panel = drawing.figure.axes[1]
    assert panel.get_lines()[3].get_ydata()[-1] == last["expected"]


def test_the_order_of_the_attempts_changes_no_byte(sweep, drawings, tmp_path):
    shuffled = figures_of(random.Random(2).sample(sweep, len(sweep)))
    for drawing in shuffled[:2]:
        assert drawing.svg() == drawings[drawing.name].svg()
        assert drawing.table.csv() == drawings[drawing.name].table.csv()


def test_identifiers_of_two_figures_on_one_page_differ(drawings):
    def names(drawing):
        root = ElementTree.fromstring(drawing.svg())
        used = {element.get("{http://www.w3.org/1999/xlink}href") for element in root.iter()} - {None}
        return {name for name in used if name.startswith("#m")}  # markers, which are hashed

    first, second = names(drawings["paper-alexnet-cost"]), names(drawings["paper-alexnet-expected-loss"])
    assert first
    assert not first & second


def test_a_drawing_is_written_as_picture_and_numbers(drawings, tmp_path):
    paths = drawings["paper-alexnet-cost"].write(tmp_path)
    assert [path.name for path in paths] == [f"paper-alexnet-cost.{kind}" for kind in ("png", "svg", "csv")]
    assert paths[2].read_text().startswith("method,target,cost\nexact,7,14.0\n")


def test_the_footer_names_suite_commit_and_what_is_assumed(sweep, drawings):
    text = drawings["paper-alexnet-cost"].figure.get_supxlabel()
    assert "suite paper (version 1); depl 0.1.0, commit 0123456789" in text
    assert "bandwidth, volume" in text.replace("\n", " ")
    assert footer_of([attempt_of(commit=None, versions={})]) == "suite made-up (version 1); no commit known"


def test_assumed_fields_are_named_once_and_printed_ones_never():
    named = assumptions([load("paper-alexnet", 9), load("paper-alexnet", 11)])
    assert named[:2] == ["bandwidth", "volume"]
    assert len(set(named)) == len(named)
    assert "variance" not in named


def test_a_footer_makes_room_for_itself(drawings):
    figure = drawings["paper-alexnet-cost"].figure
    figure.draw_without_rendering()
    (axes,) = figure.axes
    label = figure._supxlabel.get_window_extent()
    assert label.y0 >= 0
    assert label.x1 <= figure.bbox.x1
    assert label.y1 <= axes.get_tightbbox().y0


def test_an_instance_that_has_changed_is_not_drawn_and_named(sweep):
    changed = [planned(9, "exact", 12, ending="optimal"), planned(9, "depl", 12)]
    old = [msgspec.structs.replace(item, instance_hash="old") for item in changed]
    assert figures_of(old) == []
    (sentence,) = left_out(old)
    assert "has changed since it was solved" in sentence
    assert left_out(sweep) == []


def test_instances_of_a_suite_that_is_gone_are_found_by_their_shipped_name():
    found = Instances()
    assert found.of(planned(9, "exact", 12, suite="gone")).name
    assert found.of(attempt_of("nowhere", suite="gone")) is None
    assert "cannot be made again" in found.missing[0]
    assert plan_of(attempt_of()) is None


def test_figures_of_another_suite_on_the_same_family_have_names_of_their_own():
    attempts = [
        planned(target, name, OPTIMA[target], suite="other") for target in OPTIMA for name in ("a", "b")
    ]
    assert figures_of(attempts)[0].name == "other-paper-alexnet-cost"


def test_no_attempts_give_no_figures():
    assert figures_of([]) == []
    assert left_out([]) == []


def test_profiles_need_five_problems_and_hold_every_step():
    attempts = []
    for index in range(5):
        attempts.append(attempt_of(f"p{index}", "exact", cost=10, ending="optimal", seconds=4.0))
        attempts.append(attempt_of(f"p{index}", "fast", cost=10 + index, seconds=1.0))
    assert figures_of(attempts[:8]) == []
    (drawing,) = figures_of(attempts)
    assert drawing.name == "made-up-profiles"
    told = [(row["factor"], row["share"]) for row in rows(drawing, by="cost", configuration="fast")]
    assert told == [(pytest.approx(1 + index / 10), pytest.approx((index + 1) / 5)) for index in range(5)]
    require_legends_outside(drawing.figure)
    left, right = drawing.figure.axes
    drawn = left.get_lines()[1].get_xydata()[:-1]
    assert [tuple(point) for point in drawn] == told
    assert [row["factor"] for row in rows(drawing, by="time", configuration="exact")] == [1, 4]
    assert right.get_xscale() == "log"


def test_promises_that_a_suite_measured_are_drawn():
    measures = {"promised": 0.9, "delivered": 0.85, "delivered_lower": 0.8, "delivered_upper": 0.89}
    (drawing,) = figures_of([attempt_of("d", "enumerate", suite="s", cost=1.0, measures=measures)])
    assert drawing.name == "s-promises"
    require_legends_outside(drawing.figure)
    assert drawing.table.records()[0] == {"configuration": "enumerate", "instance": "d", **measures}
    assert drawing.figure.axes[0].get_lines()[1].get_ydata().tolist() == [0.85]


def test_a_drawing_without_a_footer_is_a_drawing():
    figure, _ = panels(1)
    height = figure.get_figheight()
    add_footer(figure, "one line")
    assert figure.get_figheight() > height
    assert Drawing("x", "y", figure, Table(("a",))).svg().count("<svg") == 1

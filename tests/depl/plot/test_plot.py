"""Pictures show the numbers of what they draw, on axes that are given or new, and stay readable."""

import doctest
import sys
from dataclasses import replace

import msgspec
import numpy as np
import pytest
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

import depl
from depl.benchmarks.figures.style import METHOD_STYLES
from depl.models.estimation.instance import fit_instance
from depl.models.evaluation.evaluate import epoch_times
from depl.models.foundation.errors import InvalidInputError
from depl.models.policy.decisions import Stop
from depl.models.problem.instance import ConstantImprovement
from depl.models.problem.laws import Undeclared
from depl.models.traces.table import Traces
from depl.plot.policy import colours
from depl.showing.policies import GIVE_UP, NO_EPOCH_LEFT, REACHED
from tests.cases.memory_search_cases import drawn
from tests.cases.picture_cases import legend_of, require_readable
from tests.cases.policy_files import LARGE, SMALL, by_hand, decide


@pytest.fixture(scope="module")
def solved():
    instance = depl.load("tiny")
    return instance, depl.solve(instance, "exact")


def runs():
    """Two runs of three epochs, of which the last trains another model."""
    names, epochs = np.repeat(["a", "b"], 4), np.tile(np.arange(4), 2)
    models = np.tile(["full", "full", "full", "cut"], 2)
    return Traces(names, epochs, models, np.full(8, "edge"), np.array([9.0, 7, 5, 4, 9, 8, 6, 5]))


def resourced(plan, *values):
    """The plan without its claims, with these resources."""
    rows = zip(plan.epochs, values, strict=True)
    epochs = tuple(msgspec.structs.replace(epoch, resources=value) for epoch, value in rows)
    return msgspec.structs.replace(plan, claims=None, epochs=epochs)


def test_a_bar_is_as_wide_as_its_epoch_is_long_and_as_high_as_its_resources(solved):
    instance, result = solved
    plan = resourced(result.plan, 2.0, 4.0, 3.0)
    upper, _ = depl.plot.plan(instance, plan)
    bars, times = sorted(upper.patches, key=lambda bar: bar.get_x()), epoch_times(instance, plan)
    assert [bar.get_width() for bar in bars] == pytest.approx(times)
    assert [bar.get_x() for bar in bars] == pytest.approx([0.0, *np.cumsum(times)[:-1]])
    first, second, third = (bar.get_height() for bar in bars)
    assert first / second == pytest.approx(2.0 / 4.0)
    assert third == pytest.approx(second)  # each is the most on its own cluster
    assert [bar.get_y() for bar in bars] == [0, 0, 1]
    assert bars[0].get_facecolor() == bars[1].get_facecolor() != bars[2].get_facecolor()


def test_the_band_begins_at_the_first_loss_and_holds_what_is_certified(solved):
    instance, result = solved
    _, lower = depl.plot.plan(instance, result.plan)
    target, median, quantile = lower.lines
    assert (list(target.get_ydata()), median.get_ydata()[0]) == ([6.5, 6.5], 15.0)
    assert quantile.get_xydata().tolist()[0] == pytest.approx([3, result.quantile.upper])
    assert "at least 0.75, certified" in lower.get_title(loc="left")
    (band,) = lower.collections
    heights = band.get_paths()[0].vertices[:, 1]
    assert (heights.min(), heights.max()) == pytest.approx((2.0, 15.0))  # 15 - 6 - 6 - (2.5 / 2) + 0.25


def test_plans_that_never_end_do_not_train_or_have_no_law_are_refused_or_told(solved):
    instance, result = solved
    with pytest.raises(InvalidInputError, match=r"epochs\[1\]\.resources"):
        depl.plot.plan(instance, resourced(result.plan, 3.0, 0.0, 3.0))
    upper, lower = depl.plot.plan(instance.replace(maximum_loss=16.0), depl.Plan())
    assert len(upper.patches) == 0
    assert "at least 1, certified" in lower.get_title(loc="left")
    unknown = ConstantImprovement(scale=2.0, noise=Undeclared())
    models = tuple(msgspec.structs.replace(model, improvement=unknown) for model in instance.models)
    plan = msgspec.structs.replace(result.plan, instance=None, claims=None)
    upper, lower = depl.plot.plan(instance.replace(models=models), plan)
    assert (len(upper.patches), len(lower.collections)) == (3, 0)
    assert "no law of the loss is declared" in lower.get_title(loc="left")


def test_compare_marks_costs_and_bounds_in_the_style_of_the_method(solved):
    instance, best = solved
    other = depl.solve(instance, "density-greedy")
    axes = depl.plot.compare([best, other])
    marks = [line for line in axes.lines if line.get_marker() not in ("None", None)]
    assert [float(line.get_xdata()[0]) for line in marks] == [best.cost, other.cost]
    colours = [METHOD_STYLES[name].colour for name in ("exact", "density-greedy")]
    assert [mark.get_color() for mark in marks] == colours
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert (labels[0], labels[1].endswith("no bound")) == ("exact: 28, proved cheapest", True)
    lower = replace(best, solution=depl.Solution.FEASIBLE, lower_bound=27.99999996)
    assert "no plan costs less: 27.9999" in legend_of(depl.plot.compare([lower]))  # no bound is rounded up
    with pytest.raises(InvalidInputError, match="no result"):
        depl.plot.compare([])
    with pytest.raises(InvalidInputError, match="different instances"):
        depl.plot.compare([best, depl.solve(depl.load("paper-alexnet", 9), "exact")])


def test_traces_are_a_line_per_run_coloured_by_model():
    given = Figure(layout="constrained").subplots()
    axes = depl.plot.traces(runs(), (4.5,), axes=given)
    assert axes is given
    full, cut, target = axes.lines
    assert np.nanmax(full.get_ydata()) == 9.0
    pieces = cut.get_xydata().reshape(-1, 3, 2)[:, :2].tolist()
    assert pieces == [[[2, 5], [3, 4]], [[2, 6], [3, 5]]]
    assert list(target.get_ydata()) == [4.5, 4.5]
    assert full.get_color() != cut.get_color()
    require_readable(axes)


def test_an_instance_is_drawn_by_its_numbers_and_a_name_with_dollar_signs_stays_a_name(solved):
    instance, _ = solved
    clusters, models, transfers = depl.plot.instance(instance)
    assert [line.get_xydata().tolist()[0] for line in clusters.lines] == [[10, 4], [4, 1]]
    assert [line.get_xydata().tolist()[0] for line in models.lines] == [[4, 4], [2, 2.5]]
    assert transfers.images[0].get_array().tolist() == [[0, 2], [1, 0]]
    odd = msgspec.structs.replace(instance.clusters[0], name="$x_{$")
    clusters, _, _ = depl.plot.instance(instance.replace(clusters=(odd,), transfers=()))
    assert r"\$x_{\$" in legend_of(clusters)[0]
    clusters.figure.draw_without_rendering()


def step_of(axes, label):
    (line,) = [line for line in axes.lines if line.get_label() == label]
    return line.get_xydata().tolist()


def test_a_front_is_a_band_of_steps_between_the_looser_bound_and_the_tighter_plan(solved):
    instance, _ = solved
    found = depl.front(instance, "loss", between=(4, 15), points=5)
    given = Figure(layout="constrained").subplots()
    axes = depl.plot.front(found, given)
    assert axes is given
    loose, second, *_, tight = found.points
    assert tight.infeasible
    above, below = step_of(axes, "cheapest plan known"), step_of(axes, "no plan costs less: proved")
    assert above[:2] == [[loose.budget, second.cost], [second.budget, second.cost]]
    assert below[:2] == [[loose.budget, loose.lower_bound], [second.budget, loose.lower_bound]]
    last = [point for point in found if point.plan is not None][-1]
    assert below[-1] == [next(p.budget for p in found if p.infeasible), last.lower_bound]
    marks = step_of(axes, "proved cheapest")
    assert marks == [[point.budget, point.cost] for point in found if point.cost is not None]
    (shaded,) = [patch for patch in axes.patches if patch.get_label() == "infeasible: proved"]
    first = next(point.budget for point in found if point.infeasible)
    ends = shaded.get_x(), shaded.get_x() + shaded.get_width()
    assert sorted(ends) == pytest.approx([axes.get_xlim()[0], first])
    require_readable(axes)


def test_a_front_against_omega_names_the_cost_at_the_marks(solved):
    instance, _ = solved
    found = depl.front(instance.replace(maximum_loss=9.0), "probability", between=(0.6, 0.999), points=2)
    axes, costs = depl.plot.front(found), {point.budget: point.cost for point in found}
    assert [text.get_text() for text in axes.texts] == [f"{costs[mark]:.4g}" for mark in (0.9, 0.95, 0.99)]
    nines = axes.transScale.transform([[0.9, 0], [0.99, 0], [0.999, 0]])[:, 0]
    assert nines == pytest.approx([1, 2, 3])


def test_points_without_a_proof_are_hollow_and_without_a_law_of_nesting_stand_alone(solved):
    instance, _ = solved
    found = depl.front(instance, "loss", between=(7, 12), points=2, method="density-greedy")
    lines = {line.get_label(): line for line in depl.plot.front(found).lines}
    assert lines["feasible, not proved cheapest"].get_markerfacecolor() == "white"
    alone = depl.front(drawn(2).instance, "probability", between=(0.4, 0.95), points=3)
    axes = depl.plot.front(alone)
    assert "under the fitted law" in axes.get_title(loc="left")
    assert not axes.collections
    assert "cheapest plan known" not in {line.get_label() for line in axes.lines}
    with pytest.raises(InvalidInputError, match="no point"):
        depl.plot.front(replace(alone, points=()))


@pytest.mark.parametrize("name", ["depl.plot", "depl.runs"])
def test_the_examples_run(name, monkeypatch):
    def without_care(traces, setup, **options):  # margins and p-values are tested where they are made
        return fit_instance(traces, setup, **{**options, "care": None})

    monkeypatch.setattr("depl.runs.fit_instance", without_care)
    monkeypatch.setattr("depl.models.estimation.instance._RESAMPLES", 9)
    result = doctest.testmod(sys.modules[name] if name in sys.modules else __import__(name, fromlist=["_"]))
    assert result.failed == 0
    assert result.attempted >= 2


def colour_at(axis, epoch, loss):
    """Of the map there; None where nothing is drawn."""
    for collection in axis.collections:
        assert isinstance(collection, PolyCollection)
        for path in collection.get_paths():
            if path.contains_point((epoch, loss)):
                return to_hex(collection.get_facecolor()[0])
    return None


def test_every_place_has_the_colour_of_what_the_controller_decides_there():
    policy = by_hand(state="observed")
    panels = dict(zip((SMALL, LARGE), depl.plot.policy(policy), strict=True))
    known = {action: to_hex(colour) for action, colour in colours(policy).items()}
    ways = {
        (SMALL, 0): [],
        (SMALL, 1): [1.0],
        (SMALL, 2): [1.0, 0.5],
        (LARGE, 2): [1.0, 1.2],
        (LARGE, 3): [1.0, 1.2, 0.8],
    }
    reasons = {"reached": REACHED, "deadline": NO_EPOCH_LEFT, "abandoned": GIVE_UP}
    for (site, epoch), before in ways.items():
        for loss in np.arange(0.05, 1.9, 0.1).tolist():
            decision = decide(policy, [*before, loss])
            stops = isinstance(decision, Stop)
            action = reasons[decision.reason] if stops else (decision.model, decision.cluster)
            assert (decision.epoch, colour_at(panels[site], epoch, loss)) == (epoch, known[action]), loss
    assert colour_at(panels[SMALL], 3, 1.0) is None


def test_the_map_is_drawn_on_axes_of_ones_own_and_what_it_cannot_show_is_refused():
    given = list(Figure(figsize=(6, 6), layout="constrained").subplots(2, 1))
    assert depl.plot.policy(by_hand(), axes=given) == given
    with pytest.raises(InvalidInputError, match="axes: are 1, for 2 panels"):
        depl.plot.policy(by_hand(), axes=given[:1])

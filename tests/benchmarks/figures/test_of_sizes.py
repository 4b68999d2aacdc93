"""Cost and time against size: which sizes a suite varies, and that pictures and tables agree."""

import pytest

from depl.benchmarks.figures.of_sizes import size_drawings, size_labels
from tests.cases.attempts_factory import attempt_of
from tests.cases.picture_cases import require_legends_outside

SIZES = (10, 20, 40)


def sweep(suite="scaling-epochs", label="epochs"):
    """``exact`` proves sizes 10 and 20; ``fast`` is 20 % more expensive, and finds nothing at 10."""
    found = []
    for size in SIZES:
        changes = {"suite": suite, "labels": {label: size, "family": "f"}}
        proved = size < 40
        ending = "optimal" if proved else "time_limit"
        found.append(
            attempt_of(
                f"i{size}",
                "exact",
                cost=10,
                bound=10 if proved else 8,
                ending=ending,
                seconds=size**2.0,
                **changes,
            )
        )
        cost = None if size == 10 else 12
        found.append(
            attempt_of(
                f"i{size}",
                "fast",
                cost=cost,
                seconds=size / 10,
                stage_seconds={"data": size / 100},
                **changes,
            )
        )
    return found


@pytest.fixture(scope="module")
def drawings():
    return {drawing.name: drawing for drawing in size_drawings(sweep())}


def test_the_size_of_a_suite_is_the_one_in_its_name_or_the_only_one_that_varies():
    assert size_labels(sweep()) == {"scaling-epochs": "epochs"}
    assert size_labels(sweep("large", "clusters")) == {"large": "clusters"}
    assert size_labels(sweep()[:4]) == {}
    assert size_labels([]) == {}


def test_scenarios_are_a_setting_and_no_size_of_instances():
    attempts = [
        attempt_of(
            "one",
            f"search-{size}",
            suite="scaling-scenarios",
            method="search",
            cost=1.0,
            seconds=float(size),
            settings={"scenarios": size, "options": {}},
        )
        for size in SIZES
    ]
    (drawing,) = size_drawings(attempts)
    assert drawing.name == "scaling-scenarios-time"
    (row,) = drawing.table.records()
    assert (row["configuration"], row["size"], row["ended"]) == ("search", "scenarios", 3)
    assert row["exponent"] == pytest.approx(1)


def test_two_sizes_that_vary_together_are_none_unless_the_suite_names_one():
    both = {size: {"epochs": size, "models": size} for size in SIZES}
    attempts = [attempt_of(f"i{size}", suite="mixed", labels=both[size]) for size in SIZES]
    assert size_labels(attempts) == {}
    together = [
        attempt_of(f"i{size}", suite="heterogeneous", labels={"clusters": size, "epochs": size})
        for size in SIZES
    ]
    assert size_labels(together) == {"heterogeneous": "clusters"}
    named = [attempt_of(f"i{size}", suite="scaling-models", labels=both[size]) for size in SIZES]
    assert size_labels(named) == {"scaling-models": "models"}


def test_ratios_are_over_optima_where_all_are_proved_and_over_bounds_elsewhere(drawings):
    rows = {
        (row["configuration"], row["size"]): row for row in drawings["scaling-epochs-ratio"].table.records()
    }
    assert (rows["fast", 20]["mean"], rows["fast", 20]["over"]) == (1.2, "optimum")
    assert (rows["fast", 40]["mean"], rows["fast", 40]["over"]) == (1.5, "bound")
    assert (rows["fast", 10]["plans"], rows["fast", 10]["mean"]) == (0, None)
    assert rows["exact", 40]["mean"] == 1.25


def test_no_legend_meets_what_is_drawn_and_parts_are_counted(drawings):
    for drawing in drawings.values():
        require_legends_outside(drawing.figure)
    (axes,) = drawings["scaling-epochs-ratio"].figure.axes
    assert [text.get_text() for text in axes.get_legend().get_texts()] == [
        "exact",
        "fast (n = 2 of 3)",
        "up to the largest ratio",
        "over a bound, not an optimum",
    ]


def test_what_is_drawn_is_what_the_table_says(drawings):
    (axes,) = drawings["scaling-epochs-ratio"].figure.axes
    curves = [line for line in axes.get_lines() if len(line.get_xdata()) > 1 and line.get_xdata()[0] >= 10]
    assert [curve.get_xydata().tolist() for curve in curves] == [
        [[10, 1], [20, 1], [40, 1.25]],
        [[20, 1.2], [40, 1.5]],
    ]
    hollow = [line for line in axes.get_lines() if line.get_markerfacecolor() == "white"]
    assert [line.get_xydata().tolist() for line in hollow] == [[[40, 1.25]], [[40, 1.5]], []]


def test_times_have_a_panel_for_the_whole_and_one_for_stages(drawings):
    whole, stages = drawings["scaling-epochs-time"].figure.axes
    labels = [text.get_text() for text in whole.get_legend().get_texts()]
    # Two sizes that ended are too few for a fit.
    assert labels == ["exact", "fast: 1.00 [1.00, 1.00]", "one attempt", "stopped: at least so long"]
    assert [text.get_text() for text in stages.get_legend().get_texts()] == [
        "fast, data: 1.00 [1.00, 1.00]",
        "one attempt",
    ]
    rows = drawings["scaling-epochs-time"].table.records()
    assert [(row["configuration"], row["measure"], row["stopped"]) for row in rows] == [
        ("exact", "wall_seconds", 1),
        ("fast", "wall_seconds", 0),
        ("fast", "seconds_data", 0),
    ]


def test_a_refusal_is_a_cross_on_the_floor_that_the_legend_explains():
    changes = {"suite": "scaling-epochs", "labels": {"epochs": 80, "family": "f"}}
    refused = attempt_of("i80", "fast", cost=None, seconds=0.1, ending="refused", **changes)
    drawing = next(item for item in size_drawings([*sweep(), refused]) if item.name.endswith("-time"))
    whole = drawing.figure.axes[0]
    (crosses,) = [line for line in whole.get_lines() if line.get_marker() == "x" and len(line.get_xdata())]
    assert crosses.get_xdata().tolist() == [80]
    assert "refused: not covered" in [text.get_text() for text in whole.get_legend().get_texts()]
    require_legends_outside(drawing.figure)


def test_a_suite_without_sizes_has_no_drawing():
    assert size_drawings([attempt_of(cost=1.0)]) == []

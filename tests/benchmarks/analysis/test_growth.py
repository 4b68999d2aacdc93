"""Exponents of growth: exact powers give themselves, and intervals are those of the textbook."""

import numpy as np
import pytest

from depl.benchmarks.analysis.growth import PRINTED, growth_table, growths, line_through, size_of
from tests.cases.attempts_factory import attempt_of

SIZES = (10, 20, 40, 80)


def sweep(seconds, label="epochs", **changes):
    return [
        attempt_of(
            f"i-{size}",
            "depl",
            suite="scaling",
            cost=1.0,
            seconds=seconds(size),
            labels={label: size},
            **changes,
        )
        for size in SIZES
    ]


def test_a_power_gives_its_exponent_and_an_interval_of_no_width():
    line = line_through([(size, 3 * size**1.5) for size in SIZES])
    assert (line.exponent, line.coefficient) == pytest.approx((1.5, 3))
    assert (line.lower, line.upper, line.last) == pytest.approx((1.5, 1.5, 1.5))
    assert (line.points, line.sizes) == (4, 4)
    assert line.seconds(100) == pytest.approx(3000)


def test_the_interval_is_that_of_least_squares():
    """Points (0, 0), (1, 1), (2, 1) on the logarithms: slope 1/2, error 0.288675, t(0.975, 1) = 12.7062."""
    line = line_through([(1, 1), (np.e, np.e), (np.e**2, np.e)])
    assert line.exponent == pytest.approx(0.5)
    assert line.upper - line.exponent == pytest.approx(12.706204736 * np.sqrt(1 / 12))
    assert line.last == pytest.approx(0)


def test_the_interval_covers_the_exponent_about_as_often_as_it_says():
    rng = np.random.default_rng(5)
    hits = 0
    for _ in range(300):
        points = [(size, size**2 * np.exp(rng.normal(0, 0.3))) for size in SIZES for _ in range(3)]
        line = line_through(points)
        hits += line.lower <= 2 <= line.upper
    assert 0.9 <= hits / 300 <= 0.99


def test_two_sizes_are_too_few():
    assert line_through([(1, 1), (2, 2), (2, 3)]) is None
    assert line_through([]) is None


def test_a_constant_start_flattens_the_line_and_the_last_slope_shows_it():
    line = line_through([(size, 100 + size**2) for size in SIZES])
    assert line.exponent < line.last < 2


@pytest.mark.parametrize(
    ("exponent", "verdict"), [(3.0, "above the printed exponent"), (1.0, "not above the printed exponent")]
)
def test_the_printed_exponent_stands_beside(exponent, verdict):
    (found,) = growths(sweep(lambda size: size**exponent), {"scaling": "epochs"})
    assert found.verdict == verdict
    (row,) = growth_table([found]).records()
    assert (row["printed_exponent"], row["exponent"]) == pytest.approx((2, exponent))
    assert "E3" in row["printed_term"]
    assert (row["smallest"], row["largest"], row["ended"]) == (10, 80, 4)


def test_an_interval_around_the_printed_exponent_decides_nothing():
    noise = dict(zip(SIZES, (1.2, 0.8, 0.8, 1.2), strict=True))
    (found,) = growths(sweep(lambda size: noise[size] * size**2), {"scaling": "epochs"})
    assert found.line.lower < 2 < found.line.upper
    assert found.verdict == "undecided"


def test_a_size_that_property_2_does_not_name_has_no_verdict():
    (found,) = growths(sweep(float, label="clusters"), {"scaling": "clusters"})
    assert found.printed.exponent is None
    assert found.verdict == ""


def test_stopped_attempts_are_left_out_and_counted_and_refusals_say_nothing():
    stopped = attempt_of(
        "i-160", "depl", suite="scaling", ending="time_limit", seconds=60.0, labels={"epochs": 160}
    )
    hung = attempt_of("i-320", "depl", suite="scaling", ending="hung", seconds=None, labels={"epochs": 320})
    refused = attempt_of("i-640", "depl", suite="scaling", ending="refused", labels={"epochs": 640})
    (found,) = growths([*sweep(float), stopped, hung, refused], {"scaling": "epochs"})
    assert found.stopped == 2
    assert len(found.points) == 4


def test_stages_that_were_timed_grow_by_themselves():
    attempts = [
        attempt_of(
            f"i-{size}",
            "depl",
            suite="s",
            cost=1.0,
            seconds=float(size),
            labels={"models": size},
            stage_seconds={"data": size**2.0},
            measures={"gap": 1.0},
        )
        for size in SIZES
    ]
    found = {item.measure: item.line.exponent for item in growths(attempts, {"s": "models"})}
    assert found == {"wall_seconds": pytest.approx(1), "seconds_data": pytest.approx(2)}


def test_the_building_of_tables_is_a_stage_where_it_took_time():
    attempts = sweep(float, build_seconds=0.5) + sweep(float, build_seconds=0.0)
    found = {item.measure: len(item.points) for item in growths(attempts, {"scaling": "epochs"})}
    assert found == {"wall_seconds": 8, "build_seconds": 4}


def test_an_option_can_be_the_size_and_its_configurations_are_one_method():
    attempts = [
        attempt_of(
            "one",
            f"graph-{eta}",
            suite="s",
            method="graph",
            cost=1.0,
            seconds=eta**2.0,
            settings={"options": {"eta": eta}},
        )
        for eta in SIZES
    ]
    (found,) = growths(attempts, {"s": "eta"})
    assert found.configuration == "graph"
    assert found.line.exponent == pytest.approx(2)
    assert found.verdict == "above the printed exponent"


def test_suites_that_are_not_named_and_attempts_without_a_size_take_no_part():
    assert growths(sweep(float), {}) == []
    assert growths([attempt_of("x", suite="s", cost=1.0)], {"s": "epochs"}) == []
    assert size_of(attempt_of(labels={"epochs": "many"}), "epochs") is None
    assert growth_table([]).columns == growth_table(growths(sweep(float), {"scaling": "epochs"})).columns


def test_what_is_printed_names_its_errata():
    assert PRINTED["eta"].exponent == -4
    assert all("E" in PRINTED[name].term for name in ("datasets", "models", "epochs", "eta", "clusters"))


def test_a_size_varied_on_every_instance_is_fitted_within_instances():
    """Two instances, one a thousand times slower: size^2 each, whichever sizes were tried on which."""
    points = [(size, 1e-3 * size**2) for size in (10, 20, 40)] + [(size, size**2) for size in (5, 10)]
    groups = ["quick"] * 3 + ["slow"] * 2
    assert line_through(points, groups).exponent == pytest.approx(2)
    assert line_through(points).exponent < 1
    assert line_through(points, [str(index) for index in range(5)]) is None


def test_attempts_on_one_instance_share_its_level():
    attempts = [
        attempt_of(
            name,
            f"graph-{eta}",
            suite="s",
            method="graph",
            cost=1.0,
            seconds=level * eta,
            settings={"options": {"eta": eta}},
        )
        for name, level, sizes in (("quick", 1e-3, (40, 80, 160)), ("slow", 1.0, (10, 20, 40)))
        for eta in sizes
    ]
    (found,) = growths(attempts, {"s": "eta"})
    assert found.line.exponent == pytest.approx(1)


def test_a_size_at_which_one_attempt_was_stopped_is_drawn_but_not_fitted():
    """The one that ended at size 160 was the easy one: with it the exponent would be below 1."""
    changes = {"suite": "scaling", "labels": {"epochs": 160}}
    easy = attempt_of("i-160-a", "depl", cost=1.0, seconds=1.0, **changes)
    hard = attempt_of("i-160-b", "depl", ending="time_limit", seconds=60.0, **changes)
    (found,) = growths([*sweep(float), easy, hard], {"scaling": "epochs"})
    assert (160, 1.0) in found.points
    assert found.stopped == 1
    assert found.line.exponent == pytest.approx(1)
    assert (found.line.points, found.line.sizes) == (4, 4)
    assert (found.line.smallest, found.line.largest) == (10, 80)
    assert found.stopped_points == ((160, 60.0),)
    (row,) = growth_table([found]).records()
    assert (row["largest"], row["fitted_from"], row["fitted_to"]) == (160, 10, 80)


def test_of_an_attempt_that_was_killed_the_whole_time_is_known():
    killed = attempt_of("i", "depl", suite="s", ending="hung", seconds=None, labels={"epochs": 5})
    (found,) = growths([killed], {"s": "epochs"})
    assert (found.points, found.stopped, found.line) == ((), 1, None)
    assert found.stopped_points == ((5, killed.total_seconds),)

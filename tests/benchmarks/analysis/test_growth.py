"""Exponents of growth: exact powers give themselves, and intervals are those of the textbook."""

import numpy as np
import pytest

from depl.benchmarks.analysis.growth import PRINTED, growth_table, growths, line_through
from tests.cases.attempts_factory import attempt_of

SIZES = (10, 20, 40, 80)
EPOCHS = {"scaling": "epochs"}


def sweep(seconds, label="epochs", **changes):
    return [
        attempt_of(
            f"i-{size}", "depl", suite="scaling", cost=1.0, seconds=seconds(size),
            labels={label: size}, **changes,
        )
        for size in SIZES
    ]  # fmt: skip


def with_levels(name, seconds, sizes=SIZES):
    return [
        attempt_of(
            name, f"graph-{eta}", suite="s", method="graph", cost=1.0, seconds=seconds(eta),
            settings={"options": {"eta": eta}},
        )
        for eta in sizes
    ]  # fmt: skip


def test_a_power_gives_its_exponent_and_an_interval_of_no_width():
    line = line_through([(size, 3 * size**1.5) for size in SIZES])
    assert (line.exponent, line.coefficient) == pytest.approx((1.5, 3))
    assert (line.lower, line.upper, line.last_exponent) == pytest.approx((1.5, 1.5, 1.5))
    assert line.fitted_sizes == 4
    assert line.seconds(100) == pytest.approx(3000)
    assert line_through([(1, 1), (2, 2), (2, 3)]) is line_through([]) is None  # too few sizes


def test_the_interval_is_that_of_least_squares():
    """Points (0, 0), (1, 1), (2, 1) on the logarithms: slope 1/2, error 0.288675, t(0.975, 1) = 12.7062."""
    line = line_through([(1, 1), (np.e, np.e), (np.e**2, np.e)])
    assert line.exponent == pytest.approx(0.5)
    assert line.upper - line.exponent == pytest.approx(12.706204736 * np.sqrt(1 / 12))
    assert line.last_exponent == pytest.approx(0)


NOISE = dict(zip(SIZES, (1.2, 0.8, 0.8, 1.2), strict=True))


@pytest.mark.parametrize(
    ("seconds", "label", "verdict"),
    [
        (lambda size: size**3.0, "epochs", "above the printed exponent"),
        (lambda size: size**1.0, "epochs", "not above the printed exponent"),
        (lambda size: NOISE[size] * size**2, "epochs", "undecided"),
        (float, "clusters", ""),  # Property 2 does not name it
    ],
)
def test_the_printed_exponent_stands_beside(seconds, label, verdict):
    (found,) = growths(sweep(seconds, label), {"scaling": label})
    assert found.verdict == verdict
    (row,) = growth_table([found]).records()
    assert row["printed_exponent"] == PRINTED[label][0]
    assert "E" in str(row["printed_term"])
    assert (row["smallest"], row["largest"], row["ended"]) == (10, 80, 4)


def test_what_was_stopped_is_left_out_and_counted_and_refusals_say_nothing():
    changes = {"suite": "scaling", "configuration": "depl"}
    stopped = attempt_of("i-160", ending="time_limit", seconds=60.0, labels={"epochs": 160}, **changes)
    hung = attempt_of("i-320", ending="hung", seconds=None, labels={"epochs": 320}, **changes)
    refused = attempt_of("i-640", ending="refused", labels={"epochs": 640}, **changes)
    (found,) = growths([*sweep(float), stopped, hung, refused], EPOCHS)
    assert (found.stopped, len(found.points)) == (2, 4)
    assert found.stopped_points == (
        (160, 60.0),
        (320, hung.total_seconds),
    )  # of what was killed, the whole time
    assert growths([hung], EPOCHS)[0].line is None


def test_a_size_at_which_one_attempt_was_stopped_is_drawn_but_not_fitted():
    """The one that ended at size 160 was the easy one: with it the exponent would be below 1."""
    changes = {"suite": "scaling", "labels": {"epochs": 160}}
    easy = attempt_of("i-160-a", "depl", cost=1.0, seconds=1.0, **changes)
    hard = attempt_of("i-160-b", "depl", ending="time_limit", seconds=60.0, **changes)
    (found,) = growths([*sweep(float), easy, hard], EPOCHS)
    assert (160, 1.0) in found.points
    assert (found.stopped, found.stopped_points) == (1, ((160, 60.0),))
    assert found.line.exponent == pytest.approx(1)
    assert found.line.fitted_sizes == 4
    (row,) = growth_table([found]).records()
    assert (row["largest"], row["fitted_from"], row["fitted_to"]) == (160, 10, 80)


def test_stages_that_were_timed_grow_by_themselves_and_so_does_the_building_of_tables():
    attempts = sweep(float, stage_seconds={"data": 2.0}, measures={"gap": 1.0}, build_seconds=0.5)
    found = {item.measure: item.line.exponent for item in growths(attempts, EPOCHS)}
    expected = {"wall_seconds": 1, "build_seconds": 0, "seconds_data": 0}
    assert found == pytest.approx(expected, abs=1e-9)
    assert [item.measure for item in growths(sweep(float, build_seconds=0.0), EPOCHS)] == ["wall_seconds"]


def test_a_size_varied_on_every_instance_is_fitted_within_instances():
    """Two instances, one a thousand times slower: size^2 each, whichever sizes were tried on which."""
    points = [(size, 1e-3 * size**2) for size in (10, 20, 40)] + [(size, size**2) for size in (5, 10)]
    groups = ["quick"] * 3 + ["slow"] * 2
    assert line_through(points, groups).exponent == pytest.approx(2)
    assert line_through(points).exponent < 1
    assert line_through(points, [str(index) for index in range(5)]) is None
    quick = with_levels("quick", lambda eta: 1e-3 * eta, (40, 80, 160))
    (found,) = growths([*quick, *with_levels("slow", float, (10, 20, 40))], {"s": "eta"})
    assert found.line.exponent == pytest.approx(1)

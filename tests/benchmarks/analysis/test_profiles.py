"""Performance profiles of three problems, worked out by hand."""

import pytest

from depl.benchmarks.analysis.profiles import profiles
from tests.cases.attempts_factory import attempt_of

COSTS = {
    "p1": {"exact": 10, "fast": 10, "bad": 20},
    "p2": {"exact": 4, "fast": 5, "bad": None},
    "p3": {"exact": 8, "fast": 8.04, "bad": 8},
}
SECONDS = {"exact": 4.0, "fast": 1.0, "bad": 0.5}


def sweep():
    found = []
    for instance, costs in COSTS.items():
        for name, cost in costs.items():
            ending = "optimal" if name == "exact" else None
            found.append(attempt_of(instance, name, cost=cost, ending=ending, seconds=SECONDS[name]))
    return found


def steps(attempts, by):
    """By configuration the factors at which its share rises, and the shares."""
    rows = profiles(attempts, "made-up", by)
    return {
        name: (own["factor"].tolist(), own["share"].tolist()) for name, own in rows.groupby("configuration")
    }


def test_the_curve_by_cost_rises_where_cost_over_optimum_lies():
    found = steps(sweep(), "cost")
    assert found["exact"] == ([1], [1])
    assert found["fast"] == (pytest.approx([1, 1.005, 1.25]), pytest.approx([1 / 3, 2 / 3, 1]))
    assert found["bad"] == ([1, 2], pytest.approx([1 / 3, 2 / 3]))  # what misses a problem never reaches one


def test_a_problem_without_a_proved_optimum_or_not_tried_by_all_is_left_out_and_counted():
    attempts = [
        *sweep(),
        *(attempt_of("open", name, cost=5, bound=1) for name in SECONDS),
        attempt_of("half", "exact", cost=5, ending="optimal"),
        *(attempt_of("free", name, cost=0, ending="optimal") for name in SECONDS),
    ]
    rows = profiles(attempts, "made-up", "cost")
    assert set(zip(rows["problems"], rows["left_out"], strict=True)) == {(3, 3)}


def test_by_time_only_plans_near_the_optimum_count():
    found = steps(sweep(), "time")
    # p1: exact 4 s, fast 1 s; p2: exact alone; p3: exact 4 s, fast 1 s (0.5 % more expensive), bad 0.5 s
    assert found["exact"] == ([1, 4, 8], pytest.approx([1 / 3, 2 / 3, 1]))
    assert found["fast"] == ([1, 2], pytest.approx([1 / 3, 2 / 3]))
    assert found["bad"] == ([1], pytest.approx([1 / 3]))


@pytest.mark.parametrize(
    ("by", "attempts", "factors"),
    [
        (  # times below what a clock tells are equal
            "time",
            [
                attempt_of("p", "exact", cost=1, ending="optimal", seconds=0.001),
                attempt_of("p", "fast", cost=1, seconds=0.0001),
            ],
            {"exact": [1], "fast": [1]},
        ),
        (  # optima of samples take no part
            "cost",
            [
                attempt_of("p1", "exact", cost=10, ending="optimal"),
                attempt_of("p1", "milp", cost=3, ending="optimal", meaning="scenarios"),
            ],
            {"exact": [1]},
        ),
        (  # seeds are problems of their own
            "cost",
            [
                *(attempt_of("p", "exact", cost=2, ending="optimal", seed=seed) for seed in (0, 1)),
                *(attempt_of("p", "drawn", cost=2 + seed, seed=seed) for seed in (0, 1)),
            ],
            {"exact": [1], "drawn": [1, 1.5]},
        ),
    ],
)
def test_what_is_a_problem_and_what_is_equal(by, attempts, factors):
    assert {name: found for name, (found, _) in steps(attempts, by).items()} == factors

"""Performance profiles of three problems, worked out by hand."""

import pytest

from depl.benchmarks.analysis.profiles import cost_profiles, time_profiles
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


def named(profiles):
    return {profile.configuration: profile for profile in profiles}


def test_the_curve_by_cost_rises_where_cost_over_optimum_lies():
    found = named(cost_profiles(sweep(), "made-up"))
    assert found["exact"].factors == (1, 1, 1)
    assert found["fast"].factors == pytest.approx((1, 1.005, 1.25))
    assert [found["fast"].share(factor) for factor in (1, 1.1, 1.25)] == pytest.approx([1 / 3, 2 / 3, 1])
    assert found["bad"].problems == 3
    assert found["bad"].share(1e9) == pytest.approx(2 / 3)  # what misses a problem never reaches one


def test_a_problem_without_a_proved_optimum_or_not_tried_by_all_is_left_out_and_counted():
    attempts = [
        *sweep(),
        *(attempt_of("open", name, cost=5, bound=1) for name in SECONDS),
        attempt_of("half", "exact", cost=5, ending="optimal"),
        *(attempt_of("free", name, cost=0, ending="optimal") for name in SECONDS),
    ]
    for profile in cost_profiles(attempts, "made-up"):
        assert (profile.problems, profile.left_out) == (3, 3)


def test_by_time_only_plans_near_the_optimum_count():
    found = named(time_profiles(sweep(), "made-up"))
    # p1: exact 4 s, fast 1 s; p2: exact alone; p3: exact 4 s, fast 1 s (0.5 % more expensive), bad 0.5 s
    assert found["exact"].factors == (1, 4, 8)
    assert found["fast"].factors == (1, 2)
    assert found["bad"].factors == (1,)
    assert {profile.problems for profile in found.values()} == {3}


@pytest.mark.parametrize(
    ("profiles", "attempts", "factors"),
    [
        (  # times below what a clock tells are equal
            time_profiles,
            [
                attempt_of("p", "exact", cost=1, ending="optimal", seconds=0.001),
                attempt_of("p", "fast", cost=1, seconds=0.0001),
            ],
            {"exact": (1,), "fast": (1,)},
        ),
        (  # optima of samples take no part
            cost_profiles,
            [
                attempt_of("p1", "exact", cost=10, ending="optimal"),
                attempt_of("p1", "milp", cost=3, ending="optimal", meaning="scenarios"),
            ],
            {"exact": (1,)},
        ),
        (  # seeds are problems of their own
            cost_profiles,
            [
                *(attempt_of("p", "exact", cost=2, ending="optimal", seed=seed) for seed in (0, 1)),
                *(attempt_of("p", "drawn", cost=2 + seed, seed=seed) for seed in (0, 1)),
            ],
            {"exact": (1, 1), "drawn": (1, 1.5)},
        ),
    ],
)
def test_what_is_a_problem_and_what_is_equal(profiles, attempts, factors):
    found = profiles(attempts, "made-up")
    assert {item.configuration: item.factors for item in found} == factors

"""Ratios to proven optima are formed where there is an optimum, and every failure of a method is counted."""

from functools import partial

import pytest

from depl.benchmarks.studies.ratios import value_of_the_solution


def told(ending, cost=None, lower_bound=None):
    return {"method": "m", "ending": ending, "cost": cost, "lower_bound": lower_bound, "seconds": 0.1}


def proved(cost):
    return told("optimal", cost, cost)


held, NONE, INFEASIBLE, REFUSED = (
    partial(told, "exhausted"),
    told("exhausted"),
    told("infeasible"),
    told("refused"),
)


def test_the_value_of_the_solution_counts_what_misses_keeps_and_is_repaired():
    def valued(first, last, best_exp):
        means = [
            {"cost": cost, "violation": [share, share], "kept": share <= 0.1} for cost, share in (first, last)
        ]
        told = {"name": "r", "means": means, "missed": first[1] > 0.1}
        return {**told, "exact": proved(10), "best_exp": best_exp}

    rows = [
        valued((8, 0.4), (10, 0.1), proved(10)),
        valued((12, 0.05), (12, 0.05), proved(11)),
        valued((6, 0.2), (9, 0.3), REFUSED),
    ]
    found = value_of_the_solution(rows)
    assert (found["mean_plans"], found["mean_plans_missing"], found["mean_plans_keeping"]) == (3, 2, 1)
    assert found["missed_median_violation"] == pytest.approx(0.3)
    assert found["kept_largest_extra_cost"] == pytest.approx(0.2)
    assert (found["repaired"], found["repaired_optimal"], found["repaired_share"]) == (2, 1, 2 / 3)
    assert found["best_exp_differs"] == 1
    assert found["rows"][0] == {"name": "r", "mean_cost": 8, "mean_violation": [0.4, 0.4]}

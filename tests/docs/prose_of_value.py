"""What the pages say of the value of the stochastic solution and of prices, from the record that holds it."""

from collections.abc import Iterator

from tests.docs.prose import Values, percent, row


def value_of_the_solution(values: Values) -> Iterator[str]:
    rows = values["value_rows"]
    drawn = sum(item["name"].startswith("random-") for item in rows)
    assert (
        values["value_proved_optimal"] == values["value_mean_plans"] == values["value_repaired"] == len(rows)
    )
    yield f"on {len(rows)} instances with proved optima, {len(rows) - drawn} shipped and {drawn} random"
    yield f"{values['value_mean_plans_missing']} plans by means certainly miss the promise"
    assert values["value_mean_plans_missing"] + values["value_mean_plans_keeping"] == len(rows)
    assert values["value_kept_largest_extra_cost"] == 0
    yield f"and the {values['value_mean_plans_keeping']} others are optimal"
    share, times = values["value_missed_median_violation"], values["value_missed_median_times_the_budget"]
    yield f"one that misses does so in {percent(share)} of the runs, {times:.1f} times as often as allowed"
    median = percent(values["value_mean_cost_over_optimum_median"])
    yield f"plans by means cost {median} of the optimum in the median"
    targets, optimal = values["value_most_targets"], values["value_repaired_optimal"]
    yield f"All {len(rows)} can be repaired, after up to {targets} targets: {optimal} are optimal then"
    mean, largest = values["value_repaired_mean_ratio"], values["value_repaired_largest_ratio"]
    yield f"the mean ratio is {mean:.3f}, and the largest {largest:.2f}"
    assert values["value_best_exp_differs"] == 0
    yield f"covers {values['value_best_exp_compared']} of the instances, and finds the same costs"
    (tiny,) = (item for item in rows if item["name"] == "tiny")
    yield f"The plan by means costs {tiny['mean_cost']:.2f} and reaches the target in half of the runs"
    assert 1 - tiny["mean_violation"][1] == 0.5


def price_curves(values: Values) -> Iterator[str]:
    assert values["value_bounds_above_optimum"] == 0
    for curve in values["value_curves"]:
        for name in ("over_time_price", "over_gain_price"):
            yield row(f"``{curve['instance']}``", *(f"{share:.2f}" for share in curve[name]))
        times, gains = (curve[f"{name}_factors"] for name in ("time", "gain"))
        assert (times, gains) == ([0.125, 0.25, 0.5, 1, 2, 4, 8], [0.5, 0.7, 0.85, 1, 1.15, 1.4, 2])
        assert max(curve["over_time_price"][5:]) == 0  # four times too high
        assert curve["over_time_price"][2] > 0.85 * curve["best"]  # half

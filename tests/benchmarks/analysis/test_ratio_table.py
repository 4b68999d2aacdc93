"""Ratios against cases computed by hand, counts that add up, and the tables of both."""

import math
import random

import msgspec
import numpy as np
import pandas as pd
import pytest

from depl.benchmarks.analysis.ratio_table import (
    FATES,
    mean_interval,
    ratio_table,
    reference_table,
    tally,
    trials,
)
from tests.cases.attempts_factory import attempt_of


def trial(attempt, *others):
    """The row of an attempt, beside others on the same question."""
    name, fingerprint = attempt.task.instance, attempt.instance_hash
    beside = [
        msgspec.structs.replace(
            item, task=msgspec.structs.replace(item.task, instance=name), instance_hash=fingerprint
        )
        for item in others
    ]
    rows = trials([attempt, *beside])
    return rows[[item is attempt for item in rows["attempt"]]]


PROOF = attempt_of(configuration="proof", cost=10, ending="optimal")


@pytest.mark.parametrize(
    ("attempt", "others", "fate"),
    [
        (attempt_of(cost=11), (PROOF,), "compared"),
        (attempt_of(cost=11, ending="time_limit"), (PROOF,), "compared"),
        (attempt_of(cost=11, bound=5), (), "bounded"),
        (attempt_of(cost=11, bound=0), (), "unbounded"),
        (attempt_of(ending="infeasible"), (), "infeasible"),
        (attempt_of(ending="infeasible"), (PROOF,), "false_infeasible"),
        (attempt_of(), (PROOF,), "missed"),
        (attempt_of(), (), "open"),
        (attempt_of(), (attempt_of(ending="infeasible"),), "open"),
        (attempt_of(ending="time_limit"), (PROOF,), "timed_out"),
        (attempt_of(ending="refused"), (PROOF,), "refused"),
        (attempt_of(ending="rejected"), (PROOF,), "rejected"),
        (attempt_of(ending="failed"), (PROOF,), "failed"),
        (attempt_of(ending="error"), (PROOF,), "failed"),
        (attempt_of(ending="hung", seconds=None), (PROOF,), "hung"),
        (attempt_of(ending="crashed", seconds=None), (PROOF,), "crashed"),
    ],
)
def test_every_attempt_has_one_fate(attempt, others, fate):
    assert trial(attempt, *others)["fate"].tolist() == [fate]


def test_the_fates_add_up_to_the_trials_and_every_failure_stays_in():
    endings = ("exhausted", "time_limit", "refused", "rejected", "failed", "hung", "crashed", "infeasible")
    found = tally(pd.concat([*(trial(attempt_of(ending=ending), PROOF) for ending in endings), trial(PROOF)]))
    assert sum(found[fate] for fate in FATES) == found["attempts"] == 9
    assert found["compared"] == 1
    assert found["unserved"] == 7  # all but the refusal, which promised nothing
    assert found["proved_share"] == pytest.approx(1 / 9)
    without = tally(trial(attempt_of(), PROOF))
    assert without["mean"] is without["optimal_share"] is None


def test_ratios_are_those_over_proved_optima_and_bounds_stand_apart():
    rows = [trial(attempt_of(f"i{cost}", cost=cost), PROOF) for cost in (10, 11, 15)]
    found = tally(pd.concat([*rows, trial(attempt_of("open", cost=9, bound=6))]))
    assert (found["compared"], found["mean"], found["largest"]) == (3, pytest.approx(1.2), 1.5)
    assert [found[name] for name in ("median", "quantile_90", "quantile_99")] == [1.1, 1.5, 1.5]
    assert found["optimal_share"] == pytest.approx(1 / 3)
    assert (found["bounded"], found["bound_mean"], found["mean_lower"]) == (1, 1.5, None)


def test_a_plan_below_a_claimed_optimum_and_a_bound_above_a_plan_are_counted():
    wrong, cheaper = attempt_of(cost=10, ending="optimal"), attempt_of(cost=9)
    too_high = attempt_of(cost=9.5, bound=9.2)
    found = tally(pd.concat([trial(wrong, cheaper), trial(cheaper, wrong), trial(too_high, cheaper)]))
    assert [found[name] for name in ("wrong_bounds", "below_optimum", "compared", "proved_share")] == [
        2,
        1,
        0,
        0,
    ]


def test_trials_of_one_instance_are_drawn_together():
    """Ten seeds on each of three instances tell no more than the three instances do."""
    once = series(("a", 1.0), ("b", 2.0), ("c", 4.0))
    often = pd.concat([once] * 10)
    assert mean_interval(often, np.random.default_rng(0)) == pytest.approx(
        mean_interval(once, np.random.default_rng(0))
    )


def series(*pairs):
    """Values by the names of their instances."""
    return pd.Series([value for _, value in pairs], index=[name for name, _ in pairs])


def test_the_interval_of_equal_values_has_no_width_and_that_of_one_instance_is_none():
    rng = np.random.default_rng(0)
    assert mean_interval(series(("a", 1.5), ("b", 1.5)), rng) == (1.5, 1.5)
    alike = series(*((name, value) for name in "abc" for value in (1.0, 1.5)))
    assert mean_interval(alike, rng) == (1.25, 1.25)  # whole instances are drawn, and these are equal
    last_digit = series(*((name, 1.5 * (1 + number * 2.0**-52)) for number, name in enumerate("abc")))
    assert mean_interval(last_digit, rng) == pytest.approx((1.5, 1.5))
    assert mean_interval(series(("a", 1.5), ("a", 2.5)), rng) is None
    assert mean_interval(series(("a", 1.5), ("b", math.inf)), rng) is None


def sweep():
    """Three instances; ``fast`` misses the last, ``exact`` proves all but the middle one."""
    found = []
    for instance, optimum in (("i-1", 10), ("i-2", 4), ("i-10", 6)):
        known = {"bound": 2, "ending": "time_limit"} if instance == "i-2" else {"ending": "optimal"}
        found.append(attempt_of(instance, "exact", cost=optimum, **known))
        cost = None if instance == "i-10" else 1.5 * optimum
        found.append(attempt_of(instance, "fast", cost=cost))
    return found


def test_a_line_has_the_figures_of_its_suite_and_configuration():
    exact, fast = ratio_table(sweep()).records()
    names = ("attempts", "compared", "bounded", "missed", "at_limit", "mean", "bound_mean")
    assert [exact[name] for name in names] == [3, 2, 1, 0, 1, 1.0, 2.0]
    assert [fast[name] for name in names] == [3, 1, 1, 1, 0, 1.5, 3.0]
    assert ratio_table([]).columns == ratio_table(sweep()).columns
    assert ratio_table([]).rows == ()
    assert fast["mean_lower"] is None  # of one instance


def test_the_order_in_which_attempts_ended_changes_nothing():
    shuffled = random.Random(1).sample(sweep(), 6)
    assert ratio_table(shuffled).csv() == ratio_table(sweep()).csv()
    assert reference_table(shuffled) == reference_table(sweep())

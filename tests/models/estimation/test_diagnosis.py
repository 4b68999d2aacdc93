"""Verdicts on runs that break the independent law in the ways real ones do; facts of runs.

Verdicts on the paper's own law and on a factor per run are asked in `tests/depl/commands/test_diagnose.py`.
"""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from depl.models.estimation.diagnosis import LARGEST_ERROR, LevelCheck, diagnose, level_checks
from depl.models.estimation.facts import three_facts
from depl.models.estimation.fit import fit_traces
from depl.models.estimation.independence import independence
from depl.models.estimation.observations import observe
from depl.models.foundation.errors import InvalidInputError
from depl.models.traces.table import joined
from tests.cases.fit_cases import draw_traces, traces_of


def losses_of(increments, start=10.0):
    """l(k) = l(0) less the first k increments."""
    begin = np.broadcast_to(start, len(increments))[:, None]
    return np.concatenate([begin, begin - np.cumsum(increments, axis=1)], axis=1)


def test_the_papers_own_law_may_be_used_with_a_jump_that_was_evaluated():
    drawn = draw_traces(["full"] * 6 + ["cut"] * 8, 60, np.random.default_rng(1))
    found = diagnose(drawn, np.random.default_rng(2), resamples=199)
    assert (found.usable, found.warnings, sorted(found.stages)) == (True, (), ["cut", "full"])
    assert [item.epochs for item in found.stages.values()] == [6, 8]


def test_mean_reverting_noisy_losses_get_every_warning_there_is():
    """A loss evaluated with noise: many ratios are negative, sums do not grow, the start is forgotten."""
    rng = np.random.default_rng(4)
    losses = 0.5 + 2 / np.sqrt(np.arange(1, 42)) + 0.15 * rng.normal(size=(40, 41))
    alone = traces_of(losses[:1, :3], "lonely", prefix="x")
    found = diagnose(joined([traces_of(losses), alone]), rng, resamples=199)
    assert not found.usable
    ((_, fit),) = found.fit.improvements.items()
    for words in (
        "calls targets unreachable that are reached",
        "neighbouring increments have a correlation of -0.",
        "losses forget where they began",
        "stages of lonely are not judged: ",
        f"{fit.nonpositive} of {fit.ratios.size} ratios",
        "are not positive, which inverse gamma and lognormal laws exclude",
    ):
        assert any(words in note for note in found.warnings), words


def checked(traces):
    fit = fit_traces(traces, np.random.default_rng(0), resamples=9)
    return tuple(level_checks(observe(traces), traces.by_schedule(), fit))


def test_a_good_ratio_is_no_comfort_where_the_level_is_wrong():
    """Independent increments, but one of 5 and then fifty of 0.05: no curve of eq. (8) describes them."""
    rng = np.random.default_rng(6)
    traces = traces_of(losses_of(np.r_[5.0, np.full(50, 0.05)] * (1 + 0.05 * rng.normal(size=(60, 51)))))
    found = diagnose(traces, rng, resamples=99)
    assert (found.whole.usable, found.usable) == (True, False)
    assert any("misplaces the final losses of 1 of 1 schedules" in note for note in found.warnings)
    (level,) = checked(traces)
    assert (abs(level.error) > LARGEST_ERROR, level.acceptable) == (True, False)


def test_losses_that_forget_have_less_spread_than_the_law_says():
    rng = np.random.default_rng(2)
    (found,) = checked(traces_of(2 / np.sqrt(np.arange(1, 32)) * (1 + 0.2 * rng.normal(size=(50, 31)))))
    assert (found.spread < 0.1, found.acceptable, found.delivered) == (True, False, 1)


@pytest.mark.parametrize(
    ("numbers", "error", "spread", "acceptable"),
    [
        ((41, 1.0, 0.5, 1.1, 0.5, 0.9), 0.2, 1, True),
        ((41, 1.0, 0.5, 1.1, 0.25, 1.0), 0.2, 0.25, False),  # 40 degrees of freedom: 0.17 to 0.41
        ((10, 1.0, 0.5, 1.1, 0.25, 1.0), 0.2, 0.25, True),  # and 9: 0.12 to 0.83
        ((41, 1.0, 0.5, 1.3, 0.5, 0.8), 0.6, 1, False),
        ((20, 1.0, 0.0, 1.0, 0.0, 1.0), 0, 1, True),  # nothing random is right or wrong for sure
        ((20, 1.0, 0.0, 2.0, 0.1, 0.0), np.inf, np.inf, False),
    ],
)
def test_levels_by_hand(numbers, error, spread, acceptable):
    found = LevelCheck("s", *numbers)
    assert (found.error, found.spread) == pytest.approx((error, spread))
    assert found.acceptable == acceptable


def test_the_ratio_of_three_runs_by_hand():
    """Increments (1, 1), (-1, 1), (0, -2): columns have sums of squares 2 and 6, rows sum to 2, 0, -2."""
    block, rng = np.array([[1.0, 1], [-1, 1], [0, -2]]), np.random.default_rng(0)
    found = independence([losses_of(block)], rng, 99)
    assert found.variance_ratio.value == pytest.approx(8 / 8, rel=1e-12)
    assert (found.runs, found.epochs) == (3, 2)
    assert found.deviations == pytest.approx((1, np.sqrt(3)))
    assert found.autocorrelations[0].value == pytest.approx(0, abs=1e-12)
    assert found.start_correlation is None
    # a mean that differs between epochs and schedules is no dependence
    moved = [losses_of(block + np.array([5.0, 9])), losses_of(block - np.array([2.0, 3]), start=4.0)]
    found = independence(moved, rng, 99)
    assert (found.variance_ratio.value, found.runs) == (pytest.approx(1, rel=1e-12), 6)


def test_autoregressive_increments_are_told_by_their_correlations():
    rng = np.random.default_rng(3)
    noise = rng.normal(size=(300, 30))
    increments = noise.copy()
    for k in range(1, 30):
        increments[:, k] = 0.3 * increments[:, k - 1] + np.sqrt(1 - 0.3**2) * noise[:, k]
    found = independence([losses_of(1 + 0.1 * increments)], rng, 199)
    assert found.variance_ratio.value == pytest.approx(1.82, rel=0.15)
    assert not found.usable
    assert [item.value for item in found.autocorrelations[:2]] == pytest.approx([0.3, 0.09], abs=0.03)
    assert found.autocorrelations[0].p_value == 2 / 200


@pytest.mark.parametrize(
    ("losses", "message"),
    [
        ([np.ones((1, 5)), np.ones((1, 5))], "0 of them are too few"),
        ([np.ones((2, 5))], "2 of them are too few"),
        ([np.array([[1, 2], [1, np.nan], [1, 3]])], "finite"),
        ([np.tile([3.0, 2, 1.7], (4, 1))], "nothing varies"),
    ],
)
def test_runs_that_tell_nothing_are_refused(losses, message):
    with pytest.raises(InvalidInputError, match=message):
        independence(losses, np.random.default_rng(0), 9)


@pytest.mark.slow
def test_permutation_tests_reject_five_per_cent_of_independent_runs():
    """1000 sets of 25 runs with 8 lognormal increments; the p-values are exact up to their 99 steps."""
    rng = np.random.default_rng(20261121)
    rejected = np.zeros(3)
    for _ in range(1000):
        increments = rng.lognormal(0, 0.7, (25, 8)) / np.sqrt(np.arange(1, 9))
        found = independence([losses_of(increments, rng.normal(9, 1, 25))], rng, 199)
        items = (found.variance_ratio, found.start_correlation, found.autocorrelations[0])
        rejected += [item.p_value <= 0.05 for item in items]
    assert ((rejected / 1000 >= 0.03) & (rejected / 1000 <= 0.07)).all()


# --- what dependence does to a promise -----------------------------------------------------------------


def violation(nominal, ratio):
    found = independence([losses_of(np.eye(3))], np.random.default_rng(0), 9)
    return replace(found, variance_ratio=replace(found.variance_ratio, value=ratio)).violation(nominal)


def test_a_violation_at_a_ratio_is_a_tail_of_the_normal_law():
    """4.2 % in place of 1 % within 30 epochs of equal spread: the figure of the design."""
    ratio = (0.3 ** abs(np.subtract.outer(range(30), range(30)))).sum() / 30
    assert violation(0.01, ratio) == pytest.approx(0.042, abs=0.0005)
    for asked in ((0.01, ratio), (0.01, 1.5), (0.01, 0.7), (0.5, 7)):
        exact = stats.norm.sf(stats.norm.isf(asked[0]) / math.sqrt(asked[1]))
        assert violation(*asked) == pytest.approx(exact, rel=1e-12)
    assert violation(0.1, 0.0) == 0


def test_runs_that_spread_out_while_they_fall_show_all_three():
    rng = np.random.default_rng(1)
    epochs = np.arange(13)
    wide = 10 - 0.5 * epochs + 0.1 * (1 + epochs) * rng.normal(size=(60, 13))
    calm = 8 - 0.5 * epochs + 0.1 * rng.normal(size=(30, 13))
    parts = zip((wide, calm, np.full((2, 13), 5.0)), "abc", strict=True)
    found = three_facts(joined([traces_of(losses, [name] * 12, prefix=name) for losses, name in parts]), rng)
    assert found["left_out"] == 2
    first, second = found["spreads"]
    assert (first["schedule"], first["runs"], first["epoch"]) == ("12 a@site", 60, 12)
    assert first["mean"] == pytest.approx(wide[:, -1].mean())
    assert (first["upper"] - first["lower"]) / first["mean"] == pytest.approx(2 * 2.326 * 1.3 / 4, rel=0.3)
    assert (second["upper"] - second["lower"]) / second["mean"] < 0.3
    (difference,) = found["differences"]
    assert (difference["first"], difference["second"], difference["epoch"]) == ("12 a@site", "12 b@site", 12)
    assert difference["p_value"] < 1e-6
    assert difference["means"] == pytest.approx((wide[:, -1].mean(), calm[:, -1].mean()))
    assert difference["deviations"] == pytest.approx((1.3, 0.1), rel=0.3)
    spreading, steady = found["trends"]
    assert spreading["pairs"] == 7 * 8 / 2  # epochs 1 to 12, at least five apart
    assert spreading["share"] > 0.9
    assert spreading["bounds"].lower > 0.5 > steady["bounds"].lower


def test_schedules_are_compared_before_they_switch_where_they_begin_differently():
    rng, plans = np.random.default_rng(2), ("a" * 4 + "c" * 8, "b" * 9 + "c" * 3, "a" * 6 + "c" * 6)
    parts = [traces_of(rng.normal(size=(25, 13)), list(plan), prefix=plan) for plan in plans]
    found = three_facts(joined(parts), rng)
    assert [item["epoch"] for item in found["differences"]] == [4, 12, 6]
    assert all(item["p_value"] > 0.001 for item in found["differences"])
    # stages of 4, 8; 9, 3; 6, 6 epochs: pairs at least five apart in 8, 9 and 6 (twice) epochs
    assert [item["pairs"] for item in found["trends"]] == [6, 10, 2]

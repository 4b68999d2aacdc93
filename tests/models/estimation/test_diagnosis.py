"""Verdicts with reasons: on the paper's own law, and on runs that break it in the ways real ones do."""

import numpy as np
import pytest

from depl.models.estimation.diagnosis import LARGEST_ERROR, LevelCheck, diagnose, level_checks
from depl.models.estimation.fit import TracesFit, fit_traces
from depl.models.estimation.observations import observe
from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.instance import Instance
from depl.models.problem.laws import FloatArray
from depl.models.traces.table import Traces, joined
from tests.cases.drawn_traces import draw_traces, two_models
from tests.cases.fit_cases import without_first_epoch

MODELS = ["full"] * 6 + ["cut"] * 8


@pytest.fixture(scope="module")
def drawn(bell: Instance) -> Traces:
    """60 runs of eq. (8): six epochs of one model, eight of another, an evaluated jump between."""
    return draw_traces(two_models(bell), MODELS, 60, np.random.default_rng(1))


def traces_of(losses: FloatArray, model: str = "net") -> Traces:
    runs, count = losses.shape
    return Traces(
        np.repeat(np.arange(runs).astype(str), count),
        np.tile(np.arange(count), runs),
        np.full(losses.size, model),
        np.full(losses.size, "site"),
        losses.ravel(),
    )


def test_the_papers_own_law_may_be_used(drawn: Traces) -> None:
    found = diagnose(drawn, np.random.default_rng(2), resamples=199)
    assert found.usable
    assert found.warnings == ()
    assert found.whole.runs == 60
    assert sorted(found.stages) == ["cut", "full"]
    assert {str(key) for key in found.fit.improvements} == {"full", "cut"}
    assert list(found.fit.jumps) == [("full", "cut")]
    assert found.fit.jumps["full", "cut"].jumps.mean() == pytest.approx(0.4, abs=0.05)


def test_a_factor_per_run_forbids_the_law_and_says_what_one_per_cent_becomes() -> None:
    rng = np.random.default_rng(3)
    expected = 2 / np.sqrt(np.arange(1, 21) + 3)
    increments = expected * rng.lognormal(0, 0.2, (50, 1)) * rng.lognormal(0, 0.1, (50, 20))
    losses = 20 - np.concatenate([np.zeros((50, 1)), np.cumsum(increments, axis=1)], axis=1)
    found = diagnose(traces_of(losses), rng, resamples=99)
    assert not found.usable
    assert found.whole.variance_ratio.value > 3
    first = found.warnings[0]
    assert first.startswith("the independent law must not be used: whole runs vary")
    assert "a promised violation of 1 % is about" in first
    assert any("after a switch or from a known loss: stages of net" in note for note in found.warnings)


def test_mean_reverting_noisy_losses_get_every_warning_there_is() -> None:
    """A loss evaluated with noise: many ratios are negative, sums do not grow, the start is forgotten."""
    rng = np.random.default_rng(4)
    losses = 0.5 + 2 / np.sqrt(np.arange(1, 42)) + 0.15 * rng.normal(size=(40, 41))
    found = diagnose(traces_of(losses), rng, resamples=299)
    assert not found.usable
    text = "\n".join(found.warnings)
    assert "calls targets unreachable that are reached" in text
    assert "neighbouring increments have a correlation of -0." in text
    assert "losses forget where they began" in text
    assert "ratios (" in text
    assert "are not positive, which inverse gamma and lognormal laws exclude" in text
    ((_, fit),) = found.fit.improvements.items()
    assert f"{fit.nonpositive} of {fit.ratios.size} ratios" in text


def test_a_good_ratio_is_no_comfort_where_the_level_is_wrong() -> None:
    """Independent increments, but one of 5 and then fifty of 0.05: no curve of eq. (8) describes them."""
    rng = np.random.default_rng(6)
    increments = np.r_[5.0, np.full(50, 0.05)] * (1 + 0.05 * rng.normal(size=(60, 51)))
    losses = 10 - np.concatenate([np.zeros((60, 1)), np.cumsum(increments, axis=1)], axis=1)
    found = diagnose(traces_of(losses), rng, resamples=99)
    assert found.whole.usable
    assert not found.usable
    assert any("misplaces the final losses of 1 of 1 schedules" in note for note in found.warnings)


def test_few_runs_estimated_jumps_and_no_evaluation_before_training_are_told(drawn: Traces) -> None:
    found = diagnose(drawn.select(np.arange(12)), np.random.default_rng(2), resamples=99)
    assert any(note.startswith("only 12 runs share their schedule") for note in found.warnings)
    bare = Traces(drawn.run, drawn.epoch, drawn.model, drawn.cluster, drawn.loss)
    found = diagnose(bare, np.random.default_rng(2), resamples=99)
    assert "full -> cut: 60 jumps are estimated" in "\n".join(found.warnings)
    assert found.fit.jumps["full", "cut"].jumps.mean() == pytest.approx(0.4, abs=0.1)
    found = diagnose(without_first_epoch(drawn), np.random.default_rng(2), resamples=19)
    assert found.whole.epochs == len(MODELS) - 1
    assert found.fit.improvements
    with pytest.raises(InvalidInputError, match="too few"):
        diagnose(drawn.select([0, 1]), np.random.default_rng(0), resamples=9)


def test_a_stage_nobody_shares_is_reported(drawn: Traces) -> None:
    short = drawn.select([0])
    keep = short.epoch <= 2
    alone = Traces(
        np.full(keep.sum(), "x"),
        short.epoch[keep],
        np.full(keep.sum(), "lonely"),
        short.cluster[keep],
        short.loss[keep],
        {name: column[keep] for name, column in short.metrics.items()},
    )
    found = diagnose(joined([drawn, alone]), np.random.default_rng(2), resamples=19)
    text = "\n".join(found.warnings)
    assert "stages of lonely are not judged: " in text
    assert "lonely is not fitted: A and B need at least 3 epochs" in text


# --- final losses by the fitted law and observed -------------------------------------------------------


def checked(traces: Traces) -> tuple[LevelCheck, ...]:
    fit = fit_traces(traces, np.random.default_rng(0), resamples=9)
    return tuple(level_checks(observe(traces), traces.by_schedule(), fit))


def test_losses_that_forget_have_less_spread_and_early_falls_another_mean_than_the_law_says() -> None:
    rng = np.random.default_rng(2)
    (found,) = checked(traces_of(2 / np.sqrt(np.arange(1, 32)) * (1 + 0.2 * rng.normal(size=(50, 31)))))
    assert (found.spread < 0.1, found.acceptable, found.delivered) == (True, False, 1)
    increments = np.r_[5.0, np.full(50, 0.05)] * (1 + 0.05 * rng.normal(size=(40, 51)))
    (found,) = checked(
        traces_of(10 - np.concatenate([np.zeros((40, 1)), np.cumsum(increments, axis=1)], axis=1))
    )
    assert (abs(found.error) > LARGEST_ERROR, found.acceptable) == (True, False)


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
def test_levels_by_hand(numbers: tuple, error: float, spread: float, acceptable: bool) -> None:
    found = LevelCheck("s", *numbers)
    assert (found.error, found.spread) == pytest.approx((error, spread))
    assert found.acceptable == acceptable


def test_schedules_that_are_rare_or_not_fitted_are_left_out(drawn: Traces) -> None:
    assert checked(drawn.select(np.arange(9))) == ()
    fit = fit_traces(drawn, np.random.default_rng(0), resamples=9)
    bare = TracesFit(fit.improvements, {}, {})
    assert not list(level_checks(observe(drawn), drawn.by_schedule(), bare))

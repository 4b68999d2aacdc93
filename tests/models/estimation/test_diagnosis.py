"""Verdicts with reasons: on the paper's own law, and on runs that break it in the ways real ones do."""

import numpy as np
import pytest

from depl.models.estimation.diagnosis import NOMINAL, diagnose
from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.instance import Instance, InverseSqrtImprovement, Model, Switch
from depl.models.problem.laws import FloatArray, InverseGamma, Normal
from depl.models.traces.table import Traces, joined
from tests.cases.drawn_traces import draw_traces

MODELS = ["full"] * 6 + ["cut"] * 8


@pytest.fixture(scope="module")
def drawn(bell: Instance) -> Traces:
    """60 runs of eq. (8): six epochs of one model, eight of another, an evaluated jump between."""
    noise = InverseGamma(mean=1, variance=0.03)
    models = [
        Model(name=name, size=1, demand=2, improvement=InverseSqrtImprovement(scale=2, offset=b, noise=noise))
        for name, b in (("full", 1.0), ("cut", 4.0))
    ]
    rows = [Switch(previous="full", following="cut", law=Normal(mean=0.4, variance=0.01))]
    instance = bell.replace(models=models, switches=rows)
    return draw_traces(instance, MODELS, 60, np.random.default_rng(1))


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


def test_promises_are_translated(drawn: Traces) -> None:
    found = diagnose(drawn, np.random.default_rng(2), resamples=19)
    assert [item.nominal for item in found.promises] == list(NOMINAL)
    for item in found.promises:
        assert item.measured == found.whole.violation(item.nominal)
        assert item.reference_autoregressive > item.nominal
        assert item.reference_shared > item.nominal


def test_what_may_be_chance_is_not_the_first_reason() -> None:
    """Twelve runs that fall ever faster: their spread has p = 0.1, and the law clearly misplaces it."""
    rng = np.random.default_rng(2)
    steps = np.linspace(0.2, 0.7, 6) * rng.lognormal(0, 0.15, (12, 6))
    losses = np.column_stack([rng.normal(4, 0.01, 12), np.zeros((12, 6))])
    losses[:, 1:] = losses[:, :1] - np.cumsum(steps, axis=1)
    found = diagnose(traces_of(losses), np.random.default_rng(0), resamples=99)
    assert (found.whole.usable, found.whole.variance_ratio.p_value > 0.05) == (False, True)
    against = [note for note in found.warnings if note.startswith("the independent law must not")]
    assert "misplaces the final losses" in against[0]
    assert "whole runs vary" in against[1]


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


def test_few_runs_are_said_to_be_few(drawn: Traces) -> None:
    found = diagnose(drawn.select(np.arange(12)), np.random.default_rng(2), resamples=99)
    assert any(note.startswith("only 12 runs share their schedule") for note in found.warnings)


def test_jumps_that_were_not_measured_are_told(drawn: Traces) -> None:
    bare = Traces(drawn.run, drawn.epoch, drawn.model, drawn.cluster, drawn.loss)
    found = diagnose(bare, np.random.default_rng(2), resamples=99)
    assert "full -> cut: 60 jumps are estimated" in "\n".join(found.warnings)
    assert found.fit.jumps["full", "cut"].jumps.mean() == pytest.approx(0.4, abs=0.1)


def test_runs_without_an_evaluation_before_training_begin_at_their_first_epoch(drawn: Traces) -> None:
    rows = drawn.epoch > 0
    cut = Traces(
        drawn.run[rows],
        drawn.epoch[rows],
        drawn.model[rows],
        drawn.cluster[rows],
        drawn.loss[rows],
        {name: column[rows] for name, column in drawn.metrics.items()},
    )
    found = diagnose(cut, np.random.default_rng(2), resamples=19)
    assert found.whole.epochs == len(MODELS) - 1
    assert found.fit.improvements


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


def test_one_run_is_refused(drawn: Traces) -> None:
    with pytest.raises(InvalidInputError, match="too few"):
        diagnose(drawn.select([0, 1]), np.random.default_rng(0), resamples=9)


def test_the_same_generator_gives_the_same_diagnosis(drawn: Traces) -> None:
    first, second = (diagnose(drawn, np.random.default_rng(5), resamples=19) for _ in range(2))
    assert first.whole == second.whole
    assert first.warnings == second.warnings
    assert first.promises == second.promises

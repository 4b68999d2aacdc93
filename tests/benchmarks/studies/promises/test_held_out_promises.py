"""Promised against delivered: known shares on drawn traces, the goals on real ones, refusals counted."""

import math
from collections import defaultdict

import numpy as np
import pytest

from depl.benchmarks.studies.promises.held_out_promises import Method, PromiseRow, Setting, promised_delivered
from depl.instances.training.recorded import recorded_traces
from depl.models.estimation.binomial import clopper_pearson
from depl.models.traces.table import Traces
from tests.models.estimation.test_affine import EPOCHS, drawn

FAMILIES = ("digits-alexnet", "digits-mobilenet")


def by_cell(rows: list[PromiseRow]) -> dict[tuple[Setting, Method, float], tuple[int, int, int]]:
    """Runs, refused and kept, summed over the plans."""
    found: dict[tuple[Setting, Method, float], np.ndarray] = defaultdict(lambda: np.zeros(3, dtype=int))
    for row in rows:
        found[row.setting, row.method, row.level] += (row.runs, row.refused, row.kept)
    return {key: (int(value[0]), int(value[1]), int(value[2])) for key, value in found.items()}


@pytest.fixture(scope="module")
def affine_rows() -> list[PromiseRow]:
    """On traces that are affine with independent residuals.

    The switch epoch has no effect: late ages are seen after one switch epoch alone when a plan is held out,
    so that an effect could not be known there.
    """
    traces = drawn(100, 0.1, np.random.default_rng(0), slope=0.0)
    return promised_delivered(traces, np.random.default_rng(1), 5, tuple(Setting), 4000)


def test_on_affine_traces_both_affine_laws_keep_their_promises_in_every_setting(
    affine_rows: list[PromiseRow],
) -> None:
    judged = 0
    for (setting, method, level), (runs, _, kept) in by_cell(affine_rows).items():
        if method in (Method.PER_RUN, Method.INDEPENDENT) and runs:
            judged += 1
            # the count varies, and so does the promise, which 80 runs per 20 that are judged stand behind
            deviation = math.sqrt(level * (1 - level) * (1 / runs + 1 / min(4 * runs, 240)))
            assert abs(kept / runs - level) <= 3 * deviation, (setting, method, level)
    assert judged >= 14


def test_every_held_out_run_is_judged_or_refused_once(affine_rows: list[PromiseRow]) -> None:
    cells = by_cell(affine_rows)
    assert {sum(cell[:2]) for cell in cells.values()} == {300}
    assert cells[Setting.RUNS, Method.PER_RUN, 0.9][:2] == (300, 0)
    # 80 runs are too few for 0.99
    assert cells[Setting.RUNS, Method.PER_RUN, 0.99][:2] == (0, 300)
    # starts 2 and 5 are the ends of the design: without their plan they are outside the support
    assert cells[Setting.PLAN, Method.PER_RUN, 0.9][:2] == (100, 200)


def test_the_share_of_residuals_per_run_of_a_plan_that_was_run_is_what_exchangeability_says() -> None:
    """Each run left out in turn: of 100 those that rank above k are above rank k of the other 99."""
    traces = drawn(100, 0.1, np.random.default_rng(2), starts=(3,))
    rows = promised_delivered(traces, np.random.default_rng(3), 100, [Setting.RUNS], 50)
    assert [(row.level, row.runs, row.kept) for row in rows if row.method is Method.PER_RUN] == [
        (0.9, 100, 90),
        (0.95, 100, 95),
        (0.99, 100, 99),
    ]


def test_a_factor_of_the_run_breaks_only_promises_of_independent_residuals() -> None:
    rng = np.random.default_rng(4)
    traces = drawn(150, 0.01, rng, starts=(3,))
    age = np.tile(np.maximum(np.arange(EPOCHS + 1) - 3, 0), 150)
    factor = np.repeat(rng.normal(size=150), EPOCHS + 1)
    bent = Traces(
        traces.run, traces.epoch, traces.model, traces.cluster, 6 + traces.loss + 0.2 * factor * age
    )
    found = by_cell(promised_delivered(bent, rng, 5, [Setting.RUNS], 4000))
    shares = {method: found[Setting.RUNS, method, 0.95] for method in Method}
    shares = {method: kept / runs for method, (runs, _, kept) in shares.items()}
    assert shares[Method.PER_RUN] == pytest.approx(0.95, abs=0.05)
    assert shares[Method.INDEPENDENT] < 0.9
    assert shares[Method.PAPER] < 0.9


@pytest.fixture(
    scope="module",
    params=[FAMILIES[0], *(pytest.param(name, marks=pytest.mark.slow) for name in FAMILIES[1:])],
)
def real(request: pytest.FixtureRequest) -> tuple[str, list[PromiseRow]]:
    """The three plans of a family that have many runs, judged at 0.90 and 0.95 in three folds."""
    settings = [Setting.RUNS, Setting.KNOWN]
    rows = promised_delivered(recorded_traces(request.param), np.random.default_rng(6), 3, settings, 4000)
    return request.param, [row for row in rows if row.level < 0.99]


def test_on_real_runs_residuals_per_run_deliver_within_five_hundredths_in_every_plan(
    real: tuple[str, list[PromiseRow]],
) -> None:
    rows = [row for row in real[1] if row.method is Method.PER_RUN]
    assert len(rows) == 3 * 2 * 2
    for row in rows:
        assert (row.runs, row.refused) == (104, 0)
        assert abs(row.kept / row.runs - row.level) <= 0.05, row


def test_independent_residuals_do_too_except_where_runs_share_a_factor(
    real: tuple[str, list[PromiseRow]],
) -> None:
    """MobileNet: the variance ratio of stages pruned by 0.9 is 2, and 0.73 is delivered instead of 0.90."""
    family, rows = real
    judged = [row for row in rows if row.method is Method.INDEPENDENT]
    assert len(judged) == 3 * 2 * 2
    for row in judged:
        if family == "digits-alexnet":
            assert abs(row.kept / row.runs - row.level) <= 0.05, row
        elif "pruned-90" not in row.plan:
            assert row.kept / row.runs >= row.level - 0.1, row
        elif row.setting is Setting.RUNS:
            assert clopper_pearson(row.kept, row.runs, 0.95).upper < row.level, row


def test_independent_increments_are_too_pessimistic_at_first_and_unsafe_from_a_known_loss(
    real: tuple[str, list[PromiseRow]],
) -> None:
    rows = [row for row in real[1] if row.method is Method.PAPER]
    assert {row.kept / row.runs for row in rows if row.setting is Setting.RUNS} == {1.0}
    assert min(row.kept / row.runs for row in rows if row.setting is Setting.KNOWN) < 0.6

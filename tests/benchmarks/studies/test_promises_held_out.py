"""Held out: counts of chosen plans by hand, known shares of fixed plans, and how rows are pooled."""

import math
from collections import defaultdict

import numpy as np
import pandas as pd
import pytest

from depl.benchmarks.measure.results import RESULTS, read
from depl.benchmarks.studies import promises_kept
from depl.benchmarks.studies.promises_held_out import (
    INDEPENDENT,
    KNOWN,
    PAPER,
    PER_RUN,
    PLAN,
    RUNS,
    _counted,
    _values,
    delivered,
    fixed_plans,
)
from depl.models.traces.table import Traces
from tests.cases.affine_runs import EPOCHS, drawn


def test_delivered_shares_are_means_over_draws_and_refusals_are_counted_beside_them():
    columns = ("draw", "made", "judges", "kept", "refuted")
    rows = [(0, True, 10, 9, False), (0, True, 10, 7, True), (1, True, 10, 10, False)]
    # a promise that was not made, and one for a plan that no run held out went through: nobody can judge it
    rows += [(1, False, 0, 0, False), (1, True, 0, 0, False)]
    found = delivered(pd.DataFrame(rows, columns=columns))
    assert (found["promises"], found["judged"], found["refused"]) == (4, 3, pytest.approx(0.2))
    assert found["delivered"] == pytest.approx((0.8 + 1.0) / 2)
    assert found["standard_error"] == pytest.approx(0.1)  # of the means 0.8 and 1.0
    assert found["refuted"] == pytest.approx(1 / 3)
    none = delivered(pd.DataFrame(rows[3:4], columns=columns))
    assert (none["promises"], none["judged"], none["refused"]) == (0, 0, 1.0)
    assert all(math.isnan(none[name]) for name in ("delivered", "standard_error", "refuted"))


@pytest.mark.parametrize(("missed", "refuted"), [(3, False), (4, True)])
def test_a_promise_is_refuted_by_the_exact_test(missed, refuted):
    # P(at least 3 of 10 miss) is 0.07 at 0.1, which refutes nothing; of 4 it would be 0.013
    losses = [(10.0, 9.0)] * missed + [(10.0, 1.0)] * (10 - missed)
    runs = np.repeat([str(run) for run in range(10)], 2)
    traces = Traces(runs, np.tile([0, 1], 10), np.full(20, "m"), np.full(20, "c"), np.ravel(losses))
    found = _counted((("m", "c"),), 1.0, 0.9, traces)
    assert found == {"judges": 10, "kept": 10 - missed, "refuted": refuted}
    assert _counted((("n", "c"),), 1.0, 0.9, traces) == {"judges": 0, "kept": 0, "refuted": False}


def by_cell(rows):
    """Runs, refused and kept, summed over the plans."""
    found = defaultdict(lambda: np.zeros(3))
    for row in rows:
        kept = row["runs"] * (row["delivered"] or 0.0)
        found[row["setting"], row["method"], row["promised"]] += (row["runs"], row["refused"], kept)
    return found


@pytest.fixture(scope="module")
def affine_cells():
    """On traces that are affine with independent residuals.

    The switch epoch has no effect: late ages are seen after one switch epoch alone when a plan is held out,
    so that an effect could not be known there.
    """
    traces = drawn(100, 0.1, np.random.default_rng(0), slope=0.0)
    return by_cell(fixed_plans(traces, np.random.default_rng(1), 5, (RUNS, PLAN, KNOWN), 4000))


def test_every_held_out_run_is_judged_or_refused_once(affine_cells):
    assert {sum(cell[:2]) for cell in affine_cells.values()} == {300}
    assert tuple(affine_cells[RUNS, PER_RUN, 0.9][:2]) == (300, 0)
    # 80 runs are too few for 0.99
    assert tuple(affine_cells[RUNS, PER_RUN, 0.99][:2]) == (0, 300)
    # starts 2 and 5 are the ends of the design: without their plan they are outside the support
    assert tuple(affine_cells[PLAN, PER_RUN, 0.9][:2]) == (100, 200)


def test_the_share_of_residuals_per_run_of_a_plan_that_was_run_is_what_exchangeability_says():
    """Each run left out in turn: of 40 those that rank above k are above rank k of the other 39."""
    traces = drawn(40, 0.1, np.random.default_rng(2), starts=(3,))
    rows = fixed_plans(traces, np.random.default_rng(3), 40, [RUNS], 50)
    found = [(row["promised"], row["runs"], row["delivered"]) for row in rows if row["method"] == PER_RUN]
    assert found == [(0.9, 40, 0.90), (0.95, 40, 0.95), (0.99, 0, None)]


def test_a_factor_of_the_run_breaks_only_promises_of_independent_residuals():
    rng = np.random.default_rng(4)
    traces = drawn(150, 0.01, rng, starts=(3,))
    age = np.tile(np.maximum(np.arange(EPOCHS + 1) - 3, 0), 150)
    factor = np.repeat(rng.normal(size=150), EPOCHS + 1)
    losses = 6 + traces.loss + 0.2 * factor * age
    bent = Traces(traces.run, traces.epoch, traces.model, traces.cluster, losses)
    rows = fixed_plans(bent, rng, 5, [RUNS], 4000)
    shares = {row["method"]: row["delivered"] for row in rows if row["promised"] == 0.95}
    assert shares[PER_RUN] == pytest.approx(0.95, abs=0.05)
    assert shares[INDEPENDENT] < 0.9
    assert shares[PAPER] < 0.9


def test_the_figures_of_the_records_follow_from_their_rows():
    values = read(RESULTS / "promises-held-out.json").values
    found = _values(values["chosen"], values["fixed"])
    for row, told in zip(found["pooled"], values["pooled"], strict=True):
        expected = {name: math.nan if value is None else value for name, value in told.items()}
        assert row == pytest.approx(expected, rel=1e-12, nan_ok=True)
    shares = {name: value for name, value in found.items() if not isinstance(value, list)}
    assert shares == pytest.approx({name: values[name] for name in shares}, rel=1e-12)
    values = read(RESULTS / "promises-kept.json").values
    rows = [*values["rows"], *({**row, "setting": "piloted"} for row in values["pilots"])]
    found = promises_kept._figures([{"setting": row["setting"], "row": row} for row in rows])
    assert [row.pop("setting") for row in found["pilots"]] == ["piloted", "piloted"]
    assert found == {name: values[name] for name in found}


def test_of_all_counted_promises_on_recorded_real_runs_at_most_five_per_cent_are_refuted_at_that_level():
    """9,926 promises that runs held out judge: 0.7 % of them are refuted, and 1.5 % of the marginal ones."""
    rows = pd.DataFrame(read(RESULTS / "promises-held-out.json").values["chosen"])
    rows = rows[rows["judged"] > 0]
    refuted = rows["refuted"] * rows["judged"]
    assert rows["judged"].sum() == 9926
    assert refuted.sum() / rows["judged"].sum() == pytest.approx(0.007, abs=5e-4)
    marginal = rows["confidence"].isna()
    assert refuted[marginal].sum() / rows["judged"][marginal].sum() == pytest.approx(0.015, abs=5e-4)

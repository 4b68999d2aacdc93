"""Regret of estimation on one-model instances, where the plan and its true probability are known by hand."""

import math

import numpy as np
import pytest
from scipy import stats

from depl.models.estimation.estimated import Parameter, refitted, scaled
from depl.models.estimation.regret import (
    RegretRow,
    Trial,
    expected_violation,
    regret_row,
    runs_by_formula,
    runs_needed,
    trial,
    true_optimum,
)
from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.instance import Instance


@pytest.fixture
def wide(bell: Instance) -> Instance:
    """l(K) is normal with mean 10 - 2 K and variance K; T_max binds, so every further epoch costs more."""
    return bell.replace(maximum_epochs=6, maximum_time=12, quantile_level=0.9)


def test_the_truth_has_no_regret(wide: Instance) -> None:
    """P(l(2) > 6) = 1/2, P(l(3) > 6) = P(N > 2 / sqrt 3) = 0.124, P(l(4) > 6) = P(N > 2) = 0.0228 <= 0.1."""
    best = true_optimum(wide, "enumerate")
    assert best.epochs == 4
    found = trial(wide, wide, best.cost, "enumerate")
    assert found.planned
    assert found.proved
    assert found.kept
    assert found.extra_cost == pytest.approx(0, abs=1e-12)
    assert found.violation == pytest.approx(0.02275, rel=1e-3)
    assert found.promised == found.violation
    assert found.excess == pytest.approx(0.2275, rel=1e-3)


def test_optimism_breaks_the_promise_and_costs_less(wide: Instance) -> None:
    """With improvements half as large again, P(N > (9 - 4) / (1.5 sqrt 3)) = 0.027: three epochs will do."""
    best = true_optimum(wide, "enumerate")
    found = trial(wide, scaled(wide, Parameter.SCALE, 1.5), best.cost, "enumerate")
    assert found.violation == pytest.approx(0.1241, rel=1e-3)  # the true one of three epochs
    assert found.promised == pytest.approx(0.0271, rel=1e-2)
    assert not found.kept
    assert found.extra_cost < 0


def test_pessimism_keeps_it_and_costs_more(wide: Instance) -> None:
    """With 7/10 of the improvements five epochs are needed: P(N > (7 - 4) / (0.7 sqrt 5)) = 0.028."""
    best = true_optimum(wide, "enumerate")
    found = trial(wide, scaled(wide, Parameter.SCALE, 0.7), best.cost, "enumerate")
    assert found.kept
    assert found.extra_cost > 0.1


def test_laws_that_allow_no_plan_are_counted_as_such(wide: Instance) -> None:
    best = true_optimum(wide, "enumerate")
    found = trial(wide, scaled(wide, Parameter.SCALE, 0.2), best.cost, "enumerate")
    assert not found.planned
    assert not found.kept
    assert math.isinf(found.violation)
    row = regret_row("pessimistic", [found])
    assert (row.trials, row.without_plan) == (1, 1)
    assert math.isnan(row.kept)


def test_many_runs_have_hardly_any_regret(wide: Instance) -> None:
    rng = np.random.default_rng(1)
    best = true_optimum(wide, "enumerate")
    trials = [trial(wide, refitted(wide, 200, rng), best.cost, "enumerate") for _ in range(5)]
    row = regret_row("200", trials)
    assert row.kept == 1
    assert row.extra_cost == pytest.approx(0, abs=1e-9)
    assert row.ninth_excess == pytest.approx(0.2275, rel=1e-3)


def made(violation: float, extra: float) -> Trial:
    return Trial(True, violation, 0.05, 0.05, extra, True)


def test_rows_are_means_over_plans_and_over_those_that_keep_their_promise() -> None:
    nothing = Trial(False, math.inf, math.inf, 0.05, math.inf, False)
    row = regret_row("ten", [made(0.05, 0.2), made(0.02, 0.4), made(0.2, -0.3), nothing])
    assert row.label == "ten"
    assert (row.trials, row.without_plan) == (4, 1)
    assert row.kept == pytest.approx(2 / 3)
    assert row.mean_violation == pytest.approx(0.09)
    assert row.mean_excess == pytest.approx(1.8)
    assert row.ninth_excess == pytest.approx(4)
    assert row.extra_cost == pytest.approx(0.3)
    with pytest.raises(InvalidInputError, match="no trial"):
        regret_row("none", [])


def test_runs_are_needed_until_all_larger_numbers_suffice() -> None:
    def row(excess: float) -> RegretRow:
        return RegretRow("", 1, 0, 1.0, 0.05, 1.0, excess, 0.0)

    counts = (5, 10, 20)
    assert runs_needed(counts, [row(1.5), row(3.0), row(1.9)]) == 20
    assert runs_needed(counts, [row(1.5), row(1.5), row(2.0)]) == 5
    assert math.isinf(runs_needed(counts, [row(1.5), row(1.5), row(2.1)]))
    assert math.isinf(runs_needed(counts, [row(1.5), row(1.5), row(math.nan)]))
    assert runs_needed(counts, [row(1.5), row(3.0), row(1.9)], excess=4) == 5


def test_the_formula_is_what_margins_from_runs_deliver() -> None:
    """A plan of normal loss, mean estimated from 10 runs, sigma known: 200000 margins of 1.645 sigma."""
    rng = np.random.default_rng(4)
    margin = stats.norm.isf(0.05) + rng.standard_normal((200_000, 10)).mean(axis=1)
    delivered = stats.norm.sf(margin)
    assert delivered.mean() == pytest.approx(expected_violation(0.05, 10), abs=3e-4)
    needed = runs_by_formula(0.05)
    assert needed == 13
    for runs, enough in ((needed, True), (needed - 1, False)):
        ninth = stats.norm.sf(stats.norm.isf(0.05) - stats.norm.isf(0.1) / math.sqrt(runs))
        assert bool(ninth <= 0.1) == enough


def test_rarer_violations_need_more_runs() -> None:
    assert [runs_by_formula(p) for p in (0.1, 0.05, 0.01, 0.001)] == [9, 13, 23, 37]
    assert runs_by_formula(0.05, share=0.5) == 1
    assert expected_violation(0.01, 10**9) == pytest.approx(0.01)
    for arguments in ((0.6, 2.0, 0.9), (0.05, 1.0, 0.9), (0.0, 2.0, 0.9), (0.05, 2.0, 0.4)):
        with pytest.raises(InvalidInputError, match="needs 0 < p"):
            runs_by_formula(*arguments)
    with pytest.raises(InvalidInputError, match="at least one run"):
        expected_violation(0.05, 0)


def test_an_optimum_that_is_not_proved_is_no_yardstick(wide: Instance) -> None:
    with pytest.raises(InvalidInputError, match="no optimum of 'bell' was proved"):
        true_optimum(wide.replace(maximum_loss=-50), "enumerate")

"""The affine law's fit: the constrained optimum, what is pooled or refused, deviations of plans never run."""

import numpy as np
import pytest

from depl.models.estimation import affine
from depl.models.estimation.affine import FEWEST, careful, fit_affine
from depl.models.estimation.choices import plans_needed
from depl.models.foundation.errors import NotCoveredError
from depl.models.problem.affine_law import Position, maturity, positions
from depl.models.problem.counting import LARGEST_RETENTION
from depl.models.traces.table import joined
from tests.cases.affine_runs import CUT, FULL, STARTS, coefficients, drawn, schedule, truth
from tests.cases.fit_cases import traces_of, without_first_epoch
from tests.problems import refusal


@pytest.mark.parametrize(("slope", "wanted"), [(-0.5, 0.0), (0.4, 0.4), (1.7, LARGEST_RETENTION)])
def test_the_constrained_optimum_is_the_best_of_a_fine_search(slope, wanted):
    rng = np.random.default_rng(2)
    before, start = rng.normal(size=40), rng.integers(1, 5, 40).astype(float)
    after = 1 + 0.1 * start + slope * before
    intercept, of_start, retention = affine.constrained_step(before, after, start)
    assert retention == pytest.approx(wanted, abs=1e-12)

    def squares(rho):
        design = np.column_stack([np.ones(40), start])
        rest = after - rho * before
        return float(np.sum((rest - design @ np.linalg.lstsq(design, rest, rcond=None)[0]) ** 2))

    own = float(np.sum((after - intercept - of_start * start - retention * before) ** 2))
    assert own == pytest.approx(squares(retention), abs=1e-9)
    assert own <= min(squares(rho) for rho in np.linspace(0, LARGEST_RETENTION, 201)) + 1e-9


@pytest.mark.parametrize("runs", [6, 7, 26, 35])  # the mean of 26 or 35 logarithms of 2 is rounded
def test_designs_in_which_late_ages_have_one_switch_epoch_only_predict_the_truth(runs, monkeypatch):
    """Starts 2, 3 and 5: age 6 of the second stage is seen after start 2 alone; ages 4 and 5 after two."""
    monkeypatch.setattr(affine, "LEAST", FEWEST)
    monkeypatch.setattr(affine, "LEAST_JUMPS", FEWEST)
    law = fit_affine(drawn(runs, 0.01, runs))
    for item in positions(schedule(2)):
        if item.age == 6 and item.previous is not None:
            assert law.step(item).start_slope == 0.0
    for start in STARTS:
        for item in positions(schedule(start)):
            step, (intercept, slope, retention) = law.step(item), truth(item)
            middle = sum(step.losses) / 2
            predicted = step.shift(start) + step.retention * middle
            wanted = intercept + slope * maturity(start) + retention * middle
            assert predicted == pytest.approx(wanted, abs=0.05)


def test_a_law_that_predicts_what_no_run_ever_had_is_refused_with_its_stage():
    """Where cut took over after 2 or 3 epochs it jumped by 1 or 3; at 3 the losses before were lower by 3.

    A jump from the high losses after a late switch, which nobody saw, would end at 7 where 4 is the most.
    """
    tables = []
    for start, first, after in ((2, 4.0, 3.5), (3, 1.0, 3.9)):
        losses = [[first + 0.01 * k] * (start + 1) + [after + 0.01 * k] for k in (0, 1, 2, 3, 4) * 4]
        tables.append(traces_of(np.array(losses), ["full"] * start + ["cut"], "edge", f"{start}-"))
    caught = refusal(fit_affine, joined(tables))
    assert caught.path == ".run"
    assert "the law fitted at 'cut' on 'edge' after 'full', epoch 1 since epoch" in caught.message
    assert "were ever seen" in caught.message


def test_neighbouring_ages_are_pooled_until_there_are_enough_observations(monkeypatch):
    traces = drawn(5, 0.05, 4)
    monkeypatch.setattr(affine, "LEAST", 15)
    law = fit_affine(traces)
    assert law.rows[FULL, True, 1, None].ages == (1, 1)
    # 15 runs have ages 1 and 2 of the first stage, 10 age 3, and 5 ages 4 and 5
    assert law.rows[FULL, True, 2, None].ages == (2, 2)
    assert law.rows[FULL, True, 3, None].ages == (2, 4)
    assert law.rows[FULL, True, 5, None].ages == (3, 5)
    assert law.rows[FULL, True, 5, None].residuals.size == 20
    monkeypatch.setattr(affine, "LEAST", 10_000)
    assert fit_affine(traces).rows[CUT, False, 4, FULL].ages == (2, 6)


def test_what_cannot_be_fitted_is_refused_or_left_out():
    traces = drawn(1, 0.1, 8)
    with pytest.raises(NotCoveredError, match="outside the support"):
        fit_affine(traces).step(Position(FULL, None, 1, 0))  # three runs only
    assert "'a0' has no epoch of training" in str(
        refusal(fit_affine, traces_of(np.ones((1, 1)), "full", "edge", "a"))
    )


# --- plans that were never run ---------------------------------------------------------------------------

FOUR = (2, 3, 4, 5)


def test_without_losses_before_training_the_first_epoch_is_as_it_was_seen():
    """All else is fitted to the same epochs as with them."""
    traces = drawn(20, 0.1, 8)
    told, law = fit_affine(traces), fit_affine(without_first_epoch(traces))
    first = [key for key in law.rows if key[1] and key[2] == 1]
    for key in first:
        here = (traces.epoch == 1) & (traces.model == key[0][0]) & (traces.cluster == key[0][1])
        own = traces.loss[here]
        assert law.rows[key].intercept == pytest.approx(own.mean())
        assert (law.rows[key].retention, law.rows[key].start_slope) == (0.0, 0.0)
        assert sorted(law.rows[key].residuals) == pytest.approx(sorted(own - own.mean()))
    assert {key: coefficients(row) for key, row in law.rows.items() if key not in first} == {
        key: coefficients(row) for key, row in told.rows.items() if key not in first
    }
    assert law.seen == (traces.loss[traces.epoch > 0].min(), traces.loss[traces.epoch > 0].max())


def test_losses_before_training_are_used_where_all_runs_of_a_first_stage_have_them():
    """One run that begins with the full model lacks it; those that begin with the cut one do not."""
    traces = drawn(8, 0.1, 8)
    losses = np.random.default_rng(1).uniform(0.5, 2.0, (8, 3))
    other = traces_of(losses, *CUT, "c")
    rest = traces.select(np.arange(1, len(traces.runs)))
    law = fit_affine(joined([without_first_epoch(traces.select([0])), rest, other]))
    assert {run.trained[0]: run.evaluated for run in law.records} == {FULL: False, CUT: True}
    assert law.unevaluated == {FULL}
    key = CUT, True, 1, None
    assert coefficients(law.rows[key]) == coefficients(fit_affine(other).rows[key])


def test_runs_count_as_if_the_mean_of_their_plan_were_known():
    """Two runs of a plan, d apart, are d / 2 from their mean and d / sqrt 2 from the truth on average."""
    traces = drawn(20, 0.3, 5, FOUR)
    _, found, _ = affine.plan_deviations(traces, np.random.default_rng(1))
    final = traces.matrix()[:, -1].reshape(len(FOUR), 20)
    at_the_end = np.sqrt(np.mean(final.var(axis=1, ddof=1)))
    assert found.std() == pytest.approx(at_the_end, rel=0.3)


def test_the_careful_deviations_are_runs_around_an_order_statistic_of_plans():
    """The next plan counts beside p held out: rank ceil(21 * 0.95) = 20 of 20, ceil(21 * 0.1) = 3."""
    plans, runs = np.arange(-5.0, 15.0), np.array([-0.5, 0.0, 0.25])
    assert careful(plans, runs, 20, 0.95) == (13.5, 14.0, 14.25)
    assert careful(plans, runs, 20, 0.9) == (12.5, 13.0, 13.25)
    assert careful(plans, runs, 20, 0.1) == (-0.5, 0.0, 0.25)  # never for a plan
    assert careful(plans, runs[:0], 20, 0.5) == (5.0,)
    assert [plans_needed(care) for care in (0.5, 0.8, 0.9, 0.95, 0.99)] == [1, 4, 9, 19, 99]
    # sixty deviations of eighteen plans at several ages have no margin for 0.95, of nineteen the greatest
    ages = np.arange(60.0)
    found = [careful(ages, np.zeros(3), count, 0.95)[:1] for count in (18, 19, 39)]
    assert found == [(), (59,), (58,)]  # 40 * 0.95 / 39 of 60
    # many runs become the greatest of their neighbours: groups of three from the top, the lowest of four
    runs = np.arange(100.0)
    found = careful(np.zeros(20), runs, 20, 0.95)
    assert (len(found), found[0], found[-2], found[-1]) == (33, 3.0, 96.0, 99.0)
    levels = np.linspace(0.01, 0.99, 30)
    quantiles = [np.quantile(of, levels, method="inverted_cdf") for of in (found, runs)]
    assert (quantiles[0] >= quantiles[1]).all()


def test_too_few_plans_tell_no_margin_and_a_share_out_of_range_is_refused():
    for starts in ((3,), FOUR):
        assert affine.margin(drawn(20, 0.0, 4, starts), "loss", "loss", 0.8) == ()
    for care in (0.0, 1.0):
        assert "between 0 and 1" in str(refusal(affine.margin, drawn(1, 0.0, 4), "loss", "loss", care))

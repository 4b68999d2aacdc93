"""Laws from known laws, in every combination: what went in comes out, nothing is left out in silence."""

import json
import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.optimize import least_squares as by_scipy

from depl.models.estimation import families
from depl.models.estimation.choices import FitBy
from depl.models.estimation.curve import epoch_sums, fit_curve, fitted_curves
from depl.models.estimation.families import INVERSE_GAMMA, LOGNORMAL, NORMAL, STUDENT_T, goodness_of_fit
from depl.models.estimation.fit import fit_improvement, fit_switch, fit_traces
from depl.models.estimation.observations import observe
from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.laws import Deterministic, Empirical, InverseGamma, Lognormal, Normal, StudentT
from depl.models.problem.learning import ConstantImprovement
from depl.models.traces.table import Traces, joined
from tests.cases.fit_cases import draw_traces
from tests.problems import refusal

KS = np.arange(1, 31, dtype=float)
A, B = 2.0, 3.0
CURVE = A / np.sqrt(KS + B)


def rng(seed=2):
    return np.random.default_rng(seed)


def decaying(drawn, runs=60, epochs=30, shape=20.0):
    """Improvements that follow eq. (8) with an inverse gamma X of mean 1, and their epochs."""
    ks = np.arange(1, 1 + epochs, dtype=float)
    return A / np.sqrt(ks + B) * ((shape - 1) / drawn.standard_gamma(shape, (runs, epochs))), ks


def test_the_papers_law_comes_back():
    found = fit_improvement(*decaying(rng(1)), rng(), resamples=99)
    assert found.best == "inverse_gamma"
    assert (found.runs, found.ratios.size, found.nonpositive) == (60, 1800, 0)
    assert found.ratios.mean() == pytest.approx(1, rel=1e-12)
    assert found.law("inverse_gamma").parameters["shape"] == pytest.approx(20, rel=0.08)
    assert found.law("inverse_gamma").p_value > 0.05
    assert found.law("normal").p_value == 0.01  # the least there is with 99 resamples
    improvement = found.as_improvement()
    assert improvement.noise.moments().mean == pytest.approx(1, rel=1e-14)
    expected = [coefficient * law.moments().mean for coefficient, law in map(improvement.at, range(1, 31))]
    # X has standard deviation 0.236: two standard errors of the mean of one epoch
    assert expected == pytest.approx(CURVE, rel=2 * 0.236 / math.sqrt(60))


def test_every_candidate_becomes_a_law_of_its_kind_with_mean_one_and_its_own_increments():
    found = fit_improvement(*decaying(rng(3), 2), rng(), resamples=19)
    kinds = {"inverse_gamma": InverseGamma, "lognormal": Lognormal, "normal": Normal, "empirical": Empirical}
    for name, kind in kinds.items():
        noise = found.as_improvement(name).noise
        assert isinstance(noise, kind)
        assert noise.moments().mean == pytest.approx(1, rel=1e-12)
    assert "'student_t'; fitted are: inverse_gamma, lognormal, normal" in str(
        refusal(found.as_improvement, "student_t")
    )
    assert [item.aic for item in found.laws] == [4 - 2 * item.log_likelihood for item in found.laws]
    assert found.best == min(found.laws, key=lambda item: item.aic).family
    # that the mean is moved into the scale leaves the increments as they were fitted
    parameters, points = found.law("inverse_gamma").parameters, np.linspace(0.3, 1.0, 5)
    coefficient, noise = found.as_improvement("inverse_gamma").at(7)
    fitted = InverseGamma(shape=parameters["shape"], scale=parameters["scale"] * float(found.curve.at(KS)[6]))
    assert noise.cdf(points / coefficient) == pytest.approx(fitted.cdf(points), rel=1e-10)


def test_nonpositive_ratios_are_counted_and_refute_the_laws_that_exclude_them():
    """A normal X of mean 1 and standard deviation 0.8: every tenth ratio is negative."""
    values = CURVE * rng(1).normal(1, 0.8, (40, KS.size))
    found, count = fit_improvement(values, KS, rng(), resamples=99), int((values <= 0).sum())
    assert (found.nonpositive, found.ratios.size) == (count, values.size)
    for name in ("inverse_gamma", "lognormal"):
        law = found.law(name)
        assert (law.excluded, law.aic, law.p_value) == (count, math.inf, 0.0)
        with pytest.raises(InvalidInputError, match=f"excludes {count} of 1200 observed ratios"):
            found.as_improvement(name)
    assert found.best == "normal"
    assert found.law("normal").p_value > 0.05


def test_improvements_without_chance_or_of_a_rising_loss():
    even = fit_improvement(np.tile(CURVE, (3, 1)), KS, rng())
    assert (even.best, even.laws) == ("deterministic", ())
    assert even.as_improvement().at(9)[0] == pytest.approx(CURVE[8], rel=1e-6)
    assert even.as_improvement().noise == Deterministic(value=1)
    assert "none: too few values, or nothing varies" in str(refusal(even.as_improvement, "normal"))
    values, _ = decaying(rng(4))
    rising = fit_improvement(-values[:3], KS, rng(), resamples=19)
    assert "may not raise the loss" in str(refusal(rising.as_improvement, "inverse_gamma"))
    assert rising.as_improvement("normal").at(1)[0] < 0


def test_few_jumps_or_equal_ones_are_kept_as_they_are_and_negative_ones_counted():
    assert fit_switch([0.3, 0.3], rng()).as_switch() == Deterministic(value=0.3)
    few = fit_switch([0.1, 0.3, 0.2, 0.2], rng())
    assert (few.best, few.laws) == ("empirical", ())
    assert few.as_switch() == Empirical(values=(0.1, 0.3, 0.2, 0.2))
    assert "no fit of the family 'student_t'" in str(refusal(few.as_switch, "student_t"))
    found = fit_switch([-0.1, 0.2, 0.3, 0.25, 0.1, 0.0], rng(), resamples=19)
    assert (found.nonpositive, found.jumps.size) == (2, 6)
    assert all(item.excluded == 0 for item in found.laws)
    for jumps in ([], [math.nan], [0.1, math.inf]):
        refusal(fit_switch, jumps, rng())


# --- sets of traces ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def drawn():
    """Two schedules of 20 runs: 5 full on edge then 7 or 4 cut on far."""
    draws, tables = rng(1), []
    for n in (7, 4):
        models, places = ["full"] * 5 + ["cut"] * n, ["edge"] * 5 + ["far"] * n
        tables.append(draw_traces(models, 20, draws, places, f"{n}-"))
    return joined(tables)


PLACES = ("full / edge", "cut / far")
PLANS = ("5 full@edge, 7 cut@far", "5 full@edge, 4 cut@far")


@pytest.mark.parametrize(
    ("by", "names"),
    [
        (FitBy.MODEL, ["full", "cut"]),
        (FitBy.CLUSTER, [*PLACES]),
        (FitBy.SCHEDULE, [f"{place} / {plan}" for plan in PLANS for place in PLACES]),
    ],
)
def test_combinations_share_observations_as_asked(drawn, by, names):
    found = fit_traces(drawn, rng(), by, resamples=19)
    assert [str(key) for key in found.improvements] == names
    assert not found.refused
    # 20 runs of 5 full epochs twice, 20 runs of 7 and 20 of 4 cut epochs: nothing is lost or counted twice
    assert sum(fit.ratios.size for fit in found.improvements.values()) == 20 * (5 + 7 + 5 + 4)
    jumps = found.jumps["full", "cut"]
    assert (jumps.jumps.size, jumps.estimated) == (40, 0)


def test_every_run_can_be_fitted_on_its_own_and_what_cannot_is_listed_with_its_reason(drawn):
    found = fit_traces(drawn.select([0, 20]), rng(), FitBy.RUN, resamples=19)
    sizes = {str(key): fit.ratios.size for key, fit in found.improvements.items()}
    assert sizes == {"full / edge / 7-0": 5, "cut / far / 7-0": 7, "full / edge / 4-0": 5}
    assert found.refused["cut / far / 4-0"] == "a law is fitted to at least 5 numbers, not 4"
    columns = (drawn.run, drawn.epoch, drawn.model, drawn.cluster, drawn.loss)
    found = fit_traces(Traces(*(column[drawn.epoch <= 6] for column in columns)), rng(), resamples=19)
    assert [str(key) for key in found.improvements] == ["full"]
    assert "at least 3 epochs" in found.refused["cut"]
    assert "full -> cut" in found.refused
    assert not found.jumps


@pytest.mark.slow
def test_the_test_of_the_whole_procedure_has_the_size_it_says():
    """1000 curves of Fig. 4's length, K1 + K2 = 77 epochs, A and B fitted as well: 5 % are rejected; E7."""
    draws = rng(20261121)
    rejected = printed = 0
    for _ in range(1000):
        law = fit_improvement(*decaying(draws, 1, 77, 35.6), draws, resamples=199).law("inverse_gamma")
        rejected += law.p_value <= 0.05
        printed += law.goodness.paper_p_value <= 0.05
    assert 0.03 <= rejected / 1000 <= 0.07
    assert printed <= 5


@pytest.mark.parametrize("seed", range(3))
def test_no_other_curve_has_a_smaller_sum_of_squares_by_scipy(seed):
    draws = rng(seed)
    values, ks = decaying(draws, 4, 25, 35.6)
    values[draws.random(values.shape) < 0.2] = np.nan
    found = fitted_curves(ks, epoch_sums(values, np.ones((1, 4))))
    fit = [float((found.scale / found.mean_ratio)[0]), float(found.offset[0])]

    def residuals(parameters):
        errors = values - parameters[0] / np.sqrt(ks + parameters[1])
        return np.asarray(errors[np.isfinite(errors)])

    second = by_scipy(residuals, [1.0, 1.0], bounds=([-np.inf, -0.99], np.inf), xtol=1e-14, ftol=1e-14)
    assert (residuals(np.array(fit)) ** 2).sum() <= 2 * second.cost * (1 + 1e-10)
    assert fit == pytest.approx(second.x, rel=1e-3)


def test_an_improvement_that_does_not_decay_is_a_constant():
    values, ks = np.full((2, 12), 0.7), np.arange(1, 13)
    found = fit_curve(values, ks, rng())
    assert (found.constant, found.scale) == (True, pytest.approx(0.7, rel=1e-14))
    assert math.isinf(found.offset_bounds.upper)
    assert found.at(np.array([1.0, 100.0])).tolist() == [found.scale, found.scale]
    assert isinstance(fit_improvement(values, ks, rng()).as_improvement(), ConstantImprovement)


@pytest.mark.slow
def test_nineteen_of_twenty_intervals_contain_the_truth():
    """300 data sets each; a count with p = 0.95 stays above 0.915 with probability 0.99."""
    draws, inside = rng(20261121), np.zeros((2, 2))
    for _ in range(300):
        for row, (runs, epochs) in enumerate([(40, 20), (1, 60)]):
            found = fit_curve(*decaying(draws, runs, epochs, 35.6), draws, resamples=499)
            inside[row, 0] += found.scale_bounds.lower <= A <= found.scale_bounds.upper
            inside[row, 1] += found.offset_bounds.lower <= B <= found.offset_bounds.upper
    assert (inside / 300 >= 0.915).all()


NO_CURVE = """
[1, 1, 1, 1, 1] | [1, 2, 3, 4, 5] | the shape (runs, epochs)
[[1, 1, 1, 1, 1]] | [1, 2, 3, 4] | for 4 epochs
[[1, 1, 1, 1, 1]] | [0, 1, 2, 3, 4] | counted from 1
[[1, 1, 1]] | [1, 2, 2] | the same one
[[1, Infinity, 1, 1]] | [1, 2, 3, 4] | finite
[[1, 1], [1, 1]] | [1, 2] | at least 3 epochs and 4 improvements, not 2 and 4
[[1, 1, 1]] | [1, 2, 3] | not 3 and 3
[[0, 0, 0, 0], [0, 0, 0, 0]] | [1, 2, 3, 4] | does not move
[[1, 1, 1, 1], [-1, -1, -1, -1]] | [1, 2, 3, 4] | does not move on average
"""


@pytest.mark.parametrize("row", NO_CURVE.strip().splitlines())
def test_improvements_without_a_curve_are_refused(row):
    values, epochs, message = row.split(" | ")
    told = refusal(fit_curve, np.array(json.loads(values), dtype=float), json.loads(epochs), rng())
    assert message in str(told)


ROWS = """
a 0 full edge 9 nan
a 1 full edge 7 nan
a 2 full edge 6 nan
a 3 cut far 6.25 6.5
b 0 full edge 8 nan
b 1 full edge 8.5 nan
b 2 cut far 7.5 nan
"""
"""Run, epoch, model, cluster, loss, and the loss right after a switch."""


def test_a_switch_that_was_not_evaluated_is_estimated_and_counted():
    run, epoch, model, cluster, *losses = zip(*map(str.split, ROWS.strip().splitlines()), strict=True)
    loss, start = np.array(losses, dtype=float)
    columns = run, np.array(epoch, dtype=int), model, cluster, loss
    found = observe(Traces(*columns, {"start_loss": start}))
    jumps, estimated = found.jumps_of("full", "cut", expected=np.array([3.0, 2.0, 1.0]))
    assert (jumps.tolist(), estimated) == ([0.5, 1.0], 1)  # measured 6.5 - 6; estimated 7.5 - 8.5 + 2
    jumps, estimated = observe(Traces(*columns)).jumps_of("full", "cut", np.zeros(3))
    assert (jumps.tolist(), estimated) == ([0.25, -1.0], 2)
    assert found.jumps_of("cut", "full", np.zeros(3))[0].size == 0
    untrained = Traces(*(column[:1] for column in columns))
    assert "no run has an epoch of training" in str(refusal(observe, untrained))


# --- families of laws ------------------------------------------------------------------------------------

TRUTH = {INVERSE_GAMMA: (8.0, 7.0), LOGNORMAL: (-0.1, 0.4), NORMAL: (1.0, 0.3), STUDENT_T: (4.0, 0.3, 0.1)}
SCIPY = {
    INVERSE_GAMMA: stats.invgamma(8.0, scale=7.0),
    LOGNORMAL: stats.lognorm(0.4, scale=math.exp(-0.1)),
    NORMAL: stats.norm(1.0, 0.3),
    STUDENT_T: stats.t(4.0, 0.3, 0.1),
}
each_family = pytest.mark.parametrize("family", TRUTH, ids=lambda item: item.name)


@given(st.floats(1e-3, 1e5))
def test_the_shape_solves_its_equation_in_fifty_digits(shape):
    with mpmath.workdps(50):
        deficit = mpmath.log(shape) - mpmath.digamma(shape)
    found = families.gamma_shape(np.array([float(deficit)]))
    # double rounding of psi is amplified by the shape where log a and psi(a) nearly cancel
    assert found[0] == pytest.approx(shape, rel=1e-13 + 1e-15 * shape * 20)


@pytest.mark.parametrize(("degrees", "seed"), [(2.5, 0), (4.0, 1), (12.0, 2)])
def test_the_student_t_is_at_least_as_likely_as_scipys(degrees, seed):
    sample = 0.3 + 0.1 * rng(seed).standard_t(degrees, size=120)
    found = STUDENT_T.fit(sample[None])
    by_scipy = stats.t.fit(sample)
    inside = (min(max(by_scipy[0], families.LEAST_DEGREES), families.MOST_DEGREES), *by_scipy[1:])
    assert STUDENT_T.log_likelihood(found, sample[None])[0] >= stats.t.logpdf(sample, *inside).sum() - 1e-6
    if families.LEAST_DEGREES < by_scipy[0] < 50:
        assert found[0] == pytest.approx(by_scipy, rel=2e-3)


def test_the_degrees_of_a_student_t_stay_within_their_bounds():
    even = np.linspace(-1.56, 1.56, 101)  # of whose tangents the law is Cauchy's
    found = STUDENT_T.fit(np.stack([np.tan(even), even]))
    assert found[:, 0].tolist() == [families.LEAST_DEGREES, families.MOST_DEGREES]


@each_family
def test_a_family_is_that_of_scipy_and_fits_rows_on_their_own(family):
    truth, law = np.array(TRUTH[family]), SCIPY[family]
    points = np.array([[0.05, 0.3, 0.9, 1.0, 1.7]])
    assert family.cdf(truth[None], points)[0] == pytest.approx(law.cdf(points[0]), rel=1e-10, abs=1e-300)
    assert family.log_likelihood(truth[None], points)[0] == pytest.approx(law.logpdf(points).sum(), rel=1e-12)
    drawn = family.draw(truth, rng(11), (2, 10_000))
    assert stats.kstest(drawn[0], law.cdf).pvalue > 1e-3
    assert family.fit(drawn)[0] == pytest.approx(truth, rel=0.08, abs=0.01)
    few = family.draw(truth, rng(1), (5, 30))
    alone = np.concatenate([family.fit(row[None]) for row in few])
    assert family.fit(few) == pytest.approx(alone, rel=1e-9)
    assert not family.positive or family.cdf(truth[None], np.array([[-1.0, 0.0]])).tolist() == [[0.0, 0.0]]
    mine = family.law(TRUTH[family], 1.0)
    assert mine.cdf(points[0]) == pytest.approx(law.cdf(points[0]), rel=1e-9, abs=1e-12)


def test_the_papers_families_come_first_and_a_switch_has_a_normal_limit():
    assert (families.improvement_families()[0], families.switch_families()[0]) == (INVERSE_GAMMA, STUDENT_T)
    wanted = StudentT(degrees_of_freedom=4, location=0.3, scale=0.1)
    assert STUDENT_T.law((4.0, 0.3, 0.1), 1.0) == wanted
    limit = STUDENT_T.law((families.MOST_DEGREES, 0.3, 0.1), 1.0)
    assert isinstance(limit, Normal)
    assert (limit.mean, limit.variance) == pytest.approx((0.3, 0.01 * 100 / 98))
    assert NORMAL.law((0.3, 0.1), 1.0) == Normal(mean=0.3, variance=0.1**2)


# --- goodness of fit -----------------------------------------------------------------------------------


def test_the_bootstrap_is_lilliefors_test_for_the_normal():
    """Critical distances at 5 % for n = 20, from Lilliefors (1967): 0.190; corrected tables: 0.192."""
    draws = rng(3)
    drawn = draws.normal(size=(20_000, 20))
    unbiased = NORMAL.fit(drawn) * np.array([1, np.sqrt(20 / 19)])  # as Lilliefors has the variance
    assert np.quantile(families.distances(NORMAL, unbiased, drawn), 0.95) == pytest.approx(0.192, abs=0.002)
    found = goodness_of_fit(NORMAL, draws.normal(size=20), draws)
    assert found.bootstrap_p_value < found.paper_p_value


def test_the_p_value_counts_itself_ties_and_every_block(monkeypatch):
    """Lognormal ratios have the least p-value there is, and a sample that is seen again the greatest."""
    sample = rng(5).lognormal(0, 0.5, 2000)
    monkeypatch.setattr(families, "_LARGEST_BLOCK", 2000 * 80)
    assert goodness_of_fit(INVERSE_GAMMA, sample, rng(6), 199).bootstrap_p_value == 1 / 200

    def same(drawn):
        return np.tile(sample, (len(drawn), 1))

    again = goodness_of_fit(INVERSE_GAMMA, sample, rng(6), 199, same)
    assert again.bootstrap_p_value == 1


def test_what_cannot_be_fitted_is_refused():
    assert "at least 5 numbers, not 4" in str(refusal(goodness_of_fit, NORMAL, np.arange(4.0), rng()))
    told = str(refusal(goodness_of_fit, NORMAL, np.full(6, 2.0), rng()))
    assert "all 6 numbers are 2; use a deterministic law" in told
    assert "inverse gamma law has no mean" in str(refusal(INVERSE_GAMMA.law_of_ratios, (0.9, 1.0)))
    assert "normal law has no positive mean" in str(refusal(NORMAL.law_of_ratios, (-0.1, 1.0)))

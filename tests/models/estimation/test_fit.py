"""Laws from known laws, in every combination: what went in comes out, nothing is left out in silence."""

import math

import numpy as np
import pytest
from scipy.optimize import least_squares as by_scipy

from depl.models.estimation.choices import FitBy
from depl.models.estimation.curve import (
    epoch_sums,
    fit_curve,
    fitted_curves,
)
from depl.models.estimation.fit import Combination, fit_improvement, fit_rows, fit_switch, fit_traces
from depl.models.estimation.observations import observe
from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.instance import Cluster, Instance
from depl.models.problem.laws import (
    Deterministic,
    Empirical,
    FloatArray,
    InverseGamma,
    Lognormal,
    Normal,
)
from depl.models.problem.learning import ConstantImprovement, InverseSqrtImprovement
from depl.models.traces.table import Traces, joined
from tests.cases.drawn_traces import draw_traces, two_models

KS = np.arange(1, 31, dtype=float)
CURVE = 2 / np.sqrt(KS + 3)


def improvements(seed: int, runs: int = 60, shape: float = 20.0) -> FloatArray:
    """Eq. (8) with A = 2, B = 3 and an inverse gamma X of mean 1."""
    rng = np.random.default_rng(seed)
    return CURVE * ((shape - 1) / rng.standard_gamma(shape, (runs, KS.size)))


def noisy(seed: int, runs: int = 40) -> FloatArray:
    """Eq. (8) with a normal X of mean 1 and standard deviation 0.8: every tenth ratio is negative."""
    return CURVE * np.random.default_rng(seed).normal(1, 0.8, (runs, KS.size))


def test_the_papers_law_comes_back():
    found = fit_improvement(improvements(1), KS, np.random.default_rng(2), resamples=99)
    assert found.best == "inverse_gamma"
    assert (found.runs, found.ratios.size, found.nonpositive) == (60, 1800, 0)
    assert found.ratios.mean() == pytest.approx(1, rel=1e-12)
    assert found.law("inverse_gamma").parameters["shape"] == pytest.approx(20, rel=0.08)
    assert found.law("inverse_gamma").p_value > 0.05
    assert found.law("normal").p_value == 0.01  # the least there is with 99 resamples
    improvement = found.as_improvement()
    assert isinstance(improvement, InverseSqrtImprovement)
    assert isinstance(improvement.noise, InverseGamma)
    assert improvement.noise.moments().mean == pytest.approx(1, rel=1e-14)
    expected = [coefficient * law.moments().mean for coefficient, law in map(improvement.at, range(1, 31))]
    # X has standard deviation 0.236: two standard errors of the mean of one epoch
    assert expected == pytest.approx(CURVE, rel=2 * 0.236 / math.sqrt(60))


def test_every_candidate_becomes_a_law_of_its_kind_with_mean_one_and_its_own_increments():
    found = fit_improvement(improvements(3, runs=2), KS, np.random.default_rng(2), resamples=19)
    kinds = {"inverse_gamma": InverseGamma, "lognormal": Lognormal, "normal": Normal, "empirical": Empirical}
    for name, kind in kinds.items():
        noise = found.as_improvement(name).noise
        assert isinstance(noise, kind)
        assert noise.moments().mean == pytest.approx(1, rel=1e-12)
    assert found.as_improvement("deterministic").noise == Deterministic(value=1)
    with pytest.raises(InvalidInputError, match="'student_t'; fitted are: inverse_gamma, lognormal, normal"):
        found.as_improvement("student_t")
    assert [item.aic for item in found.laws] == [4 - 2 * item.log_likelihood for item in found.laws]
    assert found.best == min(found.laws, key=lambda item: item.aic).family
    # that the mean is moved into the scale leaves the increments as they were fitted
    parameters, points = found.law("inverse_gamma").parameters, np.linspace(0.3, 1.0, 5)
    coefficient, noise = found.as_improvement("inverse_gamma").at(7)
    scale = parameters["scale"] * float(found.curve.at(KS)[6])
    fitted = InverseGamma(shape=parameters["shape"], scale=scale)
    assert noise.cdf(points / coefficient) == pytest.approx(fitted.cdf(points), rel=1e-10)


def test_nonpositive_ratios_are_counted_and_refute_the_laws_that_exclude_them():
    values = noisy(1)
    found = fit_improvement(values, KS, np.random.default_rng(2), resamples=99)
    count = int((values <= 0).sum())
    assert 80 < count < 180
    assert found.nonpositive == count
    assert found.ratios.size == values.size
    for name in ("inverse_gamma", "lognormal"):
        law = found.law(name)
        assert (law.excluded, law.aic, law.p_value) == (count, math.inf, 0.0)
        with pytest.raises(InvalidInputError, match=f"excludes {count} of 1200 observed ratios"):
            found.as_improvement(name)
    assert found.best == "normal"
    assert found.law("normal").p_value > 0.05


def test_improvements_without_chance_of_constant_shape_or_of_a_rising_loss():
    even = fit_improvement(np.tile(CURVE, (3, 1)), KS, np.random.default_rng(0))
    assert (even.best, even.laws) == ("deterministic", ())
    assert even.as_improvement().at(9)[0] == pytest.approx(CURVE[8], rel=1e-6)
    assert even.as_improvement().noise == Deterministic(value=1)
    with pytest.raises(InvalidInputError, match="none: too few values, or nothing varies"):
        even.as_improvement("normal")
    values = improvements(4)
    constant = fit_improvement(values / CURVE, KS, np.random.default_rng(2), resamples=19, constant=True)
    improvement = constant.as_improvement("inverse_gamma")
    assert isinstance(improvement, ConstantImprovement)
    assert improvement.scale == pytest.approx(1, rel=0.02)
    rising = fit_improvement(-values[:3], KS, np.random.default_rng(2), resamples=19)
    with pytest.raises(InvalidInputError, match="may not raise the loss"):
        rising.as_improvement("inverse_gamma")
    assert rising.as_improvement("normal").at(1)[0] < 0


def test_few_jumps_or_equal_ones_are_kept_as_they_are_and_negative_ones_counted():
    assert fit_switch([0.3, 0.3], np.random.default_rng(0)).as_switch() == Deterministic(value=0.3)
    few = fit_switch([0.1, 0.3, 0.2, 0.2], np.random.default_rng(0))
    assert (few.best, few.laws) == ("empirical", ())
    assert few.as_switch() == Empirical(values=(0.1, 0.3, 0.2, 0.2))
    with pytest.raises(InvalidInputError, match="no fit of the family 'student_t'"):
        few.as_switch("student_t")
    found = fit_switch([-0.1, 0.2, 0.3, 0.25, 0.1, 0.0], np.random.default_rng(0), resamples=19)
    assert (found.nonpositive, found.jumps.size) == (2, 6)
    assert all(item.excluded == 0 for item in found.laws)


@pytest.mark.parametrize("jumps", [[], [math.nan], [0.1, math.inf]])
def test_jumps_that_cannot_be_fitted_are_refused(jumps):
    with pytest.raises(InvalidInputError):
        fit_switch(jumps, np.random.default_rng(0))


# --- sets of traces ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def drawn(bell: Instance) -> Traces:
    """Two schedules of 20 runs: 5 full on edge then 7 or 4 cut on far."""
    places = [Cluster(name=name, capacity=10, bandwidth=2, unit_cost=3) for name in ("edge", "far")]
    instance, rng = two_models(bell).replace(clusters=places), np.random.default_rng(1)
    plans = [(["full"] * 5 + ["cut"] * n, ["edge"] * 5 + ["far"] * n, f"{n}-") for n in (7, 4)]
    return joined([draw_traces(instance, models, 20, rng, at, prefix) for models, at, prefix in plans])


LONG, SHORT = "5 full@edge, 7 cut@far", "5 full@edge, 4 cut@far"


@pytest.mark.parametrize(
    ("by", "names"),
    [
        (FitBy.MODEL, ["full", "cut"]),
        (FitBy.CLUSTER, ["full / edge", "cut / far"]),
        (
            FitBy.SCHEDULE,
            [f"{place} / {plan}" for plan in (LONG, SHORT) for place in ("full / edge", "cut / far")],
        ),
    ],
)
def test_combinations_share_observations_as_asked(drawn, by, names):
    found = fit_traces(drawn, np.random.default_rng(2), by, resamples=19)
    assert [str(key) for key in found.improvements] == names
    assert not found.refused
    # 20 runs of 5 full epochs twice, 20 runs of 7 and 20 of 4 cut epochs: nothing is lost or counted twice
    assert sum(fit.ratios.size for fit in found.improvements.values()) == 20 * (5 + 7 + 5 + 4)
    jumps = found.jumps["full", "cut"]
    assert (jumps.jumps.size, jumps.estimated) == (40, 0)


def test_every_run_can_be_fitted_on_its_own_and_what_cannot_is_listed_with_its_reason(drawn):
    found = fit_traces(drawn.select([0, 20]), np.random.default_rng(2), FitBy.RUN, resamples=19)
    sizes = {str(key): fit.ratios.size for key, fit in found.improvements.items()}
    assert sizes == {"full / edge / 7-0": 5, "cut / far / 7-0": 7, "full / edge / 4-0": 5}
    assert found.refused["cut / far / 4-0"] == "a law is fitted to at least 5 numbers, not 4"
    columns = (drawn.run, drawn.epoch, drawn.model, drawn.cluster, drawn.loss)
    short = Traces(*(column[drawn.epoch <= 6] for column in columns))
    found = fit_traces(short, np.random.default_rng(2), resamples=19)
    assert [str(key) for key in found.improvements] == ["full"]
    assert "at least 3 epochs" in found.refused["cut"]
    assert "full -> cut" in found.refused
    assert not found.jumps


def test_the_table_has_a_row_of_every_fit_also_of_one_without_a_law(drawn):
    found = fit_traces(drawn, np.random.default_rng(2), resamples=99)
    first, second = fit_rows(found.improvements)
    fit = found.improvements[Combination("full")]
    law = fit.law("inverse_gamma")
    assert (first["combination"], second["combination"]) == ("full", "cut")
    assert (first["runs"], first["ratios"], first["nonpositive"]) == (40, 200, 0)
    assert (first["scale"], first["offset"]) == (fit.curve.scale, fit.curve.offset)
    assert (first["gamma_shape"], first["paper_p_value"]) == (
        law.parameters["shape"],
        law.goodness.paper_p_value,
    )
    assert first["p_value"] == first["positive_p_value"]
    assert first["best"] == fit.best
    even = fit_improvement(np.tile(CURVE, (3, 1)), KS, np.random.default_rng(0))
    (row,) = fit_rows({Combination("net"): even})
    assert (row["best"], row["gamma_shape"], row["p_value"]) == ("deterministic", None, None)


@pytest.mark.slow
def test_the_test_of_the_whole_procedure_has_the_size_it_says():
    """1000 curves of Fig. 4's length, K1 + K2 = 77 epochs, A and B fitted as well: 5 % are rejected."""
    rng = np.random.default_rng(20261121)
    ks = np.arange(1, 78, dtype=float)
    rejected = printed = 0
    for _ in range(1000):
        values = 2 / np.sqrt(ks + 3) * (34.6 / rng.standard_gamma(35.6, (1, 77)))
        law = fit_improvement(values, ks, rng, resamples=199).law("inverse_gamma")
        rejected += law.p_value <= 0.05
        printed += law.goodness.paper_p_value <= 0.05
    assert 0.03 <= rejected / 1000 <= 0.07
    assert printed <= 5


A, B, SHAPE = 2.0, 3.0, 35.6


def decaying(rng: np.random.Generator, runs: int, epochs: int) -> tuple[FloatArray, FloatArray]:
    """Improvements that follow eq. (8) with an inverse gamma X of mean 1, and their epochs."""
    ks = np.arange(1, 1 + epochs, dtype=float)
    ratios = (SHAPE - 1) / rng.standard_gamma(SHAPE, (runs, epochs))
    return A / np.sqrt(ks + B) * ratios, ks


@pytest.mark.parametrize("seed", range(3))
def test_no_other_curve_has_a_smaller_sum_of_squares_by_scipy(seed):
    rng = np.random.default_rng(seed)
    values, ks = decaying(rng, 4, 25)
    values[rng.random(values.shape) < 0.2] = np.nan
    found = fitted_curves(ks, epoch_sums(values, np.ones((1, 4))))
    scale, offset = float((found.scale / found.mean_ratio)[0]), float(found.offset[0])

    def residuals(parameters: FloatArray) -> FloatArray:
        errors = values - parameters[0] / np.sqrt(ks + parameters[1])
        return np.asarray(errors[np.isfinite(errors)])

    second = by_scipy(residuals, [1.0, 1.0], bounds=([-np.inf, -0.99], np.inf), xtol=1e-14, ftol=1e-14)
    assert (residuals(np.array([scale, offset])) ** 2).sum() <= 2 * second.cost * (1 + 1e-10)
    assert (scale, offset) == pytest.approx(second.x, rel=1e-3)


def test_an_improvement_that_does_not_decay_is_a_constant():
    found = fit_curve(np.full((2, 12), 0.7), np.arange(1, 13), np.random.default_rng(0))
    assert found.constant
    assert found.scale == pytest.approx(0.7, rel=1e-14)
    assert math.isinf(found.offset_bounds.upper)
    assert found.at(np.array([1.0, 100.0])).tolist() == [found.scale, found.scale]


def test_a_constant_may_be_asked_for():
    values, ks = decaying(np.random.default_rng(1), 30, 8)
    found = fit_curve(values, ks, np.random.default_rng(2), constant=True)
    assert found.constant
    assert found.scale == values.mean()
    assert found.scale_bounds.lower < found.scale < found.scale_bounds.upper
    few = fit_curve(values[:2], ks, np.random.default_rng(2), constant=True)
    half = 2.1314 * values[:2].std(ddof=1) / 4  # the 0.975 quantile of Student's t, 15 degrees of freedom
    assert few.scale_bounds.upper - few.scale == pytest.approx(half, rel=1e-4)


@pytest.mark.slow
def test_nineteen_of_twenty_intervals_contain_the_truth():
    """300 data sets each; a count with p = 0.95 stays above 0.915 with probability 0.99."""
    rng = np.random.default_rng(20261121)
    inside = np.zeros((2, 2))
    for _ in range(300):
        for row, (runs, epochs) in enumerate([(40, 20), (1, 60)]):
            found = fit_curve(*decaying(rng, runs, epochs), rng, resamples=499)
            inside[row, 0] += found.scale_bounds.lower <= A <= found.scale_bounds.upper
            inside[row, 1] += found.offset_bounds.lower <= B <= found.offset_bounds.upper
    assert (inside / 300 >= 0.915).all()


@pytest.mark.parametrize(
    ("values", "epochs", "message"),
    [
        (np.ones(5), np.arange(1, 6), r"the shape \(runs, epochs\)"),
        (np.ones((1, 5)), np.arange(1, 5), "for 4 epochs"),
        (np.ones((1, 5)), np.arange(5), "counted from 1"),
        (np.ones((1, 3)), [1, 2, 2], "the same one"),
        (np.array([[1.0, np.inf, 1, 1]]), np.arange(1, 5), "finite"),
        (np.ones((2, 2)), [1, 2], "at least 3 epochs and 4 improvements, not 2 and 4"),
        (np.ones((1, 3)), [1, 2, 3], "not 3 and 3"),
        (np.zeros((2, 4)), np.arange(1, 5), "does not move"),
        (np.array([[1.0] * 4, [-1.0] * 4]), np.arange(1, 5), "does not move on average"),
    ],
)
def test_improvements_without_a_curve_are_refused(values, epochs, message):
    with pytest.raises(InvalidInputError, match=message):
        fit_curve(values, epochs, np.random.default_rng(0))


#   run  epoch  model  cluster  start  loss
ROWS = [
    ("a", 0, "full", "edge", math.nan, 9.0),
    ("a", 1, "full", "edge", math.nan, 7.0),
    ("a", 2, "full", "edge", math.nan, 6.0),
    ("a", 3, "cut", "far", 6.5, 6.25),
    ("b", 0, "full", "edge", math.nan, 8.0),
    ("b", 1, "full", "edge", math.nan, 8.5),
    ("b", 2, "cut", "far", math.nan, 7.5),
]


def observed(with_start: bool = True) -> Traces:
    columns = list(zip(*ROWS, strict=True))
    metrics = {"start_loss": np.array(columns[4])} if with_start else {}
    return Traces(*(np.array(column) for column in columns[:4]), np.array(columns[5]), metrics)


def test_a_switch_that_was_not_evaluated_is_estimated_and_counted():
    found = observe(observed())
    with pytest.raises(InvalidInputError, match="after 1 of 2 switches from 'full' to 'cut'"):
        found.jumps_of("full", "cut")
    jumps, estimated = found.jumps_of("full", "cut", expected=np.array([3.0, 2.0, 1.0]))
    assert (jumps.tolist(), estimated) == ([0.5, 1.0], 1)  # measured 6.5 - 6; estimated 7.5 - 8.5 + 2
    jumps, estimated = observe(observed(with_start=False)).jumps_of("full", "cut", np.zeros(3))
    assert (jumps.tolist(), estimated) == ([0.25, -1.0], 2)
    assert found.jumps_of("cut", "full")[0].size == 0
    only = Traces(np.array(["a"]), np.array([0]), np.array(["full"]), np.array(["edge"]), np.array([9.0]))
    with pytest.raises(InvalidInputError, match="no run has an epoch of training"):
        observe(only)

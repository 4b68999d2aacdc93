"""What every law has to pass, whoever wrote it: each check asks the law and an independent distribution.

`check_law` makes all checks of one law with a density.
``reference`` has the ``pdf``, ``cdf``, ``sf``, ``ppf`` and ``isf`` of scipy.stats. Expectations are
integrals over its quantiles, by Gauss-Legendre on levels that are halved towards both ends.
"""

import functools
import math
from typing import Any

import msgspec
import numpy as np
from scipy import stats

from depl.models.estimation.families import family_of
from depl.models.foundation.documents import decode
from depl.models.problem.epochs import Term
from depl.models.problem.instance import Switch
from depl.models.problem.laws import FloatArray, Law
from depl.models.problem.learning import ConstantImprovement
from depl.models.risk.lower_bound.laws import TiltedTable
from depl.models.risk.transforms import centred_log_transform, transformable

LEVELS = np.array([1e-12, 1e-6, 0.01, 0.2, 0.5, 0.8, 0.99])
_ORDER, _HALVINGS = 20, 400


@functools.lru_cache(maxsize=64)
def quantile_nodes(reference: Any) -> tuple[FloatArray, FloatArray]:
    """Points and weights for expectations under a distribution."""
    nodes, weights = np.polynomial.legendre.leggauss(_ORDER)
    edges = 0.5 ** np.arange(1.0, _HALVINGS)
    half = -np.diff(edges)[:, None] / 2
    levels, masses = (edges[:-1, None] - half * (1 + nodes)).ravel(), (half * weights).ravel()
    points = np.concatenate([reference.ppf(levels), reference.isf(levels)])
    return points, np.concatenate([masses, masses])


def check_law(law: Law, reference: Any) -> None:
    """All checks, one after the other; the first that fails raises AssertionError where it stands."""
    check_moments(law, reference)
    check_tails(law, reference)
    check_support(law, reference)
    check_transform(law, reference)
    check_decay(law)
    check_tilt(law, reference)
    check_samples(law, reference)
    check_document(law)
    check_wording(law)
    check_fit(law)


def check_moments(law: Law, reference: Any) -> None:
    """Mean, variance, and the bound of the third absolute moment."""
    points, weights = quantile_nodes(reference)
    mean, variance = law.moments()
    size = abs(mean) + math.sqrt(variance if math.isfinite(variance) else mean**2)
    assert abs(float(weights @ points) - mean) <= 1e-7 * size
    if not math.isfinite(variance):
        return
    centred = points - mean
    assert math.isclose(float(weights @ centred**2), variance, rel_tol=1e-6)
    if math.isfinite(law.third_moment()):
        assert float(weights @ np.abs(centred) ** 3) <= law.third_moment() * (1 + 1e-9)


def check_tails(law: Law, reference: Any) -> None:
    """Density, both tails and quantiles, within the errors that the law grants."""
    points = np.concatenate([reference.ppf(LEVELS), reference.isf(LEVELS)])
    slack = law.survival_slack(points)
    assert 0 < slack < 1e-9
    for found, true in (
        (law.survival(points), reference.sf(points)),
        (law.cdf(points), reference.cdf(points)),
    ):
        assert np.all(np.abs(found - true) <= law.tail_error * true + 2 * slack)
    np.testing.assert_allclose(law.density(points), reference.pdf(points), rtol=1e-9)
    size = np.abs(points).max() + 1e-300
    np.testing.assert_allclose(law.quantile(LEVELS), reference.ppf(LEVELS), rtol=1e-7, atol=1e-9 * size)
    upper = law.quantile(LEVELS, upper=True)
    np.testing.assert_allclose(upper, reference.isf(LEVELS), rtol=1e-7, atol=1e-9 * size)
    np.testing.assert_allclose(law.inverse_cdf(LEVELS), reference.ppf(LEVELS), rtol=1e-7, atol=1e-9 * size)
    sensitivity = law.argument_sensitivity(float(np.abs(points).max()))
    assert sensitivity is None or np.all(np.abs(points) * reference.pdf(points) <= sensitivity * (1 + 1e-9))


def check_support(law: Law, reference: Any) -> None:
    """All quantiles inside, and no mass outside."""
    low, high = law.support()
    points = np.concatenate([reference.ppf(LEVELS), reference.isf(LEVELS)])
    assert low <= points.min() <= points.max() <= high
    outside = [end + step for end, step in ((low, -1.0), (high, 1.0)) if math.isfinite(end)]
    for point in outside:
        assert float(law.density(point)) == 0
        assert float(law.cdf(point)) == (0 if point < low else 1)
    assert not law.positive or low >= 0


def check_transform(law: Law, reference: Any) -> None:
    """log E exp(-z (X - E X)) within its error bound and that of the quantile nodes."""
    domain = law.transform_domain()
    if domain is None:
        assert law.without_transform
        assert not transformable(Term(-1.0, law))
        return
    points, weights = quantile_nodes(reference)
    mean, width = law.moments().mean, float(reference.ppf(0.75) - reference.ppf(0.25))
    ends = [min(max(end, -1.0 / width), 1.0 / width) for end in domain]
    reals = [share * end for end in ends if end for share in (0.1, 0.8)]
    z = np.array([c + 1j * t / width for c in reals for t in (0.0, 0.3, 2.0)])
    found, error = centred_log_transform(law, z)
    true = np.log(np.exp(-z[:, None] * (points - mean)) @ weights)
    turns = np.round((found - true).imag / (2 * math.pi))
    assert np.all(np.abs(found - true - 2j * math.pi * turns) <= error + 1e-8)
    assert np.all(error < 1e-10)


def check_decay(law: Law) -> None:
    """Whether the modulus of the transform is log-log concave, where the law says so."""
    if law.decays:
        width = float(law.quantile(0.75) - law.quantile(0.25))
        t = np.geomspace(1e-2, 30.0, 40)
        logs = centred_log_transform(law, (0.5 + 1j * t) / width)[0].real
        assert np.all(np.diff(logs, 2) <= 1e-9 * (1 + np.abs(logs[1:-1])))


def check_tilt(law: Law, reference: Any) -> None:
    """H, B, T and F of the table at its nodes against expectations under the tilt."""
    if not law.tilts:
        return
    points, weights = quantile_nodes(reference)
    unit, first = law.tilt_unit(), math.log(0.5)
    table = TiltedTable.of(law, first, first + 0.02)
    x, u = points / unit, 0.5
    tilted = weights * np.exp(-u * (x - x.min() if law.positive else x))
    total = float(tilted.sum())
    logarithm = math.log(total) - (u * x.min() if law.positive else 0.0)
    tilted /= total
    mean = float(tilted @ x)
    divergence = -logarithm - u * mean
    second, third = (u**power * float(tilted @ (x - mean) ** power) for power in (2, 3))
    nodes = table.nodes
    assert math.isclose(nodes.divergence[0], divergence, rel_tol=1e-7, abs_tol=1e-10)
    assert math.isclose(nodes.excess[0], max(divergence - second / 2, 0.0), rel_tol=1e-5, abs_tol=1e-9)
    assert math.isclose(nodes.third[0], third, rel_tol=1e-5, abs_tol=1e-9)


def check_samples(law: Law, reference: Any) -> None:
    """Draws of a fixed seed, judged by Kolmogorov and Smirnov; equal generators draw alike."""
    drawn = law.sample(np.random.default_rng(20), 4000)
    assert drawn.shape == (4000,)
    assert stats.kstest(drawn, reference.cdf).pvalue > 1e-3
    np.testing.assert_array_equal(drawn, law.sample(np.random.default_rng(20), 4000))


def check_document(law: Law) -> None:
    """Read and written where it may stand, with its tag; equal laws are equal and hash alike."""
    if type(law).for_improvements:
        improvement = ConstantImprovement(noise=law)
        assert _read_back(improvement).noise == law
    if type(law).for_switches:
        switch = Switch(previous="a", following="b", law=law)
        found = _read_back(switch).law
        assert found == law
        assert hash(found) == hash(law)


def _read_back(record: Any) -> Any:
    text = msgspec.json.encode(record)
    assert b'"type":"' in text
    return decode(text, type(record))


def check_wording(law: Law) -> None:
    """A few words without Python in them."""
    words = law.in_words()
    assert words
    assert not set("<>{}=_") & set(words)


def check_fit(law: Law) -> None:
    """The family, fitted to 40,000 draws, gives moments near those of the law."""
    if law.family is None or law.has_atoms or not (law.parameters() or law.family in _FITTED):
        return
    family = family_of(law.family)
    drawn = law.sample(np.random.default_rng(7), 40_000)
    found = family.fit(drawn[None])
    points = np.quantile(drawn, [0.1, 0.5, 0.9])
    np.testing.assert_allclose(family.cdf(found, points[None])[0], [0.1, 0.5, 0.9], atol=0.012)


_FITTED = {"inverse_gamma", "lognormal", "normal", "student_t"}

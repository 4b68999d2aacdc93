"""What holds for every law: what it says of itself, against the distribution that it names."""

import functools
import math
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray
from scipy import stats

from depl.models.estimation.families import family_of
from depl.models.foundation.documents import decode
from depl.models.foundation.errors import NotCoveredError
from depl.models.problem.epochs import Term
from depl.models.problem.instance import Switch
from depl.models.problem.laws import FloatArray, Law
from depl.models.problem.learning import ConstantImprovement
from depl.models.risk.lower_bound.laws import TiltedTable
from depl.models.risk.transforms import centred_log_transform, transformable
from depl.testing.problems import BrokenPromiseError

Numbers = FloatArray | NDArray[np.complex128]
Relation = tuple[str, object, str]
"""What holds of a law, whether it does, and what was found in its place."""
LEVELS = np.array([1e-12, 1e-6, 0.01, 0.2, 0.5, 0.8, 0.99])
_ORDER, _HALVINGS = 20, 400


def check_law(law: Law, reference: Any = None) -> None:
    """Ask a law all that every law promises.

    Moments, both tails, density, quantiles, support, transform with its error, tilted cumulants, draws, the
    document, the words, and the fit of its family are held against an independent distribution, within the
    errors that the law grants.

    Parameters
    ----------
    law : Law
        Of a class that is registered (`depl.register_law`).
    reference : object, optional
        Has ``pdf``, ``cdf``, ``sf``, ``ppf`` and ``isf`` of scipy.stats. Unless given, the law's own
        ``distribution()``: then nothing but that distribution itself is taken on trust. Of a law without a
        density the atoms are the reference; one of which nothing is declared has to say so.

    Raises
    ------
    BrokenPromiseError
        With the first relation that does not hold.
    """
    if law.forbids or not law.declared:
        checks: list[Callable[[Law], Iterator[Relation]]] = [_nothing]
    elif law.has_atoms or law.constant is not None:
        checks = [_values]
    else:
        known = law.scipy if reference is None else reference
        checks = [functools.partial(check, reference=known) for check in _OF_A_DENSITY]
    for check in [*checks, _document, _wording, _fit]:
        for relation, holds, found in check(law):
            if not holds:
                raise BrokenPromiseError(repr(law), relation, found)


def _close(relation: str, found: Numbers, true: Numbers, within: float | FloatArray) -> Relation:
    """Every number of an array within an absolute tolerance; what is no number is not."""
    off = np.atleast_1d(np.abs(found - true) - within)
    worst = int(np.argmax(np.where(np.isfinite(off), off, math.inf)))
    said, right = (np.atleast_1d(item)[worst] for item in (found, true))
    return relation, off[worst] <= 0, f"{said}, where {right} is true"


@functools.lru_cache(maxsize=64)
def quantile_nodes(reference: Any) -> tuple[FloatArray, FloatArray]:
    """Points and weights for expectations under a distribution.

    By Gauss-Legendre over its quantiles, on levels that are halved towards both ends.
    """
    nodes, weights = np.polynomial.legendre.leggauss(_ORDER)
    edges = 0.5 ** np.arange(1.0, _HALVINGS)
    half = -np.diff(edges)[:, None] / 2
    levels, masses = (edges[:-1, None] - half * (1 + nodes)).ravel(), (half * weights).ravel()
    points = np.concatenate([reference.ppf(levels), reference.isf(levels)])
    return points, np.concatenate([masses, masses])


def _moments(law: Law, reference: Any) -> Iterator[Relation]:
    """Mean, variance, and the bound of the third absolute moment."""
    points, weights = quantile_nodes(reference)
    mean, variance = law.moments()
    size = abs(mean) + math.sqrt(variance if math.isfinite(variance) else mean**2)
    true = float(weights @ points)
    yield "the mean", abs(true - mean) <= 1e-7 * size, f"{mean}, the integral is {true}"
    if not math.isfinite(variance):
        return
    centred = points - mean
    true = float(weights @ centred**2)
    near = math.isclose(true, variance, rel_tol=1e-6)
    yield "the variance", near, f"{variance}, the integral is {true}"
    bound, true = law.third_moment(), float(weights @ np.abs(centred) ** 3)
    below = not math.isfinite(bound) or true <= bound * (1 + 1e-9)
    yield "the third moment", below, f"bounded by {bound}, the integral is {true}"


def _tails(law: Law, reference: Any) -> Iterator[Relation]:
    """Density, both tails and quantiles, within the errors that the law grants."""
    points = np.concatenate([reference.ppf(LEVELS), reference.isf(LEVELS)])
    slack = law.survival_slack(points)
    yield "the slack of its tails", 0 < slack < 1e-9, f"{slack}"
    for name, found, true in (
        ("P(X > x)", law.survival(points), reference.sf(points)),
        ("P(X <= x)", law.cdf(points), reference.cdf(points)),
    ):
        yield _close(name, found, true, law.tail_error * true + 2 * slack)
    density = reference.pdf(points)
    yield _close("the density", law.density(points), density, 1e-9 * density)
    size = float(np.abs(points).max()) + 1e-300
    for name, found, true in (
        ("quantiles", law.quantile(LEVELS), reference.ppf(LEVELS)),
        ("upper quantiles", law.quantile(LEVELS, upper=True), reference.isf(LEVELS)),
        ("the quantiles of draws", law.inverse_cdf(LEVELS), reference.ppf(LEVELS)),
    ):
        yield _close(name, found, true, 1e-7 * np.abs(true) + 1e-9 * size)
    sensitivity = law.argument_sensitivity(float(np.abs(points).max()))
    most = float(np.max(np.abs(points) * density))
    bounded = sensitivity is None or most <= sensitivity * (1 + 1e-9)
    yield "the sensitivity", bounded, f"bounded by {sensitivity}, it is {most}"


def _support(law: Law, reference: Any) -> Iterator[Relation]:
    """All quantiles inside, and no mass outside."""
    low, high = law.support()
    points = np.concatenate([reference.ppf(LEVELS), reference.isf(LEVELS)])
    inside = low <= points.min() <= points.max() <= high and (low >= 0 or not law.positive)
    yield "the support", inside, f"[{low}, {high}]"
    for point in [end + step for end, step in ((low, -1.0), (high, 1.0)) if math.isfinite(end)]:
        empty = float(law.density(point)) == 0 and float(law.cdf(point)) == (0 if point < low else 1)
        yield "the support", empty, f"mass at {point}, outside of [{low}, {high}]"


def _transform(law: Law, reference: Any) -> Iterator[Relation]:
    """log E exp(-z (X - E X)) within its error bound and that of the quantile nodes."""
    domain = law.transform_domain()
    if domain is None:
        told = bool(law.without_transform) and not transformable(Term(-1.0, law))
        yield "no transform", told, "not said why"
        rests = law.decays or law.tilts
        yield "no transform", not rests, "it decays or tilts all the same, as it says"
        return
    points, weights = quantile_nodes(reference)
    mean, width = law.moments().mean, float(reference.ppf(0.75) - reference.ppf(0.25))
    ends = [min(max(end, -1.0 / width), 1.0 / width) for end in domain]
    reals = [share * end for end in ends if end for share in (0.1, 0.8)]
    z = np.array([c + 1j * t / width for c in reals for t in (0.0, 0.3, 2.0)])
    found, error = centred_log_transform(law, z)
    true = np.log(np.exp(-z[:, None] * (points - mean)) @ weights)
    true += 2j * math.pi * np.round((found - true).imag / (2 * math.pi))
    yield _close("the transform", found, true, error + 1e-8)
    small = bool(np.all(error < 1e-10))
    yield "the error of the transform", small, f"up to {error.max()}"


def _decay(law: Law, reference: Any) -> Iterator[Relation]:
    """Whether the modulus of the transform is log-log concave, where the law says so."""
    del reference
    if law.decays:
        width = float(law.quantile(0.75) - law.quantile(0.25))
        t = np.geomspace(1e-2, 30.0, 40)
        z = np.asarray((0.5 + 1j * t) / width, dtype=np.complex128)
        logs = centred_log_transform(law, z)[0].real
        concave = bool(np.all(np.diff(logs, 2) <= 1e-9 * (1 + np.abs(logs[1:-1]))))
        yield "decays", concave, "the modulus of its transform is not log-log concave"


def _tilt(law: Law, reference: Any) -> Iterator[Relation]:
    """H, B, T and F of the table at its nodes against expectations under the tilt."""
    if not law.tilts:
        return
    points, weights = quantile_nodes(reference)
    unit, first = law.tilt_unit(), math.log(0.5)
    nodes = TiltedTable.of(law, first, first + 0.02).nodes
    x, u = points / unit, 0.5
    least = x.min() if law.positive else 0.0
    tilted = weights * np.exp(-u * (x - least))
    total = float(tilted.sum())
    tilted /= total
    mean = float(tilted @ x)
    divergence = -math.log(total) + u * least - u * mean
    second, third = (u**power * float(tilted @ (x - mean) ** power) for power in (2, 3))
    for name, found, true, relative, absolute in (
        ("the tilted divergence", nodes.divergence[0], divergence, 1e-7, 1e-10),
        ("the tilted excess", nodes.excess[0], max(divergence - second / 2, 0.0), 1e-5, 1e-9),
        ("the third tilted cumulant", nodes.third[0], third, 1e-5, 1e-9),
    ):
        near = math.isclose(found, true, rel_tol=relative, abs_tol=absolute)
        yield name, near, f"{found}, the integral is {true}"


def _draws(law: Law, reference: Any) -> Iterator[Relation]:
    """Of a fixed seed, judged by Kolmogorov and Smirnov; equal generators draw alike."""
    drawn = law.sample(np.random.default_rng(20), 4000)
    likely = drawn.shape == (4000,) and stats.kstest(drawn, reference.cdf).pvalue > 1e-3
    yield "draws", likely, "they do not follow its distribution"
    again = law.sample(np.random.default_rng(20), 4000)
    yield "draws", np.array_equal(drawn, again), "equal generators draw other numbers"


_OF_A_DENSITY = (_moments, _tails, _support, _transform, _decay, _tilt, _draws)


def _values(law: Law) -> Iterator[Relation]:
    """A law without a density: moments, tails, support and draws against its values and their weights."""
    values, weights = law.atoms() if law.has_atoms else (np.array([law.constant]), np.ones(1))
    mean, variance = law.moments()
    true = float(weights @ values)
    yield _close("the mean", np.array(mean), np.array(true), 1e-9 * (1 + abs(true)))
    yield _close("the variance", np.array(variance), weights @ (values - mean) ** 2, 1e-9 * (1 + variance))
    ends = law.support() == (values.min(), values.max())
    yield "the support", ends, f"{law.support()}"
    drawn = law.sample(np.random.default_rng(3), 2000)
    for value, weight in zip(values, weights, strict=True):
        share = float((drawn == value).mean())
        yield "draws", abs(share - weight) < 0.05, f"{value} in {share} of them"
        step = float(law.cdf(value) - law.cdf(value - 1e-9))
        yield _close("P(X = x)", np.array(step), np.array(weight), 1e-9)


def _nothing(law: Law) -> Iterator[Relation]:
    """Whatever asks for a probability is refused."""
    for ask in (
        law.moments,
        law.support,
        lambda: law.cdf(0.0),
        lambda: law.sample(np.random.default_rng(0), 1),
    ):
        try:
            found = ask()
        except NotCoveredError:
            continue
        yield "an undeclared law", False, f"it answers {found}"


def _document(law: Law) -> Iterator[Relation]:
    """Read and written where it may stand, with its tag; equal laws are equal and hash alike."""
    kept = []
    if type(law).for_improvements:
        kept.append(_read_back(ConstantImprovement(noise=law)).noise)
    if type(law).for_switches:
        kept.append(_read_back(Switch(previous="a", following="b", law=law)).law)
    same = all(found == law and hash(found) == hash(law) for found in kept)
    yield "its document", same, "another law is read back"


def _read_back(record: Any) -> Any:
    return decode(msgspec.json.encode(record), type(record))


def _wording(law: Law) -> Iterator[Relation]:
    words = law.in_words()
    yield "words", words and not set("<>{}=_") & set(words), repr(words)


_FITTED = {"inverse_gamma", "lognormal", "normal", "student_t"}
"""Shipped laws whose fits are written elsewhere, and not as `Law.fitted`."""


def _fit(law: Law) -> Iterator[Relation]:
    """The family, fitted to 40,000 draws, has quantiles near those of the law."""
    if law.family is None or law.has_atoms or not (law.parameters() or law.family in _FITTED):
        return
    if any(getattr(law, name, None) is not None for name in ("lower", "upper")):
        return  # ends are known and not fitted
    family = family_of(law.family)
    drawn = law.sample(np.random.default_rng(7), 40_000)
    found = family.fit(drawn[None])
    levels = np.array([0.1, 0.5, 0.9])
    yield _close("its fit", family.cdf(found, np.quantile(drawn, levels)[None])[0], levels, 0.012)

"""Real exponential tilts of the terms of a loss: log E exp(s Y), and mean and spread under the tilt.

Everything is a sum over quadrature nodes of the law itself, with weights kept as logarithms, so that
it shares no formula with the closed forms of `depl.models.risk.transforms` and can check them. For
the inverse gamma with X = scale / G and G gamma distributed, the integrand over log G is log-concave
and entire: the trapezoidal rule converges geometrically.
"""

import math
from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from depl.models.foundation.errors import NotCoveredError
from depl.models.problem.epochs import FinalLoss, Term
from depl.models.problem.laws import FloatArray, Law

_PANEL_ORDER = 20
"""Gauss-Legendre points for every octave of levels: set by hand. Quantiles are analytic within an octave, so
errors fall geometrically with the order; nothing certified rests on it."""

_HALVINGS = 240
"""The levels of quantiles go down to 2**-240: what is tilted by more is not resolved."""


class Tilted(NamedTuple):
    """Logarithm of E exp(s Y), and mean and variance of Y under the density proportional to exp(s y) f(y)."""

    log_transform: float
    mean: float
    variance: float


def tilted_loss(loss: FinalLoss, rate: float) -> Tilted:
    """Cumulant generating function of the final loss at ``rate`` [1 / loss], and its two derivatives.

    Raises
    ------
    NotCoveredError
        If a law has no exponential moment on that side.
    """
    parts = [(tilted_term(term, rate), count) for term, count in loss.terms]
    return Tilted(
        math.fsum([rate * loss.constant, *(count * part.log_transform for part, count in parts)]),
        math.fsum([loss.constant, *(count * part.mean for part, count in parts)]),
        math.fsum(count * part.variance for part, count in parts),
    )


def tilted_term(term: Term, rate: float) -> Tilted:
    """Cumulant generating function of coefficient * X at ``rate`` [1 / loss], and its two derivatives.

    Raises
    ------
    NotCoveredError
        If the law has no exponential moment on that side.
    """
    law, coefficient = term.law, term.coefficient
    exponent = rate * coefficient
    if law.is_normal:
        mean, variance = law.moments()
        return Tilted(
            exponent * (mean + exponent * variance / 2),
            coefficient * (mean + exponent * variance),
            coefficient**2 * variance,
        )
    if exponent == 0:
        moments = law.moments()
        return Tilted(0.0, coefficient * moments.mean, coefficient**2 * moments.variance)
    values, logarithms = tilted_nodes(law, exponent)
    total = float(logsumexp(logarithms))
    weights = np.exp(logarithms - total)
    mean = float(weights @ values)
    return Tilted(total, coefficient * mean, coefficient**2 * float(weights @ (values - mean) ** 2))


def tilted_nodes(law: Law, exponent: float) -> tuple[FloatArray, FloatArray]:
    """Nodes x, and logarithms of weights that sum up to E exp(exponent * X), both of shape (n,).

    Raises
    ------
    NotCoveredError
        If E exp(exponent * X) is infinite.
    """
    domain = law.transform_domain()
    own = law.tilted_nodes(exponent)
    if own is not None:
        return own
    if domain is None:
        raise NotCoveredError(f"{law.without_transform}; it cannot be tilted")
    if not domain[0] < -exponent < domain[1]:
        raise NotCoveredError(f"E exp({exponent:g} X) is infinite if X is {type(law).__name__}")
    return _quantile_nodes(law, exponent)


def _quantile_nodes(law: Law, exponent: float) -> tuple[FloatArray, FloatArray]:
    """E g(X) is the integral of g over the quantiles of X: Gauss-Legendre on levels halved at both ends."""
    nodes, weights = np.polynomial.legendre.leggauss(_PANEL_ORDER)
    edges = np.append(0.5 ** np.arange(1.0, _HALVINGS), 0.0)
    half = -np.diff(edges)[:, None] / 2
    levels, masses = (edges[:-1, None] - half * (1 + nodes)).ravel(), (half * weights).ravel()
    points = np.concatenate([law.quantile(levels), law.quantile(levels, upper=True)])
    return points, np.log(np.concatenate([masses, masses])) + exponent * points

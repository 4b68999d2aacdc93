"""The real tilt of one term from its quantiles: it shares no formula with the transforms and tables."""

from typing import NamedTuple

import numpy as np
from scipy import special

from depl.models.problem.epochs import Term

_PANEL_ORDER, _HALVINGS = 20, 240


class Tilted(NamedTuple):
    """Logarithm of E exp(s Y), and cumulants of Y under the density proportional to exp(s y) f(y)."""

    log_transform: float
    mean: float
    variance: float
    third: float
    fourth: float


def tilted_term(term, rate):
    """Of Y = coefficient * X at ``rate`` s, by Gauss-Legendre on levels halved at both ends."""
    coefficient, law = term.coefficient, term.law
    if law.is_normal:
        mean, variance, exponent = *law.moments(), rate * coefficient
        logarithm = exponent * (mean + exponent * variance / 2)
        return Tilted(logarithm, coefficient * (mean + exponent * variance), coefficient**2 * variance, 0, 0)
    if law.has_atoms:
        values, weights = law.atoms()
    else:
        nodes, sizes = np.polynomial.legendre.leggauss(_PANEL_ORDER)
        edges = np.append(0.5 ** np.arange(1.0, _HALVINGS), 0.0)
        half = -np.diff(edges)[:, None] / 2
        levels, masses = (edges[:-1, None] - half * (1 + nodes)).ravel(), (half * sizes).ravel()
        values = np.concatenate([law.quantile(levels), law.quantile(levels, upper=True)])
        weights = np.concatenate([masses, masses])
    exponents = rate * coefficient * values
    total = float(special.logsumexp(exponents, b=weights))
    tilted = weights * np.exp(exponents - total)
    mean = float(tilted @ values)
    second, third, fourth = (float(tilted @ (coefficient * (values - mean)) ** n) for n in (2, 3, 4))
    return Tilted(total, coefficient * mean, second, third, fourth - 3 * second**2)


def tilted_numbers(law, share):
    """E_u X, H, W, T and F of a law tilted by exp(-u X), as `depl.models.risk.lower_bound` has them."""
    found = tilted_term(Term(-1.0, law), share)
    divergence = share * found.mean - found.log_transform
    cumulants = share**2 * found.variance, -(share**3) * found.third, share**4 * found.fourth
    return -found.mean, divergence, *cumulants

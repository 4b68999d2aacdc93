"""All subsets, for at most 20 elements: the oracle of all other methods, and the honest one for any f."""

from fractions import Fraction

import numpy as np

from depl.heuristics.set_functions.answers import Minimum, Proof
from depl.heuristics.set_functions.certificate import TOLERANCE
from depl.heuristics.set_functions.functions import (
    FloatArray,
    SetFunction,
    all_bounded_values,
    as_order,
    subset_of_index,
)

_MOST_EXACT = 1000
"""Most sets to compare in rational numbers: a thousand take a fraction of a second."""


def brute_force(function: SetFunction) -> Minimum:
    """The least value over all subsets.

    Sets that rounding does not tell apart are compared in rational numbers. Of equal ones the first in the
    order of `depl.heuristics.set_functions.functions.all_values` is returned. Where the values themselves are
    not known well enough (an oracle with an error, too many sets that are close), the set is optimal if the
    doubt is within `depl.heuristics.set_functions.certificate.TOLERANCE` of the range of f.

    Raises
    ------
    NotCoveredError
        For more than 20 elements.
    """
    values, errors = all_bounded_values(function)
    index, doubt = _least(function, values, errors)
    span = float(values.max() - values.min())
    optimal = doubt <= TOLERANCE * Fraction(span)
    subset, value = subset_of_index(index), float(values[index])
    return Minimum(
        subset,
        value,
        value if doubt == 0 else value - float(doubt),
        Proof.ENUMERATION if optimal else Proof.NONE,
        function.submodularity(),
        iterations=len(values),
        remark="" if optimal else f"values are known to within {float(doubt):.3g}, which leaves sets open",
    )


def _least(function: SetFunction, values: FloatArray, errors: FloatArray) -> tuple[int, Fraction]:
    """The index of the best set, and a bound of how much better another one may be."""
    upper = float((values + errors).min())
    candidates = np.flatnonzero(values - errors <= np.nextafter(upper, np.inf))
    if len(candidates) == 1 or not errors[candidates].any():
        return int(candidates[np.argmin(values[candidates])]), Fraction(0)
    if len(candidates) > _MOST_EXACT:
        best = int(np.argmin(values))
        return best, Fraction(float(values[best] + errors[best])) - Fraction(float((values - errors).min()))
    ends = [(function.exact_chain(as_order(subset_of_index(int(place)))), int(place)) for place in candidates]
    least, index = min((chain.last, place) for chain, place in ends)
    error = max(chain.error for chain, _ in ends)
    others = sum(chain.last - least <= 2 * error for chain, _ in ends) > 1
    return index, 2 * error if others and error else Fraction(0)

"""All subsets, for at most 20 elements: the oracle of all other methods, and the honest one for any f."""

import numpy as np

from depl.heuristics.submodular.answers import Minimum, Proof
from depl.heuristics.submodular.functions import SetFunction, all_values, subset_of_index


def brute_force(function: SetFunction) -> Minimum:
    """The least value over all subsets.

    Values that are equal up to the rounding of the function count as equal; the first of them in the order
    of `depl.heuristics.submodular.functions.all_values` is returned.

    Raises
    ------
    NotCoveredError
        For more than 20 elements.
    """
    values = all_values(function)
    subset = subset_of_index(int(np.argmin(values)))
    value = float(values.min())
    return Minimum(subset, value, value, Proof.ENUMERATION, function.submodularity(), iterations=len(values))

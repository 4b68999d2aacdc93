"""PARTITION inside stage 1: choosing data is NP-hard even without models, clusters and resources.

For K^ = 1 / ln(1 + Q), Q0 = 0, tau = q and t0 = (1 + W/2) ln(1 + W/2) - W/2, the product
g(Q) = (t0 + Q) / ln(1 + Q) has the derivative of the sign of (1 + Q) ln(1 + Q) - Q - t0, which rises and is 0
at Q = W/2 alone. So the least possible value g(W/2) = 1 + W/2 is attained iff some datasets have the volume
W/2: iff the volumes, of sum W, split into two halves.
"""

import math
from collections.abc import Sequence

from depl.heuristics.data.epochs_needed import inverse_logarithm
from depl.heuristics.data.problem import SelectionProblem, selection_of_numbers
from depl.models.foundation.errors import InvalidInputError, NotCoveredError

_LARGEST_SUM = 10**6
"""Greatest W: next to its minimum g is larger by 1 / (2 (1 + W/2)**2 ln(1 + W/2)) of itself, here 1.5e-13,
some hundred times the rounding of doubles."""


def partition_selection(numbers: Sequence[int]) -> SelectionProblem:
    """Stage 1 whose least value is 1 + W/2 iff ``numbers`` split into two halves of equal sum.

    Parameters
    ----------
    numbers : sequence of int
        Positive, with an even sum W.

    Raises
    ------
    InvalidInputError
        If a number is not positive or the sum is odd.
    NotCoveredError
        If the sum is too large: g is flat at W/2, and double precision tells its neighbours apart only up to
        about 10**7.
    """
    if not numbers or min(numbers) < 1 or sum(numbers) % 2:
        raise InvalidInputError("numbers must be positive with an even sum", "numbers")
    half = sum(numbers) // 2
    if 2 * half > _LARGEST_SUM:
        raise NotCoveredError(f"a sum of {2 * half} is too large for double precision")
    fixed = (1 + half) * math.log1p(half) - half
    volumes = [float(number) for number in numbers]
    return selection_of_numbers(inverse_logarithm(), volumes, volumes, fixed)

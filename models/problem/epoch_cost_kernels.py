"""What an epoch costs at a price of time, compiled: `depl.models.problem.epoch_costs` for loops of numba.

The functions are those of that module, not copies. They stand apart as numba takes half a second to import.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from depl.models.foundation.compiling import kernel
from depl.models.problem import epoch_costs

drive = kernel(interpreted=True)(epoch_costs.drive)
priced = kernel(interpreted=True)(epoch_costs.priced)
least_resources = kernel(interpreted=True)(epoch_costs.least_resources)

Floats = NDArray[np.floating[Any]]


@kernel(interpreted=True)
def add_prices(
    work: Floats,
    price: Floats,
    capacity: Floats,
    communication: Floats,
    deadline: float,
    multiplier: float,
    times: float,
    totals: Floats,
) -> None:
    """Add psi(multiplier) of each epoch, some times, to its total; arrays of shape (E,), as in `Load`.

    For a few dozen epochs that are asked for once; `EpochCosts` is quicker where they are asked again.
    """
    for i in range(work.size):
        least = least_resources(work[i], capacity[i], communication[i], deadline)
        driven = drive(multiplier, price[i])
        totals[i] += (
            times * priced(work[i], price[i], capacity[i], communication[i], least, multiplier, driven)[0]
        )

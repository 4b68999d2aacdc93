"""Problems of stage 1 of which a part of many datasets is best."""

import math

from depl.heuristics.data.epochs_needed import NeededEpochs
from depl.heuristics.data.problem import selection_of_numbers
from depl.models.problem.learning import InverseLogDataLaw, LogDataLaw, PowerDataLaw


def interior_selection(rng, size, law):
    """Communication about as expensive as computing on all data, so that a part of many datasets is best.

    The parameters of the law are fixed: a = ln(4 sum q), b = 1, Q0 = 5; Q0 = 1; p = 1/2.
    """
    volumes = rng.uniform(0.2, 1.0, size)
    whole = float(volumes.sum())
    needed = {
        "log": NeededEpochs(LogDataLaw(a=math.log(4 * whole + 20), b=1.0, base_volume=5.0)),
        "inverse_log": NeededEpochs(InverseLogDataLaw(base_volume=1.0)),
        "power": NeededEpochs(PowerDataLaw(p=0.5)),
    }[law]
    durations = volumes * rng.uniform(0.3, 1.7, size)
    return selection_of_numbers(needed, volumes, durations, float(rng.uniform(0.1, 0.6)) * whole)

"""Random problems of stage 1: every data law, few and many datasets, with and without prices of transfers."""

import math

import numpy as np

from depl.heuristics.data.epochs_needed import NeededEpochs, VolumeLaw
from depl.heuristics.data.problem import SelectionProblem, selection_of_numbers
from depl.heuristics.data.set_function import SelectionFunction
from depl.models.problem.learning import InverseLogDataLaw, LogDataLaw, PowerDataLaw

LAWS = ("log", "inverse_log", "power")


def random_selection(
    rng: np.random.Generator, size: int, law: str | None = None, priced: bool = False, base: bool = False
) -> SelectionProblem:
    """A problem whose optimum may be a single dataset, everything, or something between.

    Parameters
    ----------
    rng : Generator
        Draws everything.
    size : int
        n.
    law : str, optional
        One of `LAWS`; drawn by default.
    priced : bool
        Whether transfers cost something.
    base : bool
        Whether Q0 > 0 for sure, so that f is finite without data.
    """
    volumes = rng.uniform(0.2, 1.0, size)
    whole = float(volumes.sum())
    start = float(rng.uniform(0.01, 1) * whole * rng.choice([0.1, 1.0]))
    if not base and rng.random() < 1 / 3:
        start = 0.0
    densities = rng.uniform(0.3, 1.7, size) * float(rng.choice([0.1, 1.0, 10.0]))
    durations = volumes * densities
    fixed = float(rng.choice([0.0, rng.uniform(0, 2), durations.sum() * rng.uniform(0, 2)]))
    transfers = rng.uniform(0, 1, size) * float(rng.choice([0.01, 0.1])) * (fixed + 0.1) if priced else 0.0
    needed = NeededEpochs(_law(rng, law or str(rng.choice(LAWS)), start, whole))
    return selection_of_numbers(needed, volumes, durations, fixed, transfers)


def submodular_selection(rng: np.random.Generator, size: int) -> SelectionFunction:
    """K^ T^ where computing dominates (E4), and transfers about as expensive as what a dataset gains."""
    start, b = 2.0 * size, float(rng.uniform(1, 5))
    volumes = rng.uniform(0.5, 1.5, size)
    law = LogDataLaw(a=b * (0.6 + math.log(start)), b=b, base_volume=start)
    durations = volumes * rng.uniform(0.9, 1.1, size)
    transfers = rng.uniform(0, 0.9, size) * b * volumes
    return SelectionFunction(
        selection_of_numbers(NeededEpochs(law), volumes, durations, 0.9 * start, transfers)
    )


def communicating_selection(rng: np.random.Generator, size: int) -> SelectionFunction:
    """K^ T^ where communication dominates (t0 > t1 Q0 by far): not submodular, and an optimum between."""
    volumes = rng.uniform(0.5, 1.5, size)
    whole, start = float(volumes.sum()), float(rng.uniform(0.1, 0.6))
    b = float(rng.uniform(0.5, 3))
    law = LogDataLaw(a=b * (math.log(start + whole) + rng.uniform(0.1, 1.5)), b=b, base_volume=start)
    durations = volumes * rng.uniform(0.5, 2, size)
    fixed = float(rng.uniform(0.3, 1.2) * durations.sum())
    return SelectionFunction(selection_of_numbers(NeededEpochs(law), volumes, durations, fixed))


def interior_selection(rng: np.random.Generator, size: int, law: str) -> SelectionProblem:
    """Communication about as expensive as computing on all data, so that a part of many datasets is best.

    Parameters
    ----------
    rng : Generator
        Draws volumes, densities and t0.
    size : int
        n.
    law : str
        One of `LAWS`; its parameters are fixed: a = ln(4 sum q), b = 1, Q0 = 5; Q0 = 1; p = 1/2.
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


def _law(rng: np.random.Generator, kind: str, start: float, whole: float) -> VolumeLaw:
    if kind == "log":
        b = float(rng.uniform(0.2, 3))
        return LogDataLaw(a=b * (math.log(start + whole) + rng.uniform(0.05, 2)), b=b, base_volume=start)
    if kind == "inverse_log":
        return InverseLogDataLaw(base_volume=start)
    return PowerDataLaw(p=float(rng.uniform(0.1, 2)), base_volume=start)

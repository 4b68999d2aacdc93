"""By how much plans that were never run end off the law that others suggest for them.

A law fitted to traces is right about a plan up to what that plan has of its own. `plan_deviations` holds
plans out of the fit, a tenth of them at a time, and compares the mean of their runs with that of the law. A
solver looks for cheap plans among thousands and so prefers those that the law flatters: what holds for a plan
drawn at random does not for the plan chosen. `careful_deviation` is therefore the high quantile of the
deviations, meant as a single atom of `depl.models.memory.document.TracedLaw.deviations`: it moves up what the
law promises for plans that too few runs went through, and leaves those alone that were run often enough to
speak for themselves.
"""

import math
from collections.abc import Sequence
from itertools import groupby

import numpy as np

from depl.models.errors import InvalidInputError
from depl.models.estimation.affine import fit_affine
from depl.models.laws import FloatArray
from depl.models.memory.law import Position, Scale, on_scale, positions
from depl.models.memory.prediction import mixture_of
from depl.models.memory.support import outside_support
from depl.models.traces.table import Schedule, Traces

FOLDS = 10
AGES = (5, 10, 20)
"""Epochs after the last switch at which plans are compared, besides at their end."""

CARE = 0.95
"""Share of the plans held out that end off the law by no more than the careful deviation."""

LEAST_PLANS = 20
"""Fewest plans whose deviations have a high quantile."""


def plan_deviations(
    traces: Traces,
    rng: np.random.Generator,
    metric: str = "loss",
    scale: Scale = "loss",
    folds: int = FOLDS,
) -> FloatArray:
    """Mean of the runs of a plan less the mean of a law that was fitted to other plans.

    Parameters
    ----------
    rng : numpy.random.Generator
        Deals the plans into folds.
    metric : str
        ``loss`` or ``error_rate``.
    scale : "loss" or "log"
        Of the law, and of the deviations.
    folds : int
        At least 2.

    Returns
    -------
    float array (d,)
        One for every plan and age of `AGES` that it reaches, and its end, ascending; those that lie outside
        the support of the other plans are left out. The chance of the runs of the plan itself is in them.

    Raises
    ------
    InvalidInputError
        If there are fewer than two folds or plans, or a law cannot be fitted.
    """
    plans = list(traces.by_schedule().items())
    if folds < 2 or len(plans) < 2:
        raise InvalidInputError(f"needs two folds and two plans to hold one out, not {folds} of {len(plans)}")
    order, table = rng.permutation(len(plans)), traces.matrix(metric)
    found: list[float] = []
    for fold in range(min(folds, len(plans))):
        held = [plans[index] for index in order[fold::folds]]
        away = np.isin(np.arange(len(traces.runs)), np.concatenate([runs for _, runs in held]))
        law = fit_affine(traces.select(~away), metric, scale=scale)
        for plan, runs in held:
            for beginning in _beginnings(plan):
                if outside_support(law, beginning):
                    continue
                mixed = mixture_of(law, _ends(beginning))
                expected = mixed.constant + math.fsum(float(part.mean()) for part in mixed.parts)
                seen = on_scale(table[runs, len(beginning)], scale)
                found.append(float(seen.mean()) - expected)
    return np.sort(np.array(found))


def careful_deviation(deviations: Sequence[float] | FloatArray, care: float = CARE) -> float:
    """The least deviation that ``care`` of the plans do not exceed, at least 0.

    Parameters
    ----------
    deviations : float array (d,)
        As `plan_deviations` gives them.
    care : float
        In (0, 1).

    Raises
    ------
    InvalidInputError
        If the care is out of range, or there are fewer than `LEAST_PLANS` deviations.
    """
    if not 0 < care < 1:
        raise InvalidInputError(f"must lie between 0 and 1, not at {care}", ".care")
    if len(deviations) < LEAST_PLANS:
        raise InvalidInputError(
            f"only {len(deviations)} deviations of plans that were held out could be seen, {LEAST_PLANS} are "
            "needed; record more plans, or ask for none",
            ".care",
        )
    ordered = np.sort(np.asarray(deviations, dtype=float))
    return max(0.0, float(ordered[math.ceil(care * ordered.size) - 1]))


def _beginnings(plan: Schedule) -> list[Schedule]:
    """The plan up to some ages of its last stage, and all of it."""
    start = _ends(plan)[-1].start
    return [plan[: start + age] for age in AGES if start + age < len(plan)] + [plan]


def _ends(plan: Schedule) -> list[Position]:
    return [list(items)[-1] for _, items in groupby(positions(plan), key=lambda item: item.start)]

"""By how much plans that were never run end off the law that others suggest for them.

`plan_deviations` holds plans out of the fit, a tenth of them at a time, and compares the mean of the runs of
a plan with that of the law, and every run with the mean of its plan. Among thousands of plans a solver
prefers those that the law flatters, and those that were lent runs without spikes: so `careful_deviations`
moves all up by a high quantile of what plans deviate by, which counts the next plan beside the p held out,
and spreads them as runs are around the mean of their plan. Plans that were run often enough speak for
themselves.
"""

import math
from itertools import groupby
from typing import NamedTuple

import numpy as np

from depl.models.estimation.affine import fit_affine
from depl.models.estimation.choices import CARE, plans_needed
from depl.models.evaluation.traced_prediction import staged
from depl.models.evaluation.traced_support import outside_support
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.wording import counted
from depl.models.problem.affine_law import Position, Scale, on_scale, positions
from depl.models.problem.laws import FloatArray
from depl.models.risk.discrete import decimal
from depl.models.traces.table import Schedule, Traces

FOLDS = 10
"""Parts that plans are dealt into: a convention of cross-validation. Twice as many hold out fewer plans for
each fit and take twice the time."""

AGES = (5, 10, 20)
"""Epochs after the last switch at which plans are compared, besides at their end."""

MOST_ATOMS = 40
"""Most deviations in an instance; neighbours become the greatest of them."""


class Deviations(NamedTuple):
    """What was seen of plans held out, both ascending, on the scale of the law.

    Attributes
    ----------
    plans : float array (d,)
        Mean of the runs of a plan less the mean of the law, at one or more ages of it.
    runs : float array (r,)
        Runs less the mean of their plan, as if that were known: n runs count sqrt(n / (n - 1)) times.
    held_out : int
        How many plans the deviations are of; those of one plan at several ages are no independent evidence.
    """

    plans: FloatArray
    runs: FloatArray
    held_out: int


def plan_deviations(
    traces: Traces,
    rng: np.random.Generator,
    metric: str = "loss",
    scale: Scale = "loss",
    folds: int = FOLDS,
) -> Deviations:
    """How plans, and runs of plans, ended off a law that was fitted to other plans.

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
    Deviations
        For every plan at the ages of `AGES` that it reaches, and at its end; what lies outside the support of
        the other plans is left out. The chance of the runs of a plan is in its own deviation, too.

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
    within: list[FloatArray] = []
    seen_plans = 0
    for fold in range(min(folds, len(plans))):
        held = [plans[index] for index in order[fold::folds]]
        away = np.isin(np.arange(len(traces.runs)), np.concatenate([runs for _, runs in held]))
        law = fit_affine(traces.select(~away), metric, scale=scale)
        for plan, runs in held:
            supported = [part for part in _beginnings(plan) if not outside_support(law, part)]
            seen_plans += bool(supported)
            for beginning in supported:
                mixed = staged(law, _ends(beginning))
                expected = mixed.constant + math.fsum(float(part.mean()) for part in mixed.parts)
                seen = on_scale(table[runs, len(beginning)], scale)
                found.append(float(seen.mean()) - expected)
                if len(seen) > 1:
                    within.append((seen - seen.mean()) * math.sqrt(len(seen) / (len(seen) - 1)))
    spread = np.sort(np.concatenate(within)) if within else np.zeros(0)
    return Deviations(np.sort(found), spread, seen_plans)


def careful_deviations(deviations: Deviations, care: float = CARE) -> tuple[float, ...]:
    """The margin for plans never run: what runs deviate by, around what ``care`` of the plans do not exceed.

    Parameters
    ----------
    deviations : Deviations
        As `plan_deviations` gives them.
    care : float
        In (0, 1).

    Returns
    -------
    tuple of float
        At most `MOST_ATOMS`, ascending, on the scale of the law.

    Raises
    ------
    InvalidInputError
        If the care is out of range, or fewer than `plans_needed` plans could be held out.
    """
    if not 0 < care < 1:
        raise InvalidInputError(f"must lie between 0 and 1, not at {care}", ".care")
    held, needed = deviations.held_out, plans_needed(care)
    if held < needed:
        raise InvalidInputError(
            f"only {counted(held, 'plan')} could be held out and compared with the law of the others, and a "
            f"margin that covers {care:g} of plans never run takes {needed}; record more, or ask for less",
            ".care",
        )
    plans = deviations.plans
    # rank ceil((p + 1) care) of p plans, as a share of all their deviations
    share = decimal(care) * (held + 1) / held
    margin = max(0.0, float(plans[math.ceil(share * plans.size) - 1]))
    runs = deviations.runs if deviations.runs.size else np.zeros(1)
    size = math.ceil(runs.size / MOST_ATOMS)
    # of every group; the lowest group takes what is left over
    greatest = runs[::-1][: runs.size // size * size : size][::-1]
    return tuple(float(value) for value in margin + greatest)


def _beginnings(plan: Schedule) -> list[Schedule]:
    """The plan up to some ages of its last stage, and all of it."""
    start = _ends(plan)[-1].start
    return [plan[: start + age] for age in AGES if start + age < len(plan)] + [plan]


def _ends(plan: Schedule) -> list[Position]:
    return [list(items)[-1] for _, items in groupby(positions(plan), key=lambda item: item.start)]

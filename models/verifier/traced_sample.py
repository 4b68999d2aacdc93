"""Final losses of scenarios under a traced law, from the numbers of their documented stream.

The stream (`depl.models.scenarios.draws`) is kept as it is drawn, since what a number is the quantile of
depends on the plan; which number belongs to which part of the loss, `depl.models.verifier.traces` says. Of n
equally likely values the quantile at u is that of rank ceil(u n). Two careful programs may round u n, and the
values themselves, to different sides; a loss is therefore an interval, as under other laws.
"""

import math
from fractions import Fraction

import numpy as np

from depl.models.problem.instance import Instance
from depl.models.problem.laws import FloatArray
from depl.models.problem.plan import Plan, ScenarioClaim
from depl.models.problem.traced_law import TracedLaw
from depl.models.verifier.laws import ordered_atoms, ordered_weights
from depl.models.verifier.sample import DrawnSample, Ends
from depl.models.verifier.tolerances import ATOM_TOLERANCE
from depl.models.verifier.traces import Number, traced_loss

_PRODUCT = 2.0**-51  # relative error allowed to u n
_ROUNDING = 1e-12  # of a sum, relative to 1 and what is added: residuals are differences of numbers so large


def traced_fault(law: TracedLaw, instance: Instance, claim: ScenarioClaim) -> str:
    """Why a claim cannot be one of scenarios under a traced law; empty if it can."""
    if claim.seed is None:
        return "under a traced law scenarios are drawn from a seed, and the claim has none"
    if claim.decimals is not None:
        return "under a traced law losses are not rounded to decimals, as the claim says"
    if law.deviations and instance.target.maximum_epochs < 2:
        return "the stream has the numbers of deviations at epoch 2, after K_max"
    return ""


def traced_final_losses(law: TracedLaw, instance: Instance, sample: DrawnSample, plan: Plan) -> Ends:
    """l(K) of a plan in every scenario, arrays of shape (S,) [loss].

    Parameters
    ----------
    sample : DrawnSample
        Its numbers are those of the stream.
    plan : Plan
        At least one and at most K_max epochs, inside the support of the law.
    """
    names = [model.name for model in instance.models]
    found = traced_loss(law, [(epoch.model, epoch.cluster) for epoch in plan.epochs])
    lower = np.full(sample.size, float(found.certain))
    upper, size = lower.copy(), 1.0 + np.abs(lower)
    for increment, number, alike in zip(found.increments, found.numbers, found.alike, strict=True):
        atoms, weights = ordered_atoms(increment), ordered_weights(increment)
        if alike < 1:  # runs unlike all seen lie above; where there are no others, only they have a weight
            seen = Fraction(float(weights.sum()))
            unlike = float(seen / alike - seen) if alike else 1.0
            atoms, weights = np.append(atoms, math.inf), np.append(weights * bool(alike), unlike)
        low, high = _quantiles(atoms, weights, _column(sample, names, number))
        lower, upper = lower + low, upper + high
        size += np.maximum(*(np.where(np.isfinite(end), np.abs(end), 0.0) for end in (low, high)))
    ends = lower - _ROUNDING * size, upper + _ROUNDING * size
    if law.scale == "loss":
        return Ends(*ends)
    with np.errstate(over="ignore", under="ignore"):
        return Ends(*(np.exp(end) for end in ends))


def traced_thresholds(law: TracedLaw, maximum_loss: float) -> list[float]:
    """Up to which loss a target is met: 1e-9 above it, on either scale under a law of the logarithm.

    A loss between the two may be counted either way.
    """
    if law.scale == "loss":
        return [maximum_loss + ATOM_TOLERANCE]
    return [maximum_loss + ATOM_TOLERANCE, max(maximum_loss, 0.0) * math.exp(ATOM_TOLERANCE)]


def _column(sample: DrawnSample, names: list[str], number: Number) -> FloatArray:
    """The numbers of all scenarios, one each."""
    *before, model = (names.index(name) for name in number.models)
    if before:
        return np.asarray(sample.switch_losses.lower[:, number.epoch - 1, before[0], model])
    return np.asarray(sample.improvements.lower[:, number.epoch - 1, model])


def _quantiles(
    ordered: FloatArray, weights: FloatArray, numbers: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Least and greatest value that a quantile of ordered values with whole weights may be found to be."""
    heavier = np.cumsum(weights)
    ranks = (np.ceil(numbers * heavier[-1] * (1.0 + sign * _PRODUCT)) for sign in (-1.0, 1.0))
    low, high = (ordered[np.searchsorted(heavier, np.clip(rank, 1, heavier[-1]))] for rank in ranks)
    return low, high

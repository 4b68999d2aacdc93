"""Instances whose laws are not quite right: perturbed on purpose, or fitted to runs drawn from the true ones.

Both know the family of every law (and where a Student-t is truncated), only not its parameters, so that
what they cost is the price of estimation alone. `refitted` is what a user gets who records n runs of every
model and n switches of every kind; with ``confidence`` it is careful: the improvements of each model are
multiplied by the lower end of a one-sided Student interval for the mean improvement of a run, as a share of
that mean.
"""

from collections.abc import Callable
from enum import Enum

import numpy as np
from scipy import stats

from depl.models.estimation.curve import LEAST_OFFSET
from depl.models.estimation.fit import DETERMINISTIC, ImprovementFit, fit_improvement, fit_switch
from depl.models.estimation.observations import observe
from depl.models.estimation.synthetic import draw_traces
from depl.models.foundation.errors import InvalidInputError, NotCoveredError
from depl.models.problem.instance import Instance, Model, Switch
from depl.models.problem.laws import (
    FloatArray,
    ImprovementLaw,
    SwitchLaw,
)
from depl.models.problem.learning import ConstantImprovement, Improvement, InverseSqrtImprovement


class Parameter(Enum):
    """What may be wrong about the laws of an instance."""

    SCALE = "A"
    OFFSET = "B"
    VARIANCE = "variance of X"
    JUMP = "mean jump"
    JUMP_SPREAD = "spread of the jump"


Factor = Callable[[Parameter], float]
"""What a parameter is multiplied by; asked once per parameter of every law."""


def scaled(instance: Instance, parameter: Parameter, factor: float) -> Instance:
    """The instance with one parameter of all its laws multiplied by ``factor`` > 0."""
    if not factor > 0:
        raise InvalidInputError(f"the factor must be positive, not {factor}")
    return _changed(instance, lambda asked: factor if asked is parameter else 1.0)


def perturbed(instance: Instance, size: float, rng: np.random.Generator) -> Instance:
    """The instance with every parameter of every law multiplied by 1 + ``size`` or 1 - ``size``, evenly.

    Raises
    ------
    InvalidInputError
        If ``size`` does not lie in [0, 1).
    NotCoveredError
        For improvements listed by epoch, and laws without such parameters that vary.
    """
    if not 0 <= size < 1:
        raise InvalidInputError(f"the size of a perturbation must lie in [0, 1), not {size}")
    return _changed(instance, lambda _: 1 + size * (1 if rng.random() < 0.5 else -1))


def refitted(
    instance: Instance, runs: int, rng: np.random.Generator, confidence: float | None = None
) -> Instance:
    """The instance with laws estimated from runs that are drawn from its own.

    Parameters
    ----------
    runs : int
        How often each model is trained alone for K_max epochs, and each switch law observed; at least 5.
    confidence : float, optional
        In (0.5, 1): plan with improvements that are not overestimated with about this probability.

    Raises
    ------
    InvalidInputError
        If there are too few runs, or the confidence is out of range.
    NotCoveredError
        For improvements listed by epoch.
    """
    if confidence is not None and not 0.5 < confidence < 1:
        raise InvalidInputError(f"the confidence must lie between 0.5 and 1, not {confidence}")
    models = tuple(_refitted_model(instance, model, runs, rng, confidence) for model in instance.models)
    return instance.replace(
        name=f"{instance.name} from {runs} runs",
        models=models,
        switches=tuple(
            Switch(previous=row.previous, following=row.following, law=_refitted_switch(row.law, runs, rng))
            for row in instance.switches
        ),
        other_switches=_refitted_switch(instance.other_switches, runs, rng),
    )


def careful_share(improvements: FloatArray, confidence: float) -> float:
    """Lower end of the one-sided Student interval for the mean improvement of a run, over that mean.

    Parameters
    ----------
    improvements : float array (r, e)
        Of at least two runs that were observed at the same epochs.
    """
    totals = improvements.sum(axis=1)
    error = totals.std(ddof=1) / np.sqrt(totals.size)
    return float(1 - stats.t.ppf(confidence, totals.size - 1) * error / abs(totals.mean()))


def _refitted_model(
    instance: Instance, model: Model, runs: int, rng: np.random.Generator, confidence: float | None
) -> Model:
    improvement = model.improvement
    if not isinstance(improvement, InverseSqrtImprovement | ConstantImprovement):
        raise NotCoveredError(f"the improvements of {model.name!r} are listed by epoch: nothing to estimate")
    epochs = max(instance.target.maximum_epochs, 4)
    drawn = draw_traces(instance.replace(initial_model=None), [model.name] * epochs, runs, rng)
    seen = observe(drawn)
    constant = isinstance(improvement, ConstantImprovement)
    # one resample: intervals and p-values are not asked for here
    fit = fit_improvement(seen.improvements, seen.epochs, rng, resamples=1, constant=constant)
    found = fit.as_improvement(_family(improvement.noise, fit))
    if confidence is not None:
        share = careful_share(seen.improvements, confidence)
        found = _rebuilt(found, found.scale * share, found.noise)
    return Model(
        name=model.name, size=model.size, improvement=found, demand=model.demand, compute=model.compute
    )


def _family(noise: ImprovementLaw, fit: ImprovementFit) -> str:
    if not fit.laws or noise.family is None:
        return DETERMINISTIC
    return noise.family


def _refitted_switch(law: SwitchLaw, runs: int, rng: np.random.Generator) -> SwitchLaw:
    if law.family is None:
        return law
    fit = fit_switch(law.sample(rng, runs), rng, resamples=1)
    if any(item.family == law.family for item in fit.laws):
        found = law.with_parameters(dict(fit.law(law.family).parameters))
        if found is not None:
            return found
    return fit.as_switch(law.family)


def _changed(instance: Instance, factor: Factor) -> Instance:
    models = tuple(
        Model(
            name=model.name,
            size=model.size,
            improvement=_changed_improvement(model.improvement, factor),
            demand=model.demand,
            compute=model.compute,
        )
        for model in instance.models
    )
    return instance.replace(
        name=f"{instance.name} changed",
        models=models,
        switches=tuple(
            Switch(previous=row.previous, following=row.following, law=_changed_switch(row.law, factor))
            for row in instance.switches
        ),
        other_switches=_changed_switch(instance.other_switches, factor),
    )


def _changed_improvement(improvement: Improvement, factor: Factor) -> Improvement:
    if not isinstance(improvement, InverseSqrtImprovement | ConstantImprovement):
        raise NotCoveredError("improvements listed by epoch have no parameters to change")
    scale = improvement.scale * factor(Parameter.SCALE)
    noise = _changed_noise(improvement.noise, factor(Parameter.VARIANCE))
    if isinstance(improvement, ConstantImprovement):
        return ConstantImprovement(scale=scale, noise=noise)
    offset = max(improvement.offset * factor(Parameter.OFFSET), LEAST_OFFSET)
    return InverseSqrtImprovement(scale=scale, offset=offset, noise=noise)


def _changed_noise(noise: ImprovementLaw, factor: float) -> ImprovementLaw:
    noise.moments()  # refuses a law that is not declared
    return noise if factor == 1 else noise.spread_out(factor)


def _changed_switch(law: SwitchLaw, factor: Factor) -> SwitchLaw:
    mean, spread = factor(Parameter.JUMP), factor(Parameter.JUMP_SPREAD)
    return law.moved(mean, spread)


def _rebuilt(
    improvement: InverseSqrtImprovement | ConstantImprovement, scale: float, noise: ImprovementLaw
) -> InverseSqrtImprovement | ConstantImprovement:
    if isinstance(improvement, ConstantImprovement):
        return ConstantImprovement(scale=scale, noise=noise)
    return InverseSqrtImprovement(scale=scale, offset=improvement.offset, noise=noise)

"""Instances whose laws are not quite right: every parameter is a share too high or too low."""

from collections.abc import Callable
from enum import Enum

import numpy as np

from depl.models.estimation.curve import LEAST_OFFSET
from depl.models.foundation.errors import InvalidInputError, NotCoveredError
from depl.models.problem.instance import Instance, Model, Switch
from depl.models.problem.laws import ImprovementLaw, SwitchLaw
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

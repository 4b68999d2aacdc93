"""Instances whose laws are not quite right: every parameter is a share too high or too low."""

from collections.abc import Callable
from enum import Enum

import numpy as np
from msgspec.structs import replace

from depl.models.estimation.curve import LEAST_OFFSET
from depl.models.foundation.errors import InvalidInputError, NotCoveredError
from depl.models.problem.instance import Instance
from depl.models.problem.laws import SwitchLaw
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
    NotCoveredError
        For improvements listed by epoch, and laws without such parameters that vary.
    """
    if not 0 <= size < 1:
        raise InvalidInputError(f"the size of a perturbation must lie in [0, 1), not {size}")
    return _changed(instance, lambda _: 1 + size * (1 if rng.random() < 0.5 else -1))


def _changed(instance: Instance, factor: Factor) -> Instance:
    def switched(law: SwitchLaw) -> SwitchLaw:
        mean, spread = factor(Parameter.JUMP), factor(Parameter.JUMP_SPREAD)
        return law.moved(mean, spread)

    return instance.replace(
        name=f"{instance.name} changed",
        models=tuple(
            replace(row, improvement=_improving(row.improvement, factor)) for row in instance.models
        ),
        switches=tuple(replace(row, law=switched(row.law)) for row in instance.switches),
        other_switches=switched(instance.other_switches),
    )


def _improving(improvement: Improvement, factor: Factor) -> Improvement:
    if not isinstance(improvement, InverseSqrtImprovement | ConstantImprovement):
        raise NotCoveredError("improvements listed by epoch have no parameters to change")
    scale, spread = improvement.scale * factor(Parameter.SCALE), factor(Parameter.VARIANCE)
    improvement.noise.moments()  # refuses a law that is not declared
    noise = improvement.noise if spread == 1 else improvement.noise.spread_out(spread)
    if isinstance(improvement, ConstantImprovement):
        return replace(improvement, scale=scale, noise=noise)
    offset = max(improvement.offset * factor(Parameter.OFFSET), LEAST_OFFSET)
    return replace(improvement, scale=scale, offset=offset, noise=noise)

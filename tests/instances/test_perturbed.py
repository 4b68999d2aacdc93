"""Laws changed on purpose change by what was asked."""

import numpy as np
import pytest

from depl.instances.perturbed import Parameter, perturbed, scaled
from depl.models.foundation.errors import InvalidInputError, NotCoveredError
from depl.models.problem.instance import (
    ConstantImprovement,
    Improvement,
    Instance,
    InverseSqrtImprovement,
    Model,
    Switch,
    TabledImprovement,
)
from depl.models.problem.laws import (
    Deterministic,
    Empirical,
    Forbidden,
    InverseGamma,
    Normal,
    StudentT,
    SwitchLaw,
    Zero,
)

GAMMA = InverseGamma(mean=1, variance=0.04)
JUMP = StudentT(degrees_of_freedom=5, location=0.3, scale=0.1, lower=0, upper=0.6)


def with_laws(base: Instance, *improvements: Improvement, jump: SwitchLaw = JUMP) -> Instance:
    models = [
        Model(name=f"m{i}", size=1, demand=2, improvement=item)
        for i, item in enumerate(improvements, start=1)
    ]
    rows = [Switch(previous="m1", following="m2", law=jump)] if len(models) > 1 else []
    return base.replace(models=models, switches=rows, other_switches=Forbidden(), maximum_epochs=12)


DECAYING = InverseSqrtImprovement(scale=2, offset=3, noise=GAMMA)
STEADY = ConstantImprovement(noise=Normal(mean=1, variance=0.25))


@pytest.mark.parametrize(
    ("parameter", "scale", "offset", "variance", "location", "spread"),
    [
        (Parameter.SCALE, 3, 3, 0.04, 0.3, 0.1),
        (Parameter.OFFSET, 2, 4.5, 0.04, 0.3, 0.1),
        (Parameter.VARIANCE, 2, 3, 0.06, 0.3, 0.1),
        (Parameter.JUMP, 2, 3, 0.04, 0.45, 0.1),
        (Parameter.JUMP_SPREAD, 2, 3, 0.04, 0.3, 0.15),
    ],
)
def test_one_parameter_is_multiplied_and_no_other(
    steady: Instance,
    parameter: Parameter,
    scale: float,
    offset: float,
    variance: float,
    location: float,
    spread: float,
) -> None:
    found = scaled(with_laws(steady, DECAYING, STEADY), parameter, 1.5)
    first = found.models[0].improvement
    assert isinstance(first, InverseSqrtImprovement)
    assert (first.scale, first.offset) == pytest.approx((scale, offset))
    assert first.noise.moments() == pytest.approx((1, variance))
    jump = found.switches[0].law
    assert isinstance(jump, StudentT)
    assert (jump.location, jump.scale) == pytest.approx((location, spread))
    assert (jump.degrees_of_freedom, jump.lower, jump.upper) == (5, 0, 0.6)
    assert found.other_switches == Forbidden()
    assert found.target == with_laws(steady, DECAYING, STEADY).target


def test_every_parameter_moves_by_the_size_up_or_down(steady: Instance) -> None:
    instance = with_laws(steady, DECAYING, STEADY)
    rng = np.random.default_rng(1)
    factors = set()
    for _ in range(30):
        first, second = (item.improvement for item in perturbed(instance, 0.2, rng).models)
        assert isinstance(first, InverseSqrtImprovement)
        assert isinstance(second, ConstantImprovement)
        for value, true in (
            (first.scale, 2),
            (first.offset, 3),
            (first.noise.moments().variance, 0.04),
            (second.scale, 1),
        ):
            assert min(abs(value / true - 0.8), abs(value / true - 1.2)) < 1e-12
        factors.add((round(first.scale, 6), round(second.scale, 6)))
    assert len(factors) == 4  # the models move on their own
    same = perturbed(instance, 0, rng)
    assert same.replace(name="-").fingerprint == instance.fingerprint


@pytest.mark.parametrize(
    ("law", "changed"),
    [
        (Normal(mean=2, variance=1), Normal(mean=3, variance=1)),
        (Deterministic(value=2), Deterministic(value=3)),
        (Empirical(values=(1, 3), weights=(1, 1)), Empirical(values=(2, 4), weights=(1, 1))),
        (Zero(), Zero()),
    ],
)
def test_jumps_of_every_kind_move(steady: Instance, law: SwitchLaw, changed: SwitchLaw) -> None:
    instance = with_laws(steady, STEADY, STEADY, jump=law)
    assert scaled(instance, Parameter.JUMP, 1.5).switches[0].law == changed


def test_what_cannot_be_changed_is_refused(steady: Instance) -> None:
    rng = np.random.default_rng(0)
    table = with_laws(steady, TabledImprovement(epochs=[STEADY] * 12))
    with pytest.raises(NotCoveredError, match="no parameters to change"):
        perturbed(table, 0.1, rng)
    heavy = with_laws(steady, ConstantImprovement(noise=InverseGamma(shape=1.5, scale=1)))
    with pytest.raises(NotCoveredError, match="finite variance"):
        scaled(heavy, Parameter.VARIANCE, 2)
    fine = with_laws(steady, STEADY)
    with pytest.raises(InvalidInputError, match="size of a perturbation"):
        perturbed(fine, 1, rng)
    with pytest.raises(InvalidInputError, match="factor must be positive"):
        scaled(fine, Parameter.SCALE, 0)

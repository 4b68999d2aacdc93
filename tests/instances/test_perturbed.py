"""Laws changed on purpose change by what was asked."""

import itertools

import numpy as np
import pytest

from depl.instances.perturbed import Parameter, perturbed, scaled
from depl.models.foundation.errors import InvalidInputError, NotCoveredError
from depl.models.problem.instance import InverseSqrtImprovement
from depl.models.problem.laws import Deterministic, Forbidden, InverseGamma, Normal, Zero
from tests.problems import atoms, gain, gains, model, student, switches

JUMP = student(5, 0.3, 0.1, 0, 0.6)
DECAYING = InverseSqrtImprovement(scale=2, offset=3, noise=InverseGamma(mean=1, variance=0.04))
STEADY = gain(Normal(mean=1, variance=0.25))


def with_laws(base, *improvements, jump=JUMP):
    models = [model(f"m{i}", item) for i, item in enumerate(improvements, start=1)]
    rows = switches({("m1", "m2"): jump} if len(models) > 1 else {})
    return base.replace(models=models, switches=rows, other_switches=Forbidden(), maximum_epochs=12)


@pytest.mark.parametrize(
    ("parameter", "changed"),
    [
        (Parameter.SCALE, (3, 3, 0.04, 0.3, 0.1)),
        (Parameter.OFFSET, (2, 4.5, 0.04, 0.3, 0.1)),
        (Parameter.VARIANCE, (2, 3, 0.06, 0.3, 0.1)),
        (Parameter.JUMP, (2, 3, 0.04, 0.45, 0.1)),
        (Parameter.JUMP_SPREAD, (2, 3, 0.04, 0.3, 0.15)),
    ],
)
def test_one_parameter_is_multiplied_and_no_other(steady, parameter, changed):
    found = scaled(with_laws(steady, DECAYING, STEADY), parameter, 1.5)
    first, jump = found.models[0].improvement, found.switches[0].law
    assert first.noise.moments().mean == pytest.approx(1)
    assert (
        first.scale,
        first.offset,
        first.noise.moments().variance,
        jump.location,
        jump.scale,
    ) == pytest.approx(changed)
    assert (jump.degrees_of_freedom, jump.lower, jump.upper) == (5, 0, 0.6)
    assert found.other_switches == Forbidden()
    assert found.target == with_laws(steady, DECAYING, STEADY).target


def test_every_parameter_moves_by_the_size_up_or_down(steady):
    instance = with_laws(steady, DECAYING, STEADY)
    rng = np.random.default_rng(1)
    seen = set()
    for _ in range(30):
        first, second = (item.improvement for item in perturbed(instance, 0.2, rng).models)
        moved = (first.scale / 2, first.offset / 3, first.noise.moments().variance / 0.04, second.scale)
        assert set(np.round(moved, 12)) <= {0.8, 1.2}
        seen.add(tuple(np.round(moved, 6)))
    for one, other in itertools.combinations(range(4), 2):  # each on its own
        assert len({(row[one], row[other]) for row in seen}) == 4
    assert perturbed(instance, 0, rng).replace(name="-").fingerprint == instance.fingerprint


@pytest.mark.parametrize(
    ("law", "changed"),
    [
        (Normal(mean=2, variance=1), Normal(mean=3, variance=1)),
        (Deterministic(value=2), Deterministic(value=3)),
        (atoms(1, 3, weights=(1, 1)), atoms(2, 4, weights=(1, 1))),
        (Zero(), Zero()),
    ],
)
def test_jumps_of_every_kind_move(steady, law, changed):
    assert scaled(with_laws(steady, STEADY, STEADY, jump=law), Parameter.JUMP, 1.5).switches[0].law == changed


HEAVY = gain(InverseGamma(shape=1.5, scale=1))
TABLE = gains(*[STEADY] * 12)


@pytest.mark.parametrize(
    ("improvement", "change", "error", "words"),
    [
        (TABLE, lambda item: scaled(item, Parameter.SCALE, 2), NotCoveredError, "no parameters to change"),
        (HEAVY, lambda item: scaled(item, Parameter.VARIANCE, 2), NotCoveredError, "finite variance"),
        (
            STEADY,
            lambda item: perturbed(item, 1, np.random.default_rng(0)),
            InvalidInputError,
            "size of a perturbation",
        ),
        (STEADY, lambda item: scaled(item, Parameter.SCALE, 0), InvalidInputError, "factor must be positive"),
    ],
)
def test_what_cannot_be_changed_is_refused(steady, improvement, change, error, words):
    with pytest.raises(error, match=words):
        change(with_laws(steady, improvement))

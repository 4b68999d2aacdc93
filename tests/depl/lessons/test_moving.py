"""The sliders of the lessons show what the evaluators and the allocation say."""

from fractions import Fraction

import numpy as np
import pytest

from depl.lessons.moving import level_slider, price_slider
from depl.models.problem.allocation import allocate
from depl.models.problem.epochs import FinalLoss, Load, Term
from depl.models.problem.laws import Normal
from depl.models.risk.certify import certified_quantile


def test_the_density_is_that_of_the_loss_and_its_quantile_moves_with_the_level() -> None:
    loss = FinalLoss(6.0, ((Term(1.0, Normal(mean=0.0, variance=1.0)), 1),))
    slider = level_slider(loss, ("50", "90", "99"), (1.0, 11.0))
    density, mean, quantile, evar = slider.frames[2].lines
    peak = max(density.y)
    assert peak == pytest.approx(1 / np.sqrt(2 * np.pi), rel=0.01)
    assert density.x[density.y.index(peak)] == pytest.approx(6.0)
    assert mean.x == [6.0, 6.0]
    assert quantile.x[0] == certified_quantile(loss, Fraction(1, 100)).middle < evar.x[0]
    assert [frame.position for frame in slider.frames] == ["50 %", "90 %", "99 %"]


def test_a_bound_lies_below_the_cost_and_touches_it_at_the_right_price() -> None:
    loads = [Load(4, 4, 10, 0.5), Load(4, 4, 10, 0.5), Load(1, 1, 4, 1)]
    slider = price_slider(loads, 5.0, (1.0, 4.0, 9.0), longest=8.0)
    for frame in slider.frames:
        cost, bound, _, touching = frame.lines
        assert all(low <= high * (1 + 1e-9) for low, high in zip(bound.y, cost.y, strict=True))
        assert touching.y[1] == pytest.approx(allocate(loads, touching.x[0], None).cost)
    assert slider.frames[2].lines[3].x[0] == pytest.approx(5.0)
    assert slider.frames[2].notes.endswith("proves a cost of at least 27; the least is 27.")

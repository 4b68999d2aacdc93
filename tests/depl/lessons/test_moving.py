"""The sliders of the lessons show what the evaluators and the allocation say."""

from fractions import Fraction

import numpy as np
import pytest

from depl.lessons.moving import failure_slider, level_slider, price_slider
from depl.lessons.prices import PricedPolicy
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


def test_limits_beyond_the_grid_are_drawn_above_the_frame_and_the_note_says_what_a_policy_does() -> None:
    policies = [
        PricedPolicy(1.0, 20.0, 10.0, 0.5, 0.4, (2.0, float("inf"), 1.0)),
        PricedPolicy(1.5, 30.0, 15.0, 0.75, 0.0, (float("inf"), float("inf"), 1.0)),
    ]
    slider = failure_slider(policies, {"a run": (2.0, 1.5, 0.9)}, (1.0, 1))
    limits, target, run = slider.frames[0].lines
    assert limits.y == [2.0, 2 * slider.y_range[1], 1.0]
    assert (target.x, target.y, run.y) == ([1, 2], [1.0, 1.0], (2.0, 1.5, 0.9))
    assert slider.frames[0].notes == (
        "A failure costs 20.0: expected cost at most 10.0, reached with probability 0.500 at least; 40 % of "
        "the runs are given up before their first epoch."
    )
    assert [frame.position for frame in slider.frames] == ["1 ρ*", "1.5 ρ*"]

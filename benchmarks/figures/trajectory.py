"""How the loss of a plan evolves: its mean and a band of certified quantiles after every epoch.

Figs. 2 and 9 of the paper draw the expected loss with the band between its 1st and 99th percentiles. l(k)
is the final loss of the plan's first k epochs, so each point of the band is a certified quantile of its own.
"""

from collections.abc import Sequence
from fractions import Fraction

from depl.models.evaluation.loss_law import laws_after
from depl.models.problem.instance import Instance
from depl.models.problem.plan import Plan

TAIL = Fraction(1, 100)
"""Probability on either side of the band."""


def trajectory(
    instance: Instance, plan: Plan, epochs: Sequence[int]
) -> list[tuple[int, float, float, float]]:
    """After some epochs k: k, E l(k), and the ends of the band, rounded outwards [loss].

    Left out is k = 0 where l(0) is not known.
    """
    chosen = [k for k in epochs if k or instance.rules.known_start]
    laws = laws_after(instance, plan, chosen)
    return [
        (k, law.mean(), law.quantile(1 - TAIL).lower, law.quantile(TAIL).upper)
        for k, law in zip(chosen, laws, strict=True)
    ]


def milestones(plan: Plan, count: int) -> tuple[int, ...]:
    """About ``count`` epochs that show the course of a plan: both ends, every switch, and even steps."""
    last = len(plan.epochs)
    models = [epoch.model for epoch in plan.epochs]
    switches = {k + shift for k in range(1, last) if models[k] != models[k - 1] for shift in (0, 1)}
    evenly = {round(index * last / max(count - 1, 1)) for index in range(count)}
    return tuple(sorted({0, last} | switches | evenly))

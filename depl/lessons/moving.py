"""The figures with a slider that lessons show: levels of a loss, prices of time, and prices of a failure."""

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np

from depl.lessons.prices import PricedPolicy
from depl.lessons.slider import Frame, Polyline, Slider
from depl.models.problem.allocation import allocate, dual_bound
from depl.models.problem.epochs import FinalLoss, Load
from depl.models.risk.certify import certified_quantile, certified_violation
from depl.models.risk.entropic import evar_quantile


def level_slider(loss: FinalLoss, percents: Sequence[str], spread: tuple[float, float]) -> Slider:
    """The density of a final loss with its mean, quantile and EVaR, as the level moves.

    Parameters
    ----------
    loss : FinalLoss
        With a density.
    percents : sequence of str
        Levels in per cent, such as ``"99.9"``.
    spread : (float, float)
        The losses that are shown.
    """
    grid = np.linspace(*spread, 161)
    below = np.array([1 - certified_violation(loss, float(value)).middle for value in grid])
    density = np.gradient(below, grid)
    top = float(1.15 * density.max())
    frames = []
    for percent in percents:
        budget = 1 - Fraction(percent) / 100
        value = certified_quantile(loss, budget).middle
        upper = evar_quantile(loss, 1 - float(budget))
        lines = [
            Polyline("density", grid.tolist(), density.tolist()),
            Polyline("mean", [loss.mean()] * 2, [0.0, top]),
            Polyline("quantile", [value] * 2, [0.0, top]),
            Polyline("EVaR", [upper] * 2, [0.0, top]),
        ]
        notes = f"{percent} % of runs end at or below {value:.2f}. EVaR says {upper:.2f}."
        frames.append(Frame(f"{percent} %", lines, notes))
    return Slider("level ω", frames, "final loss", "density", spread, (0, top), start=2)


def price_slider(loads: Sequence[Load], limit: float, prices: Sequence[float], longest: float) -> Slider:
    """The least cost against the limit of time, with the bound of a price of time, as the price moves.

    Parameters
    ----------
    loads : sequence of Load
        What the epochs ask for.
    limit : float
        The limit of time for which bounds are stated.
    prices : sequence of float
        Prices of time, in cost per time.
    longest : float
        The last limit that is shown.
    """
    shown = np.linspace(allocate(loads, limit, None).fastest_time, longest, 121).tolist()
    costs = [allocate(loads, end, None).cost for end in shown]
    least = allocate(loads, limit, None).cost
    frames = []
    for price in prices:
        bounds = [dual_bound(loads, price, end, None) for end in shown]
        x = [min(math.sqrt(price * load.work / load.price), load.capacity) for load in loads]
        time = sum(load.work / each + load.communication for load, each in zip(loads, x, strict=True))
        paid = sum(load.price * each for load, each in zip(loads, x, strict=True))
        lines = [
            Polyline("least cost", shown, costs),
            Polyline("bound", shown, bounds),
            Polyline(f"limit T = {limit:g}", [limit, limit], [0, 100]),
            Polyline("where they touch", [time, time], [0, paid]),
        ]
        resources = ", ".join(f"{each:.3g}" for each in x)
        notes = (
            f"x = {resources}: time {time:.3g}, cost {paid:.4g}. At T = {limit:g} this price proves a cost "
            f"of at least {dual_bound(loads, price, limit, None):.4g}; the least is {least:.4g}."
        )
        frames.append(Frame(f"λ = {price:g}", lines, notes))
    return Slider("price of time", frames, "limit of time T", "cost", (2.5, longest), (0, 90), start=2)


def failure_slider(
    policies: Sequence[PricedPolicy], runs: Mapping[str, Sequence[float]], target: tuple[float, int]
) -> Slider:
    """At which losses policies give a run up, as the price of a failure moves.

    Parameters
    ----------
    policies : sequence of PricedPolicy
    runs : mapping of str to sequence of float
        Losses after epochs 0, 1, ... of runs that are drawn beside, by name.
    target : (float, int)
        The maximum loss, and the first epoch after which it counts.
    """
    limit, first = target
    last = max(len(policy.limits) for policy in policies) - 1
    top = 1.1 * max(max(losses) for losses in runs.values())
    drawn = [Polyline(name, range(len(losses)), losses) for name, losses in runs.items()]
    frames = []
    for policy in policies:
        lines = [
            # A limit beyond the grid lies above the frame as well.
            Polyline("given up above", range(last + 1), [min(loss, 2 * top) for loss in policy.limits]),
            Polyline(f"target {limit:g}", [first, last], [limit, limit]),
            *drawn,
        ]
        notes = (
            f"A failure costs {policy.price:.1f}: expected cost at most {policy.cost:.1f}, reached with "
            f"probability {policy.reached:.3f} at least; {100 * policy.never_begun:.0f} % of the runs are "
            "given up before their first epoch."
        )
        frames.append(Frame(f"{policy.factor:g} ρ*", lines, notes))
    return Slider("price of a failure", frames, "epoch", "loss", (0, last), (0, top))

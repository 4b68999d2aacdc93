"""A plan in two panels: who trains when with which resources, and where the loss goes."""

import itertools
import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import msgspec

from depl.benchmarks.figures.style import (
    COLOURS,
    HATCHES,
    MODEL_COLOURS,
    legend_beside,
    new_axes,
    nth,
    plain,
    set_title,
    title_near,
)
from depl.benchmarks.figures.trajectory import milestones
from depl.models.evaluation.evaluate import epoch_times, plan_cost
from depl.models.evaluation.loss_law import laws_after, loss_law
from depl.models.evaluation.traced_loss import OutsideSupportError
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.wording import counted, counter_probability, number, probability, rounded_up
from depl.models.problem.instance import Instance
from depl.models.problem.plan import Plan
from depl.showing.plans import most_resources

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_POINTS = 12
"""Epochs at which the band is computed, besides those around switches: more look the same, and each takes
three certified quantiles."""

_FITTED_POINTS = 60
"""The same under a law fitted to runs, whose quantiles jump from epoch to epoch and take little time."""

_SEPARATE = 60
"""Most epochs whose bars have white edges and hatches; of more, edges would cover the bars."""

_LANE = 0.85
"""Height of the most resources in a lane of height 1, so that lanes stay apart."""

_TAIL = Fraction(1, 100)
"""Probability below the band and above it, as in Figs. 2 and 9 of the paper."""


def plan(instance: Instance, plan: Plan, axes: "tuple[Axes, Axes] | None" = None) -> "tuple[Axes, Axes]":
    """Draw the epochs of a plan in time, and beneath them how its loss falls.

    The upper panel has a lane per cluster, in which a bar is an epoch: as wide as it takes time, as high as
    the resources that each node commits (the most of this plan on the cluster is 0.85 of a lane), coloured by
    its model. The lower panel shows the median of the loss with the band between its 1 and 99 percent
    quantiles, l_max, and the certified omega-quantile at the end; its title holds the certified probability
    of keeping l_max.

    Parameters
    ----------
    instance : Instance
    plan : Plan
        Feasible or not, with epochs that end.
    axes : pair of Axes, optional
        Where to draw; those of a new figure by default.

    Returns
    -------
    pair of Axes

    Raises
    ------
    InvalidInputError
        If the plan does not speak of the instance, or has an epoch that never ends.
    """
    plan.check_names(instance)
    times = epoch_times(instance, plan)
    if not all(map(math.isfinite, times)):
        place = next(index for index, time in enumerate(times) if not math.isfinite(time))
        raise InvalidInputError("has work and no resources, so it never ends", f"$.epochs[{place}].resources")
    upper, lower = new_axes(2, 1, 7.5, 5.6) if axes is None else axes
    _draw_epochs(instance, plan, times, upper)
    _draw_loss(instance, plan, lower)
    return upper, lower


def _draw_epochs(instance: Instance, plan: Plan, times: tuple[float, ...], axes: "Axes") -> None:
    starts = list(itertools.accumulate(times, initial=0.0))
    used = {epoch.cluster for epoch in plan.epochs}
    clusters = [cluster for cluster in instance.clusters if cluster.name in used]
    lanes = {cluster.name: lane for lane, cluster in enumerate(clusters)}
    most = most_resources(plan)
    apart = len(times) <= _SEPARATE
    for index, model in enumerate(instance.models):
        chosen = [(k, epoch) for k, epoch in enumerate(plan.epochs) if epoch.model == model.name]
        if not chosen:
            continue
        axes.bar(
            [starts[k] for k, _ in chosen],
            [_LANE * epoch.resources / (most[epoch.cluster] or 1.0) for _, epoch in chosen],
            width=[times[k] for k, _ in chosen],
            bottom=[lanes[epoch.cluster] for _, epoch in chosen],
            align="edge",
            label=plain(model.name),
            color=nth(MODEL_COLOURS, index),
            hatch=nth(HATCHES, index) if apart else "",
            edgecolor="white",
            linewidth=0.6 if apart else 0.0,
        )
    _draw_lanes(instance, lanes, most, axes)
    axes.set_yticks([])
    axes.set_ylim(0, max(len(lanes), 1) + 0.1)
    latest = instance.target.maximum_time
    axes.set_xlim(0, 1.02 * max(latest, starts[-1]) if latest else starts[-1] or 1.0)
    if latest is not None:
        axes.axvline(latest, color="black", linestyle="--", label="$T_{\\max}$")
    units = instance.units
    axes.set(xlabel=plain(units.titled("time", "time")), ylabel="resources by cluster")
    time, cost = units.amount(starts[-1], "time"), units.amount(plan_cost(instance, plan), "cost")
    size = f"{counted(len(times), 'epoch')}, time {time}" if times else "no training"
    title_near(axes, plain(f"{size}, cost {cost}"))
    legend_beside(axes)


def _draw_lanes(instance: Instance, lanes: dict[str, int], most: dict[str, float], axes: "Axes") -> None:
    """The floor and the ceiling of every cluster's lane, with what the ceiling stands for."""
    unit = instance.units.name("resource") or "resources"
    for name, lane in lanes.items():
        full = f"{name}: up to {number(most[name], 4)} of {number(instance.cluster(name).capacity)} {unit}"
        axes.axhline(lane + _LANE, color="0.6", linewidth=0.7, linestyle=":")
        axes.axhline(lane, color="0.3", linewidth=0.8)
        axes.annotate(plain(full), (0, lane + _LANE), (3, 2), textcoords="offset points", fontsize="x-small")


def _draw_loss(instance: Instance, plan: Plan, axes: "Axes") -> None:
    from matplotlib.ticker import MaxNLocator

    target = instance.target
    axes.axhline(target.maximum_loss, color="black", linestyle="--", linewidth=1, label="$\\ell_{\\max}$")
    axes.set(xlabel="epoch", ylabel="loss", xlim=(0, max(len(plan.epochs), 1)))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    reason = _draw_band(instance, plan, axes)
    if reason:
        if instance.rules.known_start:
            axes.plot([0], [target.initial_loss], "o", color=COLOURS[0], label="loss at the start")
        set_title(axes, reason)
    legend_beside(axes)


def _draw_band(instance: Instance, plan: Plan, axes: "Axes") -> str:
    """Draw median, band and quantile, and say what is certified; or why there is no law of the loss."""
    if not instance.declares_laws:
        return "no law of the loss is declared: nothing is known of its course"
    try:
        points = _FITTED_POINTS if instance.has_memory else _POINTS
        law, chosen = loss_law(instance), milestones(plan, points)
        chosen = chosen if instance.rules.known_start else tuple(k for k in chosen if k)
        courses = laws_after(_as_recorded(instance), plan, chosen)
        tails = 1 - _TAIL, Fraction(1, 2), _TAIL
        ends = [[float(course.quantile(tail).upper) for course in courses] for tail in tails]
        budget = instance.target.violation_budget
        end = law.end(plan)
        violation = end.violation(instance.target.maximum_loss)
        quantile = end.quantile(budget)
    except OutsideSupportError as error:
        return f"the law says nothing of this plan: {error.message}"
    low, median, high = ends
    runs = "recorded runs" if instance.has_memory else "runs"
    inside: dict[str, Any] = {"color": COLOURS[0], "alpha": 0.2, "linewidth": 0}
    axes.fill_between(chosen, low, high, label=f"1 to 99 % of {runs}", **inside)
    dot = "o" if len(chosen) == 1 else None  # a line of one point would not be seen
    axes.plot(chosen, median, color=COLOURS[0], linewidth=2, marker=dot, label=f"median of {runs}")
    level, highest = instance.target.quantile_level, float(quantile.upper)
    if math.isfinite(highest):  # else it is beyond all runs seen, and the title says what is kept
        label = f"{100 * level:g} % quantile, {rounded_up(highest, 6)}"
        axes.plot([len(plan.epochs)], [highest], "D", color=COLOURS[1], label=label, clip_on=False)
    kept = counter_probability(violation.upper if violation.exact is None else violation.exact, 5)
    assumed = "under the fitted law" if instance.has_memory else "under the instance's laws"
    promise = f"$\\ell(K) \\leq {number(instance.target.maximum_loss)}$ with probability at least {kept}"
    title_near(axes, f"{promise}, certified {assumed}; asked: {probability(level)}")
    return ""


def _as_recorded(instance: Instance) -> Instance:
    """The instance with its runs as they are, which a promise counts with more misses than they had."""
    if instance.traced_law is None:
        return instance
    bare: dict[str, Any] = dict.fromkeys(("unseen_loss", "confidence", "care"))
    bare |= {"settled_epochs": 1, "deviations": (), "diverged": 0}
    plain = msgspec.structs.replace(instance.traced_law, **bare)
    return msgspec.structs.replace(instance, traced_law=plain)

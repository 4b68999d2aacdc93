"""A policy as a map: after which epochs, up to which losses, it goes on, switches or stops."""

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from depl.benchmarks.figures.style import (
    MODEL_COLOURS,
    legend_beside,
    new_axes,
    nth,
    plain,
    plain_logarithms,
    title_near,
)
from depl.instances.training.recorded import named_traces
from depl.models.foundation.errors import InvalidInputError
from depl.models.policy.controller import Controller
from depl.models.policy.decisions import Stop
from depl.models.policy.rules import Rules, policy_rules
from depl.models.problem.policy import Policy, PolicyNode
from depl.models.traces.table import Traces
from depl.showing.policies import GIVE_UP, NO_EPOCH_LEFT, REACHED, Action, Site, bands, loss_at, site_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_LINES = 60.0
"""Runs at which lines are thinned and made half transparent: about where they cover each other."""

_SAMPLE = 6.0
"""Width of a sample in the legend [points]: it stands for an area."""

_ABOVE = 0.08
"""Share of the height that is left above the highest run or bound."""


STOP_COLOURS = {REACHED: "#009E73", GIVE_UP: "#D55E00", NO_EPOCH_LEFT: "#999999"}
"""Of what ends a run; trainings have the colours of models."""

_SITE_COLOURS = tuple(colour for colour in MODEL_COLOURS if colour not in STOP_COLOURS.values())


class Followed(NamedTuple):
    """A run as far as it trained what the policy decides, and whether the policy stopped it.

    Points are what was trained in each epoch with the loss after it, at first the site of epoch 1 with l(0).
    """

    points: list[tuple[Site, float]]
    stopped: bool


def policy(
    policy: Policy,
    runs: Traces | str | None = None,
    metric: str = "loss",
    axes: "Sequence[Axes] | None" = None,
) -> "list[Axes]":
    """Draw what a policy does, by epochs trained and loss observed, and runs that followed it.

    There is a panel for each model and cluster that was trained last; what is done before the first epoch
    stands in the panel of what it trains. Where a run may have come to an epoch in several ways, as by
    switches after different epochs, its column is divided, the earliest switch on the left. Lines are runs,
    as far as they trained what the policy decides from their losses; a dot is where it stops them.

    Parameters
    ----------
    policy : Policy
    runs : Traces or str, optional
        Or the name of shipped ones, or the path of a file.
    metric : str
        ``loss`` or ``error_rate``, of the runs.
    axes : sequence of Axes, optional
        One for each panel; those of a new figure by default.

    Returns
    -------
    list of Axes

    Raises
    ------
    InvalidInputError
        If there are no such runs, none of them begins as the policy does, or there are too few axes.
    """
    panels = lanes(policy)
    drawn = list(new_axes(len(panels), 1, 7.5, 1.0 + 2.6 * len(panels)) if axes is None else axes)
    if len(drawn) < len(panels):
        raise InvalidInputError(f"are {len(drawn)}, for {len(panels)} panels", "axes")
    followed = [] if runs is None else _followed(policy, runs, metric)
    top = _top(policy, followed)
    for axis, (site, nodes) in zip(drawn, panels.items(), strict=False):
        _draw_nodes(policy, nodes, axis)
        _draw_runs(site, followed, axis)
        _finish(policy, site, top, axis)
    for action, colour in colours(policy).items():
        drawn[0].plot([], [], color=colour, linewidth=_SAMPLE, label=plain(action.words))
    drawn[len(panels) - 1].set_xlabel("epochs trained")
    legend_beside(drawn[0])
    return drawn


def lanes(policy: Policy) -> dict[Site, list[PolicyNode]]:
    """The nodes of every site in the order of epochs; that before the first epoch with what it trains."""
    found: dict[Site, list[PolicyNode]] = {}
    for node in policy.nodes:
        first = [(item.model, item.cluster) for item in node.trainings[:1]]
        for site in [site for site in (site_of(node), *first) if site is not None][:1]:
            found.setdefault(site, []).append(node)
    return {site: sorted(nodes, key=lambda node: node.epoch) for site, nodes in found.items()}


def colours(policy: Policy) -> dict[Action, str]:
    """A colour for everything that a policy does, in the order of the legend."""
    sites = [*lanes(policy), *((it.model, it.cluster) for node in policy.nodes for it in node.trainings)]
    trainings = {trained(site): nth(_SITE_COLOURS, place) for place, site in enumerate(dict.fromkeys(sites))}
    used = {band.action for node in policy.nodes for band in bands(policy, node)}
    return trainings | {action: colour for action, colour in STOP_COLOURS.items() if action in used}


def trained(site: Site) -> Action:
    """The action of training there, which may be worded as going on or as a switch."""
    return Action(site, f"train {site[0]} on {site[1]}")


def _draw_nodes(policy: Policy, nodes: Sequence[PolicyNode], axis: "Axes") -> None:
    """Bands as coloured rectangles, one collection of them for each colour."""
    from matplotlib.collections import PolyCollection

    by_epoch: dict[int, list[PolicyNode]] = {}
    for node in nodes:
        by_epoch.setdefault(node.epoch, []).append(node)
    known = colours(policy)
    boxes: dict[str, list[list[tuple[float, float]]]] = defaultdict(list)
    for epoch, some in by_epoch.items():
        for place, node in enumerate(some):
            left, right = (epoch - 0.5 + edge / len(some) for edge in (place, place + 1))
            low = loss_at(policy, -1)
            for band in bands(policy, node):
                high = loss_at(policy, band.upto)
                corners = [(left, low), (right, low), (right, high), (left, high)]
                action = band.action if band.action.site is None else trained(band.action.site)
                boxes[known[action]].append(corners)
                low = high
    for colour, corners_of in boxes.items():
        axis.add_collection(PolyCollection(corners_of, facecolor=colour, linewidth=0, rasterized=True))


def _draw_runs(site: Site, followed: Sequence[Followed], axis: "Axes") -> None:
    ink = min(_MOST_LINES / max(len(followed), 1), 1.0)
    look: dict[str, Any] = {"color": "black", "alpha": 0.4 + 0.6 * ink, "rasterized": True}
    pieces = [
        (epoch - 1, epoch, run[epoch - 1][1], run[epoch][1])
        for run, _ in followed
        for epoch in range(1, len(run))
        if run[epoch][0] == site
    ]
    across = [x for piece in pieces for x in (piece[0], piece[1], np.nan)]
    up = [y for piece in pieces for y in (piece[2], piece[3], np.nan)]
    axis.plot(across, up, linewidth=0.4 + 0.4 * ink, **look)
    ends = [(len(run) - 1, run[-1][1]) for run, stopped in followed if stopped and run[-1][0] == site]
    axis.plot([x for x, _ in ends], [y for _, y in ends], "o", markersize=2.5, **look)


def _followed(policy: Policy, runs: Traces | str, metric: str) -> list[Followed]:
    """The runs as far as they trained what the policy decides."""
    traces = named_traces(runs) if isinstance(runs, str) else runs
    losses, ends, rules = traces.target(metric), traces.bounds, policy_rules(policy)
    found = []
    for index, schedule in enumerate(traces.schedules):
        own = losses[ends[index] : ends[index + 1]].tolist()
        if len(own) == len(schedule):
            continue  # without a loss before the first epoch
        if len((line := _line(rules, schedule, own)).points) > 1:
            found.append(line)
    if not found:
        raise InvalidInputError(
            "no run has a loss before epoch 1 and trained what the policy begins with", "runs"
        )
    return found


def _line(rules: Rules, schedule: Sequence[Site], losses: Sequence[float]) -> Followed:
    controller = Controller(rules)
    decision = controller.start(losses[0])
    points = [(schedule[0], losses[0])]
    for site, loss in zip(schedule, losses[1:], strict=True):
        if isinstance(decision, Stop) or (decision.model, decision.cluster) != site:
            break
        decision = controller.observe(loss)
        points.append((site, loss))
    return Followed(points, isinstance(decision, Stop))


def _top(policy: Policy, followed: Sequence[Followed]) -> float:
    """Up to where it is worth drawing: all bounds but the end of the grid, the target, and all runs."""
    end = policy.grid.cells - 1
    known = [loss_at(policy, row.upto) for node in policy.nodes for row in node.rows if row.upto < end]
    found = max([*known, policy.maximum_loss, *(loss for run in followed for _, loss in run.points)])
    return min(found, loss_at(policy, end))


def _finish(policy: Policy, site: Site, top: float, axis: "Axes") -> None:
    from matplotlib.ticker import MaxNLocator

    low = min(loss_at(policy, 0), policy.maximum_loss)
    if policy.grid.scale == "log":
        plain_logarithms(axis, "y")
        low = policy.maximum_loss * (policy.maximum_loss / top) ** (2 * _ABOVE)
        axis.set_ylim(low, top * (top / low) ** _ABOVE)
    else:
        low = max(low, policy.maximum_loss - 2 * _ABOVE * (top - policy.maximum_loss))
        axis.set_ylim(low, top + _ABOVE * (top - low))
    axis.axhline(policy.maximum_loss, color="black", linestyle="--", linewidth=1, label=r"$\ell_{\max}$")
    axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    axis.set(xlim=(-0.5, policy.maximum_epochs + 0.5), ylabel="loss")
    title_near(axis, plain(f"trained last: {site[0]} on {site[1]}"))

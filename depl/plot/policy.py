"""A policy as a map: after which epochs, up to which losses, it goes on, switches or stops."""

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

from depl.benchmarks.figures.style import (
    MODEL_COLOURS,
    legend_beside,
    new_axes,
    nth,
    plain,
    plain_logarithms,
    title_near,
)
from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.policy import Policy, PolicyNode
from depl.showing.policies import STOPS, Doing, Site, bands, loss_at, site_of, words_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SAMPLE = 6.0
"""Width of a sample in the legend [points]: it stands for an area."""

_ABOVE = 0.08
"""Share of the height that is left above the highest bound."""

STOP_COLOURS = dict(zip(STOPS, ("#009E73", "#D55E00", "#999999"), strict=True))
"""Of what ends a run; trainings have the colours of models."""

_SITE_COLOURS = tuple(colour for colour in MODEL_COLOURS if colour not in STOP_COLOURS.values())


def policy(policy: Policy, *, axes: "Sequence[Axes] | None" = None) -> "list[Axes]":
    """Draw what a policy does, by epochs trained and loss observed.

    There is a panel for each model and cluster that was trained last; what is done before the first epoch
    stands in the panel of what it trains. Where a run may have come to an epoch in several ways, as by
    switches after different epochs, its column is divided, the earliest switch on the left.

    Parameters
    ----------
    policy : Policy
    axes : sequence of Axes, optional
        One for each panel; those of a new figure by default.

    Returns
    -------
    list of Axes

    Raises
    ------
    InvalidInputError
        If there are too few axes.
    """
    panels = lanes(policy)
    drawn = list(new_axes(len(panels), 1, 7.5, 1.0 + 2.6 * len(panels)) if axes is None else axes)
    if len(drawn) < len(panels):
        raise InvalidInputError(f"are {len(drawn)}, for {len(panels)} panels", "axes")
    top = _top(policy)
    for axis, (site, nodes) in zip(drawn, panels.items(), strict=False):
        _draw_nodes(policy, nodes, axis)
        _finish(policy, site, top, axis)
    for doing, colour in colours(policy).items():
        drawn[0].plot([], [], color=colour, linewidth=_SAMPLE, label=plain(words_of(doing)))
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


def colours(policy: Policy) -> dict[Doing, str]:
    """A colour for everything that a policy does, in the order of the legend."""
    sites = [*lanes(policy), *((it.model, it.cluster) for node in policy.nodes for it in node.trainings)]
    used = {doing for node in policy.nodes for _, doing in bands(policy, node)}
    found: dict[Doing, str] = {
        site: nth(_SITE_COLOURS, place) for place, site in enumerate(dict.fromkeys(sites))
    }
    return found | {doing: colour for doing, colour in STOP_COLOURS.items() if doing in used}


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
            for upto, doing in bands(policy, node):
                high = loss_at(policy, upto)
                boxes[known[doing]].append([(left, low), (right, low), (right, high), (left, high)])
                low = high
    for colour, corners_of in boxes.items():
        axis.add_collection(PolyCollection(corners_of, facecolor=colour, linewidth=0, rasterized=True))


def _top(policy: Policy) -> float:
    """Up to where it is worth drawing: all bounds but the end of the grid, and the target."""
    end = policy.grid.cells - 1
    known = [loss_at(policy, row.upto) for node in policy.nodes for row in node.rows if row.upto < end]
    return min(max([*known, policy.maximum_loss]), loss_at(policy, end))


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

"""The sites of a policy for its picture: the nodes of each by epoch, and a colour for each action."""

from depl.benchmarks.figures.style import MODEL_COLOURS, nth
from depl.models.problem.policy import Policy, PolicyNode
from depl.showing.policy_rows import GIVE_UP, NO_EPOCH_LEFT, REACHED, Action, Site, bands, site_of

STOP_COLOURS = {REACHED: "#009E73", GIVE_UP: "#D55E00", NO_EPOCH_LEFT: "#999999"}
"""Of what ends a run; trainings have the colours of models."""


def lanes(policy: Policy) -> dict[Site, list[PolicyNode]]:
    """The nodes of every site in the order of epochs; that before the first epoch with what it trains."""
    found: dict[Site, list[PolicyNode]] = {}
    for node in policy.nodes:
        site = site_of(node)
        if site is None:
            if not node.trainings:
                continue
            site = node.trainings[0].model, node.trainings[0].cluster
        found.setdefault(site, []).append(node)
    return {site: sorted(nodes, key=lambda node: node.epoch) for site, nodes in found.items()}


def colours(policy: Policy) -> dict[Action, str]:
    """A colour for everything that a policy does, in the order of the legend."""
    sites = list(lanes(policy))
    for node in policy.nodes:
        sites += [(item.model, item.cluster) for item in node.trainings]
    found: dict[Action, str] = {}
    for index, site in enumerate(dict.fromkeys(sites)):
        found[trained(site)] = nth(_SITE_COLOURS, index)
    used = {band.action for node in policy.nodes for band in bands(policy, node)}
    return {**found, **{action: colour for action, colour in STOP_COLOURS.items() if action in used}}


_SITE_COLOURS = tuple(colour for colour in MODEL_COLOURS if colour not in STOP_COLOURS.values())


def trained(site: Site) -> Action:
    """The action of training there, whatever was trained before."""
    return Action(site, f"train {site[0]} on {site[1]}")


def colour_of(known: dict[Action, str], action: Action) -> str:
    """The colour of an action, which may be worded as going on or as a switch."""
    return known[action if action.site is None else trained(action.site)]

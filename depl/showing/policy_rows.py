"""The table of a policy in words: up to which losses it does what, after which epochs."""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import NamedTuple

from depl.models.foundation.wording import number
from depl.models.problem.policy import STOP, Policy, PolicyNode

Site = tuple[str, str]
"""A model and the cluster on which it trains."""


class Action(NamedTuple):
    """What is done: training at a site, or stopping for a reason; in words."""

    site: Site | None
    words: str


REACHED = Action(None, "stop: reached")
NO_EPOCH_LEFT = Action(None, "stop: no epoch is left")
GIVE_UP = Action(None, "stop: give up")


class Band(NamedTuple):
    """Losses from that of the band before up to one, and what is done there.

    ``least`` is where it begins to be mixed with what the next band does; ``upto`` in a plain band.
    """

    upto: int
    action: Action
    least: int


def site_of(node: PolicyNode) -> Site | None:
    """What was trained last; None before the first epoch."""
    return None if node.model is None or node.cluster is None else (node.model, node.cluster)


def bands(policy: Policy, node: PolicyNode) -> tuple[Band, ...]:
    """What is done at a node, neighbours that do the same joined; a target that is met stops the run."""
    found: list[Band] = []
    if node.may_stop:
        end = min(policy.grid.target, policy.grid.cells - 1)
        found.append(Band(end, REACHED, end))
    for row in node.rows:
        if found and row.upto <= found[-1].upto:
            continue
        action = _action(policy, node, row.action)
        if found and found[-1].action == action:
            found.pop()
        found.append(Band(row.upto, action, row.upto))
    return tuple(found)


_NARROW = 1 / 64
"""Share of the grid below which a band between two broad ones is taken for a part of their boundary: set by
hand. Where two actions cost nearly the same, the cells of the noise decide between them to and fro."""


def _plain_bands(policy: Policy, node: PolicyNode) -> tuple[Band, ...]:
    """The same without the to and fro at a boundary, where two broad bands meet that do different things."""
    found, kept = bands(policy, node), []
    starts = [0, *(band.upto + 1 for band in found)]
    broad = [
        index
        for index, band in enumerate(found)
        if index in (0, len(found) - 1) or band.upto + 1 - starts[index] >= _NARROW * policy.grid.cells
    ]
    for index, after in zip(broad, [*broad[1:], len(found)], strict=True):
        between, band = found[index + 1 : after], found[index]
        beyond = found[after : after + 1]
        mixed = bool(between and beyond) and beyond[0].action != band.action
        if mixed and {item.action for item in between} <= {band.action, beyond[0].action}:
            kept.append(Band(between[-1].upto, band.action, band.upto))
        else:
            kept += [band, *between]
    return tuple(kept)


def _action(policy: Policy, node: PolicyNode, number: int) -> Action:
    if number == STOP:
        return NO_EPOCH_LEFT if node.epoch == policy.maximum_epochs else GIVE_UP
    training = node.trainings[number]
    site, now = (training.model, training.cluster), site_of(node)
    where = f"{site[0]} on {site[1]}"
    return Action(site, f"train {where}" if now is None else "go on" if site == now else f"switch to {where}")


def loss_at(policy: Policy, index: int) -> float:
    """The loss of an index of the grid."""
    value = policy.grid.origin + index * policy.grid.step
    return math.exp(value) if policy.grid.scale == "log" else value


class Rows(NamedTuple):
    """Nodes of one site and consecutive epochs that do the same, but for where a band ends.

    ``ends`` are the least and greatest loss up to which each action is done; the last one is done up to the
    end of the grid.
    """

    site: Site | None
    first: int
    last: int
    actions: tuple[Action, ...]
    ends: tuple[tuple[float, float], ...]


_Nodes = list[tuple[Band, ...]]


def rows_of(policy: Policy, *, merged: bool = True) -> list[Rows]:
    """All rows of a policy in the order of sites and epochs; merged over epochs unless all are wanted."""
    kinds: dict[tuple[Site | None, tuple[Action, ...]], dict[int, _Nodes]] = {}
    for node in policy.nodes:
        found = _plain_bands(policy, node) if merged else bands(policy, node)
        kind = site_of(node), tuple(band.action for band in found)
        kinds.setdefault(kind, defaultdict(list))[node.epoch].append(found)
    rows = [
        Rows(site, first, last, actions, _ends(policy, nodes))
        for (site, actions), epochs in kinds.items()
        for first, last, nodes in (_spans(epochs) if merged else _apart(epochs))
    ]
    sites = list(dict.fromkeys(site_of(node) for node in policy.nodes))
    return sorted(rows, key=lambda item: (sites.index(item.site), item.first, item.last))


def _spans(epochs: dict[int, _Nodes]) -> Iterator[tuple[int, int, _Nodes]]:
    """Consecutive epochs together."""
    for _, group in groupby(enumerate(sorted(epochs)), key=lambda item: item[1] - item[0]):
        span = [epoch for _, epoch in group]
        yield span[0], span[-1], [node for epoch in span for node in epochs[epoch]]


def _apart(epochs: dict[int, _Nodes]) -> Iterable[tuple[int, int, _Nodes]]:
    return ((epoch, epoch, [node]) for epoch in sorted(epochs) for node in epochs[epoch])


def _ends(policy: Policy, nodes: _Nodes) -> tuple[tuple[float, float], ...]:
    return tuple(
        (loss_at(policy, min(band.least for band in some)), loss_at(policy, max(band.upto for band in some)))
        for some in zip(*nodes, strict=True)
    )


def cells_of(rows: Rows, most: int) -> Iterator[tuple[str, str, str, str]]:
    """Lines of a table: what was trained last, epochs, losses, and what is done; at most so many."""
    place = "nothing yet" if rows.site is None else f"{rows.site[0]} on {rows.site[1]}"
    epochs = str(rows.first) if rows.first == rows.last else f"{rows.first} to {rows.last}"
    for index, (action, ends) in enumerate(zip(rows.actions, rows.ends, strict=True)):
        if index == most - 1 and index < len(rows.actions) - 1:
            yield place, epochs, f"and {len(rows.actions) - index} more bands", "see --details"
            return
        yield place, epochs, _losses(ends, index, len(rows.actions)), action.words
        place = epochs = ""


def _losses(ends: tuple[float, float], index: int, count: int) -> str:
    if index == count - 1:
        return "any" if count == 1 else "above"
    low, high = (number(end, 4) for end in ends)
    return f"up to {low}" if low == high else f"up to {low} ... {high}"

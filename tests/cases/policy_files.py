"""Policies written by hand, small enough to follow with a pencil; used by tests only.

Losses are 0, 0.1, ..., 1.9 on the grid and the target is 0.3. Before epoch 1 it trains ``small``, and beyond
1.5 it gives up. After ``small`` it goes on with it up to 0.8, switches to ``large`` up to 1.5, and gives up
beyond. ``large`` is trained to the end, after epoch 3. Only ``large`` may be the last. An epoch takes off 0.2
(small) or 0.4 (large) of the loss, on average; the retention is 1.
"""

import math
from typing import Any

from depl.models.problem.policy import Policy
from depl.models.traces.table import Traces
from tests.cases.same_runs import table

SMALL, LARGE = ("small", "site"), ("large", "site")


def document(**changes: Any) -> dict[str, Any]:
    """The file as plain data, with other top-level fields."""
    return {
        "format": "depl-policy",
        "version": 1,
        "name": "by hand",
        "instance": "f" * 64,
        "maximum_loss": 0.3,
        "quantile_level": 0.9,
        "maximum_epochs": 3,
        "failure_cost": 30.0,
        "multiplier": 30.0,
        "grid": {"scale": "loss", "origin": 0.0, "step": 0.1, "cells": 20, "target": 3, "limit": 0.3},
        "start": 0,
        "nodes": [
            node(0, None, (training(SMALL, 1),), ((15, 0), (19, -1))),
            node(1, SMALL, (training(SMALL, 2), training(LARGE, 3)), ((8, 0), (15, 1), (19, -1))),
            node(2, SMALL, (training(LARGE, 4),), ((19, 0),)),
            node(2, LARGE, (training(LARGE, 4),), ((3, -1), (19, 0))),
            node(3, LARGE, (), ((19, -1),)),
        ],
        "certificate": {
            "method": "ledger",
            "cost": 5.0,
            "reached": 0.95,
            "lower_bound": 4.0,
            "ratio": [4.5, 5.0],
        },
        **changes,
    }


def by_hand(**changes: Any) -> Policy:
    """The same as a policy."""
    fields = document(**changes)
    return Policy(**{name: value for name, value in fields.items() if name not in ("format", "version")})


def forgetful(**changes: Any) -> Policy:
    """Nothing is retained of the first loss; the first epoch is trained, at a price of its own at the top."""
    nodes, first = document()["nodes"], training(SMALL, 1, 1.0, 0.0)
    rows = [{"upto": 18, "action": 0}, {"upto": 19, "action": 1}]
    nodes[0] |= {"trainings": [first, {**first, "price": 7.0}], "rows": rows}
    return by_hand(nodes=nodes, **changes)


def logarithmic() -> dict[str, Any]:
    """One model, losses 2^-10, ..., 2^9 on the grid of their logarithms to base 2 (about), target 1/4."""
    step = 0.6931471805599453
    grid = {"scale": "log", "origin": -10 * step, "step": step, "cells": 20, "target": 8, "limit": -2 * step}
    nodes = [
        node(0, None, (training(SMALL, 1, -0.1, 0.5),), ((19, 0),)),
        node(1, SMALL, (training(SMALL, 2, -0.1, 0.5),), ((19, 0),)),
        node(2, SMALL, (), ((19, -1),), may_stop=True),
    ]
    return document(grid=grid, nodes=nodes, maximum_epochs=2, maximum_loss=0.25)


def training(
    site: tuple[str, str],
    following: int,
    shift: float | None = None,
    retention: float = 1.0,
    price: float | None = None,
) -> dict[str, Any]:
    """A training of a node, by default with what is said above of ``small`` and ``large``."""
    usual = {"price": 2.5, "shift": -0.4} if site is LARGE else {"price": 1.0, "shift": -0.2}
    given = {name: value for name, value in (("price", price), ("shift", shift)) if value is not None}
    place = {"model": site[0], "cluster": site[1]}
    return {**place, **usual, **given, "retention": retention, "following": following}


def node(
    epoch: int,
    site: tuple[str, str] | None,
    trainings: tuple[dict[str, Any], ...],
    rows: tuple[tuple[int, int], ...],
    may_stop: bool | None = None,
) -> dict[str, Any]:
    """A node by its epoch, where that stood, what may follow and from which row on; LARGE may stop."""
    place = {} if site is None else {"model": site[0], "cluster": site[1]}
    return {
        "epoch": epoch,
        **place,
        "may_stop": site is LARGE if may_stop is None else may_stop,
        "trainings": list(trainings),
        "rows": [{"upto": upto, "action": action} for upto, action in rows],
    }


BIG, LITTLE = ("big", "edge"), ("small", "edge")
STEM = {"a": [2.0, 1.5, 1.1], "b": [2.0, 1.9, 1.6], "c": [1.0, 0.9, 0.8], "d": [5.0, 4.0, 3.0]}
AFTER = {1: [0.9, 0.7], 2: [0.6]}


def branches(seeds: str = "abcd", switches: tuple[int, ...] = (1, 2)) -> Traces:
    """Branches that switch after epochs 1 and 2 and end after epoch 3; the second stage has given losses."""
    found = [(f"{seed}/{switch}", seed, switch) for seed in seeds for switch in switches]
    losses = {name: [*STEM[seed][: switch + 1], *AFTER[switch]] for name, seed, switch in found}
    pairs = {name: [BIG] * switch + [LITTLE] * (3 - switch) for name, _, switch in found}
    return table(losses, 0, **pairs)


def replayed(scale: str = "loss", first: Any = None, state: str = "observed") -> Policy:
    """Trains big once; switches up to a loss of 1.7, else trains big again; then trains small."""
    limit = 0.95 if scale == "loss" else math.log(0.95)
    nodes = [
        first or node(0, None, (training(BIG, 1, 0.0, price=2.0),), ((39, 0),), True),
        node(1, BIG, (training(LITTLE, 2, 0.0), training(BIG, 3, 0.0, price=2.0)), ((17, 0), (39, 1)), False),
        node(2, LITTLE, (training(LITTLE, 4, 0.0),), ((9, -1), (39, 0)), True),
        node(2, BIG, (training(LITTLE, 4, 0.0),), ((20, 0), (39, -1)), False),
        node(3, LITTLE, (), ((39, -1),), True),
    ]
    grid = {"scale": scale, "origin": 0.0, "step": 0.1, "cells": 40, "target": 9, "limit": limit}
    return by_hand(maximum_loss=0.95, state=state, grid=grid, nodes=nodes)

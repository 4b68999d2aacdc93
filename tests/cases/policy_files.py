"""Policies written by hand, small enough to follow with a pencil; used by tests only.

Losses are 0, 0.1, ..., 1.9 on the grid and the target is 0.3. Before epoch 1 it trains ``small``, and beyond
1.5 it gives up. After ``small`` it goes on with it up to 0.8, switches to ``large`` up to 1.5, and gives up
beyond. ``large`` is trained to the end, after epoch 3. Only ``large`` may be the last. An epoch takes off 0.2
(small) or 0.4 (large) of the loss, on average; the retention is 1.
"""

import math

from depl.models.policy.controller import Controller
from depl.models.policy.decisions import Stop
from depl.models.problem.policy import Policy
from tests.cases.same_runs import table

SMALL, LARGE = ("small", "site"), ("large", "site")


def document(**changes):
    """The file as plain data, with other top-level fields."""
    head = {"format": "depl-policy", "version": 1, "name": "by hand", "instance": "f" * 64}
    asked = {"maximum_loss": 0.3, "quantile_level": 0.9, "maximum_epochs": 3}
    priced = {"failure_cost": 30.0, "multiplier": 30.0}
    grid = {"scale": "loss", "origin": 0.0, "step": 0.1, "cells": 20, "target": 3, "limit": 0.3}
    claims = {"method": "ledger", "cost": 5.0, "reached": 0.95, "lower_bound": 4.0, "ratio": [4.5, 5.0]}
    nodes = [
        node(0, None, (training(SMALL, 1),), ((15, 0), (19, -1))),
        node(1, SMALL, (training(SMALL, 2), training(LARGE, 3)), ((8, 0), (15, 1), (19, -1))),
        node(2, SMALL, (training(LARGE, 4),), ((19, 0),)),
        node(2, LARGE, (training(LARGE, 4),), ((3, -1), (19, 0))),
        node(3, LARGE, (), ((19, -1),)),
    ]
    told = {"grid": grid, "start": 0, "nodes": nodes, "certificate": claims}
    return {**head, **asked, **priced, **told, **changes}


def by_hand(**changes):
    """The same as a policy."""
    fields = document(**changes)
    return Policy(**{name: value for name, value in fields.items() if name not in ("format", "version")})


def forgetful(**changes):
    """Nothing is retained of the first loss; the first epoch is trained, at a price of its own at the top."""
    nodes, first = document()["nodes"], training(SMALL, 1, 1.0, 0.0)
    rows = [{"upto": 18, "action": 0}, {"upto": 19, "action": 1}]
    nodes[0] |= {"trainings": [first, {**first, "price": 7.0}], "rows": rows}
    return by_hand(nodes=nodes, **changes)


def logarithmic():
    """One model, losses 2^-10, ..., 2^9 on the grid of their logarithms to base 2 (about), target 1/4."""
    step = 0.6931471805599453
    grid = {"scale": "log", "origin": -10 * step, "step": step, "cells": 20, "target": 8, "limit": -2 * step}
    nodes = [
        node(0, None, (training(SMALL, 1, -0.1, 0.5),), ((19, 0),)),
        node(1, SMALL, (training(SMALL, 2, -0.1, 0.5),), ((19, 0),)),
        node(2, SMALL, (), ((19, -1),), may_stop=True),
    ]
    return document(grid=grid, nodes=nodes, maximum_epochs=2, maximum_loss=0.25)


def training(site, following, shift=None, retention=1.0, price=None):
    """A training of a node, by default with what is said above of ``small`` and ``large``."""
    usual = {"price": 2.5, "shift": -0.4} if site is LARGE else {"price": 1.0, "shift": -0.2}
    given = {name: value for name, value in (("price", price), ("shift", shift)) if value is not None}
    place = {"model": site[0], "cluster": site[1]}
    return {**place, **usual, **given, "retention": retention, "following": following}


def node(epoch, site, trainings, rows, may_stop=None):
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


def branches(seeds="abcd", switches=(1, 2)):
    """Branches that switch after epochs 1 and 2 and end after epoch 3; the second stage has given losses."""
    found = [(f"{seed}/{switch}", seed, switch) for seed in seeds for switch in switches]
    losses = {name: [*STEM[seed][: switch + 1], *AFTER[switch]] for name, seed, switch in found}
    pairs = {name: [BIG] * switch + [LITTLE] * (3 - switch) for name, _, switch in found}
    return table(losses, 0, **pairs)


def replayed(scale="loss", first=None, state="observed"):
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


def led_by(controller, *losses):
    """The controller after as many of these losses as it asks for; None: an l(0) that was not evaluated."""
    for loss in losses:
        if isinstance(controller.decision, Stop):
            break
        controller.start(loss) if controller.decision is None else controller.observe(loss)
    return controller


def decide(policy, losses):
    """What a policy decides after the last of some losses."""
    return led_by(Controller(policy), *losses).decision


# --- for the examples of the adapters -------------------------------------------------------------------

TARGET, SWITCH, LAST = 0.45, 1.0, 16
FIRST, SECOND = ("p50", "edge"), ("p75", "far-edge")
_STEP, _CELLS = 0.05, 80


def digits_policy(last=LAST, target=TARGET, switch=SWITCH):
    """It trains p50 on the edge while the loss is above 1, then p75 on the far edge, until 0.45 or the end.

    Only p75 may be the last. The state is the observed loss, in steps of 0.05. A run that goes on after
    ``last`` epochs would be one epoch too long.
    """
    met, below = round(target / _STEP), round(switch / _STEP)
    nodes = [node(0, None, (training(FIRST, 1, -0.1, price=1.0),), ((_CELLS - 1, 0),), False)]
    for epoch in range(1, last + 1):
        first, second = 2 * epoch + 1, 2 * epoch + 2  # nodes of the next epoch
        if epoch == last:
            rows = ((_CELLS - 1, -1),)
            nodes += [node(epoch, site, (), rows, site is SECOND) for site in (FIRST, SECOND)]
            continue
        both = training(FIRST, first, -0.1, price=1.0), training(SECOND, second, -0.1, price=2.0)
        nodes.append(node(epoch, FIRST, both, ((below, 1), (_CELLS - 1, 0)), False))
        nodes.append(node(epoch, SECOND, both[1:], ((met, -1), (_CELLS - 1, 0)), True))
    grid = {"scale": "loss", "origin": 0.0, "step": _STEP, "cells": _CELLS, "target": met, "limit": target}
    asked = {"maximum_loss": target, "maximum_epochs": last, "failure_cost": 100.0, "multiplier": 100.0}
    claims = {"method": "counted", "cost": 50.0, "reached": 0.9, "runs": 24}
    told = {"state": "observed", "grid": grid, "nodes": nodes, "certificate": claims}
    return document(name="digits by hand", **asked, **told)


def decided(losses, target=TARGET, switch=SWITCH, last=LAST):
    """What each epoch trains under the policy, worked out from the losses l(0), l(1), ... by its words."""
    models = ["p50"]
    for epoch, loss in enumerate(losses[1:], start=1):
        if epoch == last or (models[-1] == "p75" and loss <= target):
            return models
        models.append("p75" if models[-1] == "p75" or _rounded_up(loss) <= switch else "p50")
    return models


def _rounded_up(loss):
    """To the grid, in whole hundredths, so that nothing depends on the last bit."""
    hundredths = round(loss * 1e8)
    step = round(_STEP * 1e8)
    return -(-hundredths // step) * step / 1e8

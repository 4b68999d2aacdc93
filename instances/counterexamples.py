"""Instances that refute or limit what can be promised: families A and B (E10).

- `short_epochs` (A): more epochs are needed than the expanded graph has room for, within half of T_max.
- `almost_one_level` (B): a cheap model improves the loss by almost one level of the graph, an expensive one
  by exactly one level.
"""

import math

from depl.instances.reductions.to_planning import certain, gain, site
from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.instance import Instance, Model, Target


def short_epochs(levels: int = 200) -> Instance:
    """Counterexample A: levels / 2 + 1 epochs of 1.05 levels of time each are needed.

    They take 1.05 (1/2 + 1 / levels) of T_max; the graph counts 2 levels for each, levels + 2 in all.

    Parameters
    ----------
    levels : int
        eta, even and at least 24, so that 53 % (55 % for 24) of T_max are used.

    Raises
    ------
    InvalidInputError
        If ``levels`` is odd or smaller.
    """
    if levels < 24 or levels % 2:
        raise InvalidInputError(f"must be even and at least 24, not {levels}", "levels")
    needed = levels // 2 + 1
    target = Target(
        initial_loss=levels,
        maximum_loss=levels - needed,
        quantile_level=0.9,
        maximum_epochs=needed,
        maximum_time=1.0,
    )
    only = _model("only", 1.0, work=1.05 / levels)
    return certain(f"short-epochs-{levels}", (only,), target, site(capacity=1.0, unit_cost=1))


def almost_one_level(price: float, levels: int = 200) -> Instance:
    """Counterexample B: ``cheap`` gains 0.99 levels at cost 1, ``expensive`` exactly one at cost ``price``.

    Ten levels are to be gained; only the round deadline limits time, so that an epoch costs what it computes.
    The optimum is 11 epochs of ``cheap`` and costs 11 if ``price`` >= 2. In the graph ``cheap`` never moves.

    Parameters
    ----------
    price : float
        R >= 2 [cost].
    levels : int
        eta, at least 10.

    Raises
    ------
    InvalidInputError
        If a parameter is out of range.
    """
    if not 2 <= price < math.inf:
        raise InvalidInputError(f"must be at least 2, not {price}", "price")
    if levels < 10:
        raise InvalidInputError(f"must be at least 10, not {levels}", "levels")
    target = Target(
        initial_loss=levels,
        maximum_loss=levels - 10,
        quantile_level=0.9,
        maximum_epochs=20,
        round_deadline=1.0,
    )
    models = _model("cheap", 0.99, work=1.0), _model("expensive", 1.0, work=price)
    return certain(f"almost-one-level-{levels}-{price:g}", models, target, site(price, unit_cost=1))


def _model(name: str, fall: float, work: float) -> Model:
    return Model(name=name, size=0, demand=work, improvement=gain(fall))

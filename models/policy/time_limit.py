"""Policies that keep a limit of the training time without watching it: each epoch has its share of it.

If K_max epochs at their least resources may exceed T_max, policies are restricted to at most K epochs of at
most min(tau, T_max / K) each (`docs/policies`). K is chosen on a grid, which decides on how good the answer
is, not on whether it holds. Where the law is only a proxy of the one that policies are counted under, it is
the bolder one: if no policy of K epochs keeps the promise as counted, more are tried (`wider`).
"""

import functools
import math
from collections.abc import Iterator
from dataclasses import replace

from depl.models.foundation.errors import NotCoveredError
from depl.models.policy.dynamic import careful_table
from depl.models.policy.grid import Expectations, Grid
from depl.models.policy.process import Process, keeps_time
from depl.models.policy.request import Request
from depl.models.problem.instance import Instance

_CELLS = 2_048
"""Of the grid on which numbers of epochs are compared: set by hand, some tenths of a second each. On coarser
ones the promise takes some epochs more than it has to."""

_LOOKS = 8
"""Numbers of epochs that are looked at before halving: set by hand, so that too few and too many are seen."""

_WIDER = 1.25
"""Growth of the number of epochs where the promise is not kept as counted: set by hand. From 25 epochs, too
few for the family that needed it, it takes one step to enough of them, and four to 60."""


def restriction(request: Request, instance: Instance) -> int | None:
    """How many epochs the policies have that are planned among; None where all policies keep T_max.

    They are the fewest that keep the promise on a grid, as every epoch of more gets less time and so costs
    more, or those that fail least if none do. The instance has a law under which a process exists.
    """
    target = instance.target
    if keeps_time(instance, request.data):
        return None

    def chain(epochs: int) -> Process:
        return request.chain(within(request, instance, epochs)[1])

    @functools.cache
    def failure(epochs: int) -> float:
        found = chain(epochs)
        if not trains(found):
            return 1.0
        return careful_table(found, Expectations(Grid.of(found, _CELLS), up=True)).failure

    if not trains(chain(1)):  # one epoch has the longest share
        raise NotCoveredError(
            f"no epoch can be trained within maximum_time = {target.maximum_time:.6g} and the "
            "round deadline, so there is no policy that trains; raise them"
        )
    # More epochs fail less often until some model is too slow for its share, so failures are looked at here
    # and there from few on, and halved down to the first number.
    looks = [1 + round(look * (target.maximum_epochs - 1) / _LOOKS) for look in range(_LOOKS + 1)]
    high = next((epochs for epochs in looks if failure(epochs) <= request.budget), None)
    if high is None:
        return min(looks, key=failure)
    low = max((epochs for epochs in looks if epochs < high), default=0)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if failure(middle) <= request.budget else (middle, high)
    return high


def within(request: Request, instance: Instance, epochs: int | None) -> tuple[Request, Instance]:
    """What is asked for among the policies of so many epochs, and the instance whose policies these are."""
    target = instance.target
    if epochs is None or target.maximum_time is None:
        return request, instance
    share = target.maximum_time / epochs
    shortest = share if target.round_deadline is None else min(share, target.round_deadline)
    told = (
        f"at most {epochs} epochs of at most {shortest:.6g} each, so that every run "
        f"keeps maximum_time = {target.maximum_time:.6g}"
    )
    asked = replace(request, round_deadline=shortest, restriction=told)
    return asked, instance.replace(maximum_epochs=epochs, round_deadline=shortest)


def wider(epochs: int, instance: Instance) -> Iterator[int]:
    """A number of epochs, and more and more: for laws under which more is asked than on the grid."""
    yield epochs
    while epochs < instance.target.maximum_epochs:
        epochs = min(instance.target.maximum_epochs, math.ceil(_WIDER * epochs))
        yield epochs


def trains(chain: Process) -> bool:
    """Whether there is a first epoch that keeps its deadline."""
    return any(chain.nodes[start.node].trainings for start in chain.starts)

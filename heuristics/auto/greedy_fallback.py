"""The greedy fallback: under a time limit, a method that finds no plan of its own returns the greedy one.

The loop and exact search can take all their time before they have a first plan. The method
``density-greedy`` has one in a tenth of a second, so it runs first, until it has a plan or its share of the
time is over. Neither sees what it finds: its plan is returned only where they end without one, with the
bound that they proved, and the phases say so.
"""

import functools
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace

from depl.heuristics.baselines.density import density_greedy
from depl.models.evaluation.evaluate import plan_cost
from depl.models.foundation.deadline import OutOfTimeError, deadline
from depl.models.foundation.errors import NotCoveredError
from depl.models.foundation.tolerances import PROOF_TOLERANCE
from depl.models.problem.instance import Instance
from depl.models.solving.limits import Limits
from depl.models.solving.methods import Method
from depl.models.solving.result import Outcome, Phase, Termination
from depl.models.solving.solve import VerificationError

_LEAST, _EPOCH, _SHARE = 0.25, 0.002, 0.5
"""Seconds for a greedy plan, seconds more per epoch, and the share of the time that these are at most. Set by
hand: a first plan takes 0.02 to 0.2 s on small instances, and 1 to 2 s with 5000 epochs."""


def with_greedy_fallback(method: Callable[[Instance, Limits], Outcome]) -> Method:
    """The method, which under a time limit returns a greedy plan where it ends without one.

    A caller that holds a plan (`depl.models.solving.limits.Limits.cutoff`) needs none.
    """

    @functools.wraps(method)
    def run(instance: Instance, limits: Limits) -> Outcome:
        greedy, row = None, None
        if limits.time_limit is not None and limits.cutoff is None:
            started = time.perf_counter()
            seconds = _LEAST + _EPOCH * instance.target.maximum_epochs
            greedy = first_greedy_plan(instance, limits.part(min(_SHARE, seconds / limits.time_limit)))
            row = _row(instance, "density-greedy", greedy, time.perf_counter() - started)
        started = time.perf_counter()
        try:
            found = method(instance, limits)
        except OutOfTimeError:
            if greedy is None or greedy.plan is None:
                raise
            found = Outcome(Termination.TIME_LIMIT, None, 0.0)
        if greedy is None or row is None or greedy.plan is None or found.plan is not None:
            return found
        name = getattr(method, "__name__", "")
        phases = (row, _row(instance, name, found, time.perf_counter() - started))
        return _returned(plan_cost(instance, greedy.plan), greedy, found, phases)

    return run


def first_greedy_plan(instance: Instance, limits: Limits) -> Outcome | None:
    """The first plan of the greedy method within its limits; None if it is not covered or too late."""
    held = list[float]()
    limits = replace(limits, cutoff=None, standstill=None, progress=lambda _, cost, __: held.append(cost))
    until = _UntilPlan(**{**vars(limits), "held": held})
    with suppress(OutOfTimeError, NotCoveredError), deadline(limits.lateness):
        return density_greedy(instance, until)
    return None


@dataclass(frozen=True)
class _UntilPlan(Limits):
    """Limits that are over once a plan is held: the first will do."""

    held: list[float] = field(default_factory=list)

    def expired(self) -> bool:
        """Whether there is a plan, or no time left."""
        return bool(self.held) or super().expired()


def _returned(cost: float, greedy: Outcome, found: Outcome, phases: tuple[Phase, ...]) -> Outcome:
    """The greedy plan with what the method has proved.

    Raises
    ------
    VerificationError
        If the method has proved that there is no such plan.
    """
    if found.lower_bound > cost + PROOF_TOLERANCE * abs(cost):
        raise VerificationError(
            f"no plan costs less than {found.lower_bound:.12g}, says {phases[1].method!r}; a greedy plan "
            f"costs {cost:.12g}"
        )
    return replace(
        found, plan=greedy.plan, lower_bound=min(found.lower_bound, cost), reason=None, phases=phases
    )


def _row(instance: Instance, name: str, found: Outcome | None, seconds: float) -> Phase:
    found = found or Outcome(Termination.TIME_LIMIT, None, 0.0)
    cost = None if found.plan is None else plan_cost(instance, found.plan)
    return Phase(name, found.termination.value, seconds, cost, found.lower_bound)

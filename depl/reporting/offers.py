"""What else is on offer: the least cost found at other probabilities, and what other methods found."""

from collections.abc import Callable
from dataclasses import dataclass

from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.instance import Instance
from depl.models.problem.plan import Plan
from depl.models.solving.methods import default_method, find
from depl.models.solving.result import Result, Termination

LEVELS = (0.9, 0.95, 0.99)
"""Probabilities that are priced, besides the one that the instance asks for."""

PEERS = ("depl", "density-greedy")
"""Other methods that are asked for a plan: the loop, which also bounds the cost, and a greedy rule. Neither
searches for a proof of optimality, so they end early where the default method does not."""

Solver = Callable[[Instance, str], Result]
"""Solves an instance by the method of a name, within some limit."""


@dataclass(frozen=True)
class Offer:
    """One solve.

    Attributes
    ----------
    level : float
        Probability that was asked for.
    method : str
    result : Result or None
        None if there is none.
    reason : str
        Why not.
    """

    level: float
    method: str
    result: Result | None
    reason: str = ""


@dataclass(frozen=True)
class Offers:
    """All solves of a page.

    Attributes
    ----------
    prices : tuple of Offer
        By the default method, by rising probability; one of them asks for what the instance asks for.
    peers : tuple of Offer
        By other methods, for the instance itself.
    interrupted : bool
        Whether the user stopped one of them; those after it were not begun.
    """

    prices: tuple[Offer, ...] = ()
    peers: tuple[Offer, ...] = ()
    interrupted: bool = False


def offers_for(instance: Instance, solver: Solver) -> Offers:
    """Solve at every probability and by every other method; nothing where no law is declared."""
    if not instance.declares_laws:
        return Offers()
    asking = _Asking(solver)
    own = instance.target.quantile_level
    usual = default_method(instance)
    prices = tuple(
        asking(instance if level == own else instance.replace(quantile_level=level), usual)
        for level in sorted({*LEVELS, own})
    )
    able = [name for name in PEERS if find(name).memory or not instance.has_memory]
    peers = tuple(asking(instance, name) for name in able)
    return Offers(prices, peers, asking.interrupted)


class _Asking:
    """A solver that is not called again once the user stopped it."""

    def __init__(self, solver: Solver) -> None:
        self._solver, self.interrupted = solver, False

    def __call__(self, instance: Instance, method: str) -> Offer:
        level = instance.target.quantile_level
        if self.interrupted:
            return Offer(level, method, None, "not solved: interrupted before")
        try:
            result = self._solver(instance, method)
        except InvalidInputError as error:  # what a method does not cover is no end of the page
            return Offer(level, method, None, f"refused: {error}")
        self.interrupted = result.termination is Termination.INTERRUPTED
        return Offer(level, method, result)


def own_offer(offers: Offers, instance: Instance) -> Offer | None:
    """The solve by the default method at the probability that the instance asks for, if there is one."""
    own = instance.target.quantile_level
    return next((offer for offer in offers.prices if offer.level == own), None)


def same_decisions(plan: Plan, other: Plan) -> bool:
    """Whether two plans train the same with the same data and resources, whatever they claim."""
    return (plan.epochs, set(plan.data)) == (other.epochs, set(other.data))

"""Policies that keep a limit of the training time without watching it: each epoch has its share of it.

If K_max epochs at their least resources may exceed T_max, policies are restricted to at most K epochs of at
most min(tau, T_max / K) each (`docs/policies`). K is chosen on a coarse grid, which decides on how good the
answer is, not on whether it holds. Where the law is only a proxy of the one that policies are counted under,
it is the bolder one: if no policy of K epochs keeps the promise as counted, more are tried (`wider`).
"""

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from depl.models.foundation.errors import NotCoveredError
from depl.models.policy.dynamic import Options, Table, upper
from depl.models.policy.grid import Expectations, Grid
from depl.models.policy.planner import FAILURE_FACTOR, careful_table
from depl.models.policy.process import Process, keeps_time, process
from depl.models.policy.ratio import ratio_of
from depl.models.problem.instance import Instance

_COARSE, _FINE = 512, 2_048
"""Cells of the grids on which numbers of epochs are compared: set by hand. One sweep of the coarse one takes
some hundredths of a second; on it the promise takes some epochs more than it has to."""

_LOOKS = 8
"""Numbers of epochs that are looked at before halving: set by hand, so that too few and too many are seen."""

_WORSE = 2
"""Numbers of epochs in a row that are worse than the best before the search ends: set by hand. The cost rises
with the number once the promise is kept, as every epoch gets less time."""

_WIDER = 1.25
"""Growth of the number of epochs where the promise is not kept as counted: set by hand. From 27 epochs, too
few for the family that needed it, it takes one step to enough of them, and four to 60."""


@dataclass(frozen=True)
class Class:
    """Policies of at most so many epochs, of at most so long each.

    Attributes
    ----------
    epochs : int
    round_deadline : float
        [time]
    maximum_time : float
        T_max, which they keep [time].
    """

    epochs: int
    round_deadline: float
    maximum_time: float

    def of(self, instance: Instance) -> Instance:
        """The instance whose policies these are."""
        return instance.replace(maximum_epochs=self.epochs, round_deadline=self.round_deadline)

    def in_words(self) -> str:
        """What the policies have in common."""
        return (
            f"at most {self.epochs} epochs of at most {self.round_deadline:.6g} each, so that every run "
            f"keeps maximum_time = {self.maximum_time:.6g}"
        )


def restriction(
    instance: Instance,
    data: Mapping[str, Collection[str]] | None,
    switch_epochs: Collection[int] | None,
    options: Options,
    price: float | None = None,
) -> Class | None:
    """The class of policies that is planned in; None where all of them keep T_max.

    Parameters
    ----------
    instance : Instance
        With a law under which a process exists.
    data, switch_epochs
        As `depl.models.policy.process.process`.
    price : float, optional
        Of a failed run, where it is given [cost].

    Raises
    ------
    NotCoveredError
        If not one epoch can be trained within T_max, or if the process is not covered.
    """
    if keeps_time(instance, data):
        return None
    search = _Search(instance, data, switch_epochs, options)
    search.price = price
    epochs = search.few_enough()
    best, value, worse = epochs, (math.inf, math.inf), 0
    while epochs > 0 and worse < _WORSE:
        found = search.judged(epochs)
        if found < value:
            best, value, worse = epochs, found, 0
        else:
            worse += 1
        epochs -= 1
    return search.classes[best]


def wider(within: Class, instance: Instance) -> Iterator[Class]:
    """A class, and those of more and more epochs: for laws under which more is asked than on the grid."""
    classes = {found.epochs: found for found in _classes(instance)}
    epochs, most = within.epochs, max(classes)
    yield within
    while epochs < most:
        epochs = min(most, math.ceil(_WIDER * epochs))
        yield classes[epochs]


def trains(chain: Process) -> bool:
    """Whether there is a first epoch that keeps its deadline."""
    return any(chain.nodes[start.node].trainings for start in chain.starts)


class _Search:
    """Numbers of epochs, and what the policies of each can do."""

    def __init__(
        self,
        instance: Instance,
        data: Mapping[str, Collection[str]] | None,
        switch_epochs: Collection[int] | None,
        options: Options,
    ) -> None:
        self.budget, self.options = float(instance.target.violation_budget), options
        self.price: float | None = None
        self.classes = {found.epochs: found for found in _classes(instance)}
        self._chains: dict[int, Process] = {}
        self._instance, self._data, self._switch_epochs = instance, data, switch_epochs
        if not self.classes or not trains(self.chain(1)):  # one epoch has the longest share
            raise NotCoveredError(
                f"no epoch can be trained within maximum_time = {instance.target.maximum_time:.6g} and the "
                "round deadline, so there is no policy that trains; raise them"
            )

    def chain(self, epochs: int) -> Process:
        """The process of a number of epochs."""
        if epochs not in self._chains:
            within = self.classes[epochs].of(self._instance)
            self._chains[epochs] = process(within, self._data, self._switch_epochs)
        return self._chains[epochs]

    def few_enough(self) -> int:
        """The fewest epochs that keep the promise on a coarse grid; those that fail least if none do.

        More epochs fail less often until some model is too slow for its share, so the failures are looked at
        here and there from few on, and halved down to the first number.
        """
        most, failures, low = max(self.classes), dict[int, float](), 0
        for look in range(_LOOKS + 1):
            high = 1 + round(look * (most - 1) / _LOOKS)
            failures[high] = self._failure(high)
            if failures[high] <= self.budget:
                break
            low = high
        else:
            return min(failures, key=lambda epochs: (failures[epochs], epochs))
        while high - low > 1:
            middle = (low + high) // 2
            if self._failure(middle) <= self.budget:
                high = middle
            else:
                low = middle
        return high

    def judged(self, epochs: int) -> tuple[float, float]:
        """By how much the promise is missed, and what runs cost with their failures; less is better."""
        chain = self.chain(epochs)
        if not trains(chain):
            return math.inf, math.inf
        up = Expectations(Grid.of(chain, _FINE), up=True)
        careful = careful_table(chain, up, self.options)
        missed = max(0.0, careful.failure - self.budget)
        if self.price is None and missed == 0:
            self.price = _price(chain, careful)
        if self.price is None or missed > 0:
            return missed, math.inf
        return missed, upper(chain, up, self.price, self.options).value(self.price)

    def _failure(self, epochs: int) -> float:
        chain = self.chain(epochs)
        if not trains(chain):
            return 1.0
        return careful_table(chain, Expectations(Grid.of(chain, _COARSE), up=True), self.options).failure


def _classes(instance: Instance) -> Iterator[Class]:
    """One for each number of epochs."""
    target = instance.target
    if target.maximum_time is None:
        return
    for epochs in range(1, target.maximum_epochs + 1):
        share = target.maximum_time / epochs
        shortest = share if target.round_deadline is None else min(share, target.round_deadline)
        yield Class(epochs, shortest, target.maximum_time)


def _price(chain: Process, careful: Table) -> float:
    """Of a failure, from the cost of a success by a careful policy."""
    found = ratio_of(chain, careful)
    return FAILURE_FACTOR * found if 0 < found < math.inf else 1.0

"""A policy on the observed loss, counted over all combinations of recorded runs, a second time.

A *kind* of stage is what is trained in it and what was before. Of every kind the donors are the runs that can
lend to its longest stage in the policy (`depl.models.verifier.runs.Seen.donors`); besides there is one donor
unlike all seen, and one more for each run that diverged. A run draws a donor whenever a stage begins, all
equally likely and independently; in the first stage it takes its l(0). It has the losses

    l(k) = shift + retention l(k-1) + residual of the donor at this age,

and what is observed is l(k) plus, for k > 0, one of the deviations of plans, all equally likely. It ends
where the observed loss meets the target and its model may be the last, where a row stops it, and above the
grid. With a donor unlike all seen it fails, at the greatest cost of any way on from there.

No stage may begin later than that of some donor: what it does there no run has shown.

The combinations are gone through depth first, schedule by schedule; probabilities and prices are added up as
fractions. Nothing is shared with `depl.models.policy.counted`.
"""

from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from depl.models.problem.policy import STOP, Policy
from depl.models.problem.traced_law import TracedLaw
from depl.models.verifier.laws import FloatArray
from depl.models.verifier.policy_noise import EDGE
from depl.models.verifier.policy_walk import Walk
from depl.models.verifier.runs import Pair, SeenStage, seen_in
from depl.models.verifier.tolerances import ATOM_TOLERANCE

MOST_TOGETHER = 4_000_000
"""Combinations that are kept at once: set by hand, a hundred megabytes."""

Kind = tuple[Pair, Pair | None]


class Lending(NamedTuple):
    """What the donors of a kind lend: l(0), shape (n,), and residuals by age, shape (n, longest)."""

    first: FloatArray
    residuals: FloatArray


class Group(NamedTuple):
    """Runs that stand at a node, all of the same probability: their losses, and the rows of their donors."""

    node: int
    losses: FloatArray
    donors: NDArray[np.int64]
    weight: Fraction


class Count:
    """The ends of the runs of a policy, and what they cost, exactly.

    Attributes
    ----------
    ends : dict of str to Fraction
        Probabilities of "reached", "abandoned", "exhausted", "beyond" and "unlike".
    cost, epochs : Fraction
        Expected; unlike runs at the greatest cost, and without epochs.
    fewest : int
        Donors of the kind that has the fewest.
    too_late : list of str
        Kinds whose stages may begin later than those of all their donors, in words.
    refused : str
        Why nothing was counted; empty if it was.
    """

    def __init__(self, policy: Policy, walk: Walk, law: TracedLaw) -> None:
        self.policy, self.walk, self.unlike = policy, walk, 1 + law.diverged
        self.ends: dict[str, Fraction] = defaultdict(Fraction)
        self.cost = self.epochs = Fraction(0)
        self.refused = ""
        longest = _longest(walk)
        self.lending = _lending(longest, law)
        self.too_late = list(_too_late(walk, longest, law))
        self.fewest = min((len(item.first) for item in self.lending.values()), default=0)
        self.worst = self._worst()
        deviations = law.deviations or (0.0,)
        for deviation in deviations:
            self._follow(deviation, Fraction(1, len(deviations)))

    def _worst(self) -> list[Fraction]:
        """The greatest cost of any way on, by node."""
        found = [Fraction(0)] * len(self.policy.nodes)
        for number in sorted(self.walk.places, key=lambda item: -self.policy.nodes[item].epoch):
            for index, told in enumerate(self.policy.nodes[number].trainings):
                way = Fraction(self.walk.steps[number, index].price) + found[told.following]
                found[number] = max(found[number], way)
        return found

    def _follow(self, deviation: float, share: Fraction) -> None:
        start = self.policy.start
        trainings = self.policy.nodes[start].trainings
        if not trainings:
            self.ends["abandoned"] += share
            return
        lent = self.lending[(trainings[0].model, trainings[0].cluster), None]
        weight = self._without_unlike(share, 1, len(lent.first), start)
        waiting = [Group(start, lent.first, np.arange(len(lent.first)), weight)]
        while waiting and not self.refused:
            waiting += self._left(waiting.pop(), deviation)

    def _without_unlike(self, weight: Fraction, runs: int, donors: int, node: int) -> Fraction:
        """Let the runs that draw a donor unlike all seen fail; what each combination of the others weighs."""
        each = weight / (donors + self.unlike)
        failing = each * runs * self.unlike
        self.ends["unlike"] += failing
        self.cost += failing * self.worst[node]
        return each

    def _left(self, group: Group, deviation: float) -> Iterator[Group]:
        """End the runs of a group that stop, and let the others train."""
        node, grid = self.policy.nodes[group.node], self.policy.grid
        observed = group.losses + deviation if node.epoch else group.losses
        met = (observed <= grid.limit + ATOM_TOLERANCE) if node.may_stop else np.zeros(observed.size, bool)
        cells = np.ceil((observed - grid.origin) / grid.step - EDGE)
        above = ~met & (cells >= grid.cells)
        rows = np.array([row.upto for row in node.rows])
        chosen = np.searchsorted(rows, np.clip(cells, 0, grid.cells - 1))
        actions = np.array([row.action for row in node.rows])[chosen]
        stopped = ~met & ~above & (actions == STOP)
        last = node.epoch == self.policy.maximum_epochs
        for name, which in (
            ("reached", met),
            ("beyond", above),
            ("exhausted" if last else "abandoned", stopped),
        ):
            self.ends[name] += group.weight * int(which.sum())
        for index in range(len(node.trainings)):
            going = np.flatnonzero(~met & ~above & (actions == index))
            if going.size:
                yield from self._trained(group, index, going)

    def _trained(self, group: Group, index: int, going: NDArray[np.int64]) -> Iterator[Group]:
        """One epoch of some runs of a group; where a stage begins, with every donor."""
        step = self.walk.steps[group.node, index]
        following = self.policy.nodes[group.node].trainings[index].following
        stage = self.walk.places[following].stage
        assert stage is not None  # noqa: S101 - places have stages under a traced law
        share = group.weight * int(going.size)
        self.cost += share * Fraction(step.price)
        self.epochs += share
        lent = self.lending[stage.pair, stage.before]
        losses, donors, weight = group.losses[going], group.donors[going], group.weight
        if stage.length == 1 and stage.before is not None:
            many = len(lent.first)
            if losses.size * many > MOST_TOGETHER:
                self.refused = f"more than {MOST_TOGETHER} combinations of runs are at one node"
                return
            weight = self._without_unlike(weight, losses.size, many, following)
            losses = np.repeat(losses, many)
            donors = np.resize(np.arange(many), losses.size)
        moved = step.shift + step.retention * losses + lent.residuals[donors, stage.length - 1]
        yield Group(following, moved, donors, weight)


def _longest(walk: Walk) -> dict[Kind, SeenStage]:
    """The longest stage of every kind."""
    longest: dict[Kind, SeenStage] = {}
    for place in walk.places.values():
        if place.stage is not None:
            kind = place.stage.pair, place.stage.before
            if kind not in longest or place.stage.length > longest[kind].length:
                longest[kind] = place.stage
    return longest


def _lending(longest: dict[Kind, SeenStage], law: TracedLaw) -> dict[Kind, Lending]:
    """Donors of every kind, for the longest stage of it."""
    seen = seen_in(law)
    found = {}
    for kind, stage in longest.items():
        donors = seen.donors(stage)
        found[kind] = Lending(
            np.array([seen.runs[run].losses[0] for run, _ in donors]),
            np.array([residuals for _, residuals in donors]),
        )
    return found


def _too_late(walk: Walk, longest: dict[Kind, SeenStage], law: TracedLaw) -> Iterator[str]:
    """Kinds of stages that may begin later than any of those that lend to them."""
    seen = seen_in(law)
    for kind, wanted in longest.items():
        begun = max(
            place.stage.start
            for place in walk.places.values()
            if place.stage is not None and (place.stage.pair, place.stage.before) == kind
        )
        lends = [
            next(
                item.start
                for item in seen.runs[run].stages
                if item.kind == wanted.kind and item.length >= wanted.length
            )
            for run, _ in seen.donors(wanted)
        ]
        if lends and begun > max(lends):
            yield f"{kind[0][0]!r} on {kind[0][1]!r} may begin after {begun} epochs, its donors {max(lends)}"

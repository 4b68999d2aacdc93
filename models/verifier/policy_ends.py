"""How the runs of a policy end, worked out forwards from l(0): along the ledger, or over recorded runs.

*The ledger* is a Markov chain. A run begins with index g = ceil((l(0) - origin) / step - EDGE), at least 0,
and after an epoch with noise e goes on with

    ceil((shift + retention y(g) - origin) / step - EDGE) + ceil(e / step - EDGE),    y(g) = origin + g step,

at least 0; from ``cells`` on it has failed. That it also ends where its observed loss meets the target lowers
cost and failures, and is left out. *Recorded runs* are combined by `Count`. No formula is that of planning.
"""

import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from depl.models.problem.policy import STOP, NextEpoch, Policy, PolicyNode
from depl.models.problem.traced_law import TracedLaw
from depl.models.verifier.laws import FloatArray
from depl.models.verifier.policy_noise import EDGE
from depl.models.verifier.policy_walk import Step, Walk
from depl.models.verifier.runs import Pair, SeenStage, seen_in
from depl.models.verifier.tolerances import ATOM_TOLERANCE

_FEW = 48
"""Numbers of cells up to which a sum over them is written out: set by hand, where transforms become
quicker."""

_MOST_MOVES, _MOST_EPOCHS = 400_000, 200
"""Most moves that are followed in fractions, set by hand, some seconds, and most epochs, one inside the
other."""

MOST_TOGETHER = 4_000_000
"""Combinations that are kept at once: set by hand, a hundred megabytes."""


@dataclass(frozen=True)
class Course:
    """How the runs of a policy end under the law.

    Attributes
    ----------
    cost : float
        Expected, of the chain [cost].
    reached, abandoned, exhausted, beyond : float
        Probabilities of the four ends: at the target; by a row, epochs being left; by a row after K_max
        epochs; above the grid.
    epochs : float
        Expected number.
    lost : float
        Probability in the tails that was not followed.
    rounding : float
        What the sums of the probabilities may be off in all.
    doubt : float
        What quadratures may be off, where two laws with densities meet in an epoch, as they measure it.
    unlike : float
        Probability of failing with a run unlike all seen, where runs are counted.
    """

    cost: float
    reached: float
    abandoned: float
    exhausted: float
    beyond: float
    epochs: float
    lost: float
    rounding: float
    doubt: float = 0.0
    unlike: float = 0.0

    @property
    def unsure(self) -> float:
        """What the probabilities may be off in all."""
        return self.lost + self.rounding + self.doubt

    @property
    def failed(self) -> float:
        """P(not reached)."""
        return self.abandoned + self.exhausted + self.beyond + self.unlike


def actions_of(node: PolicyNode) -> NDArray[np.int64]:
    """What the rows of a node say, index by index; shape (cells,)."""
    ends = np.array([row.upto for row in node.rows]) + 1
    return np.repeat([row.action for row in node.rows], np.diff(ends, prepend=0))


# --- along the ledger -------------------------------------------------------------------------------------


def course(policy: Policy, walk: Walk, losses: FloatArray, weights: FloatArray) -> Course:
    """Follow the chain from l(0), epoch by epoch.

    Parameters
    ----------
    losses, weights : float arrays (n,)
        Values of l(0) on the scale of the law, and their probabilities.
    """
    ledger, grid = _Ledger(policy, walk), policy.grid
    first = np.maximum(np.ceil((losses - grid.origin) / grid.step - EDGE), 0.0)
    inside = first < grid.cells
    ledger.sums["beyond"] += math.fsum(weights[~inside].tolist())
    start = np.bincount(first[inside].astype(np.int64), weights[inside], minlength=grid.cells)
    ledger.here[policy.start] = start.astype(np.float64)
    for number in sorted(range(len(policy.nodes)), key=lambda item: policy.nodes[item].epoch):
        if number in ledger.here:
            ledger.leave(number)
    sums = {name: ledger.sums[name] for name in ("reached", "abandoned", "exhausted", "beyond", "lost")}
    others = {name: ledger.sums[name] for name in ("cost", "epochs", "doubt")}
    return Course(**sums, **others, rounding=abs(1.0 - math.fsum(sums.values())))


class _Ledger:
    """Probabilities of the indices at the nodes that are still to be left."""

    def __init__(self, policy: Policy, walk: Walk) -> None:
        self.policy, self.walk, self.grid = policy, walk, policy.grid
        self.here: dict[int, FloatArray] = {}
        self.sums: dict[str, float] = defaultdict(float)
        self.losses = self.grid.origin + np.arange(self.grid.cells) * self.grid.step

    def leave(self, number: int) -> None:
        """End the runs of a node that stop, and let the others train."""
        masses, node = self.here.pop(number), self.policy.nodes[number]
        actions = actions_of(node)
        stopped = np.where(actions == STOP, masses, 0.0)
        met = self.grid.target + 1 if node.may_stop else 0
        self.sums["reached"] += math.fsum(stopped[:met].tolist())
        last = node.epoch == self.policy.maximum_epochs
        self.sums["exhausted" if last else "abandoned"] += math.fsum(stopped[met:].tolist())
        for index, training in enumerate(node.trainings):
            going = np.flatnonzero((actions == index) & (masses != 0.0))
            if going.size:
                self._train(self.walk.steps[number, index], training, going, masses[going])

    def _train(self, step: Step, told: NextEpoch, going: NDArray[np.int64], masses: FloatArray) -> None:
        """Carry probabilities over an epoch: price and noise are the instance's, the image is the file's."""
        share = math.fsum(masses.tolist())
        means = told.shift + told.retention * self.losses[going]
        images = np.ceil((means - self.grid.origin) / self.grid.step - EDGE).astype(np.int64)
        lowest, highest = int(images.min()), int(images.max())
        spread = np.bincount(images - lowest, masses).astype(np.float64)
        cells = step.noise.on_cells(self.grid.step, -highest, self.grid.cells - 1 - lowest)
        after = self.here.setdefault(told.following, np.zeros(self.grid.cells))
        after[0] += cells.below * share
        for name, rate in (
            ("cost", step.price),
            ("epochs", 1.0),
            ("beyond", cells.above),
            ("lost", cells.lost),
            ("doubt", cells.doubt),
        ):
            self.sums[name] += rate * share
        found, least = _convolved(spread, cells.masses), lowest + cells.first
        below = max(0, -least)  # indices below 0 go to it, those above the grid have ended
        end = max(below, min(found.size, self.grid.cells - least))
        after[0] += math.fsum(found[:below].tolist())
        self.sums["beyond"] += math.fsum(found[end:].tolist())
        after[least + below : least + end] += found[below:end]


def _convolved(one: FloatArray, other: FloatArray) -> FloatArray:
    if not one.size or not other.size:
        return np.zeros(0)
    busy = np.flatnonzero(other)
    if busy.size <= _FEW:  # a few atoms far apart
        found = np.zeros(one.size + other.size - 1)
        for place in busy.tolist():
            found[place : place + one.size] += other[place] * one
        return found
    method = "direct" if min(one.size, other.size) <= _FEW else "fft"
    return np.asarray(scipy.signal.convolve(one, other, method=method))


def exact_reached(policy: Policy, walk: Walk, losses: FloatArray) -> Fraction | None:
    """P(reached) of the ledger in exact fractions, from equally likely l(0) on the scale of the law.

    Asked for where a certificate claims a fraction, as a promise that is kept with equality is lost in
    rounding. None where it is not worked out: for a law with a density, and for too many moves.
    """
    if policy.maximum_epochs > _MOST_EPOCHS:
        return None
    grid, actions, moves = policy.grid, [actions_of(node) for node in policy.nodes], 0

    @cache
    def reached(number: int, index: int) -> Fraction:
        nonlocal moves
        if index >= grid.cells:
            return Fraction(0)
        node, action = policy.nodes[number], int(actions[number][index])
        if action == STOP:
            return Fraction(int(node.may_stop and index <= grid.target))
        told, atoms = node.trainings[action], walk.steps[number, action].noise.exact_atoms()
        moves += 0 if atoms is None else len(atoms)
        if atoms is None or moves > _MOST_MOVES:
            raise _TooMuchError
        mean = told.shift + told.retention * (grid.origin + index * grid.step)
        image = math.ceil((mean - grid.origin) / grid.step - EDGE)
        ends = (
            share * reached(told.following, max(0, image + math.ceil(value / grid.step - EDGE)))
            for value, share in atoms
        )
        return sum(ends, Fraction(0))

    first = np.maximum(np.ceil((losses - grid.origin) / grid.step - EDGE), 0.0).astype(int).tolist()
    try:
        return sum((reached(policy.start, index) for index in first), Fraction(0)) / len(first)
    except _TooMuchError:
        return None


class _TooMuchError(Exception):
    """A law with a density, or too many moves."""


# --- over all combinations of recorded runs ---------------------------------------------------------------

Kind = tuple[Pair, Pair | None]
"""What is trained in a stage, and what was before."""


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
    """The ends of the runs of a policy on the observed loss, and what they cost, as fractions.

    Of every kind of stage the donors are the runs that can lend to its longest stage in the policy
    (`depl.models.verifier.runs.Seen.donors`), and beside them one unlike all seen and one for each run that
    diverged; with one of these a run fails, at the greatest cost of any way on. A run draws a donor whenever
    a stage begins, all equally likely; in the first stage it takes its l(0), and afterwards

        l(k) = shift + retention l(k-1) + residual of the donor at this age.

    Observed is l(k) plus, for k > 0, one of the deviations of plans, all equally likely. A run ends where
    this meets the target and its model may be the last, where a row stops it, and above the grid. No stage
    may begin later than that of some donor: what it does there no run has shown.

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
        self.refused, self.too_late = "", list[str]()
        self.lending = dict(self._lending(law))
        self.fewest = min((len(item.first) for item in self.lending.values()), default=0)
        self.worst = [Fraction(0)] * len(policy.nodes)  # the greatest cost of any way on, by node
        for number in sorted(walk.places, key=lambda item: -policy.nodes[item].epoch):
            for index, told in enumerate(policy.nodes[number].trainings):
                way = Fraction(walk.steps[number, index].price) + self.worst[told.following]
                self.worst[number] = max(self.worst[number], way)
        deviations = law.deviations or (0.0,)
        for deviation in deviations:
            self._follow(deviation, Fraction(1, len(deviations)))

    def course(self) -> Course:
        """The same in floats."""
        ends = {name: float(self.ends[name]) for name in ("reached", "abandoned", "exhausted", "beyond")}
        off, unlike = float(abs(1 - sum(self.ends.values()))), float(self.ends["unlike"])
        cost, epochs = float(self.cost), float(self.epochs)
        return Course(cost=cost, epochs=epochs, lost=0.0, rounding=off, unlike=unlike, **ends)

    def _lending(self, law: TracedLaw) -> Iterator[tuple[Kind, Lending]]:
        """Donors of every kind, for the longest stage of it; and which kinds may begin too late for them."""
        seen, stages = seen_in(law), defaultdict[Kind, list[SeenStage]](list)
        for place in self.walk.places.values():
            if place.stage is not None:
                stages[place.stage.pair, place.stage.before].append(place.stage)
        for kind, alike in stages.items():
            wanted = max(alike, key=lambda stage: stage.length)
            donors = seen.donors(wanted)
            yield (
                kind,
                Lending(
                    np.array([seen.runs[run].losses[0] for run, _ in donors]),
                    np.array([residuals for _, residuals in donors]),
                ),
            )
            lends = [
                next(
                    item.start
                    for item in seen.runs[run].stages
                    if item.kind == wanted.kind and item.length >= wanted.length
                )
                for run, _ in donors
            ]
            begun = max(stage.start for stage in alike)
            if lends and begun > max(lends):
                (model, cluster), _ = kind
                told = f"{model!r} on {cluster!r} may begin after {begun} epochs, its donors {max(lends)}"
                self.too_late.append(told)

    def _follow(self, deviation: float, share: Fraction) -> None:
        """All combinations depth first, schedule by schedule."""
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
        ends, said = np.array([(row.upto, row.action) for row in node.rows]).T
        actions = said[np.searchsorted(ends, np.clip(cells, 0, grid.cells - 1))]
        stopped = ~met & ~above & (actions == STOP)
        last = "exhausted" if node.epoch == self.policy.maximum_epochs else "abandoned"
        for name, which in (("reached", met), ("beyond", above), (last, stopped)):
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

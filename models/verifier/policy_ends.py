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
from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from depl.models.problem.policy import STOP, LossGrid, NextEpoch, Policy, PolicyNode
from depl.models.problem.traced_law import TracedLaw
from depl.models.verifier.laws import FloatArray
from depl.models.verifier.policy_noise import EDGE
from depl.models.verifier.policy_walk import Step, Walk, in_order
from depl.models.verifier.runs import Donor, Pair, Seen, SeenStage, seen_in
from depl.models.verifier.tolerances import ATOM_TOLERANCE

_FEW = 48
"""Numbers of cells up to which a sum over them is written out: set by hand, where transforms become
quicker."""

_MOST_MOVES = 400_000
"""Most moves that are followed in fractions: set by hand, some seconds."""

MOST_TOGETHER = 4_000_000
"""Combinations that are kept at once: set by hand, a hundred megabytes."""


@dataclass(frozen=True)
class Course:
    """How the runs of a policy end under the law.

    ``cost`` [cost] and ``epochs`` are expected. There are probabilities of the four ends: ``reached``, the
    target; ``abandoned`` by a row, epochs being left; ``exhausted``, by a row after K_max epochs; ``beyond``,
    above the grid; and ``unlike``, of failing with a run unlike all seen, where runs are counted. They may be
    off by what was ``lost`` in the tails that were not followed, by the ``rounding`` of their sums, and by
    the ``doubt`` of quadratures, as they measure it, where two laws with densities meet in an epoch.
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


def indices_of(grid: LossGrid, losses: NDArray[Any]) -> FloatArray:
    """The indices of losses on a grid, or far beside it: not all of them fit into 64 bits."""
    return np.ceil((losses - grid.origin) / grid.step - EDGE)


# --- along the ledger -------------------------------------------------------------------------------------


def course(policy: Policy, walk: Walk, losses: FloatArray) -> Course:
    """Follow the chain from equally likely l(0) on the scale of the law, shape (n,), epoch by epoch."""
    grid, sums, here = policy.grid, defaultdict[str, float](float), dict[int, FloatArray]()
    first = np.maximum(indices_of(grid, losses), 0.0)
    inside = first[first < grid.cells].astype(int)
    sums["beyond"] = 1.0 - inside.size / first.size
    here[policy.start] = np.bincount(inside, minlength=grid.cells) / first.size
    for number in in_order(policy):
        if number not in here:
            continue
        masses, node = here.pop(number), policy.nodes[number]
        actions = actions_of(node)
        stopped = np.where(actions == STOP, masses, 0.0)
        met = grid.target + 1 if node.may_stop else 0
        last = node.epoch == policy.maximum_epochs
        sums["reached"] += math.fsum(stopped[:met].tolist())
        sums["exhausted" if last else "abandoned"] += math.fsum(stopped[met:].tolist())
        for index, told in enumerate(node.trainings):
            going = np.where(actions == index, masses, 0.0)
            if going.any():
                after = here.setdefault(told.following, np.zeros(grid.cells))
                _train(grid, walk.steps[number, index], told, going, after, sums)
    ends = {name: sums[name] for name in ("reached", "abandoned", "exhausted", "beyond", "lost")}
    others = {name: sums[name] for name in ("cost", "epochs", "doubt")}
    return Course(**ends, **others, rounding=abs(1.0 - math.fsum(ends.values())))


def _train(
    grid: LossGrid, step: Step, told: NextEpoch, masses: FloatArray, after: FloatArray, sums: dict[str, float]
) -> None:
    """Carry probabilities over an epoch: price and noise are the instance's, the image is the file's."""
    going = np.flatnonzero(masses)
    share = math.fsum(masses[going].tolist())
    means = told.shift + told.retention * (grid.origin + going * grid.step)
    images = indices_of(grid, means).astype(int)
    lowest, highest = int(images.min()), int(images.max())
    cells = step.noise.on_cells(grid.step, -highest, grid.cells - 1 - lowest)
    rates = {"beyond": cells.above, "lost": cells.lost, "doubt": cells.doubt}
    for name, rate in {"cost": step.price, "epochs": 1.0, **rates}.items():
        sums[name] += rate * share
    spread = np.bincount(images - lowest, masses[going]).astype(np.float64)
    found = _convolved(spread, cells.masses)
    least = lowest + cells.first
    below = max(0, -least)  # indices below 0 go to it, those above the grid have ended
    end = max(below, min(found.size, grid.cells - least))
    after[0] += cells.below * share + math.fsum(found[:below].tolist())
    sums["beyond"] += math.fsum(found[end:].tolist())
    after[least + below : least + end] += found[below:end]


def _convolved(one: FloatArray, other: FloatArray) -> FloatArray:
    busy = np.flatnonzero(other)
    if busy.size > _FEW:
        return np.asarray(scipy.signal.fftconvolve(one, other))
    found = np.zeros(one.size + max(0, other.size - 1))  # a few atoms, perhaps far apart
    for place in busy.tolist():
        found[place : place + one.size] += other[place] * one
    return found


def exact_reached(policy: Policy, walk: Walk, losses: FloatArray) -> Fraction | None:
    """P(reached) of the ledger in exact fractions, from equally likely l(0) on the scale of the law.

    Asked for where a certificate claims a fraction, as a promise that is kept with equality is lost in
    rounding. None where it is not worked out: for a law with a density, and for too many moves.
    """
    grid, reached, moves = policy.grid, Fraction(0), 0
    here = defaultdict[int, defaultdict[int, Fraction]](lambda: defaultdict(Fraction))
    for index in np.clip(indices_of(grid, losses), 0, grid.cells).astype(int).tolist():
        here[policy.start][index] += Fraction(1, len(losses))
    for number in in_order(policy):
        node, actions = policy.nodes[number], actions_of(policy.nodes[number])
        for index, share in here.pop(number, {}).items():
            action = actions[index] if index < grid.cells else STOP
            if action == STOP:
                reached += share * (node.may_stop and index <= grid.target)
                continue
            told, atoms = node.trainings[action], walk.steps[number, action].noise.exact_atoms()
            moves += 0 if atoms is None else len(atoms)
            if atoms is None or moves > _MOST_MOVES:
                return None
            mean = told.shift + told.retention * (grid.origin + index * grid.step)
            image = math.ceil((mean - grid.origin) / grid.step - EDGE)
            for value, part in atoms:
                after = max(0, image + math.ceil(value / grid.step - EDGE))
                here[told.following][after] += share * part
    return reached


# --- over all combinations of recorded runs ---------------------------------------------------------------

Kind = tuple[Pair, Pair | None]
"""What is trained in a stage, and what was before."""


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

    ``ends`` are the probabilities of "reached", "abandoned", "exhausted", "beyond" and "unlike", ``cost`` and
    ``epochs`` expected, unlike runs at the greatest cost and without epochs. The kind that has the fewest
    donors has ``fewest``; ``too_late`` names the kinds whose stages may begin later than those of all their
    donors.

    Raises
    ------
    OverflowError
        If there are too many combinations.
    """

    def __init__(self, policy: Policy, walk: Walk, law: TracedLaw) -> None:
        self.policy, self.walk, self.unlike = policy, walk, 1 + law.diverged
        self.ends: dict[str, Fraction] = defaultdict(Fraction)
        self.cost = self.epochs = Fraction(0)
        self.too_late = list[str]()
        self.lending = self._lending(seen_in(law))
        self.fewest = min((len(donors) for donors in self.lending.values()), default=0)
        self.worst = [Fraction(0)] * len(policy.nodes)  # the greatest cost of any way on, by node
        for number in reversed(in_order(policy)):
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

    def _lending(self, seen: Seen) -> dict[Kind, list[Donor]]:
        """Donors of every kind, for the longest stage of it; and which kinds may begin too late for them."""
        stages, found = defaultdict[Kind, list[SeenStage]](list), dict[Kind, list[Donor]]()
        for place in self.walk.places.values():
            if place.stage is not None:
                stages[place.stage.pair, place.stage.before].append(place.stage)
        for kind, alike in stages.items():
            found[kind] = seen.donors(max(alike, key=lambda stage: stage.length))
            begun, (model, cluster) = max(stage.start for stage in alike), kind[0]
            latest = max((donor.stage.start for donor in found[kind]), default=begun)
            if begun > latest:
                told = f"{model!r} on {cluster!r} may begin after {begun} epochs, its donors {latest}"
                self.too_late.append(told)
        return found

    def _follow(self, deviation: float, share: Fraction) -> None:
        """All combinations depth first, schedule by schedule."""
        start = self.policy.start
        trainings = self.policy.nodes[start].trainings
        if not trainings:
            self.ends["abandoned"] += share
            return
        donors = self.lending[(trainings[0].model, trainings[0].cluster), None]
        first = np.array([donor.run.losses[0] for donor in donors])
        waiting = [Group(start, first, np.arange(first.size), self._each(share, 1, first.size, start))]
        while waiting:
            waiting += self._left(waiting.pop(), deviation)

    def _each(self, weight: Fraction, runs: int, donors: int, node: int) -> Fraction:
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
        met = (observed <= grid.limit + ATOM_TOLERANCE) & node.may_stop
        cells = indices_of(grid, observed)
        above = ~met & (cells >= grid.cells)
        actions = actions_of(node)[np.clip(cells, 0, grid.cells - 1).astype(int)]
        actions[met | above] = STOP
        last = "exhausted" if node.epoch == self.policy.maximum_epochs else "abandoned"
        for name, which in (("reached", met), ("beyond", above), (last, (actions == STOP) & ~met & ~above)):
            self.ends[name] += group.weight * int(which.sum())
        for index in range(len(node.trainings)):
            going = np.flatnonzero(actions == index)
            if going.size:
                yield self._trained(group, index, going)

    def _trained(self, group: Group, index: int, going: NDArray[np.int64]) -> Group:
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
            if losses.size * len(lent) > MOST_TOGETHER:
                raise OverflowError(f"more than {MOST_TOGETHER} combinations of runs are at one node")
            weight = self._each(weight, losses.size, len(lent), following)
            losses = np.repeat(losses, len(lent))
            donors = np.resize(np.arange(len(lent)), losses.size)
        residuals = np.array([donor.residuals[stage.length - 1] for donor in lent])
        moved = step.shift + step.retention * losses + residuals[donors]
        return Group(following, moved, donors, weight)

"""What a policy does under a law whose residuals stay together per run: all combinations of runs followed.

Such a law is one of plans (`depl.models.evaluation.traced_prediction`): which runs lend residuals depends on
the planned length of a stage. For a policy the law is *declared*, as `docs/policies` says: the donors of a
stage are those of the longest of its kind; a run unlike all seen fails at the greatest cost from there. What
plans as such deviate by is added to every loss after l(0) of a run, the same in all its epochs. Probabilities
are shares of combinations, exact as fractions.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from depl.models.evaluation.traced_lending import Lent, lent
from depl.models.evaluation.traced_support import FEWEST_DONORS
from depl.models.foundation.deadline import keep_time
from depl.models.foundation.errors import NotCoveredError
from depl.models.policy.grid import met, rounded_indices
from depl.models.policy.stages import Extent, Kind, extents, kind_of, stages
from depl.models.problem.affine_law import AffineLaw, Position
from depl.models.problem.laws import FloatArray
from depl.models.problem.policy import STOP, LossGrid, NextEpoch, Policy, PolicyNode
from depl.models.problem.traced_law import TracedLaw

MOST_PATHS = 4_000_000
"""Most combinations of runs that are followed: set by hand, some seconds and a hundred megabytes."""

_ROUNDING = 1e-12
"""Relative widening that covers the rounding of sums of some hundred thousand nonnegative payments."""


@dataclass(frozen=True)
class Counted:
    """What a policy does over all combinations of runs.

    Attributes
    ----------
    cost : float
        Upper bound of the expected cost [cost].
    reached : Fraction
        P(target reached) under the declared law.
    runs : int
        Fewest runs that lend to a stage.
    unlike : Fraction
        Probability of coming to a stage with a run unlike all seen.
    """

    cost: float
    reached: Fraction
    runs: int
    unlike: Fraction


@dataclass(frozen=True, eq=False)
class _Runs:
    """Combinations of runs at a node, all equally likely.

    Attributes
    ----------
    losses : float array (n,)
        On the scale of the law, without what plans deviate by.
    donors : int array (n,)
        Which donor lends to the present stage.
    weight : Fraction
        Probability of each.
    """

    losses: FloatArray
    donors: NDArray[np.int64]
    weight: Fraction


class _Followed:
    """A policy followed over all combinations, epoch by epoch."""

    def __init__(self, policy: Policy, traced: TracedLaw) -> None:
        self.policy, self.law, self.grid = policy, traced.law, policy.grid
        self.offsets = traced.deviations or (0.0,)
        self.unlike = traced.diverged + 1
        self.stages = stages(policy.nodes, [policy.start])
        self.lending = lending(traced.law, extents(policy.nodes, policy.start))
        self.greatest_costs = greatest_costs(policy.nodes)
        self.cost, self.reached, self.failed = 0.0, Fraction(0), Fraction(0)

    def follow(self) -> None:
        """Add up costs and successes."""
        for offset in self.offsets:
            self._follow(offset, Fraction(1, len(self.offsets)))

    def _follow(self, offset: float, share: Fraction) -> None:
        groups: dict[int, list[_Runs]] = defaultdict(list)
        start = self.policy.start
        first = next(iter(self.policy.nodes[start].trainings), None)
        if first is None:
            return
        donors = self.lending[(first.model, first.cluster), None]
        weight = share / (donors.first_losses.size + self.unlike)
        self._fail(weight * self.unlike, self.greatest_costs[start])
        groups[start].append(_Runs(donors.first_losses, np.arange(donors.first_losses.size), weight))
        for number in range(start, len(self.policy.nodes)):  # later epochs stand behind earlier ones
            for runs in groups.pop(number, ()):
                keep_time()
                self._step(number, runs, offset if self.policy.nodes[number].epoch else 0.0, groups)

    def _step(self, number: int, runs: _Runs, offset: float, groups: dict[int, list[_Runs]]) -> None:
        node, seen = self.policy.nodes[number], runs.losses + offset
        low = met(seen, self.grid.limit) & node.may_stop
        self.reached += runs.weight * int(low.sum())
        actions = np.where(low, STOP, _actions(node, self.grid, seen))
        for action, training in enumerate(node.trainings):
            chosen = np.flatnonzero(actions == action)
            if chosen.size:
                self.cost += float(runs.weight) * chosen.size * training.price
                groups[training.following].append(self._trained(number, training, runs, chosen))

    def _trained(self, number: int, training: NextEpoch, runs: _Runs, chosen: NDArray[np.int64]) -> _Runs:
        """The chosen runs one epoch later; where a stage begins, each with all its donors."""
        stage = self.stages[training.following]
        donors, weight = runs.donors[chosen], runs.weight
        losses = runs.losses[chosen]
        lending = self.lending[kind_of(stage)]
        if stage.age == 1 and stage.previous is not None:
            many = len(lending.residuals)
            _require_few(losses.size * many)
            weight = weight / (many + self.unlike)
            self._fail(weight * losses.size * self.unlike, self.greatest_costs[training.following])
            donors, losses = np.tile(np.arange(many), losses.size), np.repeat(losses, many)
        after = training.shift + training.retention * losses + lending.residuals[donors, stage.age - 1]
        return _Runs(after, donors, weight)

    def _fail(self, weight: Fraction, cost: float) -> None:
        """Runs unlike all that were seen."""
        self.failed += weight
        self.cost += float(weight) * cost


def counted(policy: Policy, traced: TracedLaw) -> Counted:
    """Follow a policy over all combinations of runs.

    Raises
    ------
    NotCoveredError
        If fewer than `FEWEST_DONORS` runs could lend to a stage, or if more than `MOST_PATHS` combinations
        had to be followed.
    """
    followed = _Followed(policy, traced)
    followed.follow()
    runs = min((len(item.donors) for item in followed.lending.values()), default=0)
    return Counted(followed.cost * (1 + _ROUNDING), followed.reached, runs, followed.failed)


def lending(law: AffineLaw, reach: Mapping[Kind, Extent]) -> dict[Kind, Lent]:
    """What runs lend to stages that go so far.

    Raises
    ------
    NotCoveredError
        If fewer than `FEWEST_DONORS` runs could lend to a stage, or none that began it as late.
    """
    found = {kind: _lent_by_kind(law, kind, extent) for kind, extent in reach.items()}
    for kind, extent in reach.items():
        _require_lent(kind, extent, found[kind])
    return found


def latest_starts(law: AffineLaw, reach: Mapping[Kind, Extent]) -> dict[Kind, int]:
    """When stages that last so long may begin at the latest: as late as some run that lends to them did."""
    found = {kind: _lent_by_kind(law, kind, extent) for kind, extent in reach.items()}
    return {kind: int(lent.starts.max()) for kind, lent in found.items() if len(lent.donors) >= FEWEST_DONORS}


def _lent_by_kind(law: AffineLaw, kind: Kind, extent: Extent) -> Lent:
    return lent(law, Position(kind[0], kind[1], extent.longest, 0))


def _require_lent(kind: Kind, extent: Extent, found: Lent) -> None:
    (model, cluster), previous = kind
    where = f"{cluster!r} after {previous[0]!r}" if previous else repr(cluster)
    what = "allow switches after fewer epochs (switch_epochs), or record longer runs"
    if len(found.donors) < FEWEST_DONORS:
        raise NotCoveredError(
            f"fewer than {FEWEST_DONORS} runs trained {model!r} on {where} for {extent.longest} epochs, as "
            f"the policy may; {what}"
        )
    if int(found.starts.max()) < extent.latest:
        raise NotCoveredError(
            f"outside the support of the traces: no run that trained {model!r} on {where} for "
            f"{extent.longest} epochs, as the policy may, began with it after {extent.latest} epochs or "
            f"more, as it also may; {what}"
        )


def greatest_costs(nodes: tuple[PolicyNode, ...]) -> list[float]:
    """The greatest cost that a run can still have, by node."""
    found = [0.0] * len(nodes)
    for number in sorted(range(len(nodes)), key=lambda item: -nodes[item].epoch):
        found[number] = max(
            (training.price + found[training.following] for training in nodes[number].trainings), default=0.0
        )
    return found


def _actions(node: PolicyNode, grid: LossGrid, losses: FloatArray) -> NDArray[np.int64]:
    """What is done at observed losses; above the grid a run stops."""
    indices = np.maximum(rounded_indices(losses - grid.origin, grid.step, up=True), 0)
    ends = np.array([row.upto for row in node.rows])
    actions = np.array([*(row.action for row in node.rows), STOP])
    return np.asarray(actions[np.searchsorted(ends, indices)])


def _require_few(paths: int) -> None:
    if paths > MOST_PATHS:
        raise NotCoveredError(
            f"more than {MOST_PATHS} combinations of runs had to be followed; allow switches after fewer "
            "epochs (switch_epochs) or fit to fewer runs"
        )

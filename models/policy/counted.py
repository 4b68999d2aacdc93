"""What a policy does under a law whose residuals stay together per run: all combinations of runs followed.

Such a law is one of plans (`depl.models.evaluation.traced_law`): which runs lend residuals depends on
the planned length of a stage. For a policy the law is *declared*, as `docs/policies` says: the donors of a
stage are those of the longest of its kind; a run unlike all seen fails at the greatest cost from there. What
plans as such deviate by is added to every loss after l(0) of a run, the same in all its epochs. Probabilities
are shares of combinations, exact as fractions.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from depl.models.evaluation.traced_law import Lent, lent
from depl.models.evaluation.traced_support import FEWEST_DONORS
from depl.models.foundation.errors import NotCoveredError
from depl.models.policy.follow import Runs, follow, greatest_costs
from depl.models.policy.process import Site
from depl.models.problem.affine_law import AffineLaw, Position, following
from depl.models.problem.laws import FloatArray
from depl.models.problem.policy import Policy
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


Kind = tuple[Site, Site | None]
"""Of a stage, by which runs lend to it: model and cluster, and those before it, if any."""

Extent = tuple[int, int]
"""Of the stages of a kind: how long they last at most, and after how many epochs they begin at the latest."""


def kind_of(place: Position) -> Kind:
    """What is common to stages that the same runs lend to."""
    return place.trained, place.previous


def stages(nodes: Sequence[Any], starts: Iterable[int]) -> dict[int, Position]:
    """Where the nodes of a policy or a process that follow on some starts stand in their stages."""
    first, found = set(starts), dict[int, Position]()
    for number in range(min(first, default=0), len(nodes)):  # later epochs stand behind earlier ones
        if number in first or number in found:
            for step in nodes[number].trainings:
                found[step.following] = following(found.get(number), (step.model, step.cluster))
    return found


def extents(nodes: Sequence[Any], start: int) -> dict[Kind, Extent]:
    """How far the stages of each kind go in a policy, or in a process whose runs begin at ``start``."""
    found: dict[Kind, Extent] = {}
    for place in stages(nodes, [start]).values():
        longest, latest = found.get(kind_of(place), (0, 0))
        found[kind_of(place)] = max(longest, place.age), max(latest, place.start)
    return found


def counted(policy: Policy, traced: TracedLaw) -> Counted:
    """Follow a policy over all combinations of runs.

    Raises
    ------
    NotCoveredError
        If fewer than `FEWEST_DONORS` runs could lend to a stage, or none that began it as late; or if more
        than `MOST_PATHS` combinations had to be followed.
    """
    cost, reached, failed = 0.0, Fraction(0), Fraction(0)
    donors = {
        kind: _lent(traced.law, kind, extent, required=True)
        for kind, extent in extents(policy.nodes, policy.start).items()
    }
    for offset in traced.deviations or (0.0,):
        source = _Donors(policy, traced, donors, offset)
        ended = list(follow(policy, source)) if donors else []
        reached += sum(some.runs.weight * some.runs.costs.size for some in ended if some.end == "reached")
        failed += sum(runs.weight * runs.costs.size for runs in source.unlike)
        for runs in (*(some.runs for some in ended), *source.unlike):
            cost += float(runs.weight) * float(runs.costs.sum())
    least = min((len(item.donors) for item in donors.values()), default=0)
    return Counted(cost * (1 + _ROUNDING), reached, least, failed)


class _Donors:
    """All combinations of donors; every loss after l(0) is moved by what one plan deviates by."""

    def __init__(self, policy: Policy, traced: TracedLaw, donors: dict[Kind, Lent], offset: float) -> None:
        self.policy, self.donors, self.offset, self.more = policy, donors, offset, traced.diverged + 1
        self.share = Fraction(1, len(traced.deviations) or 1)
        self.stages, self.dearest = stages(policy.nodes, [policy.start]), greatest_costs(policy)
        self.unlike: list[Runs] = []
        """Runs unlike all that were seen, with the greatest cost that they may have."""

    def begin(self) -> Runs:
        node = self.policy.nodes[self.policy.start]
        losses = self.donors[(node.trainings[0].model, node.trainings[0].cluster), None].first_losses
        whole = Runs(losses[:1], (), self.share, np.zeros(1), np.zeros(1, dtype=np.int64))
        runs = self._apart(self.policy.start, whole, losses.size)
        return runs._replace(losses=losses, own=(np.arange(losses.size), losses))

    def train(self, node: int, training: int, runs: Runs) -> tuple[Runs, FloatArray]:
        """Where a stage begins, each run goes on with all its donors."""
        told = self.policy.nodes[node].trainings[training]
        stage = self.stages[told.following]
        lent = self.donors[kind_of(stage)]
        donors, losses = runs.own
        if stage.age == 1 and stage.previous is not None:
            many = len(lent.residuals)
            runs = self._apart(told.following, runs, many, told.price)
            donors, losses = np.tile(np.arange(many), losses.size), np.repeat(losses, many)
        after = told.shift + told.retention * losses + lent.residuals[donors, stage.age - 1]
        return runs._replace(own=(donors, after)), after + self.offset

    def _apart(self, node: int, runs: Runs, many: int, price: float = 0.0) -> Runs:
        """Each run with all that may lend to it, beside one that is unlike them."""
        if runs.losses.size * many > MOST_PATHS:
            raise NotCoveredError(
                f"more than {MOST_PATHS} combinations of runs had to be followed; allow switches after fewer "
                "epochs (switch_epochs) or fit to fewer runs"
            )
        weight = runs.weight / (many + self.more)
        lost = runs.costs + price + self.dearest[node]
        self.unlike.append(runs._replace(weight=weight * self.more, costs=lost))
        return runs.at(np.repeat(np.arange(runs.costs.size), many))._replace(weight=weight)


def latest_starts(law: AffineLaw, reach: Mapping[Kind, Extent]) -> dict[Kind, int]:
    """When stages that last so long may begin at the latest: as late as some run that lends to them did."""
    found = {kind: _lent(law, kind, extent) for kind, extent in reach.items()}
    return {kind: int(lent.starts.max()) for kind, lent in found.items() if len(lent.donors) >= FEWEST_DONORS}


def _lent(law: AffineLaw, kind: Kind, extent: Extent, *, required: bool = False) -> Lent:
    """What runs lend to stages of a kind that go so far."""
    (longest, latest), ((model, cluster), previous) = extent, kind
    found = lent(law, Position(kind[0], previous, longest, 0))
    where = f"{cluster!r} after {previous[0]!r}" if previous else repr(cluster)
    what = "allow switches after fewer epochs (switch_epochs), or record longer runs"
    if required and len(found.donors) < FEWEST_DONORS:
        raise NotCoveredError(
            f"fewer than {FEWEST_DONORS} runs trained {model!r} on {where} for {longest} epochs, as "
            f"the policy may; {what}"
        )
    if required and int(found.starts.max()) < latest:
        raise NotCoveredError(
            f"outside the support of the traces: no run that trained {model!r} on {where} for "
            f"{longest} epochs, as the policy may, began with it after {latest} epochs or "
            f"more, as it also may; {what}"
        )
    return found

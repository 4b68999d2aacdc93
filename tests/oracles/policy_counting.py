"""What a policy does over all combinations of runs, one combination after the other; used by tests only.

Every stage draws a donor of its own among the runs that trained the longest such stage of the policy, which
lends its residuals; one more run per stage, and one per diverged run, fails at the greatest cost left. What
plans deviate by is added to every loss after l(0). Nothing of `depl.models.policy` is called.
"""

import math
from fractions import Fraction
from typing import NamedTuple

from depl.models.problem.policy import Policy
from depl.models.problem.traced_law import TracedLaw
from tests.oracles.traced_law import Oracle, Place, Section, Trained, regressor

Kind = tuple[Trained, Trained | None]


class _Donor(NamedTuple):
    first: float
    residuals: tuple[float, ...]


class Counting:
    """Expected cost and P(reached), summed up combination by combination."""

    def __init__(self, policy: Policy, law: TracedLaw) -> None:
        self.policy, self.oracle, self.unlike = policy, Oracle(law), 1 + law.diverged
        self.places = self._all_places()
        longest: dict[Kind, int] = {}
        for place in self.places.values():
            kind = place.trained, place.previous
            longest[kind] = max(longest.get(kind, 0), place.age)
        self.donors = {kind: self._lending(kind, age) for kind, age in longest.items()}
        self.cost, self.reached = Fraction(0), Fraction(0)
        for offset in law.deviations or (0.0,):
            self._begin(offset, Fraction(1, max(1, len(law.deviations))))

    def _all_places(self) -> dict[int, Place]:
        """Where the nodes after epoch 0 stand; those of later epochs stand behind."""
        found: dict[int, Place] = {}
        for number, node in enumerate(self.policy.nodes):
            for training in node.trainings:
                pair, now = (training.model, training.cluster), found.get(number)
                if now is not None and now.trained == pair:
                    found[training.following] = now._replace(age=now.age + 1)
                else:
                    before = None if now is None else now.trained
                    found[training.following] = Place(pair, before, 1, node.epoch)
        return found

    def _lending(self, kind: Kind, length: int) -> list[_Donor]:
        found = []
        for run, begun in self.oracle.donors(Section(kind[0], kind[1], 0, length)):
            residuals = []
            for k in range(begun + 1, begun + length + 1):
                row = self.oracle.row(self.oracle.places[run][k - 1])
                assert row is not None
                residuals.append(self.oracle.residual(row, run, k))
            found.append(_Donor(self.oracle.losses[run][0], tuple(residuals)))
        return found

    def _begin(self, offset: float, weight: Fraction) -> None:
        start = self.policy.start
        first = self.policy.nodes[start].trainings[0]
        donors = self.donors[(first.model, first.cluster), None]
        weight /= len(donors) + self.unlike
        self.cost += self.unlike * weight * self._worst(start)
        for donor in donors:
            self._go(start, donor.first, offset, donor, weight)

    def _go(self, number: int, loss: float, offset: float, donor: _Donor, weight: Fraction) -> None:
        node, grid = self.policy.nodes[number], self.policy.grid
        seen = loss + (offset if node.epoch else 0.0)
        if node.may_stop and seen <= grid.limit + 1e-9:
            self.reached += weight
            return
        index = max(0, math.ceil((seen - grid.origin) / grid.step - 1e-6))
        if index >= grid.cells:
            return
        action = next(row.action for row in node.rows if index <= row.upto)
        if action == -1:
            return
        told = node.trainings[action]
        self.cost += weight * Fraction(told.price)
        place = self.places[told.following]
        row = self.oracle.row(place)
        assert row is not None
        mean = row.intercept + row.slope * regressor(place.start) + row.retention * loss
        if place.age > 1 or place.previous is None:
            self._go(told.following, mean + donor.residuals[place.age - 1], offset, donor, weight)
            return
        others = self.donors[place.trained, place.previous]
        share = weight / (len(others) + self.unlike)
        self.cost += self.unlike * share * self._worst(told.following)
        for other in others:
            self._go(told.following, mean + other.residuals[0], offset, other, share)

    def _worst(self, number: int) -> Fraction:
        """The greatest cost that a run can still have."""
        trainings = self.policy.nodes[number].trainings
        return max(
            (Fraction(item.price) + self._worst(item.following) for item in trainings), default=Fraction(0)
        )

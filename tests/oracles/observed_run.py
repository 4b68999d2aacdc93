"""What a traced law says of the rest of a run under way, worked out from its statement; used by tests only.

As in `tests.oracles.traced_law` losses are followed forwards, from that observed, by every combination of
what is drawn for the epochs to come.
"""

import numpy as np

from depl.models.problem.traced_law import TracedLaw
from tests.oracles.traced_law import (
    FEWEST,
    Floats,
    Oracle,
    Place,
    Schedule,
    Section,
    on_scale,
    places,
    sections,
)


class ObservedOracle(Oracle):
    """The law of a document that records a run under way; schedules are those of the epochs to come."""

    def __init__(self, document: TracedLaw) -> None:
        super().__init__(document)
        assert document.observed is not None
        self.past: Schedule = tuple(
            (stage.model, stage.cluster) for stage in document.observed.stages for _ in range(stage.epochs)
        )
        self.loss = float(on_scale(document, document.observed.loss))

    def ahead(self, schedule: Schedule) -> list[Place]:
        """Where the epochs to come stand in the whole run."""
        return places((*self.past, *schedule))[len(self.past) :]

    def parts(self, schedule: Schedule) -> list[tuple[Section, int]]:
        """The stages that have epochs to come, with the age of the first of these."""
        return [
            (part, max(0, len(self.past) - part.start) + 1)
            for part in sections((*self.past, *schedule))
            if part.start + part.length > len(self.past)
        ]

    def lent_from(self, part: Section, first: int) -> Floats:
        """Residuals of the ages from ``first`` on, by donor."""
        able: dict[int, tuple[object, list[float]]] = {}
        for run, own_schedule in enumerate(self.schedules):
            for own in sections(own_schedule):
                same_kind = own.trained == part.trained and (own.previous is None) == (part.previous is None)
                if run in able or not same_kind or own.length < part.length:
                    continue
                rows = [
                    self.row(Place(own.trained, own.previous, age, own.start))
                    for age in range(first, part.length + 1)
                ]
                if all(row is not None for row in rows):
                    lent = [
                        self.residual(row, run, own.start + first + offset)
                        for offset, row in enumerate(rows)
                        if row is not None
                    ]
                    able[run] = own.previous, lent
        alike = self._balanced([run for run, (previous, _) in able.items() if previous == part.previous])
        chosen = alike if len(alike) >= 20 else self._balanced(list(able))
        return np.array([able[run][1] for run in chosen]).reshape(len(chosen), part.length - first + 1)

    def through(self, schedule: Schedule) -> list[int]:
        """Runs through past and rest, if they are enough to be the law."""
        return self.whole((*self.past, *schedule))

    def followed(self, schedule: Schedule) -> list[Floats]:
        """The loss now and after each epoch to come, by whole run or by the donors of every stage."""
        if runs := self.through(schedule):
            found = [np.full(len(runs), self.loss)]
            for k, place in enumerate(self.ahead(schedule), start=len(self.past) + 1):
                row = self.row(place)
                assert row is not None
                found.append(
                    self.step(place, found[-1], np.array([self.residual(row, run, k) for run in runs]))
                )
            return found
        parts = self.parts(schedule)
        lending = [self.lent_from(part, first) for part, first in parts]
        drawn = np.indices([len(lent) for lent in lending])
        found = [np.full(drawn[0].shape, self.loss)]
        for (part, first), lent, index in zip(parts, lending, drawn, strict=True):
            for age in range(first, part.length + 1):
                place = Place(part.trained, part.previous, age, part.start)
                found.append(self.step(place, found[-1], lent[index, age - first]))
        return found

    def finals(self, schedule: Schedule) -> tuple[Floats, Floats]:
        """Final losses and their weights."""
        if self.document.residuals == "independent":
            values, weights = np.array([self.loss]), np.ones(1)
            for place in self.ahead(schedule):
                residuals = self.residuals(place)
                values = np.add.outer(self.step(place, values, 0.0), residuals).ravel()
                weights = np.repeat(weights, residuals.size)
            values = np.add.outer(values, self.deviations).ravel()
            return values, np.repeat(weights, self.deviations.size)
        losses = self.followed(schedule)
        if not self.through(schedule):
            values = np.add.outer(self.with_unseen(losses[-1]), self.deviations).ravel()
            return values, np.ones(values.size)
        values = self.with_beside(self.ranked(schedule, losses))
        return values, np.ones(values.size)

    def ranked(self, schedule: Schedule, losses: list[Floats]) -> Floats:
        """What whole runs count with: by rank the greatest loss of the last epochs that are to come."""
        last, runs = len(self.past) + len(schedule), self.through(schedule)
        picked = any(len(self.schedules[run]) > last for run in runs)
        count = min(self.document.settled_epochs, len(schedule)) if picked else 1
        return np.sort(np.array(losses[-count:]), axis=1).max(axis=0)

    def share_above(self, schedule: Schedule, maximum_loss: float) -> tuple[int, int]:
        """How much weight lies above a maximum, and how much there is."""
        values, weights = self.finals(schedule)
        limit = on_scale(self.document, maximum_loss) + 1e-9
        return int(weights[values > limit].sum()), int(weights.sum())

    def promised(self, schedule: Schedule) -> bool:
        """Whether the law says anything of a rest."""
        return self.supports(schedule) and (self.margin or bool(self.through(schedule)))

    def supports(self, schedule: Schedule) -> bool:
        """Whether runs have been where a rest leads."""
        if any(self.row(place) is None for place in self.ahead(schedule)):
            return False
        for part, first in self.parts(schedule):
            if not self._in_hull(part) or len(self.lent_from(part, first)) < FEWEST:
                return False
        mean = self.loss
        for place in self.ahead(schedule):
            row = self.row(place)
            assert row is not None
            before = [self.losses[run][k - 1] for run, k in row.pool]
            if not _within(mean, min(before), max(before)):
                return False
            mean = float(self.step(place, np.array(mean), 0.0))
            if not _within(mean, *self.ever):
                return False
        return True


def _within(mean: float, least: float, greatest: float) -> bool:
    room = 1e-9 * max(abs(least), abs(greatest))
    return least - room <= mean <= greatest + room

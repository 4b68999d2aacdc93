"""What a traced law says, worked out from its statement; used by tests only.

Nothing here calls `depl.models.problem.affine_law`: coefficients are looked up in the rows of the document,
residuals are what they leave of the losses of the runs, and losses are followed epoch by epoch.
"""

import itertools
import math
from collections import Counter
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np

from depl.models.problem.traced_law import FittedJump

Trained = tuple[str, str]
Schedule = tuple[Trained, ...]

DONORS, FEWEST = 20, 6
"""Donors with the right predecessor, and of a stage; at least."""

UNIT = 10**6
"""Probabilities with a confidence are whole numbers of millionths."""


class Place(NamedTuple):
    """Model and cluster of an epoch, those before the switch, its age, epochs before the stage."""

    trained: Trained
    previous: Trained | None
    age: int
    start: int


class Section(NamedTuple):
    """A stage of a schedule."""

    trained: Trained
    previous: Trained | None
    start: int
    length: int


class Row(NamedTuple):
    """Coefficients and the epochs (run, k) that they are pooled over."""

    intercept: float
    slope: float
    retention: float
    pool: tuple[tuple[int, int], ...]


def sections(schedule):
    found = []
    for trained, items in itertools.groupby(schedule):
        last = found[-1] if found else None
        start = last.start + last.length if last else 0
        found.append(Section(trained, last.trained if last else None, start, len(list(items))))
    return found


def places(schedule):
    return [
        Place(part.trained, part.previous, age, part.start)
        for part in sections(schedule)
        for age in range(1, part.length + 1)
    ]


def regressor(start):
    """What the slope is of: ln s, and nothing in a first stage."""
    return 0.0 if start == 0 else math.log(start)


def on_scale(document, losses):
    """Losses, or their logarithms."""
    return np.log(losses) if document.scale == "log" else np.asarray(losses)


class Oracle:
    """A law of the instance, read once more.

    What is drawn is combined in all ways, and every combination is followed from epoch to epoch. Losses are
    on the scale of the law throughout, that is their logarithms where it says so. Where the document records
    a run under way, schedules are those of the epochs to come, from the loss ``now`` after the ``past``.
    """

    def __init__(self, document):
        self.document = document
        self.schedules = [
            tuple(stage.trained for stage in run.stages for _ in range(stage.epochs)) for run in document.runs
        ]
        self.places = [places(schedule) for schedule in self.schedules]
        self.losses = [tuple(on_scale(document, run.losses).tolist()) for run in document.runs]
        begun = document.observed
        self.past = (
            ()
            if begun is None
            else tuple(stage.trained for stage in begun.stages for _ in range(stage.epochs))
        )
        self.now = None if begun is None else float(on_scale(document, begun.loss))
        self._hulls = {}
        self._finals = {}

    @cached_property
    def epochs(self):
        return [
            (run, k, place) for run, row in enumerate(self.places) for k, place in enumerate(row, start=1)
        ]

    @cached_property
    def rows(self):
        """The rows of the document: of steps, and of jumps, which are the first epochs after a switch."""
        found = {}
        for item in [*self.document.steps, *self.document.jumps]:
            jump = isinstance(item, FittedJump)
            first, age = (False, 1) if jump else (item.first, item.age)
            trained = item.model, item.cluster
            before = None if item.previous_model is None else (item.previous_model, item.previous_cluster)
            pooled = before is None or (jump and item.pooled)
            low, high = (1, 1) if jump else item.ages or (age, age)
            pool = tuple(
                (run, k)
                for run, k, other in self.epochs
                if (other.trained, other.previous is None) == (trained, first)
                and (pooled or other.previous == before)
                and max(low, 1 if first or jump else 2) <= other.age <= high
            )
            found[trained, first, age, before] = Row(item.intercept, item.start_slope, item.retention, pool)
        return found

    def row(self, place):
        """The row of an epoch: of its jump, of its age after its predecessor, or after all the others."""
        own = place.previous if place.age == 1 else self.alone(place.trained, place.previous)
        return self.rows.get((place.trained, place.previous is None, place.age, own))

    def alone(self, trained, previous):
        """The predecessor, if the law has steps for it alone."""
        after = (
            (step.previous_model, step.previous_cluster)
            for step in self.document.steps
            if (step.model, step.cluster) == trained
        )
        return previous if previous in after else None

    def residual(self, row, run, k):
        place, losses = self.places[run][k - 1], self.losses[run]
        return losses[k] - (
            row.intercept + row.slope * regressor(place.start) + row.retention * losses[k - 1]
        )

    def residuals(self, place):
        row = self.row(place)
        return np.array([self.residual(row, *epoch) for epoch in row.pool])

    def step(self, place, losses, residual):
        row = self.row(place)
        return row.intercept + row.slope * regressor(place.start) + row.retention * losses + residual

    # -- what is to come -------------------------------------------------------------------------------

    def ahead(self, schedule):
        """Where the epochs to come stand in the whole run."""
        return places((*self.past, *schedule))[len(self.past) :]

    def parts(self, schedule):
        """The stages that have epochs to come, with the age of the first of these."""
        return [
            (part, max(0, len(self.past) - part.start) + 1)
            for part in sections((*self.past, *schedule))
            if part.start + part.length > len(self.past)
        ]

    # -- donors ----------------------------------------------------------------------------------------

    def donors(self, part, first=1):
        """Runs that can lend the residuals of a stage from an age on, and where their own begins."""
        able = {}
        for run, schedule in enumerate(self.schedules):
            for own in sections(schedule):
                same_kind = own.trained == part.trained and (own.previous is None) == (part.previous is None)
                if run in able or not same_kind or own.length < part.length:
                    continue
                if all(
                    self.row(Place(own.trained, own.previous, age, own.start)) is not None
                    for age in range(first, part.length + 1)
                ):
                    able[run] = own.start, own.previous
        alike = self._balanced([run for run, (_, previous) in able.items() if previous == part.previous])
        chosen = alike if len(alike) >= DONORS else self._balanced(list(able))
        return [(run, able[run][0]) for run in chosen]

    def _balanced(self, runs):
        if not runs:
            return []
        sizes = sorted(Counter(self.schedules[run] for run in runs).values())
        middle = len(sizes) // 2
        median = sizes[middle] if len(sizes) % 2 else Fraction(sizes[middle - 1] + sizes[middle], 2)
        most = max(math.ceil(median), math.ceil(Fraction(DONORS, len(sizes))))
        kept = []
        for run in runs:
            if sum(self.schedules[other] == self.schedules[run] for other in kept) < most:
                kept.append(run)
        return kept

    def lending(self, part, first=1):
        """Residuals by donor and epoch of the stage, each as the donor had it in its own place."""
        rows = [
            [self.own_residual(run, start + age) for age in range(first, part.length + 1)]
            for run, start in self.donors(part, first)
        ]
        return np.array(rows).reshape(len(rows), part.length - first + 1)

    def own_residual(self, run, k):
        """The residual of a run after k epochs, by the row of its own place."""
        return self.residual(self.row(self.places[run][k - 1]), run, k)

    def first_losses(self, trained, length=1):
        return np.array([self.losses[run][0] for run, _ in self.donors(Section(trained, None, 0, length))])

    def whole(self, schedule):
        """Runs that begin with the schedule, if they are enough to be its law."""
        if self.document.residuals != "per_run":
            return []
        trained = (*self.past, *schedule)
        runs = [run for run, own in enumerate(self.schedules) if own[: len(trained)] == trained]
        return runs if len(runs) >= self.document.whole_runs else []

    # -- laws ------------------------------------------------------------------------------------------

    @property
    def unseen(self):
        """The loss of one run more, unlike all that were seen: it misses every target."""
        return None if self.document.unseen_loss is None else math.inf

    @property
    def beside(self):
        """How many runs are counted beside those seen: those that diverged, and one more."""
        return 0 if self.unseen is None else self.document.diverged + 1

    @property
    def deviations(self):
        return np.array(self.document.deviations or (0.0,))

    def settled(self, schedule):
        """What whole runs count with: by rank the greatest loss of the last epochs to come."""
        runs, ends = self.whole(schedule), self.followed(schedule)[1:]
        longer = any(len(self.schedules[run]) > len(self.past) + len(schedule) for run in runs)
        ends = ends[-self.document.settled_epochs :] if longer else ends[-1:]
        values = np.unique(ends)

        def above(limit):
            return max(int((losses > limit).sum()) for losses in ends)

        # the loss of rank j is the least one that at most n - j runs exceeded after each of the epochs
        ranks = range(1, len(runs) + 1)
        return np.array([min(v for v in values if above(v) <= len(runs) - rank) for rank in ranks])

    def followed(self, schedule):
        """The losses of whole runs before and after each epoch to come, from ``now`` by their residuals."""
        runs, begun = self.whole(schedule), len(self.past)
        if self.now is None:
            return [np.array([self.losses[run][k] for run in runs]) for k in range(len(schedule) + 1)]
        found = [np.full(len(runs), self.now)]
        for k, place in enumerate(self.ahead(schedule), start=begun + 1):
            residuals = np.array([self.own_residual(run, k) for run in runs])
            found.append(self.step(place, found[-1], residuals))
        return found

    def combined(self, schedule):
        """The same by the donors of every stage, one axis each; without deviations."""
        parts = self.parts(schedule)
        lending = [self.lending(*part) for part in parts]
        drawn = np.indices([len(lent) for lent in lending])
        if self.now is None:
            losses = self.first_losses(parts[0][0].trained, parts[0][0].length)[drawn[0]]
        else:
            losses = np.full(drawn[0].shape, self.now)
        found = [losses]
        for (part, first), lent, index in zip(parts, lending, drawn, strict=True):
            for age in range(first, part.length + 1):
                place = Place(part.trained, part.previous, age, part.start)
                losses = self.step(place, losses, lent[index, age - first])
                found.append(losses)
        return found

    def with_unseen(self, final):
        """Final losses by donors with one donor more, the last, on every axis, and one per diverged run."""
        if self.unseen is None:
            return final
        return np.pad(final, (0, self.beside), constant_values=math.inf)

    def paths(self, schedule):
        """l(0), ..., l(K) of all equally likely combinations, residuals per run, deviations included.

        Losses of a run unlike all seen are infinite, as nothing is known of them; but that now is known.
        """
        if self.whole(schedule):
            found = [self.with_beside(row) for row in self.followed(schedule)]
        else:
            seen = self.combined(schedule)
            found = [self._following_unseen(schedule, k, losses) for k, losses in enumerate(seen[:-1])]
            found.append(self.with_unseen(seen[-1]))
            found = [np.add.outer(losses, self.deviations).ravel() for losses in found]
        if self.now is not None:
            found[0] = np.full(found[0].shape, self.now)
        return found

    def with_beside(self, losses):
        """Losses of whole runs, with those of the runs that are counted beside them."""
        return np.array([*losses.tolist(), *[math.inf] * self.beside])

    def _following_unseen(self, schedule, k, losses):
        """The losses after k epochs with the donors beside on every axis: infinite from their stage on."""
        if self.unseen is None:
            return losses
        found = losses
        for axis, (part, _) in enumerate(self.parts(schedule)):
            beside = [(0, self.beside * (axis == other)) for other in range(losses.ndim)]
            # what a stage to come adds is nothing yet, whoever its donor
            begun = part.start - len(self.past) < max(k, 1)
            mode = {"mode": "constant", "constant_values": np.inf} if begun else {"mode": "edge"}
            found = np.pad(found, beside, **mode)
        return found

    def per_run(self, schedule):
        """Final losses, residuals per run, a run unlike all seen among them; see `weights`."""
        if schedule not in self._finals:
            self._finals[schedule] = self._per_run(schedule)
        return self._finals[schedule]

    def _per_run(self, schedule):
        if not self.whole(schedule):
            final = self.with_unseen(self.combined(schedule)[-1])
            return np.add.outer(final, self.deviations).ravel()
        values = self.settled(schedule)
        return self.with_beside(np.sort(values) if self.document.confidence is not None else values)

    def weights(self, schedule):
        """Of the final losses `per_run`."""
        confidence = self.document.confidence
        if confidence is None:
            return np.ones(self.per_run(schedule).size)
        runs = len(self.whole(schedule)) + self.document.diverged
        shares = [upper_end(above, runs, confidence) for above in range(runs)]
        return np.diff([0, *shares, UNIT])[::-1].astype(float)

    def independent(self, schedule):
        """Final losses and their weights (whole numbers), residuals independent; by convolution."""
        values = self.first_losses(schedule[0]) if self.now is None else np.array([self.now])
        weights = np.ones(values.size)
        for place in self.ahead(schedule):
            residuals = self.residuals(place)
            values = np.add.outer(self.step(place, values, 0.0), residuals).ravel()
            values, weights = _gathered(values, np.repeat(weights, residuals.size))
        if self.document.deviations:
            offsets = np.array(self.document.deviations)
            values = np.add.outer(values, offsets).ravel()
            values, weights = _gathered(values, np.repeat(weights, offsets.size))
        return values, weights

    def law(self, schedule):
        """Final losses and weights under the law as the document reads residuals."""
        if self.document.residuals == "independent":
            return self.independent(schedule)
        return self.per_run(schedule), self.weights(schedule)

    def violation(self, schedule, maximum_loss):
        values, weights = self.law(schedule)
        limit = on_scale(self.document, maximum_loss) + 1e-9
        return Fraction(int(weights[values > limit].sum()), int(weights.sum()))

    def observed(self, values):
        """Losses from what the law says, be they logarithms."""
        return np.exp(values) if self.document.scale == "log" else np.asarray(values)

    # -- support ---------------------------------------------------------------------------------------

    def supported(self, schedule):
        """Whether the law may be asked, and promises plans that no more runs went through anything."""
        return self.inside(schedule) and (self.margin or bool(self.whole(schedule)))

    @property
    def margin(self):
        """Whether plans that too few runs went through can be promised something."""
        asked, given = self.document.care is not None, bool(self.document.deviations)
        return self.document.confidence is None and (given or not asked)

    def inside(self, schedule):
        """Whether runs have been where a schedule leads."""
        if any(self.row(place) is None for place in self.ahead(schedule)):
            return False
        for part, first in self.parts(schedule):
            if not self._in_hull(part) or len(self.donors(part, first)) < FEWEST:
                return False
        mean = float(self.first_losses(schedule[0]).mean()) if self.now is None else self.now
        for place in self.ahead(schedule):
            row = self.row(place)
            before = [self.losses[run][k - 1] for run, k in row.pool]
            if not _within(mean, min(before), max(before)):
                return False
            mean = float(self.step(place, np.array(mean), 0.0))
            if not _within(mean, *self.ever):
                return False
        return True

    @property
    def ever(self):
        """Least and greatest of all losses."""
        losses = [loss for run in self.losses for loss in run]
        return min(losses), max(losses)

    def _in_hull(self, part):
        """Whether (switch epoch, age) is a convex combination of at most three pairs that were seen.

        After this predecessor, if there are rows for it alone, else after any.
        """
        own = self.alone(part.trained, part.previous)
        key = (part.trained, part.previous is None, part.start, part.length, own)
        if key not in self._hulls:
            seen = {
                (place.start, place.age)
                for _, _, place in self.epochs
                if (place.trained, place.previous is None) == key[:2] and key[4] in (None, place.previous)
            }
            self._hulls[key] = any(
                _inside((part.start, part.length), corners)
                for corners in itertools.combinations_with_replacement(sorted(seen), 3)
            )
        return self._hulls[key]


def at_most(above, runs, share):
    """P(X <= above) for a binomial X."""
    return sum(
        (math.comb(runs, x) * share**x * (1 - share) ** (runs - x) for x in range(above + 1)), Fraction(0)
    )


@lru_cache(maxsize=1000)
def upper_end(above, runs, confidence):
    """Millionths: the least that makes so few as ``above`` of the runs unlikely, and one more.

    The probability is at most that which is left beside the confidence; a thousandth of a millionth is
    rounding.
    """
    risk = 1 - Fraction(repr(confidence))
    low, high = 0, UNIT
    while low < high:
        middle = (low + high) // 2
        share = min(Fraction(1), (middle + Fraction(1, 1000)) / UNIT)
        if at_most(above, runs, share) <= risk:
            high = middle
        else:
            low = middle + 1
    return min(UNIT, low + 1)


def _gathered(values, weights):
    """Equal values once."""
    found, index = np.unique(values, return_inverse=True)
    return found, np.bincount(index.ravel(), weights)


def _within(mean, least, greatest):
    room = 1e-9 * max(abs(least), abs(greatest))
    return least - room <= mean <= greatest + room


def _inside(point, corners):
    """Whether a point lies in a triangle, or in the segment or point that it has shrunk to."""
    turns = []
    for one, other in ((0, 1), (1, 2), (2, 0)):
        (x, y), (u, v) = corners[one], corners[other]
        turns.append((u - x) * (point[1] - y) - (v - y) * (point[0] - x))
    if any(turn > 0 for turn in turns) and any(turn < 0 for turn in turns):
        return False
    return all(
        min(corner[axis] for corner in corners) <= point[axis] <= max(corner[axis] for corner in corners)
        for axis in (0, 1)
    )

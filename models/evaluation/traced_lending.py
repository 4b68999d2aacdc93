"""What recorded runs lend to the epochs of a stage: their residuals, and before a first stage their loss.

Donors of a stage trained it for long enough; those with the same predecessor are preferred if there are at
least `LEAST_DONORS`. A plan that was never run resembles another *plan*, not another run: no schedule lends
more runs than the median schedule among the donors (or than it takes to have `LEAST_DONORS` in all), the
first in the order of the traces, lest the deviations of one plan stand for those of all. Of runs that share
their first epochs, before that, one lends.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from depl.models.problem.affine_law import AffineLaw, Position, RunRecord, Trained
from depl.models.problem.laws import FloatArray

LEAST_DONORS = 20
"""Fewest donors with the right predecessor, below which all predecessors do."""


@dataclass(frozen=True, eq=False)
class Lent:
    """What some epochs of one stage, up to age t, do to the loss l before them, by what runs lend.

    Afterwards it is retained * l + intercept + slope * ln s, plus the gain of a donor.

    Attributes
    ----------
    donors : tuple of RunRecord
    starts : int array (n,)
        Epochs that each of them had trained before its stage.
    residuals : float array (n, t)
        [loss]
    gains : float array (n,)
        Weighted sums of them [loss].
    first_losses : float array (n,)
        l(0) of the donors [loss].
    retained : float
        Product of the retentions.
    intercept, slope : float
        Weighted sums of those of the steps; NaN where a step is missing.
    """

    donors: tuple[RunRecord, ...]
    starts: NDArray[np.int64]
    residuals: FloatArray
    gains: FloatArray
    first_losses: FloatArray
    retained: float
    intercept: float
    slope: float


def lent(law: AffineLaw, last: Position, first_age: int = 1) -> Lent:
    """What donors lend to the epochs of a stage from ``first_age`` to that of ``last``; worked out once."""
    key = (last.trained, last.previous, first_age, last.age)
    if key not in law.lent:
        law.lent[key] = _lent(law, last, first_age)
    found = law.lent[key]
    assert isinstance(found, Lent)  # noqa: S101 - the cache holds nothing else
    return found


def first_losses(law: AffineLaw, trained: Trained) -> FloatArray:
    """Losses before training of the runs that begin with this, l(0) [loss]."""
    return lent(law, Position(trained, None, 1, 0)).first_losses


def suffix_weights(retentions: Sequence[float]) -> FloatArray:
    """w_0, ..., w_K: the products of the retentions after epoch k; shape (K + 1,), w_K = 1."""
    return np.append(np.cumprod(np.asarray(retentions, dtype=float)[::-1])[::-1], 1.0)


def _lent(law: AffineLaw, last: Position, first_age: int) -> Lent:
    donors, starts, rows = _donors(law, last, first_age)
    steps = [law.find(last._replace(age=age)) for age in range(first_age, last.age + 1)]
    known = [step for step in steps if step is not None]
    weights = suffix_weights([step.retention for step in known])
    complete = len(known) == len(steps)
    residuals = np.array(rows).reshape(len(rows), len(steps))
    return Lent(
        donors=donors,
        starts=np.array(starts, dtype=np.int64),
        residuals=residuals,
        gains=residuals @ weights[1:] if donors and complete else np.zeros(0),
        first_losses=np.array([run.losses[0] for run in donors]),
        retained=float(weights[0]),
        intercept=float(weights[1:] @ [step.intercept for step in known]) if complete else math.nan,
        slope=float(weights[1:] @ [step.start_slope for step in known]) if complete else math.nan,
    )


def _donors(
    law: AffineLaw, last: Position, first_age: int
) -> tuple[tuple[RunRecord, ...], list[int], list[FloatArray]]:
    """The runs whose residuals can stand for those of a stage, when theirs began, and these residuals."""
    able: dict[int, slice] = {}
    for index, start, length in law.by_stage.get((last.trained, last.previous is None), ()):
        if length < last.age or index in able:
            continue
        here = slice(start + first_age - 1, start + last.age)
        if law.complete[index] or np.isfinite(law.records[index].residuals[here]).all():
            able[index] = here
    alike = [row for row in able if _previous(law, row, able[row]) == last.previous]
    same = _balanced(law, law.apart(alike))
    chosen = same if len(same) >= LEAST_DONORS else _balanced(law, law.apart(able))
    donors = tuple(law.records[index] for index in chosen)
    starts = [able[index].start - first_age + 1 for index in chosen]
    return donors, starts, [law.records[index].residuals[able[index]] for index in chosen]


def _previous(law: AffineLaw, index: int, here: slice) -> Trained | None:
    place: Position = law.records[index].positions[here.start]
    return place.previous


def _balanced(law: AffineLaw, donors: Sequence[int]) -> list[int]:
    """Of every schedule at most as many runs as the median schedule has, or as it takes for enough."""
    schedules = [law.schedule_numbers[index] for index in donors]
    counts = Counter(schedules)
    if not counts:
        return []
    most = max(math.ceil(np.median(list(counts.values()))), math.ceil(LEAST_DONORS / len(counts)))
    if max(counts.values()) <= most:
        return list(donors)
    taken: Counter[int] = Counter()
    chosen = []
    for index, schedule in zip(donors, schedules, strict=True):
        taken[schedule] += 1
        if taken[schedule] <= most:
            chosen.append(index)
    return chosen

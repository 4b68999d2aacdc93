"""What to run next: how many further runs of a plan bring the promise that was asked for, and how likely.

A promise of omega counts the n whole runs of a plan: with x of them taken for misses and d runs lost it
stands iff (x + d + 1) / (n + d + 1) <= 1 - omega, or with a confidence iff the Clopper-Pearson end for x + d
of n + d is at most 1 - omega. So m further runs bring it iff few enough of them miss. How likely that is
rests on an estimate, how much it saves at most on a bound: docs/estimation.rst (next-runs).
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

from depl.models.estimation.affine import FEWEST, fit_affine
from depl.models.estimation.choices import PROMISED
from depl.models.estimation.instance import SETTLED_EPOCHS
from depl.models.evaluation.traced_law import runs_through, runs_to_carry
from depl.models.evaluation.traced_loss import OutsideSupportError, end_law
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.showing import Shown
from depl.models.problem.traced_law import traced_law
from depl.models.problem.units import NO_UNITS, Units
from depl.models.risk.discrete import decimal
from depl.models.traces.same_runs import told_apart
from depl.models.traces.table import Schedule, Traces

SHARES = (0.5, 0.9)
"""How likely advised runs are to bring the promise: the cheapest plan is sought for either."""

WORTH = 0.1
"""Below this, runs are not advised at all; between this and the least of `SHARES` the likeliest are."""

MOST_MISSES = 3
"""Most misses among further runs that are planned for: at 0.95 these are 79 runs of one plan, and more are
not trained to find out."""

CHOICE = 1
"""Misses that are added where a plan is estimated, as the cheapest that looks good is often a lucky one. By
hand, with targets that few plans meet, the promise came in 0.62 of cases without it of which 0.71 was said.
"""


class Runs(NamedTuple):
    """Further runs of a plan.

    Attributes
    ----------
    runs, allowed : int
        How many, and how many of them may miss: then, and only then, they bring the promise.
    share : float
        The probability that no more miss.
    """

    runs: int
    allowed: int
    share: float


def further_runs(needed: Callable[[int], int], seen: int, misses: int, above: int, of: int) -> Iterator[Runs]:
    """Numbers of further runs that just allow 0, 1, ... misses; between two of them, more help nothing.

    Parameters
    ----------
    needed : callable
        Fewest runs of a plan that carry the promise although so many of them miss.
    seen, misses : int
        Runs of the plan, and how many of them a promise takes for misses.
    above, of : int
        The probability of a miss is estimated from so many of so many runs: it is taken to have the law
        Beta(above + 1, of - above), by which promises count one run more as a miss (its mean is
        (above + 1) / (of + 1)).
    """
    from scipy.stats import betabinom

    for allowed in range(MOST_MISSES + 1):
        runs = needed(misses + allowed) - seen
        if runs > 0:
            share = float(betabinom.cdf(allowed, runs, above + 1, of - above)) if above < of else 0.0
            yield Runs(runs, allowed, share)


@dataclass(frozen=True)
class Option:
    """A plan, and runs of it that would bring the promise.

    Attributes
    ----------
    schedule : Schedule
        Model and cluster of every epoch of the plan.
    trained : Schedule
        What the further runs are to train: the plan, or where runs went on from there, all that the longest
        of them did. Runs that end before others that began alike count as lost.
    cost : float
        Of the plan, which more runs do not change [cost].
    seen, missed : int
        Runs that went through it, and how many of these were above the target.
    least : int
        With fewer further runs there is no promise, whatever they show.
    advised : Runs
        With these there is one as soon as all runs are fitted again, if no more miss than may, and the law
        still supports the plan.
    """

    schedule: Schedule
    trained: Schedule
    cost: float
    seen: int
    missed: int
    least: int
    advised: Runs


@dataclass(frozen=True, repr=False)
class Advice(Shown):
    """Which runs would bring a promise, or a cheaper plan for it.

    Attributes
    ----------
    target, level : float
        What is asked: l_max and omega.
    cost : float or None
        Of the cheapest plan that is promised now; None where none is [cost].
    lower_bound : float
        No plan that the runs leave open costs less, infinite where they leave none open: plans of at least
        six runs that cost less are refuted by these with confidence 0.95, others by the fitted law if that is
        right (without margin, and without runs counted as misses beside those seen) [cost].
    options : tuple of Option
        Cheapest first, each more likely to bring the promise than those before it.
    units : Units
    """

    target: float
    level: float
    cost: float | None
    lower_bound: float
    options: tuple[Option, ...] = ()
    units: Units = NO_UNITS

    @property
    def most_saved(self) -> float | None:
        """By how much a plan that further runs open is cheaper at most; None if none is promised [cost]."""
        return None if self.cost is None else max(0.0, self.cost - self.lower_bound)


# --- a target for somebody who has runs and none yet -----------------------------------------------------


class Reach(NamedTuple):
    """Losses at which the runs of single schedules carry a promise of ``level``.

    Attributes
    ----------
    level : float
        omega.
    loss : float
        The least that all schedules promise which enough runs went through to their end. A target is chosen
        no lower with these runs in hand: the best of several schedules is often one whose runs were lucky.
        Of ten that are equal, with 20 runs each, the least greatest loss is exceeded by 0.135 of all runs,
        where 1 / 21 is promised (1 - the product of 20 k / (20 k + 1), k to 10).
    best : float
        The least that any plan promises.
    runs : int
        At least so many runs went through each of these schedules.
    """

    level: float
    loss: float
    best: float
    runs: int


def reachable(traces: Traces, *levels: float) -> Reach | None:
    """Losses at the highest level, one of those usual unless given, that runs of one schedule carry.

    Runs are counted as `depl.models.estimation.instance.fit_instance` does; None where they carry no level.
    """
    apart = told_apart(traces)
    traces, lost, found = apart.traces, len(apart.traces.lost), dict[Schedule, tuple[float, int]]()
    most = max(map(len, traces.by_schedule().values()))
    needed = {level: max(FEWEST, runs_to_carry(level, diverged=lost)) for level in levels or PROMISED}
    level = max((level for level, runs in needed.items() if runs <= most), default=None)
    try:
        fitted = fit_affine(traces, scale="log" if traces.loss.min() > 0 else "loss", origins=apart.origins)
    except InvalidInputError:  # which `depl fit` tells
        return None
    counting = {"whole_runs": FEWEST, "settled_epochs": SETTLED_EPOCHS, "diverged": lost}
    law = traced_law(fitted, "per_run", float(traces.loss.max()), (), **counting)
    for plan in dict.fromkeys(one[: k + 1] for one in traces.schedules for k in range(len(one))):
        runs = len(runs_through(fitted, plan))
        if level is not None and runs >= needed[level]:
            with suppress(OutsideSupportError):  # of which no promise is made either
                found[plan] = end_law(law, plan).quantile(1 - decimal(level)).upper, runs
    if level is None or not found:
        return None
    going_on = {plan[:k] for plan in found for k in range(len(plan))}
    ends = [found[plan] for plan in found.keys() - going_on]
    worst, best = max(loss for loss, _ in ends), min(loss for loss, _ in found.values())
    return Reach(level, worst, best, min(runs for _, runs in ends))

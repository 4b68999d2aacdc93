"""The loss that all schedules of some runs can promise, for somebody who has runs and no target yet."""

from contextlib import suppress
from typing import NamedTuple

from depl.models.estimation.affine import FEWEST, fit_affine
from depl.models.estimation.choices import PROMISED
from depl.models.estimation.instance import SETTLED_EPOCHS
from depl.models.evaluation.traced_law import runs_through, runs_to_carry
from depl.models.evaluation.traced_loss import OutsideSupportError, end_law
from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.traced_law import traced_law
from depl.models.risk.discrete import decimal
from depl.models.traces.same_runs import told_apart
from depl.models.traces.table import Schedule, Traces


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

"""The least loss that runs can promise: what is proposed to somebody who has runs and no target yet."""

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
from depl.models.traces.table import Traces


class Reach(NamedTuple):
    """With probability ``level`` the loss of a plan, which so many runs went through, is at most ``loss``."""

    level: float
    loss: float
    runs: int


def reachable(traces: Traces, *levels: float) -> Reach | None:
    """The least loss at the highest level, one of those usual unless given, that runs of one schedule carry.

    Runs are counted as `depl.models.estimation.instance.fit_instance` does; None where they carry no level.
    """
    apart = told_apart(traces)
    traces, lost, found = apart.traces, len(apart.traces.lost), list[Reach]()
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
                found.append(Reach(level, end_law(law, plan).quantile(1 - decimal(level)).upper, runs))
    return min(found, key=lambda reach: reach.loss, default=None)

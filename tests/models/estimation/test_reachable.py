"""The least loss that runs can promise: order statistics, counted by hand."""

import numpy as np
import pytest

from depl.models.estimation.advice import Reach, reachable
from depl.models.traces.log_rules import counted_as_lost
from depl.models.traces.table import Traces, joined


def drawn(runs, epochs, first=0, model="net"):
    """Runs whose losses fall in every epoch, run r by more than run r + 1."""
    rng, rows = np.random.default_rng(first), range(first, first + runs)
    losses = {r: 9 - np.arange(1, epochs + 1) + r / 50 + 0.01 * rng.random(epochs) for r in rows}
    return [
        Traces([f"r{r}"] * epochs, np.arange(1, epochs + 1), [model] * epochs, ["edge"] * epochs, one)
        for r, one in losses.items()
    ]


RUNS = drawn(20, 4)
ENDS = sorted(run.loss[-1] for run in RUNS)
COUNTED = {
    ("usual", 0): (0.95, 0),  # no run may miss, as one more does: 1 of 21
    ("0.9", 0): (0.9, 1),  # 2 of 21
    ("0.8", 0): (0.8, 3),  # 4 of 21
    ("usual", 1): (0.9, 0),  # 2 of 22
    ("0.8", 3): (0.8, 0),  # 4 of 24
}


@pytest.mark.parametrize(("levels", "lost"), COUNTED)
def test_it_is_the_loss_that_as_many_runs_exceed_as_may_miss(levels, lost):
    level, misses = COUNTED[levels, lost]
    traces = counted_as_lost(joined(RUNS), [f"gone{number}" for number in range(lost)])
    found = reachable(traces, *([] if levels == "usual" else [float(levels)]))
    assert found == Reach(level, loss := pytest.approx(ENDS[-1 - misses]), loss, 20)


def test_what_is_proposed_is_what_all_schedules_promise_and_not_the_best():
    other = drawn(20, 4, 40, "wide")
    worst, best = (max(run.loss[-1] for run in runs) for runs in (other, RUNS))
    assert reachable(joined([*RUNS, *other])) == Reach(0.95, pytest.approx(worst), pytest.approx(best), 20)


def test_it_is_none_where_no_schedule_has_enough_runs():
    assert reachable(joined(RUNS), 0.99) is None
    assert reachable(joined(RUNS[:5])) is None
    assert reachable(joined([*RUNS[:5], *drawn(5, 3, 20)]), 0.9) is None  # 10 trained 3 epochs, 5 at most 4

"""The table of traces: what it holds, what it refuses, and the views of it."""

import numpy as np
import pytest

from depl.models.foundation.errors import InvalidInputError
from depl.models.traces.table import Traces, joined

# Two runs. "a" switches from big to small at epoch 2, where the loss jumps from 3 to 4 and is trained to 2.
RUN = ["a", "a", "a", "b", "b"]
EPOCH = [0, 1, 2, 1, 2]
MODEL = ["big", "big", "small", "big", "big"]
CLUSTER = ["edge", "edge", "far", "edge", "far"]
LOSS = [5.0, 3.0, 2.0, 3.5, 2.5]
START = [np.nan, np.nan, 4.0, np.nan, np.nan]


def table(**changes) -> Traces:
    columns = {"run": RUN, "epoch": EPOCH, "model": MODEL, "cluster": CLUSTER, "loss": LOSS}
    columns["metrics"] = {"accuracy": [0.1, 0.5, 0.75, 0.5, 0.5], "start_loss": START}
    return Traces(**(columns | changes))


def test_an_unknown_or_missing_target_is_refused():
    with pytest.raises(InvalidInputError, match="one of loss, error_rate, not 'accuracy'"):
        table().target("accuracy")
    with pytest.raises(InvalidInputError, match="no error_rate and no accuracy"):
        table(metrics={}).target("error_rate")


def test_the_start_of_an_epoch_is_the_end_of_the_one_before_unless_the_model_switched():
    nan = np.nan
    assert np.array_equal(table().start(), [nan, 5, 4, nan, 3.5], equal_nan=True)
    assert np.array_equal(table(metrics={}).start(), [nan, 5, nan, nan, 3.5], equal_nan=True)
    rate = table().start("error_rate")
    assert np.array_equal(rate, [nan, 0.9, nan, nan, 0.5], equal_nan=True)


@pytest.mark.parametrize("runs", [[2], [-1], [0.5], [True], [], [0, 0]])
def test_a_selection_that_is_none_is_refused(runs):
    with pytest.raises(InvalidInputError):
        table().select(runs)


def test_tables_are_joined_unless_a_run_or_the_metrics_differ():
    traces = table()
    both = joined([traces.select([1]), traces.select([0])], {"source": "here"})
    assert both.runs == ("b", "a")
    assert both.provenance == {"source": "here"}
    for again in (0, 1):
        with pytest.raises(InvalidInputError, match=r"run '.' is in two of the tables"):
            joined([traces, traces.select([again])])
    with pytest.raises(InvalidInputError, match="different metrics"):
        joined([traces.select([0]), table(metrics={}).select([1])])
    with pytest.raises(InvalidInputError, match="nothing to join"):
        joined([])


@pytest.mark.parametrize(
    ("changes", "path", "message"),
    [
        ({"loss": [5, 3, np.nan, 3, 2]}, ".loss[2]", "finite number, not nan"),
        ({"loss": [5, 3, 2, np.inf, 2]}, ".loss[3]", "finite number, not inf"),
        ({"loss": [5, 3, 2, 3, 1e101]}, ".loss[4]", "finite"),
        ({"loss": ["5", "3", "2", "3", "2"]}, ".loss", "not numbers"),
        ({"loss": LOSS[:-1]}, ".loss", "has 4 rows where run has 5"),
        ({"loss": [LOSS]}, ".loss", "one dimension, not 2"),
        ({"epoch": [0, 1, 3, 1, 2]}, ".epoch[2]", "3 follows on 1"),
        ({"epoch": [0, 1, 1, 1, 2]}, ".epoch[2]", "1 follows on 1"),
        ({"epoch": [0, 1, 2, 2, 3]}, ".epoch[3]", "begins at epoch 0, or 1 without it, not at 2"),
        ({"epoch": [-1, 0, 1, 1, 2]}, ".epoch[0]", "not at -1"),
        ({"epoch": [0.0, 1.0, 2.0, 1.0, 2.0]}, ".epoch", "not whole numbers"),
        ({"run": ["a", "b", "a", "c", "c"]}, ".run[2]", "begins again"),
        ({"run": ["a", "a", "a", "", ""]}, ".run[3]", "must be a name"),
        (
            {"model": ["", "big", "big", "big", "big"]},
            ".model[0]",
            "epoch 0, names the model of the first epoch",
        ),
        ({"model": ["big", "big", " big", "big", "big"]}, ".model[2]", "outer blanks$"),
        ({"cluster": ["edge", "edge", "two\nlines", "edge", "edge"]}, ".cluster[2]", "printable"),
        ({"cluster": [1.5] * 5}, ".cluster", "not names"),
        ({"metrics": {"accuracy": [0.1, 0.5, 1.5, 0.5, 0.5]}}, ".accuracy[2]", r"share in \[0, 1\]"),
        ({"metrics": {"accuracy": [0.1, np.nan, 0.5, 0.5, 0.5]}}, ".accuracy[1]", "not nan"),
        ({"metrics": {"start_loss": [0.1, np.nan, np.inf, 0.5, 0.5]}}, ".start_loss[2]", "not inf"),
        ({"metrics": {"speed": [1.0] * 5}}, ".speed[0]", "unknown metric"),
        ({name: [] for name in ("run", "epoch", "model", "cluster", "loss")}, ".run", "holds no row"),
    ],
)
def test_what_is_wrong_is_reported_with_its_column_and_row(changes, path, message):
    with pytest.raises(InvalidInputError, match=message) as caught:
        table(**changes)
    assert caught.value.path == path

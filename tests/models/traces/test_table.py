"""The table of traces: what it holds, what it refuses, the views of it, and counterfactuals as a tree."""

import json
import re

import numpy as np
import pytest

from depl.models.traces.counterfactuals import branch_name, read_counterfactuals
from depl.models.traces.stages import PLAN, StageRuns, plan_text, planned, stage_runs
from depl.models.traces.table import Traces, joined
from tests.cases.same_runs import table as runs_of
from tests.problems import refusal

# Two runs. "a" switches from big to small at epoch 2, where the loss jumps from 3 to 4 and is trained to 2.
RUN = ["a", "a", "a", "b", "b"]
EPOCH = [0, 1, 2, 1, 2]
MODEL = ["big", "big", "small", "big", "big"]
CLUSTER = ["edge", "edge", "far", "edge", "far"]
LOSS = [5.0, 3.0, 2.0, 3.5, 2.5]
START = [np.nan, np.nan, 4.0, np.nan, np.nan]


def table(**changes):
    columns = {"run": RUN, "epoch": EPOCH, "model": MODEL, "cluster": CLUSTER, "loss": LOSS}
    columns["metrics"] = {"accuracy": [0.1, 0.5, 0.75, 0.5, 0.5], "start_loss": START}
    return Traces(**(columns | changes))


def test_the_start_of_an_epoch_is_the_end_of_the_one_before_unless_the_model_switched():
    nan = np.nan
    assert np.array_equal(table().start(), [nan, 5, 4, nan, 3.5], equal_nan=True)
    assert np.array_equal(table(metrics={}).start(), [nan, 5, nan, nan, 3.5], equal_nan=True)
    rate = table().start("error_rate")
    assert np.array_equal(rate, [nan, 0.9, nan, nan, 0.5], equal_nan=True)


@pytest.mark.parametrize("runs", [[2], [-1], [0.5], [True], [], [0, 0]])
def test_what_selects_no_runs_is_refused(runs):
    assert "run" in str(refusal(table().select, runs))


def test_tables_are_joined_and_what_is_no_target_and_cannot_be_joined_is_refused():
    assert "one of loss, error_rate, not 'accuracy'" in str(refusal(table().target, "accuracy"))
    assert "no error_rate and no accuracy" in str(refusal(table(metrics={}).target, "error_rate"))
    a, b, bare = table().select([0]), table().select([1]), table(metrics={}).select([1])
    assert "run 'a' is in two of" in str(refusal(joined, [table(), a]))
    assert "run 'b' is in two of" in str(refusal(joined, [table(), b]))
    assert "different metrics" in str(refusal(joined, [a, bare]))
    assert "nothing to join" in str(refusal(joined, []))
    both = joined([b, a], {"source": "here"})
    assert (both.runs, both.provenance) == (("b", "a"), {"source": "here"})


WRONG = """
{"loss": [5, 3, 2, Infinity, 2]} | .loss[3] | finite number, not inf
{"loss": [5, 3, 2, 3, 1e101]} | .loss[4] | finite
{"loss": ["5", "3", "2", "3", "2"]} | .loss | not numbers
{"loss": [5, 3, 2, 3]} | .loss | has 4 rows where run has 5
{"loss": [[5, 3, 2, 3, 2]]} | .loss | one dimension, not 2
{"epoch": [-1, 0, 1, 1, 2]} | .epoch[0] | not at -1
{"epoch": [0.0, 1.0, 2.0, 1.0, 2.0]} | .epoch | not whole numbers
{"run": ["a", "b", "a", "c", "c"]} | .run[2] | begins again
{"run": ["a", "a", "a", "", ""]} | .run[3] | must be a name
{"model": ["", "big", "small", "big", "big"]} | .model[0] | epoch 0, names the model of the first epoch
{"model": ["big", "big", " big", "big", "big"]} | .model[2] | outer blanks
{"cluster": ["edge", "edge", "two\\nlines", "edge", "edge"]} | .cluster[2] | printable
{"cluster": [1.5, 1.5, 1.5, 1.5, 1.5]} | .cluster | not names
{"metrics": {"accuracy": [0.1, NaN, 0.5, 0.5, 0.5]}} | .accuracy[1] | not nan
{"metrics": {"start_loss": [0.1, NaN, Infinity, 0.5, 0.5]}} | .start_loss[2] | not inf
{"run": [], "epoch": [], "model": [], "cluster": [], "loss": []} | .run | holds no row
"""


@pytest.mark.parametrize("row", WRONG.strip().splitlines())
def test_what_is_wrong_is_reported_with_its_column_and_row(row):
    changes, path, message = row.split(" | ")
    caught = refusal(table, **json.loads(changes))
    assert caught.path == path
    assert message in caught.message


SCHEDULE = (("full", "edge"),) * 2 + (('cut, "small"', "far: off"),) + (("full", "edge"),)


@pytest.mark.parametrize("schedule", [(), SCHEDULE, SCHEDULE[:1]])
def test_a_plan_reads_back(schedule):
    assert planned({PLAN: plan_text(schedule)}) == schedule
    assert planned({"schedule": "of the family"}) is None  # traces of other tools


TORN = ["", "[", "{}", "[" * 10**5, '[["a", "b"]]', '[[1, "b", 1]]']


@pytest.mark.parametrize("text", TORN + [f'[["a", "b", {count}]]' for count in (0, -1, 1.5, 10**12)])
def test_a_torn_one_is_refused_with_its_place(text):
    error = refusal(planned, {PLAN: text})
    assert (error.path, "must be stages" in error.message) == (".provenance.plan", True)


def letters(*schedules):
    """Runs given by the models of their epochs, one letter each; capital letters train on ``far``."""
    pairs = {
        f"r{run}": [(name.lower(), "far" if name.isupper() else "edge") for name in names]
        for run, names in enumerate(schedules)
    }
    return runs_of({run: [1.0] * len(trained) for run, trained in pairs.items()}, **pairs)


def test_stages_are_counted_by_place_and_by_what_came_before():
    assert stage_runs(letters("aaB", "aB", "aB", "cBBB", "B")) == (
        StageRuns("a", "edge", True, (), 3, (0, 0), 2),
        StageRuns("b", "far", True, (), 1, (0, 0), 1),
        StageRuns("c", "edge", True, (), 1, (0, 0), 1),
        StageRuns("b", "far", False, ("a@edge", "c@edge"), 4, (1, 2), 3),
    )


def test_a_run_that_comes_back_to_a_stage_counts_once():
    first, middle, again = stage_runs(letters("aBaBB"))
    assert (first.first, first.runs) == (True, 1)
    assert (middle.model, middle.runs, middle.starts, middle.epochs) == ("a", 1, (2, 2), 1)
    assert (again.model, again.runs, again.starts, again.epochs) == ("b", 1, (1, 3), 2)


# --- counterfactuals ------------------------------------------------------------------------------------


STEM = {"7": [2.0, 1.5, 1.2, 1.0], "8": [2.1, 1.7, 1.6, 1.5]}
SWITCHES = (1, 3)
EPOCHS = 5
TREE = "".join(
    f"{branch_name(seed, switch)} {k} big edge {losses[k]}\n"
    if k <= switch
    else f"{branch_name(seed, switch)} {k} small far {0.1 * switch + 0.01 * (EPOCHS - k)}\n"
    for seed, losses in STEM.items()
    for switch in SWITCHES
    for k in range(EPOCHS + 1)
)
"""Run, epoch, model, cluster and loss; a branch of epoch s ends in 0.1 s."""


def read(text):
    run, epoch, model, cluster, loss = zip(*map(str.split, text.splitlines()), strict=True)
    return read_counterfactuals(Traces(run, [*map(int, epoch)], model, cluster, [*map(float, loss)]))


def test_every_branch_is_found_by_its_seed_and_its_switch_epoch():
    found = read(TREE)
    assert (found.seeds, found.switch_epochs, found.epochs) == (("7", "8"), SWITCHES, EPOCHS)
    assert found.stages == (("big", "edge"), ("small", "far"))
    assert found.losses("8", 3).tolist() == pytest.approx([2.1, 1.7, 1.6, 1.5, 0.31, 0.3])
    assert found.table[0, 0].tolist() == pytest.approx([2.0, 1.5, 0.13, 0.12, 0.11, 0.1])
    assert not found.table.flags.writeable
    assert "no seed '9'" in str(refusal(found.losses, "9", 1))
    assert "no branch of epoch 2; there are 1, 3" in str(refusal(found.losses, "7", 2))
    assert "no seed '9'" in str(refusal(found.first_stage, "9"))


NO_TREE = r"""
7/3 | seven | 6 | 'seven' is no branch
7/3 | 7/x | 6 | '7/x' is no branch
7/3 | /3 | 6 | '/3' is no branch
7/3 | 7/03 | 6 | '7/03' is no branch
8/1 | 8/2 | 12 | '8/2' switches after epoch 1, not 2
7/3 5 small | 7/3 5 tiny | 6 | '7/3' has 3 stages, not 2
(8/1 .) big | \1 huge | 12 | '8/1' trains huge on edge, then small on far
(7/1 1 big edge) 1.5 | \1 1.25 | 1 | '7/1' and '7/3' do not begin alike: after epoch 1 one has 1.25
8/3 5 .*\n | | 18 | '8/3' ends at epoch 4, others at 5
8/3 .*\n | | 12 | seed '8' has no branch of epoch 3
8/3 0 .*\n | | 12 | epoch 0 one has 2.1 and the other nan
"""


@pytest.mark.parametrize("row", NO_TREE.strip().splitlines())
def test_a_table_that_is_no_tree_is_refused_at_its_row(row):
    old, new, place, message = (cell.strip() for cell in row.split("|"))
    caught = refusal(read, re.sub(old, new, TREE))
    assert caught.path.endswith(f"[{place}]")
    assert message in caught.message

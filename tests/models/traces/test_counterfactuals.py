"""Counterfactuals: a table of branches is read as a tree, or refused at the first row that makes it none."""

import pytest

from depl.models.traces.counterfactuals import branch_name, read_counterfactuals
from depl.models.traces.table import Traces
from tests.problems import refusal

STEM = {"7": [2.0, 1.5, 1.2, 1.0], "8": [2.1, 1.7, 1.6, 1.5]}
SWITCHES = (1, 3)
EPOCHS = 5


def rows():
    """Rows of run, epoch, model, cluster and loss, in which a branch of epoch s ends in 0.1 s."""
    for seed, losses in STEM.items():
        for switch in SWITCHES:
            for epoch in range(EPOCHS + 1):
                first = epoch <= switch
                loss = losses[epoch] if first else 0.1 * switch + 0.01 * (EPOCHS - epoch)
                yield [
                    branch_name(seed, switch),
                    epoch,
                    *(("big", "edge") if first else ("small", "far")),
                    loss,
                ]


def read(found):
    run, epoch, model, cluster, loss = zip(*found, strict=True)
    return read_counterfactuals(Traces(run, epoch, model, cluster, loss))


def test_every_branch_is_found_by_its_seed_and_its_switch_epoch():
    found = read(rows())
    assert (found.seeds, found.switch_epochs, found.epochs) == (("7", "8"), SWITCHES, EPOCHS)
    assert found.stages == (("big", "edge"), ("small", "far"))
    assert found.losses("8", 3).tolist() == pytest.approx([2.1, 1.7, 1.6, 1.5, 0.31, 0.3])
    assert found.table[0, 0].tolist() == pytest.approx([2.0, 1.5, 0.13, 0.12, 0.11, 0.1])
    assert not found.table.flags.writeable


def changed(where, column, value):
    found = list(rows())
    for row in found:
        if (row[0], row[1]) in where or row[0] in where:
            row[column] = value
    return found


@pytest.mark.parametrize(
    ("found", "row", "message"),
    [
        (changed(["7/3"], 0, "seven"), 6, "'seven' is no branch"),
        (changed(["7/3"], 0, "7/x"), 6, "'7/x' is no branch"),
        (changed(["7/3"], 0, "/3"), 6, "'/3' is no branch"),
        (changed(["7/3"], 0, "7/03"), 6, "'7/03' is no branch"),
        (changed(["8/1"], 0, "8/2"), 12, "'8/2' switches after epoch 1, not 2"),
        (changed([("7/3", 5)], 2, "tiny"), 6, "'7/3' has 3 stages, not 2"),
        (changed([("8/1", 0), ("8/1", 1)], 2, "huge"), 12, "'8/1' trains huge on edge, then small on far"),
        (changed([("7/1", 1)], 4, 1.25), 1, "'7/1' and '7/3' do not begin alike: after epoch 1 one has 1.25"),
        ([row for row in rows() if row[:2] != ["8/3", 5]], 18, "'8/3' ends at epoch 4, others at 5"),
        ([row for row in rows() if row[0] != "8/3"], 12, "seed '8' has no branch of epoch 3"),
        ([row for row in rows() if row[:2] != ["8/3", 0]], 12, "epoch 0 one has 2.1 and the other nan"),
    ],
)
def test_a_table_that_is_no_tree_is_refused_at_its_row(found, row, message):
    caught = refusal(read, found)
    assert caught.path.endswith(f"[{row}]")
    assert message in caught.message


def test_what_is_not_there_is_refused_with_what_is():
    found = read(rows())
    assert "no seed '9'" in str(refusal(found.losses, "9", 1))
    assert "no branch of epoch 2; there are 1, 3" in str(refusal(found.losses, "7", 2))
    assert "no seed '9'" in str(refusal(found.first_stage, "9"))

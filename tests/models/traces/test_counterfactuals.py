"""Counterfactuals: a table of branches is read as a tree, or refused at the first row that makes it none."""

import re

import pytest

from depl.models.traces.counterfactuals import Counterfactuals, branch_name, read_counterfactuals
from depl.models.traces.table import Traces
from tests.problems import refusal

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


def read(text: str) -> Counterfactuals:
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

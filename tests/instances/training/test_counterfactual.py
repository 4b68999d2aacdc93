"""Counterfactual recordings: every branch is the run that its schedule gives alone, bit for bit."""

from collections import Counter

import numpy as np
import pytest

from depl.instances.training.families import family
from depl.instances.training.recording import Switching, record, record_branches, train_branches
from depl.instances.training.runs import Epoch, train_run
from depl.models.foundation.errors import InvalidInputError
from depl.models.traces.counterfactuals import read_counterfactuals
from depl.models.traces.files import read_traces
from depl.models.traces.stages import PLAN
from tests.cases.training_cases import small_family

FAMILY = small_family()
HALF, MORE = Epoch(0.5, "edge"), Epoch(0.75, "far-edge")
EARLY = Switching(HALF, MORE, (1, 3), 5)
FIELDS = ("loss", "error_rate", "start_loss", "start_error_rate", "probabilities")


def same_bits(one, other):
    return all(
        getattr(one, name).dtype == getattr(other, name).dtype
        and np.array_equal(getattr(one, name), getattr(other, name), equal_nan=True)
        for name in FIELDS
    )


@pytest.mark.parametrize(
    ("chosen", "switching"),
    [
        (FAMILY, Switching(HALF, MORE, (1, 2, 5, 9), 10)),
        (FAMILY, Switching(Epoch(0.9, "edge"), Epoch(0.25, "edge"), (2, 3), 6)),  # weights come back
        (FAMILY, Switching(HALF, Epoch(0.5, "far-edge"), (2, 4), 6)),  # the cluster alone
        (family("digits-alexnet-slow"), Switching(HALF, MORE, (1,), 2)),
    ],
)
def test_branches_are_bit_for_bit_the_runs_of_their_schedules(chosen, switching):
    task = chosen.task()
    for seed in (0, 7)[: 2 if chosen is FAMILY else 1]:
        branches = train_branches(task, switching, switching.switch_epochs, chosen.generator(seed))
        for switch, branch in zip(switching.switch_epochs, branches, strict=True):
            assert same_bits(branch, train_run(task, switching.schedule(switch), chosen.generator(seed)))


def test_the_file_holds_a_run_for_every_branch_and_says_how_it_came_about(tmp_path):
    path = tmp_path / "branches.csv.gz"
    steps = []
    done = record_branches(FAMILY, EARLY, [5, 6], path, {"command": "by hand"}, steps.append)
    assert (done.trained, done.kept, done.interrupted, steps) == (4, 0, False, ["5", "6"])
    traces = read_traces(path)
    assert traces.runs == ("5/1", "5/3", "6/1", "6/3")
    assert traces.schedules[1] == (("pruned-50", "edge"),) * 3 + (("pruned-75", "far-edge"),) * 2
    assert set(traces.metrics) == {"error_rate", "start_loss", "start_error_rate"}
    told = traces.provenance
    assert told["schedule"] == (
        "pruned-50 on edge, then pruned-75 on far-edge after epoch 1, 3 of 5; all of these for every seed"
    )
    assert (told["family"], told["command"]) == ("points", "by hand")
    assert {"setup", "data", "versions"} <= told.keys()
    assert PLAN not in told  # there is more than one
    run = train_run(FAMILY.task(), EARLY.schedule(3), FAMILY.generator(6))
    assert read_counterfactuals(traces).losses("6", 3).tolist() == np.round(run.loss, 5).tolist()


@pytest.mark.parametrize(
    "other",
    [
        Switching(HALF, MORE, (1, 2), 5),
        Switching(HALF, MORE, (1, 3), 6),
        Switching(HALF, Epoch(0.9, "far-edge"), (1, 3), 5),
        Switching(HALF, MORE, (1, 3), 5, draw=0),
    ],
)
def test_branches_of_another_kind_are_not_added_to_a_file(tmp_path, other):
    path = tmp_path / "branches.csv.gz"
    record_branches(FAMILY, EARLY, [5], path)
    before = path.read_bytes()
    for add in (
        lambda: record_branches(FAMILY, other, [6], path),
        lambda: record(FAMILY, [6], path),
    ):
        with pytest.raises(InvalidInputError, match=r"its schedule is .*; choose another file"):
            add()
    assert path.read_bytes() == before


def test_a_drawn_switch_epoch_depends_on_its_seed_alone_and_every_one_comes_equally_often(tmp_path):
    one = Switching(HALF, MORE, (2, 3, 4, 6), 7, draw=1)
    drawn = [one.switches(seed) for seed in range(400, 560)]
    assert Counter(drawn) == {(switch,): 40 for switch in (2, 3, 4, 6)}
    assert all(len(set(drawn[start : start + 4])) == 4 for start in range(0, 160, 4))
    assert len({tuple(drawn[start : start + 4]) for start in range(0, 160, 4)}) > 12  # of 24 orders
    assert drawn != [Switching(HALF, MORE, (2, 3, 4, 6), 7, draw=2).switches(s) for s in range(400, 560)]
    path = tmp_path / "one-each.csv.gz"
    record_branches(FAMILY, one, [401], path)
    record_branches(FAMILY, one, range(400, 404), path)
    traces = read_traces(path)
    assert traces.runs == tuple(f"{seed}/{one.switches(seed)[0]}" for seed in range(400, 404))
    for schedule, name in zip(traces.schedules, traces.runs, strict=True):
        assert schedule.count(("pruned-50", "edge")) == int(name.split("/")[1])


@pytest.mark.parametrize(
    ("switches", "message"),
    [((), "names no epoch"), ((0, 2), "0 leaves one .*; switch after epoch 1 to 4 of 5")],
)
def test_epochs_that_cannot_be_switched_at_are_refused(switches, message):
    """What else ``depl train`` refuses is a row of its tests."""
    with pytest.raises(InvalidInputError, match=message) as caught:
        Switching(HALF, MORE, switches, 5)
    assert caught.value.path == ".switch_epochs"


def test_a_cluster_that_is_not_there_is_refused_before_there_is_a_file(tmp_path):
    for first, second, row in ((Epoch(0.5, "cloud"), MORE, 0), (HALF, Epoch(0.75, "cloud"), 1)):
        with pytest.raises(InvalidInputError, match="no cluster 'cloud'") as caught:
            record_branches(FAMILY, Switching(first, second, (1, 3), 5), [1], tmp_path / "branches.csv.gz")
        assert caught.value.path == f".schedule[{row}].cluster"
    assert not list(tmp_path.iterdir())

"""Runs of one table that are one training: copies and beginnings are left out, forks have one origin."""

import numpy as np
import pytest

from depl.instances.training.recorded import recorded_names, recorded_traces
from depl.models.traces.lost import ENDED, with_ledgers
from depl.models.traces.same_runs import Shared, told_apart
from depl.models.traces.table import Traces
from tests.cases.same_runs import LOSSES, named, table

AGAIN = LOSSES[7]
ALTERED = {
    "renamed": AGAIN,
    "in single precision": np.float32(AGAIN).astype(float),
    "with four decimals": np.round(AGAIN, 4),
    "with three decimals": np.round(AGAIN, 3),
    "with five significant digits": [float(f"{loss:.5g}") for loss in AGAIN],
    "cut after two epochs": AGAIN[:2],
    "cut after five, with four decimals": np.round(AGAIN[:5], 4),
}


@pytest.mark.parametrize("how", ALTERED)
@pytest.mark.parametrize("before", [False, True])
def test_a_run_that_is_there_again_is_left_out_by_name(how, before):
    again, epochs = {"again": ALTERED[how]}, len(ALTERED[how])
    found = told_apart(table(again | named() if before else named() | again))
    first = before and how in ("renamed", "in single precision")  # of these the first stays
    left, kept = ("r7", "again") if first else ("again", "r7")
    assert set(found.traces.runs) == {*named(), "again"} - {left}
    assert (found.repeats, found.forks) == ((Shared(left, kept, epochs),), ())
    words = f"{left!r} shares {epochs} first epochs with {kept!r}; counted once"
    assert found.said()[0] == ("the same run", words)


def test_runs_continued_from_a_checkpoint_stay_and_have_one_origin():
    """3 trainings, each continued 8 times after three epochs."""
    losses = np.where(np.arange(6) < 3, np.repeat(LOSSES[:3], 8, axis=0), LOSSES)
    found = told_apart(table(named(losses)))
    assert (found.repeats, found.untold) == ((), ())
    assert found.origins == tuple(np.repeat([0, 1, 2], 8).tolist())
    assert len(found.forks) == 21
    assert found.forks[0] == Shared("r1", "r0", 3)
    assert found.once_per_schedule.runs == ("r0", "r8", "r16")
    assert found.said()[0][1].startswith("'r1' shares 3 first epochs with 'r0', and 20 others likewise")


def test_one_seed_in_two_schedules_makes_two_runs_of_one_origin():
    """Also where the losses are the same: only the name of the cluster differs."""
    runs = {"a": LOSSES[0], "b": LOSSES[0], "c": LOSSES[1]}
    found = told_apart(table(runs, b=[("net", "edge")] * 3 + [("net", "cloud")] * 3))
    assert (found.traces.runs, found.repeats, found.origins) == (("a", "b", "c"), (), (0, 0, None))
    assert found.forks == (Shared("b", "a", 6),)
    assert found.once_per_schedule is found.traces


def test_a_run_that_diverged_is_not_left_out_for_one_that_was_rescued():
    """It ended at epoch 4, and was continued from there with other settings: a miss, and dependent."""
    runs = named() | {"lost": LOSSES[0][:4], "again": LOSSES[0][:4]}
    ledgers = with_ledgers({}, {ENDED: {"lost": "diverged and is ended"}})
    found = told_apart(table(runs).with_provenance(ledgers))
    assert found.repeats in ((Shared("again", "lost", 4),), (Shared("again", "r0", 4),))
    assert found.forks == (Shared("lost", "r0", 4),)
    assert set(found.traces.lost) == {"lost"}
    assert told_apart(table(runs)).traces.lost == {}


UNTOLD = {
    "two decimals": np.round(LOSSES, 2),
    "one epoch": LOSSES[:, :1].repeat(2, axis=0),
    "networks that died": np.full((24, 6), np.log(10)),
    "a plateau of the last decimal": np.round(2.3026 - 1e-4 * np.arange(6) + 1e-6 * LOSSES, 4),
    "shares of 37 examples": np.round(37 * LOSSES / 3) / 37 * 3,
}


@pytest.mark.parametrize("what", UNTOLD)
def test_runs_that_cannot_be_told_from_copies_are_counted_and_said(what):
    runs = named(UNTOLD[what])
    found = told_apart(table(runs))
    assert found.traces.runs == tuple(runs)
    assert (found.repeats, found.forks) == ((), ())
    if what != "shares of 37 examples":
        assert found.untold == tuple(runs)
        assert found.said()[0][1].startswith(f"{len(runs)} runs too short, coarse or flat")


def test_one_loss_before_training_is_no_shared_beginning():
    """All runs fine-tune one network."""
    found = told_apart(table({name: [2.5, *losses] for name, losses in named().items()}, first=0))
    assert (found.repeats, found.forks, found.untold) == ((), (), ())
    nothing = told_apart(table({"a": [1.0], "b": [1.0]}, first=0))
    assert nothing.traces.runs == ("a", "b")


@pytest.mark.parametrize("decimals", [5, 3])
@pytest.mark.parametrize("name", recorded_names())
def test_of_the_recorded_runs_the_branches_of_one_seed_alone_have_one_origin(name, decimals):
    """In the judging sets every seed goes on from its first stage in sixteen ways; none is a copy."""
    traces = recorded_traces(name)
    traces = traces.select(np.arange(min(len(traces.runs), 320)))
    columns = traces.run, traces.epoch, traces.model, traces.cluster, np.round(traces.loss, decimals)
    found = told_apart(Traces(*columns))
    assert found.repeats == ()
    if not name.endswith("-judging"):
        assert found.forks == ()
        return
    seeds = [run.split("/")[0] for run in traces.runs]
    assert all(item.run.split("/")[0] == item.other.split("/")[0] for item in found.forks)
    if decimals > 3:
        assert len({*zip(seeds, found.origins, strict=True)}) == len(set(seeds))

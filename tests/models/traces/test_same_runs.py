"""Runs that are one training: copies and forks of one table, and known again by their fingerprints."""

import json

import numpy as np
import pytest

from depl.instances.training.recorded import recorded_families, recorded_names, recorded_traces
from depl.models.foundation.documents import decode
from depl.models.traces.fingerprints import FALSE_MATCH, RunFingerprints, compare, fingerprints, resolution
from depl.models.traces.lost import ENDED, with_ledgers
from depl.models.traces.same_runs import Shared, told_apart
from depl.models.traces.table import Traces, joined
from tests.cases.same_runs import LOSSES, named, table
from tests.problems import refusal

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


# --- fingerprints ---------------------------------------------------------------------------------------


DIGITS = recorded_traces("digits-alexnet")
PLAN = max(DIGITS.by_schedule().items(), key=lambda item: len(item[1]))[1]
USED = fingerprints(DIGITS)
SOME = DIGITS.select(PLAN[:5])


def changed(traces, loss=None, prefix="fresh-", keep=None, shift=0):
    """The runs under new names, with other losses, with some rows alone, renumbered."""
    rows = np.ones(traces.rows, dtype=bool) if keep is None else keep
    return Traces(
        np.array([f"{prefix}{name}" for name in traces.run])[rows],
        traces.epoch[rows] - shift,
        traces.model[rows],
        traces.cluster[rows],
        (traces.loss if loss is None else np.asarray(loss, dtype=float))[rows],
    )


def known(fresh, used=USED):
    return [repeat.known for repeat in compare(fresh, used).repeats if not repeat.among_fresh]


LOSS, EPOCH, FIRST = SOME.loss, SOME.epoch, SOME.run == SOME.runs[0]
NOISE = np.random.default_rng(1).normal(size=SOME.rows)
KNOWN = {
    "renamed": changed(SOME),
    "single precision": changed(SOME, LOSS.astype(np.float32)),
    "three decimals": changed(SOME, np.round(LOSS, 3)),
    "four significant digits": changed(SOME, [float(f"{loss:.4g}") for loss in LOSS]),
    "four decimals and noise of 1e-7": changed(SOME, np.round(LOSS, 4) + 1e-7 * NOISE),
    "noise below the unit": changed(SOME, LOSS + 0.9 * USED.unit * np.sign(NOISE)),
    "four decimals in one run": changed(SOME, np.where(FIRST, np.round(LOSS, 4), LOSS)),
    "cut to 7 epochs": changed(SOME, keep=EPOCH <= 7),
    "without epoch 0": changed(SOME, keep=EPOCH > 0),
    "counted from 0": changed(SOME, keep=EPOCH > 0, shift=1),
    "the last loss altered": changed(SOME, np.where(EPOCH == 60, 1.2, 1) * LOSS),
    "every third loss altered": changed(SOME, np.where(EPOCH % 3 == 1, 1.2, 1) * LOSS),
    "the first ten losses altered": changed(SOME, np.where(EPOCH <= 10, 1.2, 1) * LOSS),
    "all after epoch 12 altered": changed(SOME, np.where(EPOCH > 12, 1.2, 1) * LOSS),
    "runs in another order": changed(SOME.select([3, 1, 4, 0, 2])),
}


@pytest.mark.parametrize("fresh", KNOWN.values(), ids=KNOWN)
def test_a_run_is_known_again(fresh):
    assert known(fresh) == [name.removeprefix("fresh-") for name in fresh.runs]


def test_runs_of_one_seed_are_known_again_by_what_they_share_before_they_part_or_one_was_cut():
    """As far as epoch 25 they are the same training, so the later one is not independent of the choice."""
    other = DIGITS.select([int(run) for run in PLAN[5:10]])
    parted = np.where(SOME.epoch <= 25, SOME.loss, other.loss)
    assert known(changed(SOME, parted)) == list(SOME.runs)
    cut = fingerprints(changed(SOME, prefix="", keep=SOME.epoch <= 9), USED)
    assert known(changed(SOME), cut) == list(SOME.runs)


def test_fresh_runs_are_not_taken_for_known_ones_of_the_same_name():
    used, fresh = DIGITS.select(PLAN[:52]), DIGITS.select(PLAN[52:])
    names = dict(zip(fresh.runs, used.runs, strict=True))
    same = Traces([names[run] for run in fresh.run], fresh.epoch, fresh.model, fresh.cluster, fresh.loss)
    found = compare(same, fingerprints(used))
    assert same.runs == used.runs
    assert (found.repeats, found.untold) == ((), ())
    assert found.needed <= found.countable.min()


SMALL = "cells-perceptron digits-adam digits-alexnet-slow digits-cosine digits-mobilenet-slow zen-attention"


@pytest.mark.parametrize(
    "family",
    [
        name if name in SMALL.split() else pytest.param(name, marks=pytest.mark.slow)
        for name in recorded_families()
    ],
)
def test_no_two_of_the_recorded_runs_match(family):
    """All pairs of a family, 392,145 of 1810 runs, with losses kept to five, four or three decimals.

    The most by which agreeing epochs outnumber the others from the first one on is 1, 2 or 3.
    """
    traces = recorded_traces(family)
    used = RunFingerprints(unit=fingerprints(traces).unit, resolution=1e-5)
    for decimals, least in ((5, 6), (4, 6), (3, 9)):
        found = compare(changed(traces, np.round(traces.loss, decimals)), used)
        assert found.repeats == ()
        assert found.needed >= least


@pytest.mark.parametrize("amount", [0.0, 1e-9, 1e-6])
def test_a_run_twice_in_a_file_is_found_under_noise(amount):
    two = SOME.select([1, 3])
    found = compare(joined([changed(SOME, prefix=""), changed(two, two.loss + amount)])).repeats
    pairs = [(item.run, item.known, item.among_fresh) for item in found]
    assert pairs == [(5, SOME.runs[1], True), (6, SOME.runs[3], True)]
    assert {(item.agreeing, item.compared) for item in found} == {(31, 31)}


@pytest.mark.parametrize("amount", [0.0, 1e-6])
@pytest.mark.parametrize("different", [1, 3, 20])
def test_copies_of_few_runs_are_found_or_cannot_be_told(different, amount):
    """Spread between runs is no measure where most of them are copies of one another."""
    rng, base = np.random.default_rng(0), DIGITS.select(PLAN[:different])
    noise = (base.loss + amount * rng.normal(size=base.rows) for _ in range(60 // different))
    found = compare(joined([changed(base, loss, f"copy-{index}-") for index, loss in enumerate(noise)]))
    assert found.repeats or found.needed is None or found.needed > found.countable.max()


def test_the_lead_that_is_asked_for_makes_a_false_match_as_rare_as_claimed():
    """At full precision half_width is 1.5, p = 0.015."""
    losses = np.random.default_rng(5).normal(size=(8, 20))
    found = compare(table(dict(enumerate(losses.tolist())), pairs=[("n", "s")] * 20))
    odds = 0.015 / 0.985
    assert found.needed == 5
    assert odds**found.needed <= FALSE_MATCH < odds ** (found.needed - 1)


def test_the_last_decimal_is_seen_through_single_precision_and_noise():
    values = np.random.default_rng(6).uniform(0, 5, size=SOME.rows)
    for decimals in (1, 2, 4, 6):
        rounded = np.round(values, decimals)
        for losses in (rounded, rounded.astype(np.float32)):
            assert resolution(changed(SOME, losses)) == float(f"1e-{decimals}")
    assert resolution(changed(SOME, np.round(values, 3) + 1e-6)) == 1e-3
    assert resolution(changed(SOME, values)) <= 1e-6
    # that of the run that is known least: else one run in full would hide that all others were rounded
    assert resolution(changed(SOME, np.where(FIRST, LOSS, np.round(LOSS, 2)))) == 0.01
    assert resolution(changed(SOME, np.where(FIRST, 2.0, LOSS))) == 1e-5


TORN = """
{"runs": [{"name": "a", "losses": "AB"}, {"name": "b", "losses": "A"}]} | $.runs[1].losses
{"runs": [{"name": "a", "losses": "A-"}]} | $.runs[0].losses
{"runs": [{"name": "a", "losses": "AB\\n"}]} | $.runs[0].losses
{"runs": [{"losses": "AB"}]} | $.runs[0].name
{"unit": 0} | $.unit
{"resolution": -1} | $.resolution
"""


@pytest.mark.parametrize("row", TORN.strip().splitlines())
def test_a_torn_fingerprint_is_refused_with_its_place(row):
    changes, path = row.split(" | ")
    content = {"unit": 1, "runs": [{"name": "a", "losses": "ABCD"}]}
    assert decode(json.dumps(content), RunFingerprints).names == ("a",)
    assert refusal(decode, json.dumps(content | json.loads(changes)), RunFingerprints).path == path
